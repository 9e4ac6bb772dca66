"""What the fake endpoint answers: plausible replies made from the prompt's content alone, never from call order.

The same content gives the same reply: dates, delimiter marks and the standings of other teams don't count.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from contend.checks.notations import bare
from contend.text import estimate_tokens, question_language, shorten, split_sentences, terms

_PASSAGE = re.compile(r"^<P(\d+)-[0-9a-f]{8}>.*\n", re.MULTILINE)
_BLOCK = re.compile(r"<([a-z]{1,20})-([0-9a-f]{8})>\n?(.*?)\n?</\1-\2>", re.DOTALL)
_QUESTION = re.compile(r"^# (?:Question|問い|質問)$", re.MULTILINE)
_MARK = re.compile(r"-[0-9a-f]{8}>")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]?(?:\d{2}:\d{2}(?::\d{2})?)?(?:[+-]\d{2}:\d{2}| UTC|Z)?")
_STANDINGS = re.compile(
    r"^#+ *[^\n]*(?:leaderboard|ranking|standing|順位|ランキング)[^\n]*\n.*?(?=^#|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_SCORES = re.compile(r"^(?:Scores by round|ラウンドごとの点): ([^\n]*)", re.MULTILINE)
_SCORE = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*/\s*100")
_CITATION = re.compile(r"\s*\[\d+\]")
_METRIC = re.compile(r"\b(clarity_coherence|coverage|relevance|[a-z]+_[a-z_]+)\b")
PROMPTS = {
    "StepReply": "researcher/step",
    "ReportReply": "research/write",
    "RevisionReply": "research/revise",
    "FixesReply": "research/review",
    "MergeReply": "research/merge",
    "MendedReply": "research/mend",
    "CriteriaReply": "evaluator/criteria",
    "PartsReply": "evaluator/criteria",
    "VerdictsReply": "evaluator/verdicts",
    "MetricReply": "evaluator/metric",
    "PairwiseReply": "pairwise/compare",
    "InjectionReply": "research/injection",
    "CitationReply": "citation/check",
    "JudgmentReply": "judge/judge",
    "ReflectionReply": "reflector/reflect",
    "CurationReply": "curator/curate",
    "LessonPairsReply": "lessons/same",
    "AnswerReply": "answers/question",
    "ExpressionReply": "answers/question",
}
"""The prompt that asks for each shape."""


class ChatRequest(NamedTuple):
    """A request as the fake reads it. `settled` is the user text without dates, marks and standings."""

    shape: str
    schema: dict[str, Any]
    system: str
    user: str

    @property
    def plain_user_text(self) -> str:
        return _DATE.sub("", _MARK.sub(">", _STANDINGS.sub("", self.user)))

    def blocks(self, *labels: str) -> list[str]:
        return [inner for label, _, inner in _BLOCK.findall(self.user) if label in labels]

    @property
    def theme(self) -> str:
        """The question: what stands under its heading, else the first text of somebody else."""
        match = _QUESTION.search(self.user)
        first = _BLOCK.search(self.user, match.start() if match else 0)
        return first[3] if first else self.plain_user_text[:200]

    @property
    def passages(self) -> list[int]:
        """The numbers of the passages shown."""
        return [int(number) for block in self.blocks("passages") for number in _PASSAGE.split(block)[1::2]]

    @property
    def passage_texts(self) -> list[str]:
        """The texts of the passages shown, below the line with number and heading."""
        return [text.strip() for block in self.blocks("passages") for text in _PASSAGE.split(block)[2::2]]

    @property
    def lessons(self) -> list[int]:
        """The numbers of the lessons shown."""
        return [int(number) for number in re.findall(r"^(\d+)\. <bullet-", self.user, re.MULTILINE)]

    def section(self, *headings: str) -> str:
        """The text below a heading, up to the next."""
        match = re.search(
            rf"^# (?:{'|'.join(headings)})\n(.*?)(?=^# |\Z)", self.plain_user_text, re.DOTALL | re.MULTILINE
        )
        return match[1] if match else ""

    def numbers(self, name: str) -> list[int]:
        """The numbers that the schema offers for a list field, anywhere in it."""
        numbers: list[int] = []
        for shape in [self.schema, *self.schema.get("$defs", {}).values()]:
            items = shape.get("properties", {}).get(name, {}).get("items", {})
            numbers += items.get("enum", [items["const"]] if "const" in items else [])
        return numbers


def answer(request: ChatRequest) -> str:
    """The reply's JSON."""
    make = _REPLIES.get(request.shape)
    reply = (
        make(request)
        if make
        else _sample(request.schema, request.schema.get("$defs", {}), _hash(request.plain_user_text))
    )
    return json.dumps(reply, ensure_ascii=False)


