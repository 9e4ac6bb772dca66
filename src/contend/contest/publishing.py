"""The winner's report as files, what a reader needs to know of the run behind it, and what failed in it."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contend.contest.agreement import Agreement
from contend.contest.editing import is_worse
from contend.contest.state import ContestView
from contend.models.evaluation import MetricScore, Submission
from contend.models.options import ResolvedOptions
from contend.models.record import Language
from contend.models.research import Disagreement, Draft, ResearchReport
from contend.models.task import RunUsage
from contend.report import (
    PublishedLine,
    PublishedReport,
    ReportHead,
    TeamScores,
    head_markdown,
    published_markdown,
    to_html,
    to_json,
)
from contend.report.build import sum_lines
from contend.report.plain import DOUBTFUL_SIGN, plain_sentence
from contend.stores import write_file
from contend.team.metrics import WITH_CITATIONS, by_judges
from contend.team.support import Citations
from contend.text import WORDS, count_text, file_name, inert, shorten, shown_score


class DoubtfulLine(NamedTuple):
    """A published sentence or row that its source was not seen to say, and why.

    `partly`: the source says a part of it; it is listed, and carries no sign. `refuted`: it is struck out.
    `statement`: as the draft has it.
    """

    text: str
    reason: str
    partly: bool = False
    refuted: bool = False
    statement: str = ""

    @property
    def why(self) -> str:
        return self.reason or DOUBTFUL_SIGN

    def line(self, language: Language) -> str:
        """It and what is doubtful about it, in the language's words."""
        words, text = WORDS[language], self.text.strip("| ")
        reason = words.partly.format(reason=self.reason) if self.partly else self.reason
        return words.with_reason.format(text=text, reason=reason) if reason else text


def doubtful_lines(
    submission: Submission,
    lines: Sequence[PublishedLine],
    cited: Citations,
    metrics: Sequence[MetricScore],
    language: Language,
) -> list[DoubtfulLine]:
    """The published statements that are refuted, not shown or shown in part; by code alone if nobody judged.

    `lines`: the draft's, as they are published; `metrics`: of the published submission, empty if a person edited it.
    """
    by_code = {each.text: each for each in cited.weakest() if each.value == 0}
    support = _support(metrics)
    bad = support.evidence if support and support.score is not None else [*by_code]
    in_part = {text: why for each in metrics for text, why in each.partly.items()}
    doubted = {text: why for each in metrics for text, why in each.doubted.items()}
    reasons = doubted | in_part
    line_of = {line.statement: line.text for line in reversed(lines) if line.text in submission.content}
    doubtful = []
    for text in filter(line_of.get, dict.fromkeys([*bad, *in_part, *doubted])):
        statement = by_code.get(text)
        reason = reasons.get(text) or (statement.reason(language) if statement else "")
        refuted = statement is not None and bool(statement.sentence.refuted)
        is_partly = text in in_part and text not in bad
        doubtful.append(
            DoubtfulLine(line_of[text], plain_sentence(reason), partly=is_partly, refuted=refuted, statement=text)
        )
    return doubtful


def judged_statements(draft: Draft, cited: Citations, metrics: Sequence[MetricScore]) -> set[str]:
    """The texts of the statements that judges have read; those that quote nothing only if a judge said something."""
    if all(each.score is None for each in by_judges(metrics)):
        return set()
    support = _support(metrics)
    unjudged = support.unjudged if support else [each.text for each in cited.statements if each.value is None]
    return {each.text for each in draft.sentences()}.difference(unjudged)


def _support(metrics: Sequence[MetricScore]) -> MetricScore | None:
    return next((each for each in metrics if each.name == WITH_CITATIONS), None)


