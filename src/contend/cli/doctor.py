"""What `contend doctor` looks at. Each check says how it is, and what to do where something is amiss."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, is_japanese, tr, ui
from contend.cli.server import has_serve_extra
from contend.errors import ContendError, InputError, StoreError
from contend.graph_teams import TeamGraphs
from contend.learning.curator import read_sections
from contend.llm.address import EndpointAddress
from contend.llm.endpoint import NoAnswer
from contend.llm.listing import listed_models
from contend.llm.models import LanguageModels
from contend.models.options import RunOptions, TeamConfig
from contend.preflight import judges_warning
from contend.prompts.library import LANGUAGES, PromptLibrary
from contend.readiness import NotReady, check_contexts, check_folder, check_models, models_of_run
from contend.services import Services
from contend.settings import RunSetup, Settings
from contend.sources.source_set import SourceSet
from contend.stores.checkpoints import CHECKPOINTERS, check_checkpointer, has_checkpoints, open_checkpointer
from contend.stores.record import RecordStore

State = Literal["ok", "off", "warning", "fault"]
_MOST_MODELS = 5
_LOCAL_SECONDS = 1.0
_USUAL_PORTS = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}
_STYLES = {"ok": "green", "off": "dim", "warning": "yellow", "fault": "bold red"}
_NOT_READY = 2


class Finding(NamedTuple):
    """What a check found. `off` is fine, only less; with a `fault` the main job can't run."""

    state: State
    said: str
    remedy: str = ""


Check = tuple[str, Finding]
"""What was looked at, and what was found."""


class Server(NamedTuple):
    """A local server that answered. `kind` is whose usual port it is."""

    url: str
    kind: str
    models: list[str]


def show_checkup() -> int:
    """Print all checks; the exit code.

    Raises:
        InputError: an environment variable of contend's own is not usable.
    """
    checks = asyncio.run(_checks(COMMAND.settings()))
    faults = [name for name, finding in checks if finding.state == "fault"]
    if not ui.print_json({"ready": not faults, "checks": [{"name": name, **each._asdict()} for name, each in checks]}):
        ui.show(Group(_table(checks), ""))
        _advise(faults)
    return _NOT_READY if faults else 0


async def _checks(settings: Settings) -> list[Check]:
    workspace = await _check("workspace", _workspace(settings))
    try:
        services = await asyncio.to_thread(Services, settings)
        await asyncio.to_thread(read_sections, services.config.files["config/sections.yaml"], dataset="")
    except InputError as error:
        remedy = tr("see `contend config show` once it is mended")
        return [workspace, ("config", Finding("fault", str(error), remedy))]
    checks = [workspace, *await _checks_of(services, await _local_servers())]
    with suppress(StoreError):
        await services.aclose()
    return checks


async def _checks_of(services: Services, servers: Sequence[Server]) -> list[Check]:
    teams, setup = services.config.teams, services.resolve(RunOptions())
    models = models_of_run(setup.options, setup.teams)
    sources = [
        _check(f"source {name}", _source(services.sources, name, setup.options.documents), _source_remedy(name))
        for name in services.sources.factories
    ]
    graphs = [
        _check(f"team {team.team_id}", _graph(services.graphs, team), tr("mend {file}", file="config/teams"))
        for team in teams.values()
        if team.kind == "graph"
    ]
    prompt_remedy = tr("mend the file, or delete it to have the shipped prompt back")
    return [
        ("config", Finding("ok", f"{ui.counted(len(teams), 'team')}: {', '.join(teams)}")),
        await _check("prompts", _prompts(services.library), prompt_remedy),
        await _check("model", _model(services.models, models, servers)),
        *([await _check("context", _context(services.models, models)), ("judges", _judges(setup))] if models else []),
        *await asyncio.gather(*sources),
        *await asyncio.gather(*graphs),
        await _check("record", _record(services.record)),
        await _check("checkpointer", _checkpointer(services.settings)),
        ("serve", _serve()),
        *(("local server", Finding("ok", f"{server.url} ({_server_text(server)})")) for server in servers),
    ]


async def _check(name: str, finding: Awaitable[Finding], remedy: str = "") -> Check:
    """With the fault that it met, if one; `remedy`: of a fault that names none."""
    try:
        return name, await finding
    except NotReady as error:
        return name, Finding("fault", error.lack, error.remedy)
    except ContendError as error:
        return name, Finding("fault", str(error).removeprefix(f"{name}: "), remedy)


async def _workspace(settings: Settings) -> Finding:
    """Whether the workspace, or the folder it would be made in, can be written; leaves nothing there."""
    folder = settings.folder
    await asyncio.to_thread(check_folder, folder, "workspace")
    place = str(folder) if folder.exists() else tr("{folder} (made by the first run)", folder=folder)
    return Finding("ok", place)


async def _prompts(library: PromptLibrary) -> Finding:
    for language in LANGUAGES:
        await asyncio.to_thread(library.check, language)
    count = ui.counted(len(library.names()), "prompt")
    words = tr("{prompts} render in {languages}", prompts=count, languages=", ".join(LANGUAGES))
    return Finding("ok", words)


