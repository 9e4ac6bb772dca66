"""A graph of your own as a team beside the Archivist: python examples/own_team/main.py [QUESTION]."""

import asyncio
import sys

from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

import contend
from contend.tools import search


class State(TypedDict, total=False):
    question: str
    notes: str
    report: str


async def look_up(state: State) -> State:
    return {"notes": await search.ainvoke({"query": state["question"]})}


def write(state: State) -> State:
    """The first sentence of each search result, with its reference; yours would ask a model."""
    results = [result.split("\n\n") for result in state["notes"].split("## ")[1:]]
    references = [result[1].removeprefix("Reference: ").split(",")[0] for result in results]
    texts = [" ".join(result[2:]).replace("\n", " ").split(". ")[0].strip(" .") for result in results]
    lines = [f"- {text} [{number}]." for number, text in enumerate(texts, start=1)]
    listed = [f"{number}. {reference}" for number, reference in enumerate(references, start=1)]
    return {"report": "\n".join([f"# {state['question']}\n", *lines, "\n## References\n", *listed])}


builder = StateGraph(State)
builder.add_node("look_up", look_up)
builder.add_node("write", write)
builder.add_edge(START, "look_up")
builder.add_edge("look_up", "write")
excerpts = builder.compile(name="excerpts")


async def main(question: str = "Why were crossings of the Skarv cancelled in winter?") -> None:
    options = contend.RunOptions(documents=["demo/documents"], sources=["local"], max_rounds=1, learn=False)
    outcome = await contend.run(question, options=options, teams=["archivist", excerpts])
    print(outcome.markdown or outcome.message)


asyncio.run(main(*sys.argv[1:]))
