"""What LangSmith, Langfuse or any other handler of callbacks sees of a run."""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler

import contend
from contend.services import Services
from fakes.contests import Contest

THEME = "How does resume work after a crash?"


class Traces(AsyncCallbackHandler):
    """Each start of a model's call and of a graph or node: its name, tags and metadata."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str], dict[str, Any]]] = []
        self.names: list[str] = []
        self.metadata: dict[str, dict[str, Any]] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[Any],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **more: Any,  # noqa: ANN401 - LangChain's
    ) -> None:
        del serialized, messages, run_id
        self.calls.append((str(more["name"]), tags or [], metadata or {}))

    async def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **more: Any,  # noqa: ANN401 - LangChain's
    ) -> None:
        del serialized, inputs, run_id
        self.names.append(str(more["name"]))
        self.metadata[self.names[-1]] = metadata or {}


async def test_calls_and_graphs_are_named_and_tell_whose_they_are(contest: Contest, services: Services) -> None:
    traces = Traces()
    graph = contend.build_graph("contend", services)

    state = await graph.ainvoke(
        {"theme": THEME},
        {"callbacks": [traces], "configurable": {"thread_id": "traced"}},
        context=contest.options(teams=["alpha"], max_rounds=1),
    )

    execution = state["summary"]["task_id"]
    names = [name for name, _, _ in traces.calls]
    assert {"alpha round 1: writer research/write 1", "alpha round 1: reviewer research/review 1"} <= {*names}
    assert {metadata["execution_id"] for _, _, metadata in traces.calls} == {execution}
    ((_, tags, metadata),) = [call for call in traces.calls if call[0] == "alpha round 1: writer research/write 1"]
    assert {"role:writer", "team:alpha", "nostream"} <= {*tags}
    values = {"role": "writer", "prompt": "research/write", "team_id": "alpha", "round_number": 1}
    assert values.items() <= metadata.items()
    assert traces.names[0] == "contend"
    assert {"team alpha", "research", "learn"} <= {*traces.names}
    assert {"LangGraph", "PlainChat"}.isdisjoint([*names, *traces.names])
    assert traces.metadata["team alpha"]["execution_id"] == execution