async def _model(models: LanguageModels, names: Sequence[str], servers: Sequence[Server]) -> Finding:
    """Whether the endpoint answers and has the models; without one, what else there is."""
    if not models.are_set():
        lines = tr("no OPENAI_API_KEY or OPENAI_BASE_URL: contend searches your documents, without a language model")
        return Finding("off", lines, _offer(servers))
    if models.recording:
        recorded = models.recording.summary
        lines = tr(
            "replies recorded on {day} (model {model}) are played; no model is asked",
            day=recorded.recorded_on,
            model=recorded.model,
        )
        return Finding("ok", lines)
    if warnings := await check_models(models, names):
        return Finding("warning", "; ".join(warnings))
    lines = "; ".join(
        tr("{endpoint} has {models}", endpoint=endpoint.address, models=", ".join(there.values()))
        for endpoint, there in models.by_endpoint(names)
    )
    return Finding("ok", lines)


async def _context(models: LanguageModels, names: Sequence[str]) -> Finding:
    """How much each model can read, and who says so."""
    contexts = await models.contexts(names)
    if not models.recording:
        check_contexts(contexts)
    lines = "; ".join(f"{name} {ui.counted(tokens, 'token')} ({origin})" for name, (tokens, origin) in contexts.items())
    if unknown := ", ".join(name for name, context in contexts.items() if context.origin == "default"):
        remedy = tr("say how much {models} can read: [context] in the workspace's config/models.toml", models=unknown)
        return Finding("warning", lines, remedy)
    return Finding("ok", lines)


def _judges(setup: RunSetup) -> Finding:
    """Whether anybody judges what the same model wrote."""
    warning = judges_warning(setup.options, setup.teams, "ja" if is_japanese() else "en")
    if warning:
        return Finding("warning", warning)
    judge = setup.options.models["evaluator"]
    return Finding("ok", tr("{model}, not the writer's model", model=judge))


def _server_text(server: Server) -> str:
    models = ", ".join(server.models[:_MOST_MODELS]) or tr("no models")
    return tr("{kind}'s usual port: {models}", kind=server.kind, models=models)


def _offer(servers: Sequence[Server]) -> str:
    if not servers:
        return tr("set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible server")
    return "; ".join(
        tr(
            "{command} to use the server found there ({server})",
            command=f"export OPENAI_BASE_URL={server.url}",
            server=_server_text(server),
        )
        for server in servers
    )


async def _source(sources: SourceSet, name: str, documents: Sequence[str]) -> Finding:
    reason = await sources.get(name, documents).check()
    if reason is None:
        return Finding("ok", tr("on"))
    remedies = {"local": "give --docs PATH to a run", "tavily": "set TAVILY_API_KEY to search the web"}
    return Finding("off", reason, tr(remedies.get(name, "runs go on without it")))


def _source_remedy(name: str) -> str:
    own = "`documents` in config/orchestrator.toml [options]"
    return tr("mend {file}", file=own if name == "local" else "config/sources.toml")


async def _graph(graphs: TeamGraphs, team: TeamConfig) -> Finding:
    await graphs.get(team)
    return Finding("ok", tr("{graph} can play", graph=team.graph or f"{team.assistant} ({team.url})"))


async def _record(record: RecordStore) -> Finding:
    await record.check()
    count = len(await record.executions(limit=1000))
    return Finding("ok", ui.counted(count, "run") if count else tr("no runs yet"))


async def _checkpointer(settings: Settings) -> Finding:
    if settings.checkpointer == "memory":
        remedy = tr("unset CONTEND_CHECKPOINTER to keep them in SQLite")
        return Finding("warning", tr("memory: a run that is stopped cannot go on"), remedy)
    if warnings := await check_checkpointer(settings):
        return Finding("warning", "; ".join(warnings))
    if settings.checkpointer == "redis":
        return Finding("ok", tr("Redis at {address} answers, with search and JSON", address=settings.redis_address))
    title = CHECKPOINTERS[settings.checkpointer].title
    if not has_checkpoints(settings):
        return Finding("ok", tr("{title}, made by the first run", title=title))
    async with open_checkpointer(settings) as saver:
        await saver.aget_tuple({"configurable": {"thread_id": "doctor", "checkpoint_ns": ""}})
    return Finding("ok", tr("{title} answers", title=title))


def _serve() -> Finding:
    if has_serve_extra():
        return Finding("ok", tr("`contend serve` opens the graphs in Studio"))
    return Finding("off", tr("the extra `serve` is not installed"), "pip install 'contend[serve]'")


async def _local_servers() -> list[Server]:
    """The OpenAI-compatible servers on the usual ports of this machine; all are asked at once."""
    servers = [_local(port, kind) for port, kind in _USUAL_PORTS.items()]
    return [server for server in await asyncio.gather(*servers) if server is not None]


async def _local(port: int, kind: str) -> Server | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        models = await listed_models(EndpointAddress.parse(url, "address"), seconds=_LOCAL_SECONDS)
    except NoAnswer:
        return None
    return Server(url, kind, [model["id"] for model in models])


def _table(checks: Sequence[Check]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, finding in checks:
        line = Text(ui.plain(finding.said), overflow="fold")
        if finding.remedy:
            line.append(f"\n→ {ui.plain(finding.remedy)}", style="cyan")
        table.add_row(Text(finding.state, style=_STYLES[finding.state]), name, line)
    return table


def _advise(faults: Sequence[str]) -> None:
    if faults:
        ui.say("Not ready: mend {checks}.", checks=", ".join(faults))
        ui.advise("contend doctor")
    else:
        ui.say("Ready.")
        ui.advise("contend run THEME --docs FOLDER")