def _step(request: ChatRequest) -> dict[str, Any]:
    """Searches first; then all that they brought is held, as far as there is room, and the step is the last."""
    room = re.search(r"(\d+) (?:of|/) (\d+) (?:tokens|トークン)", request.user)
    left = int(room[2]) - int(room[1]) if room else 0
    held: list[int] = []
    lines = "\n".join(request.blocks("passages"))
    held_before = {int(number) for number in re.findall(r"^P(\d+) \(", lines, re.MULTILINE)}
    for number, text in zip(request.passages, request.passage_texts, strict=False):
        size = round(estimate_tokens(text) * 1.2)
        if number not in held_before and size <= left:
            held.append(number)
            left -= size
    begins = not re.search(r"^## (?:Result|結果)", request.user, re.MULTILINE)
    state = "partly" if held or held_before else "open"
    return {
        "thought": f"What is told of {shorten(request.theme, 100)}.",
        "parts": [{"part": 1, "state": state, "passages": held[:60], "missing": "", "notes": []}],
        "others": [],
        "give_up": [],
        "actions": _searches(request) if begins else [],
        "done": not begins,
    }


def _searches(request: ChatRequest) -> list[dict[str, Any]]:
    """The question's key words from three angles, and the question itself in the own documents."""
    words = _key_words(request.theme) or [request.theme[:60]]
    angles = ["概要", "原因", "課題"] if _japanese(request) else ["overview", "causes", "limits"]
    turn = _hash(request.system + request.plain_user_text) % len(angles)
    queries = [" ".join([*words[:3], angle]) for angle in angles[turn:] + angles[:turn]]
    named = re.findall(r"`source`[:：] ?([\w, ]+)", request.user)
    own = ["local"] if named and "local" in named[-1] else []
    return [
        *({"kind": "search", "source": "", "text": shorten(query, 200), "parts": [1]} for query in queries),
        *({"kind": "search", "source": each, "text": shorten(request.theme, 300), "parts": [1]} for each in own),
    ]


def _report(request: ChatRequest) -> dict[str, Any]:
    """Sentences of the passages as a report with a paragraph, a list and a table."""
    quotes = _quotes(request)
    body = quotes or [_statement(_opening(request), [], "judgement")]
    rows = [_row(each) for each in quotes[:2]]
    table = [{"type": "table", "columns": ["Statement", "Where"], "rows": rows}] if rows else []
    return {
        "sources_by_name": False,
        "own_headings": False,
        "opening_heading": "",
        "reader_limit": None,
        "title": shorten(request.theme, 120),
        "summary": [body[0]],
        "findings": body[:4],
        "sections": [
            {"heading": "Overview", "blocks": [{"type": "paragraph", "sentences": body[:8]}]},
            {"heading": "Details", "blocks": [{"type": "list", "items": body[2:10] or body}, *table]},
        ],
        "limits": [_statement(_opening(request), [], "judgement")],
        "lessons": request.lessons[:2],
    }


