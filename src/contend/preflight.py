"""Before anything is spent: all that can be refused of a run is, by `check_run`, once; faults are InputErrors."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_config
from langgraph.errors import NodeError
from langgraph.types import Command
from typing_extensions import TypedDict

from contend.criteria import is_judged_by_criteria
from contend.errors import ContendError, InputError
from contend.extensions import Extensions
from contend.graph_teams import TeamGraphs
from contend.langgraph_compat import known_cause
from contend.learning.curator import read_sections
from contend.llm.budget import require_price
from contend.llm.recording import Recording
from contend.models.evaluation import CODE_METRIC_NAMES, CriteriaFile
from contend.models.options import DEPTHS, ResolvedOptions, RunOptions, TeamConfig, run_options
from contend.models.record import QUESTION_CHARACTERS, Language, Record
from contend.models.task import checked_theme
from contend.prompts import PromptLibrary
from contend.readiness import NotReady, check_contexts, check_ready, models_of_run
from contend.registry import team_kind
from contend.services import Services
from contend.settings import RunSetup, environment_options
from contend.settings.files import Config, criteria_fingerprint, read_criteria
from contend.sources.source_set import SourceSet
from contend.stores.checkpoints import check_checkpointer
from contend.text import WORDS, clean, estimate_tokens, reason_text, shorten

SEARCH = TeamConfig(team_id="search", name="Search", kind="search", sources=["local"])
"""The team of a run without a language model, where the workspace has none of its kind."""

ENOUGH_STEPS = 10_000
"""More steps than any of our graphs takes; each bounds its own loops."""
CONTEST_STEPS = 25
"""Most steps of a contest, not counting the steps within its teams."""
_STEPS_OF_ROUND, _STEPS_OF_LOOP = 10, 25

SEARCH_NEEDS = "sources: without a language model contend searches documents of your own, and there are none"


class Opening(NamedTuple):
    """A run that may begin. `request` is what the caller set; `sources_off` gives each absent source's reason.

    `left_out` are lines on documents that will not be searched, as far as a listing tells; `unsure` on what the
    endpoint does not tell.
    """

    theme: str
    request: RunOptions
    options: ResolvedOptions
    teams: list[TeamConfig]
    sources_off: dict[str, str]
    warnings: list[str]
    fingerprint: dict[str, str]
    left_out: list[str]
    unsure: list[str]


_CHECKED_OPENING: ContextVar[Opening | None] = ContextVar("checked", default=None)


class OpeningUpdate(TypedDict):
    """What a graph that opens a run writes into its state."""

    theme: str
    messages: list[AnyMessage]
    asked: dict[str, str]
    options: dict[str, Any]
    execution_id: str
    sources_off: dict[str, str]


class ChatQuestion(NamedTuple):
    """What a graph is asked, by theme or in a chat. `theme` is None where a message is newer.

    `added` is the question as a message, if it was asked as a theme: each answer in a chat stands below its question.
    `asked` is kept in state: it tells the next question from this.
    """

    theme: str | None
    messages: Sequence[AnyMessage]
    added: list[AnyMessage]
    asked: dict[str, str]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "ChatQuestion":
        """The question in a graph's state. On a thread that goes on, the theme there may be the last run's."""
        theme, messages, before = state.get("theme"), state.get("messages", []), state.get("asked", {})
        last = _last_human(messages)
        message = (last.id or "") if last else ""
        is_newer = message != before.get("message")
        new_theme = None if is_newer and before.get("theme") == (theme or "") else theme
        words = shorten(clean(str(new_theme or "")[: QUESTION_CHARACTERS + 1]).strip(), QUESTION_CHARACTERS)
        added: list[AnyMessage] = []
        if words and not (last and is_newer and str(last.text).strip() == words):
            message = str(uuid4())
            added = [HumanMessage(words, id=message)]
        return cls(new_theme, messages, added, {"theme": theme or "", "message": message})


def opening_update(question: ChatQuestion, opening: Opening, execution_id: str) -> OpeningUpdate:
    """A run that begins: what it is asked, and all that is settled of it."""
    return OpeningUpdate(
        theme=opening.theme,
        messages=question.added,
        asked={**question.asked, "theme": opening.theme},
        options=opening.options.model_dump(mode="json"),
        execution_id=execution_id,
        sources_off=opening.sources_off,
    )


def refuse(state: Mapping[str, Any], error: NodeError, fresh: Mapping[str, Any]) -> Command[Literal["__end__"]]:
    """Bad input ends a graph that is opened on its own with one line, and with `fresh` for what its keys held."""
    why, question = known_cause(error, InputError), ChatQuestion.of(state)
    update = {**fresh, "asked": question.asked, "messages": [*question.added, AIMessage(str(why))]}
    return Command(update=update, goto="__end__")


def check_steps(least: int) -> None:
    """Whether a graph may take the steps that it may need.

    Raises:
        InputError: its caller's `recursion_limit` is lower.
    """
    limit = get_config().get("recursion_limit", ENOUGH_STEPS)  # absent where nobody set it
    if limit < least:
        raise InputError(f"recursion_limit: {limit} steps may be too few for this run: set {least}, or leave it out")


def steps_alone(options: ResolvedOptions) -> int:
    """Steps that a team or a research on its own may take."""
    return max(options.max_rounds * _STEPS_OF_ROUND, options.max_iterations * _STEPS_OF_LOOP + options.max_steps * 3)


def problem_alone(state: Mapping[str, Any], error: NodeError) -> str:
    """What a graph that is opened on its own tells of a failure; one within another raises it."""
    why = known_cause(error, ContendError)
    if not is_alone(state):
        raise why
    return str(why)


def answer(execution_id: str, text: str) -> AIMessage:
    """A run's one message in its chat. Told again, it takes its own place."""
    return AIMessage(text, id=f"answer-{execution_id}")


