"""A run's events as plain lines: for logs, pipes and terminals that are none."""

from contend.cli.words import NO_MODEL, counted, plain, said_first
from contend.models.events import (
    AnyEvent,
    DocumentsRead,
    Learned,
    QuestionAsked,
    ReportMerged,
    ReportPublished,
    RoundJudged,
    RoundScored,
    RoundStarted,
    RoundSubmitted,
    RunDone,
    RunStarted,
    SourceOff,
    StepDone,
    TeamDone,
    TeamStarted,
    WinnerPicked,
)
from contend.text import shown_score

_STEPS = {"plan": "planned", "search": "found", "choose": "chose", "write": "wrote", "review": "reviewed:"}


def line_of(event: AnyEvent) -> str:
    """One line with the local time, who, and what happened."""
    who, what = _told(event)
    return f"{event.at.astimezone():%H:%M:%S}  {plain(who):<10}  {plain(what)}"


def _told(event: AnyEvent) -> tuple[str, str]:
    match event:
        case TeamStarted() | TeamDone() | SourceOff():
            return event.team_id, _of_team(event)
        case RoundStarted() | StepDone() | RoundSubmitted() | RoundScored() | RoundJudged():
            return event.team_id, f"round {event.round_number}: {_in_round(event)}"
        case QuestionAsked():
            return event.team_id or "contend", f"asks a person ({event.asked}): {event.description}"
        case _:
            return "contend", _of_run(event)


def _of_run(
    event: RunStarted | DocumentsRead | WinnerPicked | ReportMerged | ReportPublished | Learned | RunDone,
) -> str:
    match event:
        case RunStarted():
            off = "".join(f"; {name} is off ({reason})" for name, reason in event.sources_off.items())
            what = f"{counted(len(event.teams), 'team')} on {', '.join(event.sources)}" if event.models else NO_MODEL
            return f"{what}{off}: {event.theme}"
        case DocumentsRead():
            return f"read {event.read:,} of {counted(event.files, 'document')}"
        case WinnerPicked():
            return said_first(event.team_id, event.score) if event.team_id else "no winner"
        case ReportMerged() | ReportPublished():
            return _of_report(event)
        case Learned():
            return f"playbook {event.dataset}, version {event.playbook_version}: {event.summary}"
        case RunDone():
            return event.status  # the outcome that follows says why


def _of_report(event: ReportMerged | ReportPublished) -> str:
    if isinstance(event, ReportPublished):
        return f"published the report with {counted(event.sources, 'source')}"
    fate = "is published" if event.published else "is not better than the best team's"
    return f"the merged report {fate} ({shown_score(event.score)})"


def _of_team(event: TeamStarted | TeamDone | SourceOff) -> str:
    match event:
        case TeamStarted():
            return f"{event.team_name} starts"
        case TeamDone():
            return event.status + (f": {event.error_message}" if event.error_message else "")
        case SourceOff():
            return f"source {event.source} is off from here on: {event.reason}"


def _in_round(event: RoundStarted | StepDone | RoundSubmitted | RoundScored | RoundJudged) -> str:
    match event:
        case RoundStarted():
            return "begins"
        case StepDone():
            return f"{_STEPS[event.step]} {event.detail}"
        case RoundSubmitted():
            return f"submitted {counted(event.characters, 'character')}"
        case RoundScored():
            if not event.metrics:
                return "quotes are not scored"
            metrics = ", ".join(f"{metric.name} {shown_score(metric.score)}" for metric in event.metrics)
            return f"scored {shown_score(event.score)} ({metrics}){_unsupported(event)}"
        case RoundJudged():
            return f"{'goes on' if event.exit_reason is None else 'ends'}: {event.reasoning}"


def _unsupported(event: RoundScored) -> str:
    """The sentences that their sources do not say."""
    doubtful = [said for metric in event.metrics if metric.name == "citation_support" for said in metric.evidence]
    return f"; not said by what it cites: {' '.join(f'“{plain(said)}”' for said in doubtful)}" if doubtful else ""