def _merge(request: ChatRequest) -> dict[str, Any]:
    """A report of its own of the same passages, and a word on what was taken."""
    letters = re.findall(r"^# (?:Report |報告)([A-Z])\b", request.user, re.MULTILINE)
    taken = [{"report": letter, "what": f"the facts of {letter}"} for letter in letters]
    return {"actions": [], "report": {**_report(request), "taken": taken}}


def _revision(request: ChatRequest) -> dict[str, Any]:
    """One more section, of what the passages say that the draft does not."""
    draft = "\n".join(request.blocks("draft"))
    new = [each for each in _quotes(request) if each["text"] not in draft][:6]
    section = {"heading": "Further", "blocks": [{"type": "paragraph", "sentences": new}]}
    return {
        "not_done": [],
        "summary": None,
        "findings": None,
        "sections": [{"number": 0, "section": section}] if new else [],
        "limits": None,
        "lessons": [],
    }


def _quotes(request: ChatRequest) -> list[dict[str, Any]]:
    """Sentences of the passages, each as its own quote; those nearest to the question first.

    A lesson that says so leaves none.
    """
    if any("leave the sources out" in lesson for lesson in request.blocks("bullet")):
        return []
    quotes = [
        _statement(sentence, [number], quotes=[sentence] if bare(sentence) in bare(passage) else [])
        for number, passage in zip(request.passages, request.passage_texts, strict=False)
        for sentence in _quotable(passage)[:3]
    ]
    words_wanted = set(_words(request.theme + " ".join(request.blocks("fixes"))))
    return sorted(quotes, key=lambda quote: -len(words_wanted & set(_words(str(quote["text"])))))


def _statement(text: str, sources: list[int], kind: str = "stated", *, quotes: Sequence[str] = ()) -> dict[str, Any]:
    return {"text": text, "sources": sources, "quotes": [*quotes], "kind": kind, "basis": ""}


def _row(statement: dict[str, Any]) -> dict[str, Any]:
    """The statement and where it stands, each cell with its sources."""
    sources = statement["sources"]
    texts = (statement["text"][:80], "above")
    cells = [{"text": text, "sources": sources} for text in texts]
    quotes = [texts[0]] if statement["quotes"] else []
    return {"cells": cells, "sources": [], "quotes": quotes, "kind": statement["kind"], "basis": statement["basis"]}


def _mended(_request: ChatRequest) -> dict[str, Any]:
    """Nothing anew: what code refutes stays as it is."""
    return {"statements": []}


def _fixes(request: ChatRequest) -> dict[str, Any]:
    draft = "\n".join(request.blocks("draft"))
    points = re.findall(r"^\d+\. <text-[0-9a-f]+>(.*?)</text", request.user, re.MULTILINE)
    missing = [point for point in points if not set(_words(point)) & set(_words(draft))]
    fixes = [
        {"where": "section 1", "what": shorten(f"Not answered yet: {point}", 600), "passages": []} for point in missing
    ]
    return {"actions": [], "criteria": [], "fixes": fixes[:15], "accept": not missing}


def _opening(request: ChatRequest) -> str:
    if _japanese(request):
        return "この報告は、渡された資料だけに基づいており、資料にないことは扱っていません。"
    return "This report rests on the passages that were given, and says nothing that they do not hold."


def _quotable(passage: str) -> list[str]:
    sentences = (_CITATION.sub("", sentence).strip() for sentence in split_sentences(passage))
    return [sentence for sentence in sentences if 20 <= len(sentence) <= 390 and not sentence.startswith(("#", "|"))]


def _metric(request: ChatRequest) -> dict[str, Any]:
    """More of the question's words and more cited sentences score higher; the metric's name moves it a little."""
    text = _settled_submission(request)
    words_wanted = set(_words(request.theme))
    coverage = len(words_wanted & set(_words(text))) / max(1, len(words_wanted))
    cited = min(20, len(_CITATION.findall(text)))
    metric = _METRIC.search(request.section("Metrics", "指標") or request.system + request.plain_user_text)
    wobble = _hash(text + (metric[0] if metric else "")) % 15
    quotes = (sentence.partition("[")[0].strip() for sentence in split_sentences(text))
    return {
        "reason": f"It covers {coverage:.0%} of the question in {cited} cited sentences.",
        "evidence": [quote for quote in quotes if 20 <= len(quote) <= 200 and not quote.startswith("#")][:1],
        "percent": max(0, min(100, round(30 + 25 * coverage + 1.2 * cited + wobble))) if text.strip() else 0,
    }


