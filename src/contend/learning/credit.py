"""What a run showed of its lessons: votes from the difference between teams with a lesson and the team without."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from contend.learning.selection import Withheld
from contend.models.playbook import Bullet, BulletEvaluation, Observation, ReflectionResult

MARGIN = 0.02
"""A smaller difference of scores is none."""


def credited(
    reflection: ReflectionResult,
    bullets: Sequence[Bullet],
    scores: Mapping[str, float | None],
    withheld: Withheld | None,
) -> ReflectionResult:
    """The reflection with an observation of each bullet that the run had, and votes that evidence stands behind.

    `scores`: each team's best, 0.0 to 1.0. Where no difference tells, the reflector's opinion does, unless earlier runs
    showed the contrary.
    """
    difference = _difference(scores, withheld)
    without = frozenset(withheld.bullets if withheld and difference is not None else [])
    observations = [
        Observation(bullet_id=bullet.id, difference=difference if bullet.id in without else None) for bullet in bullets
    ]
    opinions = {evaluation.bullet_id: evaluation.tag for evaluation in reflection.bullet_evaluations}
    votes = [
        BulletEvaluation(bullet_id=bullet.id, tag=vote)
        for bullet in bullets
        if (vote := _vote(bullet, difference if bullet.id in without else None, opinions.get(bullet.id, "")))
    ]
    known = {bullet.id for bullet in bullets}
    votes += [evaluation for evaluation in reflection.bullet_evaluations if evaluation.bullet_id not in known]
    return reflection.model_copy(update={"observations": observations, "bullet_evaluations": votes})


def _difference(scores: Mapping[str, float | None], withheld: Withheld | None) -> float | None:
    if withheld is None:
        return None
    without = scores.get(withheld.team_id)
    others = [score for team, score in scores.items() if team != withheld.team_id and score is not None]
    return None if without is None or not others else fmean(others) - without


def _vote(bullet: Bullet, difference: float | None, opinion: str) -> str:
    """The vote; "" for none."""
    if difference is not None and abs(difference) >= MARGIN:
        return "helpful" if difference > 0 else "harmful"
    shown = bullet.trial.difference or 0.0
    contrary = {"helpful": shown <= -MARGIN, "harmful": shown >= MARGIN}
    return "neutral" if contrary.get(opinion) else opinion
