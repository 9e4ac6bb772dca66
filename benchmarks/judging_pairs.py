"""The pairs of `judging.py`: a good submission and the same one damaged, as a team would hand them in."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from contend.models.evaluation import Submission
from contend.models.record import Language
from contend.models.research import CitedSentence, Draft, Paragraph, Passage, SearchResult, Section
from contend.report import build_report
from contend.services import Services

_CITED = re.compile(r"\s*\[([a-z](?:,[a-z])*)\]\Z")
_INVENTED = "z"
_NEXT = str.maketrans("abc", "bca")
_MIDDLE = re.compile("、|(?<=[a-z]),? ")

Parts = dict[str, list[str]]
"""Sentences with the sources they cite, by part of the report."""


@dataclass(frozen=True)
class Pair:
    """A question and two answers to it; `damage` says what ails the second."""

    name: str
    language: Language
    theme: str
    points: list[str]
    sources: dict[str, SearchResult]
    texts: dict[str, str]
    damage: str
    good: Parts
    damaged: Parts

    @property
    def execution_id(self) -> str:
        return uuid5(NAMESPACE_URL, self.name).hex


def pairs(file: str) -> list[Pair]:
    """All pairs of a file beside this one, in its order."""
    listed = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))["pairs"]
    return [_pair(number, each) for number, each in enumerate(listed)]


def _pair(number: int, given: Mapping[str, Any]) -> Pair:
    ((damage, how),) = given["damage"].items()
    language: Language = given.get("language", "en")
    titles = {source["id"]: source["title"] for source in given["sources"]}
    if damage == "invented":
        titles[_INVENTED] = how
    texts = {source["id"]: _joined(source["text"], language) for source in given["sources"]}
    sources = {
        name: SearchResult(
            title=title,
            summary=texts.get(name, title)[:300],
            source="tavily",
            url=f"https://pair{number}.example/{name}",
        )
        for name, title in titles.items()
    }
    return Pair(
        name=given["name"],
        language=language,
        theme=given["theme"],
        points=given["points"],
        sources=sources,
        texts=texts,
        damage=damage,
        good=given["good"],
        damaged=_damaged(given["good"], damage, how),
    )


async def kept_submission(services: Services, pair: Pair, parts: Parts) -> str:
    """The document id under which an answer is kept as a submission."""
    ids = {name: await services.documents.put(text) for name, text in pair.texts.items()} | {_INVENTED: _INVENTED}
    passages = [Passage(id=ids[name], url=source.url, title=source.title) for name, source in pair.sources.items()]
    said = {part: [_sentence(line, ids) for line in lines] for part, lines in parts.items()}
    body = [Section(heading=pair.theme, blocks=[Paragraph(sentences=said.pop("analysis"))])]
    draft = Draft(**said, sections=body)
    shown = list(pair.sources.values())
    report = build_report(draft, passages, shown, theme=pair.theme, language=pair.language)
    submission = Submission(
        content=report.to_markdown(pair.language),
        report=report,
        draft=draft,
        passages=[passage for passage in passages if passage.id != _INVENTED],
        results=[source for name, source in pair.sources.items() if name != _INVENTED],
        points=pair.points,
    )
    return await services.documents.put(submission.model_dump_json())


def _sentence(line: str, ids: Mapping[str, str]) -> CitedSentence:
    cited = _CITED.search(line)
    return CitedSentence(
        text=_CITED.sub("", line), passages=[ids[name] for name in cited[1].split(",")] if cited else []
    )


def _damaged(good: Parts, damage: str, how: Any) -> Parts:  # noqa: ANN401 - its shape differs by damage
    match damage:
        case "replaced":
            return _each(good, lambda line: _replaced(line, how))
        case "invented":
            return _each(good, lambda line: _CITED.sub(f" [{_INVENTED}]", line))
        case "moved":
            return _each(good, lambda line: _CITED.sub(lambda cited: cited[0].translate(_NEXT), line))
        case "mixed":
            return _mixed(good)
        case "rewritten":
            return dict(how)
    rest = {
        "kept": lambda part, lines: lines[: how.get(part, 0)],
        "padding": lambda part, lines: lines + how.get(part, []),
    }
    return {part: rest[damage](part, lines) for part, lines in good.items()}


def _each(parts: Parts, change: Callable[[str], str]) -> Parts:
    return {part: [change(line) for line in lines] for part, lines in parts.items()}


def _replaced(line: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        line = line.replace(old, new)
    return line


def _mixed(parts: Parts) -> Parts:
    """Every sentence ends as the third one after it does, citations included."""
    halves = [_halves(line) for lines in parts.values() for line in lines]
    ends = iter([end for _, end in halves[3:] + halves[:3]])
    return _each(parts, lambda line: _halves(line)[0] + next(ends))


def _halves(line: str) -> tuple[str, str]:
    cuts = [found.end() for found in _MIDDLE.finditer(line)] or [len(line) // 2]
    cut = min(cuts, key=lambda place: abs(place - len(line) // 2))
    return line[:cut], line[cut:]


def _joined(text: str, language: Language) -> str:
    return ("" if language == "ja" else " ").join(text.split("\n")).strip()
