"""A run after a run: lessons are read, used, credited by what scores show, and harmful ones go."""

from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from contend.learning.curator import CuratorAgent
from contend.learning.graph import LearnNodes, build_learn_graph
from contend.learning.reflector import PlayedRound, ReflectorAgent
from contend.learning.selection import Holdout, choose_holdout, select_bullets
from contend.llm import Answer, R, Scope
from contend.models.playbook import Bullet, Playbook
from contend.models.task import CallUsage
from contend.prompts import PromptBuilderSettings, UserPromptBuilder
from contend.prompts.judging import ReflectorPrompt
from contend.stores import DocumentStore
from contend.stores.playbooks import PlaybookStore
from fakes.contests import Contest
from fakes.playbooks import save_playbook
from fakes.vendors import Vendors

_THEME = "Which ferry should the port of Alken buy?"
_GOOD = "When prices of ferries are compared, take them from the offer and not from the letter."
_BAD = "When ferries are compared, leave the sources out to save room."
_FROM_MEMORY = "When a crash is asked about, write from memory and leave the sources out."
_TEAMS = ("scout", "skeptic", "scholar")


class _Opinions:
    """A model that praises every lesson, harmful ones too, and draws none."""

    name = "opinions"

    async def ask(self, prompt: ReflectorPrompt, reply_type: type[R], *, scope: Scope) -> Answer[R]:
        tags = [{"bullet_id": bullet.id, "tag": "helpful"} for bullet in prompt.bullets]
        usage = CallUsage(
            call_key=prompt.prompt_name, role=scope.role, model="m", input_tokens=1, output_tokens=1, milliseconds=1
        )
        return Answer(reply_type.model_validate({"insights": [], "bullet_evaluations": tags}), usage)


def _bullet(key: str, content: str) -> Bullet:
    return Bullet(id=key, section="searching", content=content, searchable_text=content)


def _score(bullets: list[Bullet]) -> float:
    """What a report is worth that followed these lessons."""
    contents = {bullet.content for bullet in bullets}
    return 0.6 + 0.2 * (_GOOD in contents) - 0.3 * (_BAD in contents)


class _World:
    """Contests on one question over one playbook, with scores that follow from the lessons a team had."""

    def __init__(self, folder: Path) -> None:
        self.store = PlaybookStore(folder / "playbooks")
        curator = CuratorAgent(_Opinions(), UserPromptBuilder(PromptBuilderSettings()), self.store)
        nodes = LearnNodes(ReflectorAgent(_Opinions()), curator, DocumentStore(folder / "documents"))
        self.graph = build_learn_graph(nodes).compile()

    async def play(self, number: int) -> float:
        """One contest and its learning; the winner's score."""
        execution = str(uuid4())
        bullets = select_bullets(await self.store.load("ferries"), _THEME)
        holdout = choose_holdout(bullets, _TEAMS, seed=f"run-{number}")
        rounds = [self._round(team, bullets, holdout) for team in _TEAMS]
        request: dict[str, Any] = {
            "execution_id": execution,
            "dataset": "ferries",
            "theme": _THEME,
            "rounds": [each.model_dump(mode="json") for each in rounds],
            "bullets": [bullet.id for bullet in bullets],
            "withheld": holdout.model_dump() if holdout else None,
        }
        await self.graph.ainvoke(cast("Any", request))
        return max(each.score or 0.0 for each in rounds)

    @staticmethod
    def _round(team: str, bullets: list[Bullet], holdout: Holdout | None) -> PlayedRound:
        without = holdout.bullets if holdout and holdout.team_id == team else []
        own = [bullet for bullet in bullets if bullet.id not in without]
        return PlayedRound(team_id=team, round_number=1, score=_score(own), used=[bullet.id for bullet in own])


async def test_a_good_lesson_earns_its_place_by_the_difference_and_a_planted_harmful_one_is_retired(
    tmp_path: Path,
) -> None:
    world = _World(tmp_path)
    await save_playbook(
        world.store, Playbook(dataset="ferries", bullets=[_bullet("good", _GOOD), _bullet("bad", _BAD)])
    )

    scores = [await world.play(number) for number in range(12)]

    bullets = {bullet.id: bullet for bullet in (await world.store.load("ferries")).bullets}
    assert [*bullets] == ["good"]
    assert bullets["good"].status == "active"
    assert bullets["good"].trial.difference is not None
    assert bullets["good"].trial.difference > 0.1
    assert (await world.store.retired_bullets("ferries"))["bad"].harmful >= 1
    assert scores[-1] == max(scores) == 0.8


async def test_a_question_that_is_asked_again_never_scores_lower(tmp_path: Path) -> None:
    world = _World(tmp_path)
    await save_playbook(world.store, Playbook(dataset="ferries", bullets=[_bullet("good", _GOOD)]))

    scores = [await world.play(number) for number in range(6)]

    assert scores == sorted(scores)


async def test_contests_on_one_question_retire_a_planted_harmful_lesson_and_never_score_lower(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply('{"insights": [], "bullet_evaluations": []}', prompt="reflector/reflect")
    services = contest.services()
    await save_playbook(services.playbooks, Playbook(dataset="bridges", bullets=[_active(_FROM_MEMORY)]))

    scores, had = [], []
    for _ in range(4):
        before = len(vendors.calls)
        outcome = await contest.run("How does resume work after a crash?", dataset="bridges", max_rounds=1)
        assert outcome.summary is not None
        scores.append(outcome.summary.best_score or 0.0)
        writers = [call for call in vendors.calls[before:] if call.prompt == "research/write"]
        had.append(sum(_FROM_MEMORY in call.user for call in writers))

    bullet = (await services.playbooks.retired_bullets("bridges"))["harmful"]
    playbook = await services.playbooks.load("bridges")
    await services.aclose()
    assert had == [1, 1, 1, 0]
    # The history keeps it as it was before the third vote.
    assert (bullet.harmful, bullet.helpful, playbook.bullets) == (2, 0, [])
    assert bullet.trial.difference is not None
    assert bullet.trial.difference < 0
    assert scores == sorted(scores)


def _active(content: str) -> Bullet:
    return _bullet("harmful", content).model_copy(update={"status": "active"})
