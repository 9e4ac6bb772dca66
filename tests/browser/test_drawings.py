"""The graphs' drawings are read by the library that draws Mermaid in pages, notebooks and READMEs."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from contend.graphs import BUILDERS, GraphName, build_graph
from contend.services import Services
from contend.settings import load_settings

MERMAID = Path(sys.prefix) / "mermaid-package" / "package" / "dist" / "mermaid.min.js"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    if not MERMAID.is_file():
        if os.environ.get("CI"):
            raise AssertionError(f"{MERMAID} is missing: run `make .venv/mermaid`")
        pytest.skip("the tests' Mermaid is not set up: run `make .venv/mermaid`")
    opened = browser.new_page()
    opened.add_script_tag(path=MERMAID)
    yield opened
    opened.close()


@pytest.mark.parametrize("xray", [False, True])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_drawing_is_read_by_mermaid(workspace: Path, page: Page, name: GraphName, xray: bool) -> None:
    graph = build_graph(name, Services(load_settings(workspace=workspace)))

    drawing = graph.get_graph(xray=xray).draw_mermaid()

    parsed = page.evaluate("text => mermaid.parse(text)", drawing)
    assert parsed["diagramType"].startswith("flowchart")
    assert "error_handler" not in drawing


def test_a_contest_is_drawn_with_its_teams_and_their_research(workspace: Path) -> None:
    graph = build_graph("contend", Services(load_settings(workspace=workspace)))

    drawing = graph.get_graph(xray=True)

    assert {"team:brief", "team:judge", "team:research:search", "learn:curate", "finish_run"} <= drawing.nodes.keys()
    sources = {edge.source for edge in drawing.edges}
    assert [node for node in drawing.nodes if node not in sources] == ["__end__"]


def test_mermaid_refuses_what_is_no_drawing(page: Page) -> None:
    with pytest.raises(Exception, match="Parse error"):
        page.evaluate("text => mermaid.parse(text)", "graph TD;\n graph(graph)")
