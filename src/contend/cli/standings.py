"""`contend standings`: how the teams stand over a dataset's runs."""

from rich.text import Text

from contend.cli.invocation import COMMAND
from contend.cli.screen import advise, plain_table, print_json, say, show
from contend.cli.stored_runs import from_record
from contend.cli.text import counted, plain
from contend.cli.words import tr
from contend.errors import InputError
from contend.standings import Standing, standings


def show_standings(dataset: str) -> None:
    """Print the ratings with their intervals, the best first.

    Raises:
        InputError: the dataset has no run yet.
    """
    settings = COMMAND.settings()
    found = from_record(settings, lambda record: standings(record, dataset))
    if dataset not in found.datasets:
        known = ", ".join(found.datasets) or "–"
        raise InputError(tr("dataset {dataset}: no run of it in {folder}; there are {known}",
                            dataset=repr(dataset), folder=settings.folder, known=known))  # fmt: skip
    if print_json(found):
        return
    if not found.teams:
        say(tr("No finished run of {dataset} has two teams to compare yet.", dataset=dataset))
        advise("contend runs")
        return
    table = plain_table("#", "Team", "Rating", "95 %", "Runs", "Won", "Tied", "Lost",
                        right={"#", "Rating", "95 %", "Runs", "Won", "Tied", "Lost"})  # fmt: skip
    for rank, team in enumerate(found.teams, start=1):
        table.add_row(str(rank), Text(plain(team.team_name)), *_figures(team))
    show(table)
    say()
    runs = counted(found.runs, "run")
    say(
        tr(
            "{runs}: {team} is ahead of the others by more than chance.",
            runs=runs,
            team=plain(found.teams[0].team_name),
        )
        if found.is_clear
        else tr("{runs}: too few to tell the first from the second.", runs=runs)
    )


def _figures(team: Standing) -> list[str]:
    interval = f"{team.low:.0f}–{team.high:.0f}"
    return [f"{team.rating:.0f}", interval, *map(str, (team.runs, team.wins, team.ties, team.losses))]
