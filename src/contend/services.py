"""Services: the container. It builds each live thing once, from settings; tests swap any part."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from contend.errors import DraftError, InputError, StoreError
from contend.extensions import GIVE_AGAIN, Extensions, MetricFunction, metric_in_file, with_metrics
from contend.graph_teams import TeamGraphs
from contend.learning.curator import CuratorAgent
from contend.learning.graph import LearnNodes
from contend.learning.reflector import ReflectorAgent
from contend.llm import DEFAULT_CONTEXT_TOKENS, Model, profile_of
from contend.llm.budget import Ledger
from contend.llm.models import LanguageModels, RoleModel
from contend.models import events
from contend.models.evaluation import Submission
from contend.models.events import Event
from contend.models.options import MetricConfig, ResolvedOptions, Role, RunOptions, TeamConfig
from contend.models.record import Language
from contend.prompts import PromptBuilderSettings, PromptLibrary, UserPromptBuilder, local_now
from contend.registry import Function, load_object
from contend.run_context import RunContext, options_file
from contend.settings import RunSetup, Settings, load_settings, resolve_options
from contend.settings.files import Config, load_config
from contend.sources.source_set import SourceSet
from contend.stores import DocumentStore, RecordDocuments
from contend.stores.playbooks import PlaybookStore
from contend.stores.record import RecordStore
from contend.text import WORDS, shown_score

_T = TypeVar("_T")


class Services:
    """Everything live that nodes use. Opens nothing before it is needed; config and prompts are read at once."""

    def __init__(self, settings: Settings, *, served: bool = False, clock: Callable[[], datetime] = local_now) -> None:
        """Read config, prompts and the recording, if one is played. Blocking: call it in a thread from a running loop.

        `served`: runs are asked for by clients that may not read whatever this process may.

        Raises:
            InputError: a config file, prompt or recording is not usable.
        """
        folder = settings.folder
        self.settings = settings
        self.folder = folder
        self.config: Config = load_config(folder)
        self.templates = PromptBuilderSettings.load(folder)
        self.library = PromptLibrary(folder, self.templates, clock=clock)
        self.record = RecordStore(folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        self.documents = DocumentStore(folder / "documents")
        self.submissions = RecordDocuments(Submission, self.documents)
        self.playbooks = PlaybookStore(folder / "playbooks")
        self._objects: dict[str, object] = {}
        self.extensions = Extensions()
        """What a caller brings to this container as objects."""
        self._plain: Services | None = None
        """The container without them."""
        self._built: dict[Callable[[Services], Any], Any] = {}
        self.models = LanguageModels(
            settings,
            self.config.models,
            self.library,
            self.function,
            ledger_of=self._ledger,
            context_of=self._context,
        )
        self.graphs = TeamGraphs(folder)
        self.run_folder = folder / "documents" / "runs"
        self.runs: dict[str, RunContext] = {}
        """The executions that run in this process, by id."""
        self.now: Callable[[], float] = time.monotonic
        self.sources = SourceSet(
            self.config.sources,
            settings,
            self._object,
            own_documents=self.config.options.documents or [],
            served=served,
            tell=self.tell,
            language_of=self._language_of,
        )

    def extended(self, extensions: Extensions) -> "Services":
        """A copy with a caller's objects. It shares stores, models and open runs with this container.

        Raises:
            InputError: as `Extensions.add_to`.
        """
        if extensions == Extensions():
            return self
        plain = self._plain or self
        more = copy(plain)
        more._plain = plain  # noqa: SLF001 - a copy of its own
        more.extensions = self.extensions | extensions
        more.config = more.extensions.add_to(plain.config)
        more.sources = plain.sources.extended(more.extensions.sources)
        more.graphs = plain.graphs.extended(more.extensions.teams)
        more._built = {}  # noqa: SLF001 - a copy of its own
        return more

    def once(self, build: Callable[["Services"], _T]) -> _T:
        """What is built on this container, such as a graph, at its first use."""
        if build not in self._built:
            self._built[build] = build(self)
        built: _T = self._built[build]
        return built

    # Runs

    def open_run(self, execution_id: str, options: ResolvedOptions, *, goes_on: bool = False) -> RunContext:
        """An execution that begins, or goes on in this process."""
        run = RunContext(
            execution_id=execution_id,
            options=options,
            record=self.record,
            templates=self.templates,
            library=self.library,
            language_model=self.models.by_name,
            now=self.now,
            folder=self.run_folder,
            goes_on=goes_on,
            recorded_seen=self.models.recording.seen if self.models.recording else lambda _team, _round: None,
        )
        self.runs[execution_id] = run
        return run

    def _language_of(self, execution_id: str) -> Language:
        """The language of an execution that runs in this process."""
        run = self.runs.get(execution_id)
        return run.options.language if run else "en"

    async def run(self, state: Mapping[str, Any]) -> RunContext:
        """The execution that a node works for, by its state.

        Raises:
            StoreError: this process goes on with it, and its options or the record can't be read.
        """
        execution_id = state["execution_id"]
        if execution_id not in self.runs:
            options = await self._options_of(state)
            # Branches come at the same time; whoever read the options first has opened it.
            if execution_id not in self.runs:
                self.open_run(execution_id, options, goes_on=True)
        run = self.runs[execution_id]
        await run.wait_for_record()
        return run

    async def _options_of(self, state: Mapping[str, Any]) -> ResolvedOptions:
        # Branches, such as a search or a metric, are sent no options: they find them among the run's documents.
        if "options" in state:
            return ResolvedOptions.model_validate(state["options"])
        file = options_file(self.run_folder, state["execution_id"])
        try:
            return ResolvedOptions.model_validate_json(await asyncio.to_thread(file.read_bytes))
        except OSError as error:
            raise StoreError(f"the run's options {file} cannot be read: {error.strerror or error}") from error

    def resolve(self, options: RunOptions, *, theme: str = "") -> RunSetup:
        """Every option of a run here, settled; without a theme those of any.

        Raises:
            InputError: an unknown team, unusable rounds or weights.
        """
        has_model = self.models.are_set()
        setup = resolve_options(self.config, options, theme=theme, has_language_model=has_model)
        evaluator = with_metrics(setup.options.evaluator, [*self.extensions.metrics.values()])
        return setup._replace(options=setup.options.model_copy(update={"evaluator": evaluator}))

    def close_run(self, execution_id: str) -> None:
        """Let go of an execution that ended or waits; an unknown one is no error."""
        if run := self.runs.pop(execution_id, None):
            run.close()

    def tell(self, event: Event) -> None:
        """Send an event to whoever streams the run, and keep it for those who come later."""
        # Slow to import, and needed only inside a run.
        from langchain_core.messages import AIMessageChunk  # noqa: PLC0415 - see above
        from langgraph.config import get_stream_writer  # noqa: PLC0415 - see above

        from contend.langgraph_compat import show_message  # noqa: PLC0415 - see above

        run = self.runs.get(event.execution_id)
        event = event.model_copy(update={"spent": run.ledger.usage}) if run else event
        get_stream_writer()(event.model_dump(mode="json"))
        if run and (line := progress_line(event, run.options.language)):
            # One message that grows: chats join what has the same id, and drop it for the state's at the next step.
            show_message(AIMessageChunk(content=f"- {line}\n", id=f"progress-{event.execution_id}", name="progress"))
        self.record.save_event(event)

    def _ledger(self, execution_id: str) -> Ledger:
        """What is learned from rounds that no run of this process played has no budget."""
        run = self.runs.get(execution_id)
        return run.ledger if run else Ledger()

    def _context(self, name: str, execution_id: str) -> int:
        run = self.runs.get(execution_id)
        return profile_of(name, run.options).tokens if run else DEFAULT_CONTEXT_TOKENS

    def model_of(self, role: Role, execution_id: str) -> Model:
        """The model that plays a role in an execution; in one that no run of this process opened, the configured."""
        run, models = self.runs.get(execution_id), self.config.models
        default = models.roles.get(role, models.default)
        return self.models.by_name(run.options.models.get(role, default) if run else default)

    # Learning

    @cached_property
    def reflector(self) -> ReflectorAgent:
        return ReflectorAgent(
            RoleModel("reflector", self.model_of),
            lambda execution_id: self._context(self.model_of("reflector", execution_id).name, execution_id),
        )

    @cached_property
    def curator(self) -> CuratorAgent:
        builder = UserPromptBuilder(self.templates, library=self.library)
        sections = self.config.files["config/sections.yaml"]
        return CuratorAgent(RoleModel("curator", self.model_of), builder, self.playbooks, section_file=sections)

    @cached_property
    def learn_nodes(self) -> LearnNodes:
        return LearnNodes(self.reflector, self.curator, self.documents, self.close_run)

    # Prompts

    def stance(self, team: TeamConfig, language: Language, *, sources: Sequence[str]) -> str:
        """How a team goes about it: the words in its config, else its prompt file, else none.

        `sources`: those that its run uses.
        """
        if team.stance or f"stance/{team.team_id}" not in self._prompt_names:
            return team.stance
        return self.library.render(f"stance/{team.team_id}", {"sources": sources}, language=language, mark="")

    def rubric(self, metric: MetricConfig, language: Language) -> str:
        """The rubric of a metric by model.

        Raises:
            PromptError: it names a file that is not there.
        """
        rubric = metric.rubric or metric.name
        if not re.fullmatch(r"[\w-]+", rubric):
            return rubric
        return self.library.render(f"rubrics/{rubric}", {}, language=language, mark="")

    def function(self, name: str) -> Function:
        """A function of the user's own, named `module:function`.

        Raises:
            InputError: there is none.
        """
        function = self._object(name)
        if not callable(function):
            raise InputError(f"function {name!r} is a {type(function).__name__}, not a function")
        return function

    def metric(self, config: MetricConfig) -> MetricFunction[Any]:
        """A metric of the user's own, of a file or given as an object. Blocking, where its file is not loaded.

        Raises:
            InputError: there is none, or it can't be called as one.
        """
        name = self._metric_function(config)
        if name is not None:
            return metric_in_file(self._object(name), config.name, name)
        if config.name not in self.extensions.metrics:
            raise InputError(f"metric {config.name!r} is an object of code: {GIVE_AGAIN}")
        return self.extensions.metrics[config.name]

    def has_metric(self, config: MetricConfig) -> bool:
        """Whether a metric of the user's own is given as an object, or named in a file."""
        return config.name in self.extensions.metrics or self._metric_function(config) is not None

    def _metric_function(self, config: MetricConfig) -> str | None:
        """Where a metric's function is, as `module:attribute`: as in its run's options, else as in the workspace."""
        entries = {each.name: each.function for each in self.config.evaluator.metrics}
        return config.function or entries.get(config.name)

    def _object(self, name: str) -> object:
        if name not in self._objects:
            self._objects[name] = load_object(self.folder, name)
        return self._objects[name]

    @cached_property
    def _prompt_names(self) -> frozenset[str]:
        return frozenset(self.library.names())

    # Documents

    async def submission(self, document: str | None) -> Submission | None:
        return None if document is None else await self.require_submission(document)

    async def require_submission(self, document: str | None) -> Submission:
        """A submission by its document id.

        Raises:
            DraftError: there is none.
            StoreError: the document cannot be read.
        """
        if document is None:
            raise DraftError("the research ended without a submission")
        return await self.submissions.get(document)

    async def aclose(self) -> None:
        """Close stores and connections; queued rows are written first.

        Raises:
            StoreError: some could not be written.
        """
        try:
            await self.record.close()
        finally:
            await self.models.aclose()