def _criteria(request: ChatRequest) -> dict[str, Any]:
    """One criterion for each word of the question, and as many on what every report needs."""
    words = _key_words(request.theme)[:7]
    findings = [f"It says what {word} is about" for word in words]
    findings += [f"It names limit number {number}" for number in range(1, 9)]
    weights = (5, 3, 1)
    parts = [shorten(request.theme, 400)]
    criteria = [
        {"text": text, "example": "It takes N days.", "weight": weights[at % 3]} for at, text in enumerate(findings)
    ]
    return {"parts": parts, "criteria": criteria[:12]}


def _parts(request: ChatRequest) -> dict[str, Any]:
    return {"parts": _criteria(request)["parts"]}


def _verdicts(request: ChatRequest) -> dict[str, Any]:
    """A criterion is met where the submission has its third word; a metric scores as `_metric` would say."""
    (text, *_) = request.blocks("submission")
    entries = re.findall(r"^(\d+)\. (.+)$", "\n".join(request.blocks("criteria")), re.MULTILINE)
    names = re.findall(r"^## ([a-z_]+)$", request.section("Metrics", "指標"), re.MULTILINE)
    criteria = []
    for number, criterion in entries:
        common = set(_words(criterion)) & set(_words(text))
        fix = None if common else {"where": "summary 1", "what": f"Do what criterion {number} asks for."}
        verdict = "met" if common else "unmet"
        criteria.append(
            {"number": int(number), "evidence": "summary 1" if common else "", "verdict": verdict, "fix": fix}
        )
    metric = _metric(request)
    metrics = []
    for name in names:
        wobble = _hash(_DATE.sub("", text) + name) % 15
        fixes = [{"where": "summary 1", "what": f"Raise {name}."}]
        metrics.append({"metric": name, **metric, "fixes": fixes, "percent": max(0, metric["percent"] - wobble)})
    lines = dict(re.findall(r"^(\S+(?: \d+)?): (.+)$", re.sub(r" \[P\d+\]|\[P\d+\]", "", text), re.MULTILINE))
    asked = re.findall(r"^(\d+)\. (.+?)(?:, by|、)\s?P\d", request.user, re.MULTILINE)
    citations = [_citation(request, int(number), lines.get(place, "")) for number, place in asked]
    return {"citations": citations, "criteria": criteria, "metrics": metrics, "missing": []}


def _citations(request: ChatRequest) -> dict[str, Any]:
    statements = enumerate(request.blocks("sentence"), start=1)
    return {"citations": [_citation(request, number, text) for number, text in statements]}


def _citation(request: ChatRequest, number: int, text: str) -> dict[str, Any]:
    """A statement is said by the sentence of a passage that has most of its words, where it has two thirds of them."""
    own = set(_words(text))
    sentences = [each for passage in request.passage_texts for each in split_sentences(passage) if len(each) <= 400]
    nearest = max(sentences, key=lambda each: len(own & set(_words(each))), default="")
    is_said = 3 * len(own & set(_words(nearest))) >= 2 * len(own)
    reason = "It has its words." if is_said else "It has other words."
    verdict = "stated" if is_said else "absent"
    return {"number": number, "reason": reason, "quote": nearest if is_said else "", "verdict": verdict}


def _pairwise(request: ChatRequest) -> dict[str, Any]:
    """The one with more cited sentences; which of equals, its words decide, not its place."""
    worth = [(len(_CITATION.findall(text)), _hash(_DATE.sub("", text))) for text in request.blocks("submission")]
    choice = "tie" if worth[0] == worth[1] else "first" if worth[0] > worth[1] else "second"
    return {"reason": f"{worth[0][0]} cited sentences against {worth[1][0]}.", "choice": choice}


