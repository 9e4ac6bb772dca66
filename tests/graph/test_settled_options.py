"""What a run settles when it opens, and keeps: contexts of models, depth."""

from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from contend.contest.graph import build_contest_graph
from contend.models.options import ResolvedOptions
from fakes.contests import Contest
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"


async def test_a_run_keeps_the_contexts_that_it_began_with(contest: Contest, vendors: Vendors) -> None:
    vendors.models = [{"id": "alpha", "max_model_len": 9000}, {"id": "beta"}]
    services = contest.services()
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}

    await graph.ainvoke({"theme": THEME}, config, context=contest.options(approve=["plan"]))
    options = (await graph.aget_state(config)).values["options"]
    await services.aclose()

    assert options["contexts"]["alpha"] == 9000
    assert options["contexts"]["beta"] == 32_000
    assert services.profile("writer", ResolvedOptions.model_validate(options), name="alpha").compact
