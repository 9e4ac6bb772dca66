"""Who opens a file of `graphs/` sees the graph as it is: each node, what it does, and what comes next."""

import ast
import re
from pathlib import Path

import pytest
from langgraph.graph import END, START

from contend.graphs import BUILDERS, GraphName
from contend.services import Services
from contend.settings import load_settings

_GRAPHS = Path(__file__).parents[2] / "graphs"
_LINE = re.compile(r"^    (\w+)  .*?([→⇒].+)$", re.MULTILINE)
_ENDS = {START: "start", END: "end"}
_FILES: dict[str, GraphName] = {"contest": "contend", "team": "team", "research": "research", "learning": "learn"}


def _edges(name: GraphName, workspace: Path) -> set[tuple[str, str]]:
    graph = BUILDERS[name](Services(load_settings(workspace=workspace)))
    drawn = {(edge.source, edge.target) for edge in graph.compile().get_graph().edges}
    # LangGraph leaves a node's edge to the end out of its drawing where the node has an error handler.
    edges = drawn | {(source, target) for source, target in graph.edges if target == END}
    return {
        (_ENDS.get(source, source), _ENDS.get(target, target))
        for source, target in edges
        if "__error_handler__" not in source + target
    }


@pytest.mark.parametrize("name", _FILES)
def test_the_file_of_a_graph_draws_its_nodes_and_edges(name: str, workspace: Path) -> None:
    text = ast.get_docstring(ast.parse((_GRAPHS / f"{name}.py").read_text("utf-8")), clean=False) or ""

    lines = _LINE.findall(text)
    edges = {(node, name) for node, following in lines for name in re.findall(r"\w+", following) if name != "or"}

    assert edges == _edges(_FILES[name], workspace)
