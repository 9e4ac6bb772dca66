"""The winner's report as files, what a reader needs to know of the run behind it, and what failed in it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contend.contest.comparing import Comparison
from contend.contest.editing import Editing
from contend.contest.outcomes import TeamOutcome, active_seconds, standings
from contend.models.options import ResolvedOptions
from contend.models.record import Language
from contend.models.research import ResearchReport
from contend.models.submission import Submission
from contend.models.task import RunStatus, RunUsage
from contend.report import (
    EVIDENCE_FILE,
    PublishedLine,
    ReportEvidence,
    ReportHead,
    head_markdown,
    to_html,
    to_json,
    with_ranges,
)
from contend.stores.files import write_file
from contend.team.evaluation import by_judges
from contend.text import WORDS, shorten, shown_score

DOUBTFUL_SIGN = "⚠"
"""Stands behind a published sentence that its source was not seen to say."""


class DoubtfulLine(NamedTuple):
    """A published sentence or row that its source was not seen to say, why, and the nearest text of the source.

    `partly`: the source says a part of it; it is listed, and carries no sign.
    """

    shown: str
    reason: str
    excerpt: str
    partly: bool = False

    def told(self, language: Language) -> str:
        words, shown = WORDS[language], self.shown.strip("| ")
        reason = words.partly.format(reason=self.reason) if self.partly else self.reason
        line = words.doubt.format(shown=shown, reason=reason) if reason else shown
        return line + (words.nearest_excerpt.format(excerpt=self.excerpt) if self.excerpt else "")


def marked(report: ResearchReport, doubtful: Sequence[DoubtfulLine]) -> ResearchReport:
    """The report with a sign behind each doubtful sentence."""

    def signed(text: str) -> str:
        for line in doubtful:
            if line.partly:
                continue
            shown_line, bar = (line.shown[:-2], " |") if line.shown.startswith("| ") else (line.shown, "")
            text = text.replace(line.shown, f"{shown_line} {DOUBTFUL_SIGN}{bar}")
        return text

    return report.model_copy(
        update={
            "executive_summary": signed(report.executive_summary),
            "key_findings": [signed(finding) for finding in report.key_findings],
            "detailed_analysis": signed(report.detailed_analysis),
        }
    )


class Published(NamedTuple):
    markdown: str
    files: list[Path]


def head_of(
    outcomes: Sequence[TeamOutcome],
    winner: TeamOutcome,
    options: ResolvedOptions,
    *,
    status: RunStatus,
    notes: Sequence[str],
    warnings: Sequence[str],
    sources_off: dict[str, str],
    left_out: Sequence[str],
    unread: dict[str, str],
    missing: dict[str, str],
    usage: RunUsage,
    editing: Editing,
    doubtful: Sequence[DoubtfulLine] = (),
    places: Sequence[str] = (),
    speaking: Sequence[str] = (),
    withheld: Sequence[str] = (),
    lessons: Sequence[str] = (),
) -> ReportHead:
    """What kind of run made the report."""
    compared = any(outcome.pairwise_key is not None for outcome in outcomes)
    return ReportHead(
        status=status,
        winner=winner.team.name if winner.may_win else None,
        best_score=winner.best.score if winner.best else None,
        leaderboard=standings(outcomes) if winner.may_win else [],
        sources_off=sources_off,
        left_out=list(left_out),
        unread=unread,
        missing=missing,
        warnings=list(warnings),
        models=dict(options.models),
        recorded=options.recorded,
        usage=usage,
        seconds=active_seconds(outcomes),
        notes=[
            *([] if winner.may_win else [WORDS[options.language].quotes_only]),
            *([WORDS[options.language].near_tie] if compared else []),
            *notes,
        ],
        editor=editor_lines(outcomes, winner, editing, options.language),
        unverified=[each.told(options.language) for each in doubtful],
        places=list(places),
        speaking=list(speaking),
        withheld=list(withheld),
        lessons=list(lessons),
    )


def editor_lines(
    outcomes: Sequence[TeamOutcome], winner: TeamOutcome, editing: Editing, language: Language
) -> list[str]:
    """What the editor made and what it took of whom; nothing where it made nothing."""
    if editing.document is None:
        return []
    words, names = WORDS[language], {each.team.team_id: each.team.name for each in outcomes}
    merged = words.merged_published if editing.published else words.merged_not_better
    what = merged.format(
        count=editing.reports, score=shown_score(editing.score, language), best=shown_score(winner.score, language)
    )
    taken = editing.taken.items() if editing.published else ()
    return [what, *(words.taken_from.format(team=names.get(team, team), what=text) for team, text in taken)]


def places_of(lines: Sequence[PublishedLine]) -> list[str]:
    """For each cited source its mark, and the pages or headings of its cited passages."""
    headings: dict[int, dict[str, None]] = {}
    for line in lines:
        for number, passages in line.marks:
            headings.setdefault(number, {}).update({each.heading: None for each in passages if each.heading})
    return [f"[{number}] {'; '.join(of_source)}" for number, of_source in sorted(headings.items()) if of_source]


def speaking_sources(submission: Submission, language: Language) -> list[str]:
    """The report's sources that speak to AI systems, each with the signals by which it is known."""
    said = WORDS[language].signals
    listed = {source.url for source in submission.report.sources}
    shown = {
        url: ", ".join(said[name] for name in names) for url, names in submission.speaking.items() if url in listed
    }
    names = named_sources(submission.report, shown, language)
    return [f"{name} ({signals})" if signals else name for name, signals in zip(names, shown.values(), strict=True)]


