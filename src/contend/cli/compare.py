"""`contend compare`: two runs side by side."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, input_error, tr, ui
from contend.cli.runs import judged_run
from contend.models.research import ResearchReport, SearchResult
from contend.report import with_joined_marks
from contend.stored_runs import JudgedCriterion, StoredRun, report_of
from contend.text import shorten

_QUESTION_CHARACTERS = 200


class ComparedRun(NamedTuple):
    """One of the runs, and how far its published report meets the criteria."""

    run: StoredRun
    criteria: Sequence[JudgedCriterion]
    report: ResearchReport | None

    @property
    def sources(self) -> list[SearchResult] | None:
        """What its report cites; None without a report."""
        return None if self.report is None else self.report.cited_sources()

    @property
    def met(self) -> int:
        """How many criteria the published report meets."""
        return sum(each.verdict == "met" for each in self.criteria)

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
            "criteria": {"met": self.met, "all": len(self.criteria)} if self.criteria else None,
            "judged_criteria": [each.model_dump(mode="json") for each in self.criteria],
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
    ui.show(Group(*head, _facts(a, b), "", *_beside(a, b), *_sources("A", a, b), *_sources("B", b, a)))
    ui.advise(f"contend report {one}", f"contend report {other}")


def _side(thread: str) -> ComparedRun:
    run, criteria = judged_run(thread)
    return ComparedRun(run, criteria, report_of(COMMAND.settings(), run.execution))


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
    yield tr("Published"), *((_published(run), "bold") for run in runs)
    yield tr("Best team"), *(_best_team(run) for run in runs)
    scores = [side.scores() for side in sides]
    for team, number in sorted({*scores[0], *scores[1]}):
        cells = (ui.score_text(each[team, number]) if (team, number) in each else "–" for each in scores)
        yield f"{team}, {tr('round {number}', number=number)}", *cells
    yield tr("Criteria met"), *(_criteria_text(side) for side in sides)
    yield tr("Used"), *(ui.usage_text(run.usage) for run in runs)
    yield tr("Sources"), *("–" if side.sources is None else str(len(side.sources)) for side in sides)


def _published(run: StoredRun) -> str:
    """Whose report was published and its score; "–" if there is none or the record does not say."""
    execution = run.execution
    if execution.published is None:
        return "–"
    whose = tr("editor's merge") if execution.published == "editor" else _winner(run)
    return f"{whose}  {ui.score_text(execution.published_score)}"


def _best_team(run: StoredRun) -> str:
    return f"{_winner(run)}  {ui.score_text(run.execution.best_score)}" if run.execution.winner_team_id else "–"


def _winner(run: StoredRun) -> str:
    return next((team.team_name for team in run.teams if team.team_id == run.execution.winner_team_id), "–")


def _criteria_text(side: ComparedRun) -> str:
    return tr("{met} of {all}", met=side.met, all=len(side.criteria)) if side.criteria else "–"


_SIGNS = {"met": "✓", "partly": "½", "unmet": "✗", None: "–"}


def _beside(a: ComparedRun, b: ComparedRun) -> Iterable[RenderableType]:
    """The criteria and the published reports, A's on the left and B's on the right."""
    if a.criteria or b.criteria:
        yield from (Text(tr("Criteria"), style="bold"), _columns(_criteria_list(a), _criteria_list(b)), "")
    if a.report or b.report:
        yield from (Text(tr("Published report"), style="bold"), _columns(_report_text(a), _report_text(b)), "")


def _columns(left: RenderableType, right: RenderableType) -> Table:
    table = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="dim")
    for name in "AB":
        table.add_column(name, ratio=1, overflow="fold")
    table.add_row(left, right)
    return table


def _criteria_list(side: ComparedRun) -> RenderableType:
    return Text("\n".join(f"{_SIGNS[each.verdict]} {ui.plain(each.text)}" for each in side.criteria) or "–")


def _report_text(side: ComparedRun) -> RenderableType:
    """The report's summary and findings, rendered."""
    if side.report is None:
        return Text("–")
    findings = "\n".join(f"{number}. {ui.plain(each)}" for number, each in enumerate(side.report.key_findings, start=1))
    text = f"{ui.plain(with_joined_marks(side.report.executive_summary))}\n\n{with_joined_marks(findings)}"
    return Group(Text(ui.plain(side.report.theme), style="bold"), Markdown(text, hyperlinks=False))


def _sources(name: str, side: ComparedRun, other: ComparedRun) -> list[RenderableType]:
    """The sources that only one run cites; none of them where the other has no report to tell."""
    only = side.only(other) if other.sources is not None else []
    if not only:
        return []
    lines = [Text(f"{ui.plain(source.title)}\n  {ui.plain(source.url)}", overflow="fold") for source in only]
    head = Text(tr("Cited by {name} only", name=name), style="bold")
    return [head, *(Padding(line, (0, 0, 0, 2)) for line in lines), ""]