@asynccontextmanager
async def open_services(
    settings: Settings | None = None, *, services: Services | None = None, extensions: Extensions | None = None
) -> AsyncIterator[Services]:
    """A container for a while, without settings by those of environment and `.env`; or the caller's, which stays open.

    Raises:
        InputError: as `Services` and `Services.extended`, or a setting is not usable.
    """
    if services is not None:
        yield services.extended(extensions or Extensions())
        return
    services = await asyncio.to_thread(lambda: Services(settings or load_settings()))
    try:
        yield services.extended(extensions or Extensions())
    finally:
        await services.aclose()


def progress_line(event: Event, language: Language) -> str:
    """What a chat says of an event; "" of those that it does not tell."""
    values = event.model_dump() | {"round": getattr(event, "round_number", 0)}
    if isinstance(event, events.RunStarted):
        values["teams"] = WORDS[language].between.join(event.teams)
    if isinstance(event, events.RoundScored | events.WinnerPicked):
        values["score"] = shown_score(event.score, language)
    if isinstance(event, events.WinnerPicked):
        values["published_score"] = shown_score(event.published_score, language)
    return WORDS[language].progress.get(_line_name(event), "").format_map(values)


def _line_name(event: Event) -> str:
    match event:
        case events.StepDone(step="plan" | "write" as step):
            return step
        case events.TeamDone(error_message=str()) if event.status != "completed":
            return "team_failed"
        case events.ReportMerged(failure=""):
            return "report_merged"
        case events.WinnerPicked(published="editor"):
            return "merge_picked"
        case events.StepChosen() | events.WinnerPicked(team_id=str()) | events.RunStarted() | events.RoundScored():
            return event.type
    return ""