def named_sources(report: ResearchReport, urls: Iterable[str], language: Language) -> list[str]:
    """Each source by its mark and title; one that the report does not list as such, or not at all."""
    known = {source.url: f"[{number}] {source.title}" for number, source in enumerate(report.sources, start=1)}
    return [known.get(url, WORDS[language].not_listed) for url in dict.fromkeys(urls)]


async def publish(
    report: ResearchReport,
    head: ReportHead,
    options: ResolvedOptions,
    folder: Path,
    *,
    lines: Sequence[PublishedLine],
    doubtful: Sequence[DoubtfulLine],
    folders: Sequence[Path],
) -> Published:
    """Write report.md, report.html, report.json and what its citations rest on into the run's folder, whole or not.

    `lines` are those of the report's draft, `folders` those of the local documents.
    """
    text = with_ranges(report.to_markdown(options.language, folders=folders))
    markdown = f"{text}\n\n{head_markdown(head, options.language)}\n"
    texts = {
        "report.md": markdown,
        "report.html": to_html(report, head, options.language, lines=lines, folders=folders),
        "report.json": to_json(report),
    }
    doubts = {line.shown: line.reason or line.excerpt or DOUBTFUL_SIGN for line in doubtful}
    evidence = ReportEvidence.of(report, options.language, lines, doubts=doubts, folders=folders)
    await asyncio.to_thread(_write_all, folder, {**texts, EVIDENCE_FILE: evidence.model_dump_json()})
    return Published(markdown, [folder / name for name in texts])


def _write_all(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        write_file(folder / name, text)


_REASON_CHARACTERS = 200
_NO_CRITERIA = "no criteria could be set, and coverage is judged by its rubric"


class _Failure(NamedTuple):
    what: str
    reason: str


def failure_notes(
    outcomes: Sequence[TeamOutcome],
    comparisons: Sequence[Comparison],
    editing: Editing,
    *,
    criteria_failure: str = "",
) -> list[str]:
    """A line each on what failed: criteria, metrics, round judges, comparisons, the editor. A reason is told once."""
    told = {outcome.status.error_message for outcome in outcomes}
    lines = []
    on_teams = (*_on_metrics(outcomes), *_on_judges(outcomes), *_on_comparisons(comparisons), *_on_editor(editing))
    on_criteria = [_Failure(_NO_CRITERIA, criteria_failure)] if criteria_failure else []
    for what, reason in (*on_criteria, *on_teams):
        lines.append(f"{what} ({'the same reason' if reason in told else shorten(reason, _REASON_CHARACTERS)})")
        told.add(reason)
    return lines


def dropped_quotes(outcomes: Sequence[TeamOutcome]) -> list[str]:
    """A line on judges' quotes that are in no submission, for who reads the report."""
    metrics = [metric for outcome in outcomes for finished in outcome.rounds for metric in finished.metrics]
    dropped = sum(metric.dropped for metric in metrics)
    return [f"quotes of judges that are in no submission, and were dropped: {dropped}"] if dropped else []


def _on_metrics(outcomes: Sequence[TeamOutcome]) -> Iterator[_Failure]:
    rounds = [finished for outcome in outcomes for finished in outcome.rounds]
    failed = [[metric for metric in by_judges(finished.metrics) if metric.score is None] for finished in rounds]
    hit = [metrics for metrics in failed if metrics]
    if hit:
        names = sorted({metric.name for metrics in hit for metric in metrics})
        yield _Failure(f"unscored in {len(hit)} of {len(rounds)} rounds: {', '.join(names)}", hit[0][0].reason)


def _on_judges(outcomes: Sequence[TeamOutcome]) -> Iterator[_Failure]:
    failures = [finished.judge_failure for outcome in outcomes for finished in outcome.rounds if finished.judge_failure]
    if failures:
        after = "1 round" if len(failures) == 1 else f"{len(failures)} rounds"
        yield _Failure(f"the round judge failed after {after}, and its team played on", failures[0])


def _on_editor(editing: Editing) -> Iterator[_Failure]:
    if editing.failure:
        yield _Failure("the editor failed, and the best team's report stands", editing.failure)


def _on_comparisons(comparisons: Sequence[Comparison]) -> Iterator[_Failure]:
    failures = [each.failure for each in comparisons if each.failure]
    if failures:
        yield _Failure(f"near tie: {len(failures)} of {len(comparisons)} comparisons failed", failures[0])
