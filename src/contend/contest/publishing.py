"""The winner's report as files, with what a reader needs to know of the run behind it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from contend.contest.outcomes import TeamOutcome, active_seconds, standings
from contend.models.options import ResolvedOptions
from contend.models.research import ResearchReport
from contend.models.task import RunStatus, RunUsage
from contend.report import PublishedLine, ReportHead, head_markdown, to_html, to_json
from contend.settings import EXTRACTIVE
from contend.stores.files import write_file

HONEST: dict[str, str] = {
    "en": "composed by extraction; no language model",
    "ja": "抽出による構成です。言語モデルは使っていません",
}

NEAR_TIE: dict[str, str] = {
    "en": "near tie: the teams at the top were compared in pairs, and the ranking follows that comparison",
    "ja": "僅差: 上位のチームを一対一で比較し、その結果を順位に反映しました",
}


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
    usage: RunUsage,
    unverified: Sequence[str] = (),
    places: Sequence[str] = (),
) -> ReportHead:
    """What kind of run made the report."""
    extractive = options.models["writer"] == EXTRACTIVE or winner.team.kind == "extractive"
    compared = any(outcome.pairwise_key is not None for outcome in outcomes)
    return ReportHead(
        status=status,
        winner=winner.team.name,
        best_score=winner.best.score if winner.best else None,
        leaderboard=standings(outcomes),
        sources_off=sources_off,
        left_out=list(left_out),
        unread=unread,
        warnings=list(warnings),
        models=dict(options.models),
        usage=usage,
        seconds=active_seconds(outcomes),
        notes=[
            *([HONEST[options.language]] if extractive else []),
            *([NEAR_TIE[options.language]] if compared else []),
            *notes,
        ],
        unverified=list(unverified),
        places=list(places),
    )


def places_of(lines: Sequence[PublishedLine]) -> list[str]:
    """For each cited source its mark, and the pages or headings of its cited passages."""
    headings: dict[int, dict[str, None]] = {}
    for line in lines:
        for number, passages in line.passages.items():
            headings.setdefault(number, {}).update({each.heading: None for each in passages if each.heading})
    return [f"[{number}] {'; '.join(of_source)}" for number, of_source in sorted(headings.items()) if of_source]


async def publish(
    report: ResearchReport,
    head: ReportHead,
    options: ResolvedOptions,
    folder: Path,
    *,
    lines: Sequence[PublishedLine],
    folders: Sequence[Path],
) -> Published:
    """Write report.md, report.html and report.json into the run's folder; whole or not at all.

    `lines` are those of the report's draft, `folders` those of the local documents.
    """
    markdown = f"{report.to_markdown(options.language, folders=folders)}\n\n{head_markdown(head, options.language)}\n"
    texts = {
        "report.md": markdown,
        "report.html": to_html(report, head, options.language, lines=lines, folders=folders),
        "report.json": to_json(report),
    }
    await asyncio.to_thread(_write_all, folder, texts)
    return Published(markdown, [folder / name for name in texts])


def _write_all(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        write_file(folder / name, text)
