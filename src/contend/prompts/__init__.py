"""Every word a model reads: prompt files rendered in a sandbox, what each is asked with, outside text delimited.

`UserPromptBuilder` makes the prompts of rounds, judges and the learning loop, within a budget of tokens.
"""

import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from contend.models.playbook import Bullet, Insight, PlaybookSection
from contend.models.record import Language
from contend.models.round import EvaluatorPromptContext, RankingStore, RoundPromptConfig, RoundPromptContext
from contend.prompts.judging import CuratorPrompt, MetricPrompt, ReflectorPrompt, RoundReflectedOn, ShownBullet, nearest
from contend.prompts.library import PromptBuilderSettings, PromptLibrary, PromptRow, RenderedPrompt, local_now
from contend.prompts.rounds import (
    BriefPrompt,
    JudgmentPrompt,
    RankingPart,
    Selection,
    TeamHistory,
    fill,
    finished_rounds,
)
from contend.prompts.values import PromptValues, UntrustedText, mark_of, samples_of, without_delimiters
from contend.text import estimate_tokens

__all__ = [
    "PromptBuilderSettings",
    "PromptLibrary",
    "PromptRow",
    "PromptValues",
    "RenderedPrompt",
    "UntrustedText",
    "UserPromptBuilder",
    "local_now",
    "mark_of",
    "samples_of",
    "without_delimiters",
]


class UserPromptBuilder:
    """Makes prompts from contexts. Cheap to make: one for each run, with its language and limits.

    `store` serves contexts that bring none. Unless `mark` is given, delimiters carry the execution's mark, or one
    drawn with the builder where no execution is named. Text from outside stands between such delimiters.

    Each prompt raises PromptError where its template does not render.
    """

    def __init__(
        self,
        settings: PromptBuilderSettings,
        store: RankingStore | None = None,
        *,
        library: PromptLibrary | None = None,
        config: RoundPromptConfig | None = None,
        language: Language = "en",
        mark: str | None = None,
    ) -> None:
        self._store = store
        self._library = library or PromptLibrary(settings.workspace, settings)
        self._config = config or settings.round_prompt
        self._language = language
        self._mark = mark
        self._random_mark = secrets.token_hex(4)

    def build_team_prompt(
        self,
        context: RoundPromptContext,
        *,
        bullets: Sequence[Mapping[str, object]] = (),
        instructions: str = "",
        earlier: str = "",
        texts: bool = True,
    ) -> str:
        """A team's brief: its whole input for the round. `bullets` are {id, content, quarantined}.

        `earlier` is what the last report in this conversation said; `texts` false leaves out earlier reports and what
        judges said of them. Query, instructions, `earlier` and the latest feedback are always whole; only the query
        counts against `estimated_prompt_tokens`.
        """
        rounds = finished_rounds(context.round_history, before=context.round_number)
        past = TeamHistory(context, self._config, rounds, context.store or self._store, bullets, texts)
        return self._fill(BriefPrompt, past, {"instructions": instructions, "earlier_report": earlier})

    def build_judgment_prompt(self, context: RoundPromptContext, *, instructions: str = "") -> str:
        """What the round judge sees of a team: all its finished rounds, the ranking, and what the reader asks for."""
        past = TeamHistory(context, self._config, finished_rounds(context.round_history), context.store or self._store)
        return self._fill(JudgmentPrompt, past, {"instructions": instructions})

    def build_evaluator_prompt(
        self,
        context: EvaluatorPromptContext,
        *,
        points: Sequence[str] = (),
        instructions: str = "",
        execution_id: str | None = None,
    ) -> str:
        """What a metric's judge sees: query, instructions, submission, the plan's points; no names and no ranking."""
        own = {"points": [*points], "instructions": instructions, "metric": "", "rubric": ""}
        values = MetricPrompt.model_validate(context.model_dump() | own)
        return self._show(values, self._mark_for(execution_id))

    def build_reflector_prompt(
        self,
        dataset: str,
        *,
        theme: str,
        rounds: Sequence[Mapping[str, Any]],
        bullets: Sequence[Bullet] = (),
        execution_id: str | None = None,
    ) -> str:
        """What the reflector sees of a run; see `RoundReflectedOn` for what a round holds."""
        values = ReflectorPrompt(
            dataset=dataset,
            theme=theme,
            rounds=[RoundReflectedOn.model_validate(each) for each in rounds],
            bullets=[ShownBullet.of(bullet) for bullet in bullets],
        )
        return self._show(values, self._mark_for(execution_id))

    def build_curator_prompt(
        self,
        dataset: str,
        insights: Sequence[Insight],
        bullets: Sequence[Bullet],
        sections: Sequence[PlaybookSection],
        *,
        execution_id: str | None = None,
    ) -> str:
        """What the curator sees: all bullets where they fit the budget, else those nearest to the insights."""
        mark = self._mark_for(execution_id)
        without = self._show(CuratorPrompt.of(dataset, insights, [], sections), mark)
        room = self._config.estimated_prompt_tokens - estimate_tokens(without)
        fitting = nearest(bullets, insights, tokens=room)
        return self._show(CuratorPrompt.of(dataset, insights, fitting, sections), mark)

    def _fill(self, kind: type[JudgmentPrompt], past: TeamHistory, own: Mapping[str, str]) -> str:
        """The prompt with the worthiest pieces that fit its budgets; what is always shown may exceed them."""
        mark = self._mark_for(past.context.execution_id)
        position = "" if past.ranking is None else self._show(past.position(), mark)
        always = {**own, **past.always(), "team_position_message": position}
        feedback_tokens = estimate_tokens(past.latest_feedback)
        most_tokens = self._config.estimated_prompt_tokens + estimate_tokens("".join(own.values())) + feedback_tokens
        history_tokens = self._config.submission_history_tokens + feedback_tokens

        @cache
        def render(selection: Selection) -> tuple[str, int, int]:
            """The prompt, and the tokens of its history and of all of it."""
            rounds, leaderboard = past.history(selection), past.leaderboard(selection)
            values: dict[str, object] = {
                "history": rounds.history,
                "leaderboard": leaderboard,
                "submission_history": (history := self._show(rounds, mark)),
                "ranking_table": self._show(RankingPart(leaderboard=leaderboard), mark) if leaderboard else "",
            }
            if kind is BriefPrompt:
                values["playbook_bullets"] = past.lessons(selection)
            prompt = self._show(kind.model_validate(always | values), mark)
            return prompt, estimate_tokens(history), estimate_tokens(prompt)

        def fits(selection: Selection) -> bool:
            _, of_history, of_all = render(selection)
            return of_history <= history_tokens and of_all <= most_tokens

        return render(fill(past.worth, fits))[0]

    def _show(self, values: PromptValues, mark: str) -> str:
        return self._library.show(values, language=self._language, mark=mark)

    def _mark_for(self, execution_id: str | None) -> str:
        return self._mark or (mark_of(execution_id) if execution_id else self._random_mark)