def with_signs(report: ResearchReport, doubtful: Sequence[DoubtfulLine]) -> ResearchReport:
    """The report with a sign behind each doubtful sentence, and what code refutes struck out."""

    def with_sign(text: str) -> str:
        for line in doubtful:
            if not line.partly:
                sentence, bar = (line.text[:-2], " |") if line.text.startswith("| ") else (line.text, "")
                text = text.replace(
                    line.text, f"{_struck(sentence) if line.refuted else sentence} {DOUBTFUL_SIGN}{bar}"
                )
        return text

    return report.model_copy(
        update={
            "executive_summary": with_sign(report.executive_summary),
            "key_findings": [with_sign(finding) for finding in report.key_findings],
            "detailed_analysis": with_sign(report.detailed_analysis),
        }
    )


_CELLS = re.compile(r"(?<!\\)\|")


def _struck(text: str) -> str:
    """A sentence, or each cell of a row, struck out."""
    if not text.startswith("| "):
        return f"~~{text}~~"
    cells = [each.strip() for each in _CELLS.split(text[2:])]
    return f"| {' | '.join(f'~~{each}~~' if each else each for each in cells)}"


def head_of(
    view: ContestView,
    submission: Submission,
    options: ResolvedOptions,
    *,
    doubtful: Sequence[DoubtfulLine],
    agreement: Agreement,
    disagreements: Sequence[Disagreement] = (),
    left_out: list[str],
    usage: RunUsage,
) -> ReportHead:
    """What kind of run made the report. `left_out`: lines on documents that were not searched."""
    state, winner, language = view.state, view.winner, options.language
    words = WORDS[language].notes
    assert winner is not None  # noqa: S101 - its report is published
    sources_off = dict(state["sources_off"])
    for outcome in view.outcomes:
        sources_off |= outcome.sources_off
    is_revised = state.get("revision") == "done"
    is_near_tie = any(outcome.pairwise_key is not None for outcome in view.outcomes)
    return ReportHead(
        status="partial" if state["notes"] else "completed",
        winner=winner.team.name if winner.may_win else None,
        best_score=winner.score,
        **view.publication(state["submission"]).published_fields(),
        merged_score=view.editing.score,
        leaderboard=view.standings if winner.may_win else [],
        scores=[
            TeamScores(team_name=each.team.name, scores={one.round_number: one.score for one in each.rounds})
            for each in (view.in_the_running if winner.may_win else [])
        ],
        sources_off=sources_off,
        left_out=left_out,
        unread=submission.unread,
        missing=submission.missing,
        warnings=state["warnings"],
        models=dict(options.models),
        recorded=options.recorded,
        usage=usage,
        seconds=view.seconds,
        notes=[
            *([] if winner.may_win else [words.search_only]),
            *([words.nothing_holds] if all(each.refuted for each in submission.draft.sentences()) else []),
            *([words.near_tie] if is_near_tie else []),
            *([words.report_revised.format(comment=inert(state["comment"]))] if is_revised else []),
            *state["notes"],
            *failure_notes(view, language),
            *_unfound_quotes(view, language),
        ],
        editor=editor_lines(view, language),
        unverified=[each.line(language) for each in doubtful],
        sums=sum_lines(submission.draft, language),
        found=agreement.lines(submission.draft, language),
        disagreed=[each.line(language) for each in disagreements],
        speaking=_speaking_sources(submission, language),
        withheld=named_sources(submission.report, submission.draft.withheld, language),
        lessons=[bullet["content"] for bullet in state["bullets"] if bullet["id"] in submission.draft.bullets_used],
    )


def editor_lines(view: ContestView, language: Language) -> list[str]:
    """What the editor made and what it took of whom; nothing where it made nothing."""
    editing, words = view.editing, WORDS[language]
    if editing.document is None:
        return []
    if editing.published == is_worse(editing.score, view.best_score, ()):  # judges decided against the scores
        template = words.merged_preferred if editing.published else words.merged_not_preferred
    else:
        template = words.merged_published if editing.published else words.merged_not_better
    score, best = (shown_score(each, language) for each in (editing.score, view.best_score))
    names = {each.team_id: each.team.name for each in view.outcomes}
    parts = editing.taken.items() if editing.published else ()
    return [
        template.format(count=editing.reports, score=score, best=best),
        *(words.taken_from.format(team=names.get(team, team), what=text) for team, text in parts),
    ]


