"""Who opens a file of `graphs/` sees the graph as it is: each node, what it does, and what comes next."""

import ast
import re
from pathlib import Path

import pytest
from langchain_core.runnables.graph import Graph
from langgraph.graph import END, START

from contend.graphs import GraphName, build_graph
from contend.services import Services
from contend.settings import load_settings

_GRAPHS = Path(__file__).parents[2] / "graphs"
_LINE = re.compile(r"^    (\w+)  .*?([→⇒].+)$", re.MULTILINE)
_ENDS = {START: "start", END: "end"}
_FILES: dict[str, GraphName] = {"contest": "contend", "team": "team", "research": "research", "learning": "learn"}


def _drawing(name: GraphName, workspace: Path) -> Graph:
    return build_graph(name, Services(load_settings(workspace=workspace))).get_graph()


@pytest.mark.parametrize("name", _FILES)
def test_the_file_of_a_graph_draws_its_nodes_and_edges(name: str, workspace: Path) -> None:
    text = ast.get_docstring(ast.parse((_GRAPHS / f"{name}.py").read_text("utf-8")), clean=False) or ""

    lines = _LINE.findall(text)
    edges = {(node, name) for node, following in lines for name in re.findall(r"\w+", following) if name != "or"}

    drawn = _drawing(_FILES[name], workspace).edges
    assert edges == {(_ENDS.get(edge.source, edge.source), _ENDS.get(edge.target, edge.target)) for edge in drawn}


@pytest.mark.parametrize("name", _FILES.values())
def test_a_drawing_says_when_a_node_goes_where(name: GraphName, workspace: Path) -> None:
    edges = _drawing(name, workspace).edges

    assert [edge for edge in edges if edge.conditional and not edge.data] == []
