"""contend as a node of a graph of your own: a ticket goes in, a reply with checked sources comes out."""

from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

import contend
from contend.models.research import ResearchReport


class Ticket(TypedDict, total=False):
    """`theme` is what contend researches, and `status`, `message` and `report` what it leaves."""

    text: str
    theme: str
    status: str
    message: str
    report: ResearchReport | dict[str, object] | None
    reply: str


def read_ticket(ticket: Ticket) -> Ticket:
    return {"theme": ticket["text"].partition("\n")[2].strip()}


def write_reply(ticket: Ticket) -> Ticket:
    if ticket.get("report") is None:
        return {"reply": f"We could not find this out: {ticket['message']}"}
    report = ResearchReport.model_validate(ticket["report"])
    sources = "\n".join(f"- {source.title}" for source in report.sources)
    return {"reply": f"Dear colleague,\n\n{report.executive_summary}\n\nSources:\n{sources}"}


builder = StateGraph(Ticket, context_schema=contend.RunOptions)
builder.add_node("read_ticket", read_ticket)
builder.add_node("research", contend.build_graph("contend"))
builder.add_node("write_reply", write_reply)
builder.add_edge(START, "read_ticket")
builder.add_edge("read_ticket", "research")
builder.add_edge("research", "write_reply")
builder.add_edge("write_reply", END)
graph = builder.compile(checkpointer=InMemorySaver())

if __name__ == "__main__":
    ticket: Ticket = {"text": "Ticket 4471\nWhy were crossings of the Skarv cancelled in winter?"}
    options = contend.RunOptions(documents=["demo/documents"], sources=["local"], depth="quick")
    final = graph.invoke(ticket, {"configurable": {"thread_id": "ticket-4471"}}, context=options)
    print(final["reply"])