def is_alone(state: Mapping[str, Any]) -> bool:
    """Whether a graph is opened on its own, by nobody who passes it options."""
    return "options" not in state or "asked" in state


async def open_question(services: Services, question: ChatQuestion, context: Record | None) -> Opening:
    """`check_run` with what a graph is asked, unless an entry point has checked it.

    Raises:
        InputError: as `check_run`.
        StoreError: as `check_run`.
    """
    options, opening = run_options(context), _CHECKED_OPENING.get()
    if opening and (opening.theme, opening.request) == (question_of(question.theme, question.messages), options):
        return opening
    return await check_run(services, question.theme, question.messages, options)


@contextmanager
def checked_run(opening: Opening) -> Iterator[None]:
    """A run of which an entry point knows already that it may begin: it refuses before it takes lease or thread."""
    token = _CHECKED_OPENING.set(opening)
    try:
        yield
    finally:
        _CHECKED_OPENING.reset(token)


async def check_run(
    services: Services, theme: str | None, messages: Sequence[AnyMessage], context: RunOptions | None
) -> Opening:
    """Check all that can be known before the first call: what is asked, and what the run finds here.

    Raises:
        InputError: names the field, the value and the remedy; NotReady: folder or endpoint can't be used.
        StoreError: checkpoints couldn't be kept.
    """
    request = context or RunOptions()
    question = question_of(theme, messages)
    setup = _settle_kind(services.resolve(request, theme=question))
    _check_own(services.extensions, setup)
    documents = [str(services.settings.locate(path)) for path in setup.options.documents]
    here = {"documents": documents, **_recording_options(services.models.recording, request, setup.options)}
    setup = setup._replace(options=setup.options.model_copy(update=here))
    written = await asyncio.to_thread(_written_criteria, services.folder, services.library, setup.options)
    setup = setup._replace(options=setup.options.model_copy(update={"criteria_file": written}))
    await asyncio.to_thread(_check_files, services, setup)
    store_warnings = await check_checkpointer(services.settings)
    on, off = await _check_sources(services.sources, setup)
    teams = _teams_with_sources(setup.teams, on, by_caller=request.teams is not None)
    if not setup.teams_named:
        teams = _entering(teams, on, setup.options)
    teams = [team.model_copy(update={"sources": on}) if _takes_every_source(team) else team for team in teams]
    graph_warnings = await _check_graphs(services.graphs, teams)
    contexts = await services.models.contexts(models_of_run(setup.options, teams))
    if not setup.options.recorded:
        check_contexts(contexts)
    options = setup.options.model_copy(
        update={
            "sources": on,
            "round_prompt": services.templates.round_prompt,
            "contexts": {name: context.tokens for name, context in contexts.items()},
        }
    )
    _check_length(question, options)
    unsure, warning = await check_ready(services, options, teams), judges_warning(options, teams, options.language)
    return Opening(
        theme=question,
        request=request,
        options=options,
        teams=teams,
        sources_off={name: reason_text(reason, options.language) for name, reason in off.items()},
        warnings=[*([warning] if warning and not options.recorded else []), *graph_warnings, *store_warnings],
        fingerprint=await asyncio.to_thread(
            config_fingerprint, services.config, services.library, services.folder, options
        ),
        left_out=await services.sources.left_out(options.documents, read=False, language=options.language)
        if "local" in on
        else [],
        unsure=unsure,
    )


def _check_length(question: str, options: ResolvedOptions) -> None:
    """Question and instructions stand in each prompt, beside passages and drafts."""
    tokens = estimate_tokens(question) + estimate_tokens(options.instructions)
    name, context = min(options.contexts.items(), key=lambda each: each[1], default=("", None))
    if context is not None and tokens > context // 2:
        raise InputError(
            f"theme and instructions have about {tokens:,} tokens, and model {name!r} reads {context:,}: at most half"
            " of that may be theirs; shorten them, or choose a model that reads more ([context] in config/models.toml)"
        )


