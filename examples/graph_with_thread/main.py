"""A contest that waits for your approval in one process and is answered from another.

python examples/graph_with_thread/main.py ask
python examples/graph_with_thread/main.py approve
"""

import sys
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

import contend

THREAD: RunnableConfig = {"configurable": {"thread_id": "board-meeting"}}
OPTIONS = {
    "documents": ["demo/documents"],
    "sources": ["local"],
    "teams": ["archivist", "skeptic", "scout"],
    "depth": "standard",
    "max_rounds": 2,
    "length": "brief",
    "language": "en",
    "learn": False,
    "approve": ["report"],
}

graph = contend.build_graph("contend")  # keeps its checkpoints in the workspace


def ask() -> None:
    question = Path("demo/question.txt").read_text("utf-8").strip()
    state = graph.invoke({"theme": question}, THREAD, context=OPTIONS)
    (waiting,) = state["__interrupt__"]
    request = waiting.value["action_requests"][0]
    print("The run waits:", request["description"])
    print("Its report begins:", request["args"]["executive_summary"][:200])


def approve() -> None:
    print("Next node:", *graph.get_state(THREAD).next)
    state = graph.invoke(Command(resume="approve"), THREAD)
    print(state["messages"][-1].text)


if __name__ == "__main__":
    {"ask": ask, "approve": approve}[sys.argv[1]]()
