"""Services: the container. It builds each live thing once, from settings; tests swap any part."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from contend.errors import DraftError, InputError, StoreError
from contend.learning.curator import CuratorAgent
from contend.learning.nodes import LearnNodes
from contend.learning.reflector import ReflectorAgent
from contend.learning.sections import SectionFile
from contend.llm.budget import Ledger
from contend.llm.context import DEFAULT_CONTEXT_TOKENS, profile_of
from contend.llm.model import Model
from contend.llm.models import LanguageModels, RoleModel
from contend.llm.providers import Providers
from contend.models.events import DocumentsRead, Event
from contend.models.options import MetricConfig, ResolvedOptions, Role, TeamConfig
from contend.models.record import Language
from contend.models.research import Found
from contend.models.submission import Submission
from contend.prompts import PromptBuilderSettings, PromptLibrary, UserPromptBuilder, local_now
from contend.registry import Function, load_function
from contend.run_context import RunContext, options_file
from contend.settings import Config, Settings, environment_options, load_config
from contend.sources.arxiv import ArxivSource
from contend.sources.full_text import FullTexts
from contend.sources.kinds import source_factories
from contend.sources.local.documents import LocalDocuments
from contend.sources.local.library import CatalogueEntry
from contend.sources.source import Source
from contend.stores.documents import DocumentStore
from contend.stores.playbooks import PlaybookStore
from contend.stores.record import RecordStore
from contend.stores.record_documents import RecordDocuments
from contend.text import clean, shorten

_NEAREST_HITS = 200


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
        self.served = served
        self.config: Config = load_config(folder)
        self.templates = PromptBuilderSettings.load(folder)
        self.library = PromptLibrary(folder, self.templates, clock=clock)
        self.record = RecordStore(folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        self.documents = DocumentStore(folder / "documents")
        self.submissions = RecordDocuments(Submission, self.documents)
        self.playbooks = PlaybookStore(folder / "playbooks")
        self._functions: dict[str, Function] = {}
        self.models = LanguageModels(
            settings,
            self.config.models,
            self.library,
            Providers(self.config.models, settings, self.function),
            ledger_of=self._ledger,
            context_of=self._context,
        )
        self.run_folder = folder / "documents" / "runs"
        self.runs: dict[str, RunContext] = {}
        """The executions that run in this process, by id."""
        self.now: Callable[[], float] = time.monotonic
        self.source_factories = source_factories(self.config.sources, settings, self.function)
        self._sources: dict[tuple[str, tuple[str, ...]], Source] = {}

    # Runs

    def open_run(self, execution_id: str, options: ResolvedOptions, *, goes_on: bool = False) -> RunContext:
        """An execution that begins, or goes on in this process."""
        run = RunContext(
            execution_id,
            options,
            record=self.record,
            templates=self.templates,
            library=self.library,
            language_model=self.models.named,
            now=self.now,
            folder=self.run_folder,
            goes_on=goes_on,
        )
        self.runs[execution_id] = run
        return run

    async def run(self, state: Mapping[str, Any]) -> RunContext:
        """The execution that a node works for, by its state.

        Raises:
            StoreError: this process goes on with it, and its options or the record can't be read.
        """
        run = self.runs.get(state["execution_id"])
        if run is None:
            run = self.open_run(state["execution_id"], await self._options_of(state), goes_on=True)
        await run.recalled()
        return run

    async def _options_of(self, state: Mapping[str, Any]) -> ResolvedOptions:
        if "options" in state:
            return ResolvedOptions.model_validate(state["options"])
        file = options_file(self.run_folder, state["execution_id"])
        try:
            return ResolvedOptions.model_validate_json(await asyncio.to_thread(file.read_bytes))
        except OSError as error:
            raise StoreError(f"the run's options {file} cannot be read: {error.strerror or error}") from error

    def close_run(self, execution_id: str) -> None:
        """Let go of an execution that ended or waits; an unknown one is no error."""
        self.runs.pop(execution_id, None)

    def tell(self, event: Event) -> None:
        """Send an event to whoever streams the run, and keep it for those who come later."""
        from langgraph.config import get_stream_writer  # noqa: PLC0415 - slow to import, needed only inside a run

        run = self.runs.get(event.execution_id)
        told = event.model_copy(update={"spent": run.ledger.used}) if run else event
        get_stream_writer()(told.model_dump(mode="json"))
        self.record.save_event(told)

    def _ledger(self, execution_id: str) -> Ledger:
        """What is learned from rounds that no run of this process played has no budget."""
        run = self.runs.get(execution_id)
        return run.ledger if run else Ledger()

    def _context(self, name: str, execution_id: str) -> int:
        run = self.runs.get(execution_id)
        return profile_of(name, run.options).tokens if run else DEFAULT_CONTEXT_TOKENS

    def named(self, role: Role, execution_id: str) -> Model:
        """The model that plays a role in an execution; in one that no run of this process opened, the configured."""
        run, models = self.runs.get(execution_id), self.config.models
        default = models.roles.get(role, models.default)
        return self.models.named(run.options.models.get(role, default) if run else default)

    # Learning

    @cached_property
    def reflector(self) -> ReflectorAgent:
        return ReflectorAgent(RoleModel("reflector", self.named))

    @cached_property
    def curator(self) -> CuratorAgent:
        builder = UserPromptBuilder(self.templates, library=self.library)
        sections = SectionFile(self.config.files["config/sections.yaml"])
        return CuratorAgent(RoleModel("curator", self.named), builder, self.playbooks, sections=sections)

    @cached_property
    def learn_nodes(self) -> LearnNodes:
        return LearnNodes(self.reflector, self.curator, self.playbooks, self.documents, self.close_run)

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
        named = metric.rubric or metric.name
        if not re.fullmatch(r"[\w-]+", named):
            return named
        return self.library.render(f"rubrics/{named}", {}, language=language, mark="")

    def function(self, name: str) -> Function:
        """A function of the user's own, named `module:function`.

        Raises:
            InputError: there is none.
        """
        if name not in self._functions:
            self._functions[name] = load_function(self.folder, name)
        return self._functions[name]

    @cached_property
    def _prompt_names(self) -> frozenset[str]:
        return frozenset(self.library.names())

    # Sources

    def source(self, name: str, documents: Sequence[str]) -> Source:
        """A source by name; local documents by their paths, so that runs on the same folder share an index.

        Raises:
            InputError: no source has this name, or a document path does not exist or may not be read.
        """
        if name not in self.source_factories:
            raise InputError(f"sources: no source {name!r}; choose from {', '.join(self.source_factories)}")
        key = (name, tuple(documents) if name == "local" else ())
        if key not in self._sources:
            self._sources[key] = self.source_factories[name]([*map(self._located, documents)])
        return self._sources[key]

    def _located(self, named: str) -> Path:
        """Where a document lies; over a server only where its operator lets clients read.

        Raises:
            InputError: it lies elsewhere; says nothing of whether it is there.
        """
        path = self.settings.located(named)
        if self.served and not any(path.resolve().is_relative_to(folder) for folder in self._served_folders):
            raise InputError(
                f"documents: this server may not read {shorten(clean(named, single_line=True), 200)}: name files or "
                "folders of its workspace, or have the folder listed in its CONTEND_SERVED_FOLDERS"
            )
        return path

    @cached_property
    def _served_folders(self) -> list[Path]:
        """The workspace, the folders that the operator listed, and the documents of the operator's own options."""
        own = [*(environment_options().documents or []), *(self.config.options.documents or [])]
        named = [self.settings.located(path) for path in [*self.settings.served_folders, *own]]
        return [folder.resolve() for folder in [self.folder, *named]]

    def document_paths(self, documents: Sequence[str]) -> list[Path]:
        """Where a run's documents lie, to name what was found in them."""
        return [*map(self.settings.located, documents)]

    async def ready_source(self, name: str, documents: Sequence[str], execution_id: str) -> Source:
        """A source to search. Where it reads many documents first, those who follow the run are told how far it is.

        Raises:
            InputError: as `source` does.
        """
        source = self.source(name, documents)
        if isinstance(source, LocalDocuments):
            await source.read_all(
                lambda read, files: self.tell(DocumentsRead(execution_id=execution_id, read=read, files=files))
            )
        return source

    async def catalogue(self, documents: Sequence[str], execution_id: str) -> list[CatalogueEntry]:
        """The own documents as a planner sees them."""
        source = await self.ready_source("local", documents, execution_id)
        return await source.catalogue() if isinstance(source, LocalDocuments) else []

    async def nearest_documents(self, documents: Sequence[str], execution_id: str, query: str) -> list[str]:
        """The addresses of the own documents that answer a query best, best first."""
        source = await self.ready_source("local", documents, execution_id)
        return list(dict.fromkeys(hit.result.url for hit in await source.search(query, limit=_NEAREST_HITS)))

    async def whole_documents(self, documents: Sequence[str], execution_id: str, most_tokens: int) -> list[Found]:
        """All sections of the own documents in order; none where they take more than so many tokens together."""
        source = await self.ready_source("local", documents, execution_id)
        return await source.whole(most_tokens) if isinstance(source, LocalDocuments) else []

    @cached_property
    def full_texts(self) -> FullTexts:
        """Pages and papers in full, read once for all teams."""
        settings = self.settings
        return FullTexts(ArxivSource(settings.arxiv_base_url), allowed=settings.fetch_allow)

    async def left_out(self, documents: Sequence[str], *, read: bool) -> list[str]:
        """The documents that are not searched, a line for each reason. Without `read`, as far as a listing tells."""
        try:
            source = self.source("local", documents)
        except InputError as error:  # they are gone since the run began
            return [str(error)]
        if not isinstance(source, LocalDocuments):
            return []
        if read:
            await source.read_all()
        return source.told_left_out()

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
        """Close stores and connections; queued rows are written first."""
        await self.record.close()
        await self.models.providers.aclose()
