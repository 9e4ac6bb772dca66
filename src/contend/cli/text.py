"""How things are said on a terminal: scores, money, times; outside text on one line and without control characters."""

import errno
from collections.abc import Mapping
from pathlib import Path

from contend.cli.words import is_japanese, tr
from contend.models.round import ExitReason
from contend.models.task import RunUsage
from contend.text import clean, shown_score

WHY_STOPPED: Mapping[ExitReason, str] = {
    "max_tokens": "the tokens are used up",
    "max_usd": "the money is used up",
    "max_minutes": "the minutes are used up",
    "max_calls": "the calls are used up",
    "deadline": "its time is over",
    "max_rounds": "all rounds played",
    "target_score": "target score reached",
    "plateau": "no gain any more",
    "budget_reserve": "the budget's reserve is reached",
    "judge": "the judge sees no gain in another round",
    "one_round": "quotes are found in one round",
    "failed": "failed",
}
STATUS: Mapping[str, str] = {
    "running": "Running",
    "completed": "Completed",
    "partial": "Partly done",
    "failed": "Failed",
    "interrupted": "Stopped",
    "waiting": "Waiting",
}
STYLE: Mapping[str, str] = {
    "running": "cyan",
    "completed": "green",
    "partial": "yellow",
    "failed": "red",
    "timeout": "red",
    "interrupted": "yellow",
    "pending": "dim",
}
NO_MODEL = "quotes from your documents; no language model"
TO_SET_ONE = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, and teams compete for a report."
_MINUTE = 60
_REMEDIES = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EROFS: "name another folder, or make it writable",
}


def plain(text: str) -> str:
    """Outside text on one line, without what a terminal would obey."""
    return clean(text, single_line=True)


def short_path(path: str) -> str:
    """From the folder where the command was given, where it lies below."""
    return str(Path(path).relative_to(Path.cwd())) if Path(path).is_relative_to(Path.cwd()) else path


def score_text(score: float | None) -> str:
    return shown_score(score, "ja" if is_japanese() else "en")


def winner_text(name: str, score: float | None) -> str:
    """Who comes first; without a score nobody has won."""
    if score is None:
        return tr("{name} comes first, unscored", name=plain(name))
    return tr("{name} wins with {score}", name=plain(name), score=score_text(score))


def usage_text(usage: RunUsage) -> str:
    """Calls, tokens and cost."""
    if not usage.requests:
        return tr("no model calls")
    cost = tr("cost unknown") if usage.cost_usd is None else f"${usage.cost_usd:,.4f}"
    tokens = counted(usage.input_tokens + usage.output_tokens, "token")
    return f"{counted(usage.requests, 'model call')} · {tokens} · {cost}"


def models_text(models: Mapping[str, str]) -> str:
    """The models by role; one word where all roles share one; where their replies are recorded ones, since when."""
    if replies := models.get("replies"):
        return tr("model replies: {replies}", replies=plain(replies))
    names = set(models.values())
    if not names:
        return tr(NO_MODEL)
    if len(names) == 1:
        return plain(names.pop())
    return ", ".join(f"{role} {plain(name)}" for role, name in models.items())


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), _MINUTE)
    return f"{minutes}:{rest:02d}"


def counted(number: int, thing: str) -> str:
    """The number with what is counted, in English by its plural."""
    if is_japanese():
        return tr(f"{{count}} {thing}", count=f"{number:,}")
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def system_fault(error: OSError) -> str:
    """What the operating system refused, of which file where it says so, and what to do."""
    what = error.filename or tr("an output or file")
    remedy = tr(_REMEDIES.get(error.errno or 0, "mend its rights or its path"))
    return f"{what}: {error.strerror or error}: {remedy}"