def _speaking_sources(submission: Submission, language: Language) -> list[str]:
    """The documents with passages that speak to AI systems, each with the signals by which these are known."""
    words = WORDS[language]
    by_url = {
        url: words.between.join(words.signals[signal] for signal in signals)
        for url, signals in submission.speaking.items()
    }
    pairs = zip(named_sources(submission.report, by_url, language), by_url.values(), strict=True)
    return [f"{name} ({signals})" if signals else name for name, signals in pairs]


def named_sources(report: ResearchReport, urls: Iterable[str], language: Language) -> list[str]:
    """Each source by its mark and title, or by its file name or address if the report does not list it."""
    names = {source.url: f"[{number}] {inert(source.title)}" for number, source in enumerate(report.sources, start=1)}
    others = {url: inert(file_name(url) or url) or WORDS[language].not_listed for url in urls}
    return [names.get(url, other) for url, other in others.items()]


async def publish(
    report: PublishedReport,
    head: ReportHead,
    options: ResolvedOptions,
    folder: Path,
    *,
    lines: Sequence[PublishedLine],
    folders: Sequence[Path],
) -> dict[str, str]:
    """Write report.md, report.html and report.json into the run's folder, each whole or not. Gives them by file name.

    `lines` are those of the report's draft, `folders` those of the local documents.
    """
    language = options.language
    appendix = head_markdown(head, language)
    texts = {
        "report.md": published_markdown(report, appendix, language, lines=lines, folders=folders),
        "report.html": to_html(report, head, language, lines=lines, folders=folders),
        "report.json": to_json(report),
    }
    for name, content in texts.items():
        await asyncio.to_thread(write_file, folder / name, content)
    return texts


_REASON_CHARACTERS = 200


def failure_notes(view: ContestView, language: Language) -> list[str]:
    """A line each on what failed: criteria, metrics, round judges, comparisons, the editor. A reason is told once."""
    words, reasons = WORDS[language].notes, {outcome.status.error_message for outcome in view.outcomes}
    lines = []
    for failure, reason in _failures(view, language):
        shown_reason = words.same_reason if reason in reasons else shorten(reason, _REASON_CHARACTERS)
        lines.append(WORDS[language].with_reason.format(text=failure, reason=shown_reason))
        reasons.add(reason)
    return lines


def _failures(view: ContestView, language: Language) -> Iterator[tuple[str, str]]:
    """What failed, and why."""
    words = WORDS[language].notes
    if reason := view.state.get("criteria_failure"):
        yield (words.no_parts if view.state.get("criteria") else words.no_criteria), reason
    rounds = view.rounds
    open_metrics = [[metric for metric in by_judges(each.metrics) if metric.score is None] for each in rounds]
    if incomplete := [metrics for metrics in open_metrics if metrics]:
        names = sorted({metric.name for metrics in incomplete for metric in metrics})
        played = count_text(len(rounds), "rounds", language)
        line = words.unscored_in.format(count=len(incomplete), rounds=played, names=WORDS[language].between.join(names))
        yield line, incomplete[0][0].reason
    if failures := [each.judge_failure for each in rounds if each.judge_failure]:
        yield words.round_judge_failed.format(rounds=count_text(len(failures), "rounds", language)), failures[0]
    if failures := [each.failure for each in view.comparisons if each.failure]:
        comparisons = count_text(len(view.comparisons), "comparisons", language)
        yield words.comparisons_failed.format(count=len(failures), comparisons=comparisons), failures[0]
    if reason := view.editing.failure:
        yield words.editor_failed, reason


def _unfound_quotes(view: ContestView, language: Language) -> list[str]:
    """A line on judges' quotes that are in no submission, for who reads the report."""
    count = sum(metric.dropped for each in view.rounds for metric in each.metrics)
    return [WORDS[language].notes.quotes_dropped.format(count=count)] if count else []
