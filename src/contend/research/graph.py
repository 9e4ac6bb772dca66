"""The research graph.

(open_run → (quote → end)) → supervise → (approve_plan) → Send × queries → search → collect
→ (Send × pages → read_page → collect) → (choose → (search)) → write, or Send × sections → write_section → summarize
→ (review) → supervise, or end.
"""

from langgraph.graph import END, START, StateGraph

from contend.langgraph_compat import fails_to, without_graphs
from contend.models.options import ResearchOptions
from contend.models.record import Record
from contend.research.alone import ResearchAlone
from contend.research.nodes import ResearchNodes
from contend.research.quoting import QuotesNode
from contend.research.routes import ResearchRoutes
from contend.research.state import PageTask, ResearchInput, ResearchOutput, ResearchState, SearchTask, SectionTask
from contend.research.writing import WritingNodes
from contend.services import Services

ResearchGraph = StateGraph[ResearchState, Record, ResearchInput, ResearchOutput]


class ResearchTeam:
    """A team of supervisor, researcher, writer and reviewer, played by language models."""

    may_win = True
    max_rounds = None

    def build_graph(self, services: Services) -> ResearchGraph:
        return build_research_graph(services)


def build_research_graph(services: Services) -> ResearchGraph:
    """One round's research, not compiled: its parent or its server brings the checkpointer."""
    nodes, writing = without_graphs(ResearchNodes(services)), without_graphs(WritingNodes(services))
    quoting, alone = without_graphs(QuotesNode(services)), without_graphs(ResearchAlone(services))
    graph: ResearchGraph = StateGraph(
        ResearchState, context_schema=ResearchOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    graph.add_node("open_run", alone.open_run, error_handler=alone.refuse, destinations=fails_to("open_run"))
    graph.add_node("quote", quoting.quote, error_handler=alone.fail, destinations=fails_to("quote"))
    graph.add_node("supervise", nodes.supervise, error_handler=alone.fail, destinations=fails_to("supervise"))
    graph.add_node("approve_plan", nodes.approve_plan)
    graph.add_node(
        "search",
        nodes.search,  # type: ignore[arg-type]  # handlers take a NodeError
        input_schema=SearchTask,
        error_handler=nodes.turn_off,
        destinations=fails_to("search"),
    )
    graph.add_node("collect", nodes.collect, error_handler=alone.fail, destinations=fails_to("collect"))
    graph.add_node(
        "read_page",
        nodes.read_page,  # type: ignore[arg-type]  # handlers take a NodeError
        input_schema=PageTask,
        error_handler=nodes.leave_unread,
        destinations=fails_to("read_page"),
    )
    graph.add_node("choose", nodes.choose, error_handler=alone.fail, destinations=fails_to("choose"))
    graph.add_node("write", writing.write, error_handler=alone.fail, destinations=fails_to("write"))
    graph.add_node(
        "write_section",
        writing.write_section,  # type: ignore[arg-type]  # handlers take a NodeError
        input_schema=SectionTask,
        error_handler=writing.leave_unwritten,
        destinations=fails_to("write_section"),
    )
    graph.add_node("summarize", writing.summarize, error_handler=alone.fail, destinations=fails_to("summarize"))
    graph.add_node("review", writing.review, error_handler=alone.fail, destinations=fails_to("review"))
    routes = ResearchRoutes(services)
    graph.add_conditional_edges(START, routes.route_at_start, ["open_run", "supervise"])
    graph.add_conditional_edges("open_run", routes.route_after_opening, ["supervise", "quote"])
    graph.add_edge("quote", END)
    graph.add_conditional_edges(
        "supervise", routes.route_after_supervise, ["approve_plan", "search", "collect", "write", "review", "__end__"]
    )
    graph.add_conditional_edges(
        "approve_plan", routes.route_after_approval, ["approve_plan", "supervise", "search", "collect"]
    )
    graph.add_edge("search", "collect")
    graph.add_conditional_edges(
        "collect", routes.route_after_collect, ["read_page", "choose", "write", "write_section", "supervise"]
    )
    graph.add_conditional_edges("choose", routes.route_after_choose, ["search", "write", "write_section"])
    graph.add_edge("write_section", "summarize")
    graph.add_conditional_edges("summarize", routes.route_after_write, ["review", "supervise"])
    graph.add_edge("read_page", "collect")
    graph.add_conditional_edges("write", routes.route_after_write, ["review", "supervise"])
    graph.add_edge("review", "supervise")
    return graph
