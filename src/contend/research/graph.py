"""The research graph.

(open_run → (quote → end)) → supervise → (approve_plan) → Send × queries → search → collect
→ (Send × pages → read_page → collect) → (choose → (search)) → write, or Send × sections → write_section → summarize
→ (review) → supervise, or end.
"""

from langgraph.graph import END, START, StateGraph

from contend.langgraph_compat import add_node
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
    nodes, writing, quoting = ResearchNodes(services), WritingNodes(services), QuotesNode(services)
    alone, routes = ResearchAlone(services), ResearchRoutes(services)
    graph: ResearchGraph = StateGraph(
        ResearchState, context_schema=ResearchOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    add_node(graph, "open_run", alone.open_run, alone.refuse)
    add_node(graph, "quote", quoting.quote, alone.fail)
    add_node(graph, "supervise", nodes.supervise, alone.fail)
    add_node(graph, "approve_plan", nodes.approve_plan)
    add_node(graph, "search", nodes.search, nodes.turn_off, task=SearchTask)
    add_node(graph, "collect", nodes.collect, alone.fail)
    add_node(graph, "read_page", nodes.read_page, nodes.leave_unread, task=PageTask)
    add_node(graph, "choose", nodes.choose, alone.fail)
    add_node(graph, "write", writing.write, alone.fail)
    add_node(graph, "write_section", writing.write_section, writing.leave_unwritten, task=SectionTask)
    add_node(graph, "summarize", writing.summarize, alone.fail)
    add_node(graph, "review", writing.review, alone.fail)
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
