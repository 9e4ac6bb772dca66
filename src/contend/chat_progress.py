"""A run's progress for chats: a line for each thing that a person waits for."""

from contend.models import events
from contend.models.events import Event
from contend.models.record import Language
from contend.text import WORDS, shown_score


def progress_line(event: Event, language: Language) -> str:
    """What a chat says of an event; "" of those that it does not tell."""
    values = event.model_dump() | {"round": getattr(event, "round_number", 0)}
    if isinstance(event, events.RunStarted):
        values["teams"] = ", ".join(event.teams)
    if isinstance(event, events.RoundScored | events.WinnerPicked):
        values["score"] = shown_score(event.score, language)
    return WORDS[language].progress.get(_line_name(event), "").format_map(values)


def _line_name(event: Event) -> str:
    match event:
        case events.StepDone(step="plan" | "write" as step):
            return step
        case events.TeamDone(error_message=str()) if event.status != "completed":
            return "team_failed"
        case events.ReportMerged(failure=""):
            return "report_merged"
        case events.WinnerPicked(team_id=str()) | events.RunStarted() | events.RoundScored():
            return event.type
    return ""
