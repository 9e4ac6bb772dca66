"""The reflector: what the scores of a run teach, by rule."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from contend.llm.extractive.asked import PlayedRound, ReflectValues
from contend.llm.extractive.lesson_texts import FLAT, GAINED, WEAK_METRICS, WON, Lesson
from contend.models.record import Language

_MOST_LESSONS = 3
_MOST_TAGS = 16
_WEAK = 0.7
_GAIN = 0.02
_MARGIN = 0.05


class Gain(NamedTuple):
    """The largest rise from one round of a team to its next. `metric` rose most, "" where none is known."""

    team_id: str
    before: float
    after: float
    metric: str


def reflect(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """At most three lessons from the scores, none in a source's words, and a verdict on each bullet that was used."""
    asked = ReflectValues.model_validate(values)
    lessons = [lesson.reply() for lesson in _lessons(asked.rounds, language)]
    return {"insights": lessons[:_MOST_LESSONS], "bullet_evaluations": _tags(asked)[:_MOST_TAGS]}


def _lessons(rounds: Sequence[PlayedRound], language: Language) -> Iterator[Lesson]:
    best = _best_rounds(rounds)
    if (weak := _weakest(best)) is not None:
        metric, share = weak
        known = WEAK_METRICS[language]
        yield _filled(known.get(metric, known[""]), metric=metric, share=round(100 * share))
    if (gain := _largest_gain(rounds)) is not None:
        before, after = 100 * gain.before, 100 * gain.after
        yield _filled(GAINED[language], team=gain.team_id, before=before, after=after, metric=gain.metric or "score")
    yield from _from_the_winner(best, rounds, language)
    flat, teams = _without_gain(rounds)
    if flat:
        yield _filled(FLAT[language], flat=flat, teams=teams)


def _filled(lesson: Lesson, **numbers: object) -> Lesson:
    return Lesson(*(part.format(**numbers) for part in lesson))


def _best_rounds(rounds: Sequence[PlayedRound]) -> dict[str, PlayedRound]:
    """Each team's best scored round, best team first."""
    best: dict[str, PlayedRound] = {}
    for played in rounds:
        known = best.get(played.team_id)
        if played.score is not None and (known is None or played.score > (known.score or 0.0)):
            best[played.team_id] = played
    return dict(sorted(best.items(), key=lambda item: (-(item[1].score or 0.0), item[0])))


def _weakest(best: dict[str, PlayedRound]) -> tuple[str, float] | None:
    """The metric with the lowest mean over the teams' best rounds, if it is low."""
    names = {name for played in best.values() for name in played.metrics}
    means = {}
    for name in sorted(names):
        known = [score for played in best.values() if (score := played.metrics.get(name)) is not None]
        if known:
            means[name] = sum(known) / len(known)
    name = min(means, key=lambda name: means[name], default="")
    return (name, means[name]) if name and means[name] < _WEAK else None


def _steps(rounds: Sequence[PlayedRound]) -> Iterator[tuple[PlayedRound, PlayedRound]]:
    """Each two scored rounds of a team that follow each other."""
    scored = sorted((own for own in rounds if own.score is not None), key=lambda own: (own.team_id, own.round_number))
    return ((before, after) for before, after in pairwise(scored) if before.team_id == after.team_id)


def _largest_gain(rounds: Sequence[PlayedRound]) -> Gain | None:
    gains = [
        Gain(after.team_id, before.score or 0.0, after.score or 0.0, _risen(before, after))
        for before, after in _steps(rounds)
    ]
    largest = max(gains, key=lambda gain: gain.after - gain.before, default=None)
    return largest if largest and largest.after - largest.before >= _GAIN else None


def _risen(before: PlayedRound, after: PlayedRound) -> str:
    rises = {
        name: score - earlier
        for name, score in sorted(after.metrics.items())
        if score is not None and (earlier := before.metrics.get(name)) is not None and score > earlier
    }
    return max(rises, key=lambda name: rises[name], default="")


def _without_gain(rounds: Sequence[PlayedRound]) -> tuple[int, int]:
    """How many teams ended on a plateau or a last round that gained nothing, and of how many."""
    last = {after.team_id: (after.score or 0.0) - (before.score or 0.0) for before, after in _steps(rounds)}
    flat = {team for team, gain in last.items() if gain < _GAIN / 2}
    flat |= {played.team_id for played in rounds if played.exit_reason == "plateau"}
    return len(flat), len({played.team_id for played in rounds})


def _from_the_winner(
    best: dict[str, PlayedRound], rounds: Sequence[PlayedRound], language: Language
) -> Iterator[Lesson]:
    """What more queries were worth, where winner and last differ in both."""
    if len(best) < 2:  # noqa: PLR2004 - a comparison takes two
        return
    winner, *_, last = best.values()
    queries = {
        team: len({query for played in rounds if played.team_id == team for query in played.queries})
        for team in (winner.team_id, last.team_id)
    }
    top, low = winner.score or 0.0, last.score or 0.0
    if top - low >= _MARGIN and queries[winner.team_id] > queries[last.team_id]:
        yield _filled(
            WON[language],
            team=winner.team_id,
            last=last.team_id,
            best=100 * top,
            worst=100 * low,
            most=queries[winner.team_id],
            least=queries[last.team_id],
        )


def _tags(asked: ReflectValues) -> list[dict[str, str]]:
    """Each bullet that was used, in the playbook's order."""
    best = _best_rounds(asked.rounds)
    users = {bullet.id: {own.team_id for own in asked.rounds if bullet.id in own.used} for bullet in asked.bullets}
    return [{"bullet_id": bullet, "tag": _tag(teams, list(best.values()))} for bullet, teams in users.items() if teams]


def _tag(teams: set[str], best: Sequence[PlayedRound]) -> str:
    """One team alone, or best and worst alike, say nothing of a bullet."""
    if len(best) < 2:  # noqa: PLR2004 - a comparison takes two
        return "neutral"
    top, low = best[0].score or 0.0, best[-1].score or 0.0
    won = any(played.team_id in teams for played in best if played.score == top)
    lost = top - low >= _MARGIN and best[-1].team_id in teams
    if won == lost:
        return "neutral"
    return "helpful" if won else "harmful"
