"""`contend compare`: two runs side by side."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, input_error, tr, ui
from contend.cli.runs import stored_run
from contend.models.research import SearchResult
from contend.stored_runs import StoredRun, report_of
from contend.text import shorten

_QUESTION_CHARACTERS = 200


class CriteriaCount(NamedTuple):
    """Of the winner's best round: how many of the question's criteria judges found met."""

    met: int
    all: int


class ComparedRun(NamedTuple):
    """One of the runs; `criteria` and `sources` are None where there are none on record."""

    run: StoredRun
    criteria: CriteriaCount | None
    sources: Sequence[SearchResult] | None

    def scores(self) -> dict[tuple[str, int], float | None]:
        """By team and round."""
        return {(row.team_name, row.round_number): row.score for row in self.run.rounds}

    def only(self, other: "ComparedRun") -> list[SearchResult]:
        """The sources that the other run's report does not have."""
        theirs = {source.url for source in other.sources or []}
        return [source for source in self.sources or [] if source.url not in theirs]

    def as_json(self, other: "ComparedRun") -> dict[str, object]:
        """The run as `contend status --json` has it, and what is compared beside that."""
        return {
            **self.run.without_texts(),
            "criteria": self.criteria._asdict() if self.criteria else None,
            "sources": None if self.sources is None else len(self.sources),
            "only_here": [source.model_dump(mode="json", include={"title", "url"}) for source in self.only(other)],
        }


def compare_runs(one: str, other: str) -> None:
    """Print the newest runs of two threads beside each other.

    Raises:
        UnknownThread: there is no such thread.
        InputError: both are the same one.
    """
    a, b = _side(one), _side(other)
    if a.run.execution.thread_id == b.run.execution.thread_id:
        raise input_error("compare: {one} and {other} are both thread {thread}: name two",
                          one=repr(one), other=repr(other), thread=a.run.execution.thread_id)  # fmt: skip
    if ui.print_json({"a": a.as_json(b), "b": b.as_json(a)}):
        return
    theme = ui.plain(a.run.execution.theme) if a.run.execution.theme == b.run.execution.theme else ""
    head: list[RenderableType] = [Text(theme, style="bold"), ""] if theme else []
    ui.show(Group(*head, _facts(a, b), "", *_sources("A", a, b), *_sources("B", b, a)))
    ui.advise(f"contend report {one}", f"contend report {other}")


def _side(thread: str) -> ComparedRun:
    run = stored_run(thread)
    report = report_of(COMMAND.settings(), run.execution)
    return ComparedRun(run, _criteria(run), None if report is None else report.cited_sources())


def _criteria(run: StoredRun) -> CriteriaCount | None:
    ours = [row for row in run.rounds if row.team_id == run.execution.winner_team_id and row.score is not None]
    best = max(ours, key=lambda row: (row.score or 0.0, row.round_number), default=None)
    verdicts = [verdict for metric in (best.metrics if best else []) for verdict in metric.verdicts.values()]
    return CriteriaCount(verdicts.count("met"), len(verdicts)) if verdicts else None


def _facts(a: ComparedRun, b: ComparedRun) -> Table:
    heads = [f"{name}  {side.run.execution.thread_id}" for name, side in (("A", a), ("B", b))]
    return ui.plain_table("", *heads, rows=_rows(a, b), fold=heads)


def _rows(a: ComparedRun, b: ComparedRun) -> Iterable[Sequence[ui.Cell]]:
    sides, runs = (a, b), (a.run, b.run)
    if a.run.execution.theme != b.run.execution.theme:
        yield tr("Question"), *(shorten(run.execution.theme, _QUESTION_CHARACTERS) for run in runs)
    yield tr("Status"), *((tr(ui.STATUS[run.status]), ui.STYLE[run.status]) for run in runs)
    yield tr("Started"), *(f"{run.execution.created_at.astimezone():%Y-%m-%d %H:%M}" for run in runs)
    yield tr("Model"), *(ui.models_text(run.execution.models) for run in runs)
    yield tr("Teams"), *(", ".join(team.team_name for team in run.teams) for run in runs)
    yield tr("Winner"), *((_winner(run), "bold") for run in runs)
    scores = [side.scores() for side in sides]
    for team, number in sorted({*scores[0], *scores[1]}):
        cells = (ui.score_text(each[team, number]) if (team, number) in each else "–" for each in scores)
        yield f"{team}, {tr('round {number}', number=number)}", *cells
    yield tr("Criteria met"), *(_criteria_text(side.criteria) for side in sides)
    yield tr("Used"), *(ui.usage_text(run.usage) for run in runs)
    yield tr("Sources"), *("–" if side.sources is None else str(len(side.sources)) for side in sides)


def _winner(run: StoredRun) -> str:
    winner = next((team for team in run.teams if team.team_id == run.execution.winner_team_id), None)
    return "–" if winner is None else f"{winner.team_name}  {ui.score_text(run.execution.best_score)}"


def _criteria_text(criteria: CriteriaCount | None) -> str:
    return "–" if criteria is None else tr("{met} of {all}", met=criteria.met, all=criteria.all)


def _sources(name: str, side: ComparedRun, other: ComparedRun) -> list[RenderableType]:
    """The sources that only one run cites; none of them where the other has no report to tell."""
    only = side.only(other) if other.sources is not None else []
    if not only:
        return []
    lines = [Text(f"{ui.plain(source.title)}\n  {ui.plain(source.url)}", overflow="fold") for source in only]
    head = Text(tr("Cited by {name} only", name=name), style="bold")
    return [head, *(Padding(line, (0, 0, 0, 2)) for line in lines), ""]
