"""The graphs that teams bring, of a Python file of the workspace or of an Agent Server elsewhere, and their replies."""

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from contextvars import Context
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol
from pydantic import BaseModel, ValidationError

from contend.errors import ContendError, GraphError, InputError
from contend.extensions import GIVE_AGAIN, GuestTeam
from contend.graph_teams.running import GraphLoop, GraphRaised, ModelMeter
from contend.models.options import TeamConfig
from contend.models.research import ResearchReport
from contend.registry import error_line, load_attribute
from contend.settings import environment_variables
from contend.text import clean, shorten
from contend.tools import ACTIONS_OF_ROUND, Act

Part = tuple[str, Any]
_INTERRUPT = "__interrupt__"
_QUESTION_KEYS = frozenset({"messages", "theme", "question"})
_LOOP = GraphLoop()
_MOST_STEPS = 100
_LOADING_SECONDS = 60.0
_SERVER_SECONDS = 10.0


class GraphRequest(NamedTuple):
    """What a graph is asked for a round: `message` is all of it, `question` the run's question alone.

    `act` is contend's own, for a graph that has `search`, `find` or `read` of `contend.tools` among its tools.
    """

    message: str
    question: str
    act: Act


@dataclass(frozen=True)
class LocalGraph:
    """A graph of this process: apart from contend's own in loop, context and config, and without a checkpointer.

    `takes`: the keys of its input, none where it does not tell; `counts`: whether it tells of its model calls.
    """

    takes: frozenset[str]
    graph: PregelProtocol[Any, Any, Any, Any]
    counts: bool = True

    async def stream(self, request: GraphRequest, meter: ModelMeter) -> AsyncGenerator[Part]:
        """Its run on a thread of its own: `("updates", …)` after each step and `("values", …)` with its state.

        Raises:
            GraphError: it failed, or waits for a person.
        """
        limit = (getattr(self.graph, "config", None) or {}).get("recursion_limit", _MOST_STEPS)
        config: RunnableConfig = {
            "configurable": {"thread_id": str(uuid4())},
            "recursion_limit": limit,
            "callbacks": [meter],
        }
        graph_input = _input_of(self.takes, request, [HumanMessage(request.message)])

        def parts() -> AsyncIterator[Part]:
            return self.graph.astream(graph_input, config, stream_mode=["updates", "values"])  # type: ignore[return-value]  # two modes give pairs

        context = Context()
        context.run(ACTIONS_OF_ROUND.set, request.act)
        try:
            async with aclosing(_LOOP.stream(parts, context)) as stream:
                async for part in stream:
                    yield _without_person(part)
        except GraphRaised as error:
            raise meter.refusal or _error_of(error.error, limit) from error.error


@dataclass(frozen=True)
class RemoteTeamGraph:
    """A graph of an Agent Server. What its model calls cost is not told."""

    takes: frozenset[str]
    team: TeamConfig
    key: str | None
    counts: bool = False

    async def stream(self, request: GraphRequest, meter: ModelMeter) -> AsyncGenerator[Part]:  # noqa: ARG002 - it counts nothing
        from langgraph.pregel.remote import RemoteException, RemoteGraph  # noqa: PLC0415 - heavy

        graph_input = _input_of(self.takes, request, [{"role": "user", "content": request.message}])
        async with _client(self.team, self.key) as client:
            graph = RemoteGraph(str(self.team.assistant), client=client)
            thread = str(uuid4())
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            parts = graph.astream(graph_input, config, stream_mode=["updates", "values"])
            try:
                async with aclosing(parts) as stream:  # type: ignore[type-var]  # it is a generator
                    async for mode, data, *_ in stream:
                        yield _without_person((mode, data))
            except RemoteException as error:
                raise GraphError(f"its graph failed on {self.team.url}: {error_line(error)}") from error
            except _server_errors() as error:
                raise GraphError(f"its server {self.team.url} failed: {error_line(error)}") from error
            finally:
                await _leave(client, thread)


TeamGraph = LocalGraph | RemoteTeamGraph


