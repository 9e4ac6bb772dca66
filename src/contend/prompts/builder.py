"""The prompts of rounds: what a team, its judges and the learning loop are shown, within a budget of tokens."""

import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from contend.models.playbook import Bullet, Insight, Section
from contend.models.record import Language
from contend.models.round import (
    EvaluatorPromptContext,
    RankingStore,
    RoundPromptConfig,
    RoundPromptContext,
    RoundState,
)
from contend.prompts.history import fill, finished
from contend.prompts.lessons import curator_values, nearest, reflector_values
from contend.prompts.library import PromptLibrary, dataset_prompt
from contend.prompts.past import Chosen, Past
from contend.prompts.settings import PromptBuilderSettings
from contend.prompts.wrapping import Untrusted, mark_of
from contend.text import estimate_tokens


class _Shown(NamedTuple):
    prompt: str
    history: str


class UserPromptBuilder:
    """Makes prompts from contexts. Cheap to make: one for each run, with its language and limits.

    `store` serves contexts that bring none. Unless `mark` is given, delimiters carry the execution's mark, or one
    drawn with the builder where no execution is named. Text from outside stands between such delimiters.
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
        self._drawn = secrets.token_hex(4)

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

        Raises:
            PromptError: the template does not render.
        """
        rounds = finished(context.round_history, before=context.round_number)
        past = self._past(context, rounds, bullets, texts=texts)
        own = {
            "instructions": Untrusted(instructions, label="instructions"),
            "earlier_report": Untrusted(earlier, label="report"),
        }
        return self._filled("team/brief", past, own, free_tokens=estimate_tokens(instructions + earlier))

    def build_judgment_prompt(self, context: RoundPromptContext) -> str:
        """What the round judge sees of a team: all its finished rounds, and the ranking.

        Raises:
            PromptError: the template does not render.
        """
        return self._filled("judge/judgment", self._past(context, finished(context.round_history)), {})

    def build_evaluator_prompt(
        self,
        context: EvaluatorPromptContext,
        *,
        points: Sequence[str] = (),
        instructions: str = "",
        execution_id: str | None = None,
    ) -> str:
        """What a metric's judge sees: query, instructions, submission, the plan's points; no names and no ranking.

        Raises:
            PromptError: the template does not render.
        """
        values = {
            "user_query": Untrusted(context.user_query, label="query"),
            "submission": Untrusted(context.submission, label="submission"),
            "points": [Untrusted(point) for point in points],
            "instructions": Untrusted(instructions, label="instructions"),
            "passages": [],
            "metric": "",
            "rubric": "",
        }
        return self._render("evaluator/metric", values, self._mark_for(execution_id))

    def build_reflector_prompt(
        self,
        dataset: str,
        *,
        theme: str,
        rounds: Sequence[Mapping[str, Any]],
        bullets: Sequence[Bullet] = (),
        execution_id: str | None = None,
    ) -> str:
        """What the reflector sees of a run; see `reflector_values` for what a round holds.

        Raises:
            PromptError: the template does not render.
        """
        values = reflector_values(dataset, theme=theme, rounds=rounds, bullets=bullets)
        return self._render(dataset_prompt("reflector", dataset), values, self._mark_for(execution_id))

    def build_curator_prompt(
        self,
        dataset: str,
        insights: Sequence[Insight],
        bullets: Sequence[Bullet],
        sections: Sequence[Section],
        *,
        execution_id: str | None = None,
    ) -> str:
        """What the curator sees: all bullets where they fit the budget, else those nearest to the insights.

        Raises:
            PromptError: the template does not render.
        """
        name, mark = dataset_prompt("curator", dataset), self._mark_for(execution_id)
        without = self._render(name, curator_values(dataset, insights, [], sections), mark)
        room = self._config.estimated_prompt_tokens - estimate_tokens(without)
        fitting = nearest(bullets, insights, tokens=room)
        return self._render(name, curator_values(dataset, insights, fitting, sections), mark)

    def _past(
        self,
        context: RoundPromptContext,
        rounds: Sequence[RoundState],
        bullets: Sequence[Mapping[str, object]] = (),
        *,
        texts: bool = True,
    ) -> Past:
        store = context.store or self._store
        ranking = None if store is None else store.leaderboard(context.execution_id)
        return Past(context, self._config, rounds, ranking, bullets, texts)

    def _filled(self, name: str, past: Past, own: Mapping[str, object], *, free_tokens: int = 0) -> str:
        """The prompt with the worthiest pieces that fit its budgets; what is always shown may exceed them."""
        mark = self._mark_for(past.context.execution_id)
        position = "" if past.ranking is None else self._render("team/position", past.position(), mark)
        always = {**own, **past.always(), "team_position_message": position}
        told = estimate_tokens(past.latest_feedback)
        allowed = self._config.estimated_prompt_tokens + free_tokens + told
        history_tokens = self._config.submission_history_tokens + told

        @cache
        def shown(chosen: Chosen) -> _Shown:
            values = self._chosen(past, chosen, mark)
            return _Shown(self._render(name, always | values, mark), str(values["submission_history"]))

        def fits(chosen: Chosen) -> bool:
            prompt, history = shown(chosen)
            return estimate_tokens(history) <= history_tokens and estimate_tokens(prompt) <= allowed

        return shown(fill(past.worth, fits)).prompt

    def _chosen(self, past: Past, chosen: Chosen, mark: str) -> dict[str, object]:
        """The lists, cut to what was chosen, and their renderings."""
        history, leaderboard = past.history(chosen), past.leaderboard(chosen)
        ranking = self._render("team/ranking", {"leaderboard": leaderboard}, mark) if leaderboard else ""
        return {
            "history": history,
            "leaderboard": leaderboard,
            "submission_history": self._render("team/history", past.told(history, chosen), mark),
            "ranking_table": ranking,
            "playbook_bullets": past.lessons(chosen),
        }

    def _render(self, name: str, values: Mapping[str, object], mark: str) -> str:
        return self._library.render(name, values, language=self._language, mark=mark)

    def _mark_for(self, execution_id: str | None) -> str:
        return self._mark or (mark_of(execution_id) if execution_id else self._drawn)