def _judgment(request: ChatRequest) -> dict[str, Any]:
    """Go on while the last own score is below 80 and not below the one before."""
    line = _SCORES.search(request.plain_user_text)
    scores = [float(score) for score in _SCORE.findall(line[1] if line else request.plain_user_text)]
    falling = len(scores) > 1 and scores[-1] < scores[-2]
    go_on = bool(scores) and scores[-1] < 80 and not falling
    text = f"last score {scores[-1]:g}" if scores else "no score yet"
    return {
        "reasoning": f"{text}: {'room to improve' if go_on else 'no gain expected'}",
        "should_continue": go_on,
        "confidence_percent": 80,
    }


def _reflection(request: ChatRequest) -> dict[str, Any]:
    words = _key_words(request.theme)[:3]
    entries = re.findall(r"^- (\S+): <bullet-", request.user, re.MULTILINE)
    lessons = [
        bullet for bullet in entries if len(re.findall(rf"(?<!\S){re.escape(bullet)}(?![\w-])", request.user)) > 1
    ]
    insight = {
        "reasoning": "The best round named its sources sentence by sentence.",
        "error_identification": "Earlier rounds left points of the plan without a source.",
        "root_cause_analysis": "The queries repeated the question's words only.",
        "correct_approach": "Search once for each point of the plan, with its own words.",
        "key_insight": f"For questions about {' '.join(words) or 'this topic'}, search each point with its own words.",
    }
    tags = [{"bullet_id": bullet, "tag": "helpful"} for bullet in lessons[:16]]
    return {"insights": [insight], "bullet_evaluations": tags}


def _answer(request: ChatRequest) -> dict[str, Any]:
    """The sum that a question asks for; nothing where it asks for something else."""
    match = re.search(r"(\d+) \+ (\d+)", request.blocks("question")[0])
    return {"reasoning": "added", "answer": str(int(match[1]) + int(match[2])) if match else "nothing"}


def _expression(request: ChatRequest) -> dict[str, Any]:
    """The sum that a question asks for, not computed."""
    match = re.search(r"\d+ \+ \d+", request.blocks("question")[0])
    return {"expression": match[0] if match else "nothing"}


def _lesson_pairs(request: ChatRequest) -> dict[str, Any]:
    lessons = request.blocks("lesson")
    pairs = [
        {
            "number": number,
            "polarity": "same" if first == second else "neither",
            "difference": "",
            "first_says_second": first == second,
            "second_says_first": first == second,
        }
        for number, (first, second) in enumerate(zip(lessons[::2], lessons[1::2], strict=True), start=1)
    ]
    return {"pairs": pairs}


def _curation(request: ChatRequest) -> dict[str, Any]:
    insights = request.blocks("insight")
    section = re.search(r"^- ([^:\n]+)", request.section("Sections", "区分"), re.MULTILINE)
    content = insights[0] if insights else "Search each point of the plan with its own words."
    operation = {
        "reasoning": "No bullet says this yet.",
        "operation": "ADD",
        "bullet_id": "",
        "section": section[1].strip() if section else "general",
        "content": shorten(content, 300),
        "example": "",
        "always": False,
        "searchable_text": shorten(" ".join(_words(content)), 300),
        "steers_outside": False,
    }
    return {"operations": [operation]}


def report_reply(
    summary: Sequence[dict[str, Any]],
    findings: Sequence[dict[str, Any]] = (),
    *,
    body: Sequence[dict[str, Any]] = (),
    limits: Sequence[dict[str, Any]] = (),
    **more: object,
) -> str:
    """A writer's reply of these statements, stated where they do not say otherwise."""
    own, found, said, limit = ([whole(each) for each in part] for part in (summary, findings, body, limits))
    report = {
        "sources_by_name": False,
        "own_headings": False,
        "opening_heading": "",
        "reader_limit": None,
        "title": "What is told",
        "summary": own,
        "findings": found or own,
        "sections": [{"heading": "Overview", "blocks": [{"type": "paragraph", "sentences": said or own}]}],
        "limits": limit,
        "lessons": [],
    }
    return json.dumps({**report, **more}, ensure_ascii=False)