class TeamGraphs:
    """The graphs of a workspace's teams, each loaded once, and those that code brings."""

    def __init__(self, folder: Path) -> None:
        """`folder`: whose Python files `graph` names. Blocking: it reads the `.env` file."""
        self._folder = folder
        self._environment = environment_variables()
        self._graphs: dict[str, TeamGraph] = {}
        self._guests: Mapping[str, GuestTeam] = {}

    def extended(self, guests: Mapping[str, GuestTeam]) -> "TeamGraphs":
        """A copy with more graphs, by their teams' ids; these stay as they are."""
        more = copy(self)
        more._graphs, more._guests = {**self._graphs}, guests  # noqa: SLF001 - a copy of its own
        return more

    async def get(self, team: TeamConfig) -> TeamGraph:
        """The graph of a team, as it is configured in the workspace.

        Raises:
            InputError: it cannot be loaded or asked, or takes neither messages nor a question; names the remedy.
        """
        if team.team_id not in self._graphs:
            graph = await (self._remote(team) if team.url else self._local(team))
            if graph.takes and not graph.takes & _QUESTION_KEYS:
                raise InputError(
                    f"team {team.team_id}: its graph takes {', '.join(sorted(graph.takes))}: it has to take "
                    "`messages`, `question` or `theme`"
                )
            self._graphs[team.team_id] = graph
        return self._graphs[team.team_id]

    def forget(self, team: TeamConfig) -> None:
        """A server is asked anew: it may have gone since."""
        if team.url:
            self._graphs.pop(team.team_id, None)

    async def _local(self, team: TeamConfig) -> TeamGraph:
        where = f"team {team.team_id}: " + (f"graph = {team.graph!r}" if team.graph else "its graph")
        load = partial(load_attribute, self._folder, team.graph) if team.graph else partial(self._guest, team.team_id)
        try:
            async with asyncio.timeout(_LOADING_SECONDS):
                graph, takes = await _LOOP.call(lambda: _load(load, where))
        except TimeoutError as error:
            raise InputError(f"{where} was not loaded within {_LOADING_SECONDS:g} s") from error
        except GraphRaised as failure:
            if isinstance(failure.error, ContendError):
                raise failure.error from failure
            remedy = f"; write module:attribute of a Python file of {self._folder}" if team.graph else ""
            raise InputError(f"{where} cannot be loaded: {error_line(failure.error)}{remedy}") from failure.error
        return LocalGraph(takes, graph)

    def _guest(self, team_id: str) -> object:
        if team_id not in self._guests:
            raise InputError(f"team {team_id}: its graph is an object of code: {GIVE_AGAIN}")
        return self._guests[team_id].graph

    async def _remote(self, team: TeamConfig) -> TeamGraph:
        where = f"team {team.team_id}: url = {team.url!r}"
        key = self._environment.get(team.api_key_env) if team.api_key_env else None
        if team.api_key_env and not key:
            raise InputError(f"{where}: {team.api_key_env} is not set, the key of its server")
        try:
            async with asyncio.timeout(_SERVER_SECONDS), _client(team, key) as client:
                schemas = await client.assistants.get_schemas(await _assistant_id(client, str(team.assistant)))
        except TimeoutError as error:
            raise InputError(
                f"{where} did not answer within {_SERVER_SECONDS:g} s: start it, or mend the address"
            ) from error
        except _server_errors() as error:
            raise InputError(
                f"{where}, assistant = {team.assistant!r}: {error_line(error)}; start the server, or mend address, "
                "name or key"
            ) from error
        return RemoteTeamGraph(_keys(schemas.get("input_schema") or {}), team, key)


async def _leave(client: Any, thread: str) -> None:  # noqa: ANN401 - the SDK's client
    """Nothing of the round goes on or stays on the server, whatever ended it."""
    from httpx import HTTPStatusError  # noqa: PLC0415 - heavy

    with suppress(TimeoutError, *_server_errors()):
        async with asyncio.timeout(_SERVER_SECONDS):
            for run in await client.runs.list(thread):
                if run["status"] in {"pending", "running"}:
                    with suppress(HTTPStatusError):  # it ended meanwhile
                        await client.runs.cancel(thread, run["run_id"], wait=True)
            await client.threads.delete(thread)


async def _assistant_id(client: Any, name: str) -> str:  # noqa: ANN401 - the SDK's client
    """An assistant's id, or that of a graph by its name: runs take both, all else only the id."""
    try:
        return str(UUID(name))
    except ValueError:
        (assistant, *_) = await client.assistants.search(graph_id=name, limit=1)
        return str(assistant["assistant_id"])


async def _load(load: Callable[[], object], where: str) -> tuple[PregelProtocol[Any, Any, Any, Any], frozenset[str]]:
    attribute = await asyncio.to_thread(load)
    if callable(attribute) and not isinstance(attribute, PregelProtocol | StateGraph):
        attribute = attribute()
        attribute = await attribute if inspect.isawaitable(attribute) else attribute
    graph = attribute.compile() if isinstance(attribute, StateGraph) else attribute
    if not isinstance(graph, PregelProtocol):
        kind = type(graph).__name__
        raise InputError(f"{where} is a {kind}: name a LangGraph graph, or a function without arguments that makes one")
    if not isinstance(graph, Pregel):
        return graph, frozenset()
    # A JSON schema would do, but on Python 3.11 pydantic makes none of a `typing.TypedDict`.
    builder = getattr(graph, "builder", None)
    takes = frozenset(builder.schemas[builder.input_schema]) if isinstance(builder, StateGraph) else frozenset()
    # Each round is a run of its own: nothing is kept for another, and a saver that knows no async would refuse.
    return graph.copy({"checkpointer": None}), takes


