"""Describe the run behind a report, so that nobody takes a partial run for a complete one."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contend.models.options import RecordedReplies
from contend.models.record import Language, Record, Score, Text
from contend.models.round import LeaderboardEntry, RoundNumber
from contend.models.task import Publication, RunUsage
from contend.report.plain import markdown_row, plain_title
from contend.text import WORDS, count_text, inert, reason_text, shown_score


class TeamScores(Record):
    """A team's scores by round, from 1; None for an unscored round."""

    team_name: Text
    scores: dict[RoundNumber, Score | None]


class ReportHead(Publication):
    """The run behind a report, at the time the report was published.

    `status`: the status of the report; the run's own may still change, because lessons are learned afterwards.
    `unverified`: printed sentences that no source was seen to support.
    `editor`: lines about the merged report and whether it was published; `merged_score`: its score.
    `scores`: those of the teams with a submission, in rank order.
    `speaking`: mark and title of each source with text addressed to AI systems; `withheld`: the same for each source
    whose orders a removed sentence repeated.
    `sums`: each calculated statement with its arithmetic and value.
    `found`: how many statements several teams found independently, and which of the opening; `disagreed`: a line of
    Markdown for each matter on which the teams' reports contradict each other.
    `sources_off`: the reason by source; `models`: the model by role; `seconds`: the run's active time; `left_out`:
    lines about documents that were not searched; `unread`: why only a summary of a page was read; `missing`: why a
    reference was not retrieved.
    """

    status: Literal["completed", "partial"]
    winner: str | None = None
    best_score: Score | None = None
    editor: list[str] = Field(default_factory=list)
    merged_score: Score | None = None
    leaderboard: list[LeaderboardEntry] = Field(default_factory=list)
    scores: list[TeamScores] = Field(default_factory=list)
    sources_off: dict[str, str] = Field(default_factory=dict)
    left_out: list[str] = Field(default_factory=list)
    unread: dict[str, str] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    models: dict[str, str] = Field(default_factory=dict)
    recorded: RecordedReplies | None = None
    usage: RunUsage = Field(default_factory=RunUsage)
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    notes: list[str] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    sums: list[str] = Field(default_factory=list)
    found: list[str] = Field(default_factory=list)
    disagreed: list[str] = Field(default_factory=list)
    speaking: list[str] = Field(default_factory=list)
    withheld: list[str] = Field(default_factory=list)
    lessons: list[str] = Field(default_factory=list)


def head_markdown(head: ReportHead, language: Language) -> str:
    """The appendix about the run, as Markdown."""
    words = WORDS[language]
    lines = [f"## {words.about_run}", "", *(f"- {fact}" for fact in _facts(head, language))]
    if head.leaderboard:
        lines += ["", f"### {words.leaderboard}", "", *_table(head.leaderboard, language)]
    lists = (
        (words.the_editor, map(plain_title, head.editor)),
        (words.agreement.heading, head.disagreed),
        (words.lessons, map(plain_title, head.lessons)),
        (words.unverified, head.unverified),
        (words.sums, map(plain_title, head.sums)),
        (words.agreement.found_heading, map(plain_title, head.found)),
    )
    for heading, texts in lists:
        if items := [f"- {text}" for text in texts]:
            lines += ["", f"### {heading}", "", *items]
    return "\n".join(lines)


def shown_outcome(head: ReportHead, language: Language) -> tuple[str, str] | None:
    """Whose report was published, such as `("Winner", "Scout (87.3/100)")`; None without a winner.

    An unscored report is not called a winner's. For the editor's report:
    `("Published", "editor's merge (97.0/100); best team: Scout (87.3/100)")`.
    """
    words = WORDS[language]
    if head.winner is None:
        return None
    if head.published == "editor":
        merged, best = (shown_score(score, language) for score in (head.published_score, head.best_score))
        return words.published, words.merge_and_best.format(merged=merged, team=plain_title(head.winner), best=best)
    if head.best_score is None:
        return words.published_unscored, plain_title(head.winner)
    best = shown_score(head.best_score, language)
    return words.winner, words.with_reason.format(text=plain_title(head.winner), reason=best)


def replies_line(head: ReportHead, language: Language) -> str | None:
    """When and with which model the played replies were recorded; None if a model was asked."""
    words, replies = WORDS[language], head.recorded
    if replies is None:
        return None
    text = words.recorded_usage.format(
        recorded=words.recorded.format(date=replies.recorded_on, model=replies.model),
        calls=count_text(replies.calls, "model_calls", language),
        tokens=replies.tokens,
    )
    return f"{words.replies}{words.colon}{text}"


def _facts(head: ReportHead, language: Language) -> Iterator[str]:
    words = WORDS[language]

    def fact(name: str, value: str) -> str:
        return f"{name}{words.colon}{plain_title(value)}"

    yield fact(words.status, words.statuses[head.status])
    if outcome := shown_outcome(head, language):
        yield f"{outcome[0]}{words.colon}{outcome[1]}"
    yield fact(words.active_time, _duration(head.seconds, language))
    if head.models and not head.recorded:
        names = {*head.models.values()}
        each = words.between.join(f"{role} {name}" for role, name in head.models.items())
        yield fact(words.models, names.pop() if len(names) == 1 else each)
    if line := replies_line(head, language):
        yield plain_title(line)
    else:
        yield fact(words.usage, _usage(head.usage, language))
    lists = (
        (words.sources_off, with_reasons(head.sources_off, language)),
        (words.left_out, map(inert, head.left_out)),
        (words.unread, with_reasons(head.unread, language)),
        (words.missing, with_reasons(head.missing, language)),
        (words.speaking, head.speaking),
        (words.withheld, head.withheld),
        (words.note, head.notes),
        (words.warning, head.warnings),
    )
    yield from (fact(name, line) for name, lines in lists for line in lines)


def with_reasons(reasons: dict[str, str], language: Language) -> list[str]:
    """Each name with its reason in the reader's language, such as `tavily (no key)`."""
    # The space ends an address, which would take in a Japanese bracket.
    return [f"{name} ({reason_text(reason, language)})" for name, reason in reasons.items()]


def _table(leaderboard: list[LeaderboardEntry], language: Language) -> Iterator[str]:
    yield markdown_row(WORDS[language].leaderboard_columns)
    yield markdown_row(["---:", ":---", "---:", "---:"])
    for entry in leaderboard:
        name = plain_title(entry.team_name).replace("|", "\\|")
        best = "–" if entry.rank is None else shown_score(entry.best_score, language)
        yield markdown_row([str(entry.rank or "–"), name, best, str(entry.best_round or "–")])


def _usage(usage: RunUsage, language: Language) -> str:
    words, calls = WORDS[language], count_text(usage.requests, "model_calls", language)
    counts = words.calls_and_tokens.format(calls=calls, input=usage.input_tokens, output=usage.output_tokens)
    if usage.cached_tokens:
        counts += words.from_cache.format(share=usage.cached_share)
    cost = words.cost_unknown if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return words.with_reason.format(text=counts, reason=cost)


def _duration(seconds: float, language: Language) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return WORDS[language].seconds.format(seconds=seconds)
    return WORDS[language].minutes.format(minutes=minutes, seconds=rest)