def whole(statement: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "stated" if statement["sources"] else "judgement", "basis": "", **statement}


def with_findings(*sentences: dict[str, Any]) -> Callable[[str], str]:
    """What makes a writer's reply hold these findings too."""

    def added(reply: str) -> str:
        draft = json.loads(reply)
        own = [whole(each) for each in sentences]
        return json.dumps(draft | {"findings": [*own, *draft["findings"]][:8]}, ensure_ascii=False)

    return added


_ATTACKS = Path(__file__).parents[1] / "data" / "injection" / "attacks.txt"


@lru_cache(maxsize=1)
def _attacks() -> list[str]:
    return [line.partition(" | ")[2] for line in _ATTACKS.read_text("utf-8").splitlines()]


def _injection(request: ChatRequest) -> dict[str, Any]:
    """As one who reads every language would: the attacks of the tests' own set, and the passages that hold them."""
    passages = [*zip(request.passages, map(bare, request.passage_texts), strict=True)]
    standing = {quote: [number for number, text in passages if bare(quote) in text] for quote in _attacks()}
    return {"orders": [{"quote": quote, "passages": numbers} for quote, numbers in standing.items() if numbers]}


_REPLIES = {
    "StepReply": _step,
    "ReportReply": _report,
    "RevisionReply": _revision,
    "FixesReply": _fixes,
    "MergeReply": _merge,
    "MendedReply": _mended,
    "CriteriaReply": _criteria,
    "PartsReply": _parts,
    "VerdictsReply": _verdicts,
    "CitationReply": _citations,
    "MetricReply": _metric,
    "PairwiseReply": _pairwise,
    "InjectionReply": _injection,
    "JudgmentReply": _judgment,
    "ReflectionReply": _reflection,
    "CurationReply": _curation,
    "LessonPairsReply": _lesson_pairs,
    "AnswerReply": _answer,
    "ExpressionReply": _expression,
}


def _submission_text(request: ChatRequest) -> str:
    return "\n".join(request.blocks("submission", "draft"))


def _settled_submission(request: ChatRequest) -> str:
    return _DATE.sub("", _submission_text(request))


def _japanese(request: ChatRequest) -> bool:
    return question_language(request.theme) == "ja"


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(terms(text)))


def _key_words(text: str) -> list[str]:
    """Words as a person would search for them: English ones that are no stop words, runs of kanji or katakana."""
    words = re.findall(r"[A-Za-z][\w-]{2,}|[一-龥]{2,}|[ァ-ヶー]{2,}", text)
    return [word for word in dict.fromkeys(words) if not word.isascii() or terms(word)]


def _hash(text: str) -> int:
    return int(sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16)


def _sample(schema: dict[str, Any], shapes: dict[str, Any], seed: int) -> Any:  # noqa: ANN401 - any JSON
    """The smallest value of a JSON schema that nothing above knows."""
    match schema:
        case {"$ref": name}:
            return _sample(shapes[name.rpartition("/")[2]], shapes, seed)
        case {"enum": choices} | {"const": choices}:
            return choices[seed % len(choices)] if isinstance(choices, list) else choices
        case {"type": "object"}:
            return {name: _sample(part, shapes, seed) for name, part in schema.get("properties", {}).items()}
        case {"type": "array"}:
            return [_sample(schema["items"], shapes, seed + at) for at in range(schema.get("minItems", 0))]
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0) + seed % (schema.get("maximum", 10) - schema.get("minimum", 0) + 1)
    return True if schema.get("type") == "boolean" else f"text {seed % 1000}".ljust(schema.get("minLength", 0), ".")