def _keys(schema: Mapping[str, Any]) -> frozenset[str]:
    """The properties of a JSON schema, behind its reference where it is one."""
    _, _, name = str(schema.get("$ref", "")).rpartition("/")
    shape = schema.get("$defs", {}).get(name, schema) if name else schema
    return frozenset(shape.get("properties") or ())


def _input_of(takes: frozenset[str], request: GraphRequest, messages: list[Any]) -> dict[str, Any]:
    values = {"messages": messages, "theme": request.question, "question": request.question}
    return {name: value for name, value in values.items() if name in (takes or {"messages"})}


def _without_person(part: Part) -> Part:
    mode, data = part
    if isinstance(data, Mapping) and _INTERRUPT in data:
        raise GraphError("its graph waits for a person, and nobody answers it in a contest: leave its interrupts out")
    return mode, data


def _error_of(error: BaseException, limit: int) -> ContendError:
    if isinstance(error, ContendError):
        return error
    if isinstance(error, GraphRecursionError):
        return GraphError(f"its graph took over {limit} steps: `with_config(recursion_limit=…)` allows more")
    return GraphError(f"its graph raised {error_line(error)}")


def _client(team: TeamConfig, key: str | None) -> Any:  # noqa: ANN401 - the SDK's client
    from langgraph_sdk import get_client  # noqa: PLC0415 - heavy

    return get_client(url=team.url, api_key=key)


def _server_errors() -> tuple[type[Exception], ...]:
    import httpx  # noqa: PLC0415 - heavy
    from langgraph_sdk.errors import LangGraphError  # noqa: PLC0415 - the same

    return (httpx.HTTPError, httpx.InvalidURL, LangGraphError, ValueError)


_REPORT_KEYS = ("report", "structured_response")
_TEXTS = ("report", "markdown", "text")
_NOTHING = (
    "its graph ended without a report: it leaves Markdown as `report`, as `structured_response`, or as the last "
    "message of a model"
)
_STEP_CHARACTERS = 120


def reply_of(values: object) -> str:
    """The report in the last state: `report` or `structured_response`, else the last message of a model.

    Each may be Markdown, a record with Markdown in it, or a report of contend's own.

    Raises:
        GraphError: there is none.
    """
    state = _plain(values)
    if not isinstance(state, Mapping):
        state = {"report": state}
    last_first = (str(message.text).strip() for message in reversed(_messages_of_models(state)))
    texts = [*(_markdown(state.get(key)) for key in _REPORT_KEYS), *last_first]
    if not (text := next(filter(None, texts), "")):
        raise GraphError(_NOTHING)
    return text


def shown_step(update: object) -> str:
    """Which nodes ran, and which tools a model called there."""
    changes = update.items() if isinstance(update, Mapping) else ()
    return "; ".join(
        shorten(clean(_step_text(str(node), change), single_line=True), _STEP_CHARACTERS) for node, change in changes
    )


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, BaseModel) else value


def _markdown(value: object) -> str:
    record = _plain(value)
    if isinstance(record, str):
        return record.strip()
    if not isinstance(record, Mapping):
        return ""
    try:
        return ResearchReport.model_validate(record).to_markdown()
    except ValidationError:
        return next((each.strip() for key in _TEXTS if isinstance(each := record.get(key), str)), "")


def _step_text(node: str, change: object) -> str:
    calls = [call for message in _messages_of_models(change) for call in message.tool_calls]
    texts = (f"{each['name']}({json.dumps(each['args'], ensure_ascii=False, default=str)})" for each in calls)
    return f"{node}: {', '.join(texts)}" if calls else node


def _messages_of_models(record: object) -> list[AIMessage]:
    """Those of a state or of what a node changed in it; what LangChain cannot read is left out."""
    record = _plain(record)
    values = record.get("messages") if isinstance(record, Mapping) else None
    messages: list[BaseMessage] = []
    for each in values if isinstance(values, list | tuple) else ():
        # A streamed message that a server has kept is one as any other.
        is_chunk = isinstance(each, Mapping) and each.get("type") == "AIMessageChunk"
        with suppress(ValueError, TypeError, NotImplementedError):
            messages += convert_to_messages([{**each, "type": "ai"} if is_chunk else each])
    return [message for message in messages if isinstance(message, AIMessage)]