def _recording_options(recording: Recording | None, request: RunOptions, options: ResolvedOptions) -> dict[str, object]:
    """What follows for the options from the recording that is played, if one is: its models play all roles."""
    if recording is None:
        return {}
    if request.model or request.models:
        raise InputError(
            f"model {request.model or request.models}: the replies of {recording.file} are played, and no model is "
            "asked: leave --model or the replay out"
        )
    summary = recording.summary
    return {"models": {**dict.fromkeys(options.models, summary.model), **recording.models}, "recorded": summary}


def question_of(theme: str | None, messages: Sequence[AnyMessage] = ()) -> str:
    """The question: the theme, else a chat's last human message.

    Raises:
        InputError: none, or one over 8,000 characters.
    """
    if theme is not None and str(theme).strip():
        return checked_theme(theme)
    last = _last_human(messages)
    return checked_theme(str(last.text) if last else "")


def _last_human(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    return next((message for message in reversed(messages) if message.type == "human"), None)


def config_fingerprint(
    config: Config, library: PromptLibrary, folder: Path, options: ResolvedOptions
) -> dict[str, str]:
    """What a resume compares: config files in effect, people's criteria, prompts, the environment's depth. Blocking."""
    depth = environment_options().depth
    return {
        **config.fingerprint,
        **criteria_fingerprint(folder, options.criteria),
        "prompts": library.fingerprint(options.language),
        **({"CONTEND_DEPTH": depth} if depth else {}),
    }


def _written_criteria(folder: Path, library: PromptLibrary, options: ResolvedOptions) -> CriteriaFile | None:
    """People's criteria, if the run names some; a search has no judges.

    Raises:
        InputError: their file is not usable, or no judge of this workspace goes by criteria.
    """
    if not options.criteria:
        return None
    written = read_criteria(folder, options.criteria)
    if options.models and not is_judged_by_criteria(library, options):
        raise InputError(
            f"criteria = {options.criteria!r}: no judge here goes by criteria: metric coverage is left out or has a "
            "rubric or model of its own, or prompts/evaluator/metric is your own; change that, or leave criteria out"
        )
    return written if options.models else None


def _check_files(services: Services, setup: RunSetup) -> None:
    options = setup.options
    if options.learn:
        # Learning reads the sections when all else is paid for.
        read_sections(services.config.files["config/sections.yaml"], dataset="")
    services.sources.get("local", options.documents)
    services.library.check(options.language)
    for metric in options.evaluator.metrics:
        if metric.kind == "code" and metric.name not in CODE_METRIC_NAMES:
            names = ", ".join(CODE_METRIC_NAMES)
            raise InputError(f"evaluator.metrics: no metric by code is named {metric.name!r}; choose from {names}")
        if metric.kind == "model":
            services.rubric(metric, "en")
        if metric.kind == "python":
            services.metric(metric)
    if options.max_usd is not None and not options.recorded:
        require_price(models_of_run(options, setup.teams), services.config.models.prices)


def _settle_kind(setup: RunSetup) -> RunSetup:
    """A contest of teams with a language model, or a search: the one team of that kind, one round.

    Raises:
        InputError: teams of both kinds are named, or teams that need a language model where there is none.
    """
    searching = [team for team in setup.teams if not team_kind(team.kind).may_win]
    others = [team for team in setup.teams if team_kind(team.kind).may_win]
    by_name = setup.teams_named
    if setup.options.models and not (by_name and searching):
        return setup._replace(teams=others)
    if by_name and others and searching:
        raise InputError(f"teams: {searching[0].team_id} only searches and competes with nobody: name it alone")
    if by_name and others:
        lack = f"no OPENAI_API_KEY or OPENAI_BASE_URL is set, and team {others[0].team_id} needs a language model"
        raise NotReady(lack, "set one, or name no team for a search of your documents")
    once = {"models": {}, "min_rounds": 1, "max_rounds": 1, "mends_only": False, "learn": False, "synthesis": False}
    options = setup.options.model_copy(update=once)
    return setup._replace(options=options, teams=searching[:1] or [SEARCH], teams_named=True)


def _check_own(extensions: Extensions, setup: RunSetup) -> None:
    """Refuse a caller's sources and metrics in a run without a language model, which would ignore them."""
    if not setup.options.models and (names := [*extensions.sources, *extensions.metrics]):
        raise InputError(
            f"{', '.join(names)}: only teams with a language model search sources of your own and are scored: set "
            "OPENAI_API_KEY or OPENAI_BASE_URL and name another team than search, or leave them out"
        )


def _source_names(factories: Collection[str], setup: RunSetup) -> list[str]:
    """Those of the run that a team searches; one that there is not is among them, to be refused."""
    names = setup.options.sources or [*factories]
    searchable = {name for team in setup.teams for name in team.sources}
    if any(_takes_every_source(team) for team in setup.teams):
        searchable |= {*setup.options.sources, *(["local"] if setup.options.documents else [])}
    return [name for name in names if name in searchable or name not in factories]


def _takes_every_source(team: TeamConfig) -> bool:
    """Whether it is a graph of this process that names none of its own: it may use those that the run names."""
    return team.kind == "graph" and not team.sources and not team.url


async def _check_sources(source_set: SourceSet, setup: RunSetup) -> tuple[list[str], dict[str, str]]:
    names = _source_names(source_set.factories, setup)
    documents = setup.options.documents
    # In a thread: a source of another kind than local documents is built here, and looks at their paths, too.
    sources = await asyncio.to_thread(lambda: [source_set.get(name, documents) for name in names])
    reasons = dict(zip(names, await asyncio.gather(*(source.check() for source in sources)), strict=True))
    off = {name: reason for name, reason in reasons.items() if reason is not None}
    on = [name for name in names if name not in off]
    field = "`documents`" if source_set.served else "`documents` (--docs)"
    field += " that can be read" if setup.options.documents else ""
    if not on and not setup.options.models:
        why = off.get("local", "it is not among the run's sources")
        raise InputError(f"{SEARCH_NEEDS} ({why}): give some as {field}, or set OPENAI_API_KEY or OPENAI_BASE_URL")
    if not on and all(team.sources for team in setup.teams):
        why = "; ".join(f"{name}: {reason}" for name, reason in off.items()) or "no team uses one of them"
        raise InputError(f"sources: none is on ({why}); give {field}, or see `contend doctor`")
    return on, off


def _teams_with_sources(teams: Sequence[TeamConfig], on: Sequence[str], *, by_caller: bool) -> list[TeamConfig]:
    """Teams that can work; one that the caller named may use whatever is on."""
    able = [team for team in teams if _has_source(team, on, by_caller=by_caller)]
    if not able:
        raise InputError(f"teams: none of {', '.join(team.team_id for team in teams)} has a source that is on")
    if by_caller and len(able) < len(teams):
        missing = ", ".join(team.team_id for team in teams if team not in able)
        raise InputError(f"teams: {missing} has no source that is on; leave it out or turn its source on")
    return able


def _entering(teams: Sequence[TeamConfig], on: Sequence[str], options: ResolvedOptions) -> list[TeamConfig]:
    """As many teams as the depth says, best fit first.

    First those made for own documents, where there are some, then those whose other needs are on, then the rest. With
    the depth `auto` the first team of the config comes before them.
    """
    of_documents = [team for team in teams if "local" in team.needs and "local" in on]
    with_needs = [team for team in teams if team.needs and team not in of_documents]
    others = [team for team in teams if not team.needs]
    by_fit = [*of_documents, *with_needs, *others]
    first = teams[:1] if options.depth == "auto" else []
    return [*first, *(team for team in by_fit if team not in first)][: DEPTHS[options.depth].teams]


def _has_source(team: TeamConfig, on: Sequence[str], *, by_caller: bool) -> bool:
    if not team.sources:  # a graph that searches by itself
        return True
    names = team.sources if by_caller or not team.needs else team.needs
    return any(name in on for name in names)


async def _check_graphs(graphs: TeamGraphs, teams: Sequence[TeamConfig]) -> list[str]:
    """Whether the graphs that teams bring can be loaded or asked; a line for each whose cost nobody is told.

    Raises:
        InputError: one cannot; names the team, the value and the remedy.
    """
    with_graphs = [team for team in teams if team.kind == "graph"]
    for team in with_graphs:
        graphs.forget(team)
    loaded = await asyncio.gather(*(graphs.get(team) for team in with_graphs))
    return [
        f"team {team.team_id} runs on {team.url}: what its model calls cost is not known, and no budget holds them"
        for team, graph in zip(with_graphs, loaded, strict=True)
        if not graph.counts
    ]


def judges_warning(options: ResolvedOptions, teams: Sequence[TeamConfig], language: Language) -> str | None:
    """What to say where a language model judges what it wrote itself; None where none does."""
    if not options.models:
        return None
    writers = {team.models.get("writer", options.models["writer"]) for team in teams if team.kind != "graph"}
    by_model = [metric for metric in options.evaluator.metrics if metric.kind == "model"]
    judges = {metric.model or options.models["evaluator"] for metric in by_model}
    if len(teams) > 1:
        judges.add(options.models["evaluator"])  # compares them in a near tie
    if not (both := judges & writers):
        return None
    return WORDS[language].notes.own_judges.format(models=", ".join(sorted(both)))
