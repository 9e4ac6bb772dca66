"""What the fake endpoint answers an agent: each of its tools called once, then a report of what they gave."""

import json
import re
from typing import Any

from contend.text import split_sentences

_RESULT = re.compile(r"^## (.+)\n\nReference: (.+)\n\n", re.MULTILINE)


def next_tool_call(body: dict[str, Any]) -> dict[str, Any] | None:
    """The first of the request's tools that its messages do not call, with the question in each text argument."""
    names_called = [
        call["function"]["name"] for message in body["messages"] for call in message.get("tool_calls") or []
    ]
    other_tools = [tool["function"] for tool in body.get("tools", []) if tool["function"]["name"] not in names_called]
    if not other_tools:
        return None
    fields = other_tools[0]["parameters"].get("properties", {})
    arguments = {name: _question(body) for name, field in fields.items() if field.get("type") == "string"}
    return {
        "id": f"call_{len(names_called)}",
        "type": "function",
        "function": {"name": other_tools[0]["name"], "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


def agents_report(body: dict[str, Any]) -> str:
    """The first sentences of each result of a search, cited by number."""
    text = "\n\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "tool")
    if "## References" in text:  # another agent's report
        return text[text.index("# What was found") :]
    heads = [*_RESULT.finditer(text)]
    ends = [*(head.start() for head in heads), len(text)][1:]
    references: dict[str, str] = {}
    lines = []
    for head, end in zip(heads, ends, strict=True):
        references.setdefault(head[2], head[1])
        number = list(references).index(head[2]) + 1
        lines += [f"- {each} [{number}]" for each in split_sentences(text[head.end() : end])[:3]]
    references_list = [f"{number}. {title}, {name}" for number, (name, title) in enumerate(references.items(), start=1)]
    return "\n".join(["# What was found", "", "## Key Findings", "", *lines, "", "## References", "", *references_list])


def _question(body: dict[str, Any]) -> str:
    question = next(message["content"] for message in body["messages"] if message["role"] == "user")
    match = re.search(r"<question-[0-9a-f]{8}>\n?(.*?)\n?</question-", str(question), re.DOTALL)
    return match[1] if match else str(question)
