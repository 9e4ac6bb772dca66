"""What the guide shows runs with the client it names: shell blocks in a shell, Python blocks as programs.

The blocks for the SDK run in `test_server.py`, against its server.
"""

import asyncio
import inspect
import re
import shlex
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path

import pytest

import contend
from contend.app import WAITING
from contend.models.options import RunOptions
from fakes.files import make_pdf
from fakes.guide import PAGES, ROOT, blocks, definitions, reader_folder, run_block
from fakes.redis_server import RedisServer
from fakes.vendors import Vendors

QUESTION = "Why were crossings of the Skarv cancelled in winter?"
RUN = ["contend", "run", QUESTION, "--docs", "demo/documents", "--source", "local", "--depth", "quick"]
BEFORE = {
    "README.md": [[*RUN, "--thread", "THREAD"]],
    "docs/resume.md": [[*RUN, "--thread", "7c1f0c1e-6c1e-4f7e-9d0c-0b7f7f3c2a55"]],
    "docs/tutorial.md": [[*RUN, "--dataset", "demo", "--out", "demo", "--workspace", "demo/workspace"]],
    "docs/ja/はじめに.md": [[*RUN, "--thread", "7c1f0c1e-6c1e-4f7e-9d0c-0b7f7f3c2a55"]],
    "docs/approvals.md": [
        [*RUN, "--thread", "THREAD", "--approve", "plan", "--team", "archivist,skeptic,scout", "--no-learn"]
    ],
}
"""What a reader has done before: the run that a page speaks of."""
ON_BRIDGES = "Why do long bridges hum in the wind?"
WITH_SHELL = [page for page in PAGES if blocks(page, "sh")]


@pytest.mark.parametrize("page", WITH_SHELL, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_shell_blocks_of_a_page_run_in_a_shell(
    page: Path, tmp_path: Path, vendors: Vendors, request: pytest.FixtureRequest
) -> None:
    folder = reader_folder(tmp_path / "reader")
    variables = {
        "CONTEND_WORKSPACE": str(tmp_path / "workspace"),
        "CONTEND_TAVILY_BASE_URL": "http://127.0.0.1:9",
        "OPENAI_BASE_URL": vendors.base_url,
    }
    for command in BEFORE.get(page.relative_to(ROOT).as_posix(), []):
        run_block(f"{shlex.join(command)} || [ $? = {WAITING} ]", folder, folder / "bin", **variables)
    for block in blocks(page, "sh"):
        code = block.replace("http://127.0.0.1:11434/v1", vendors.base_url)
        if "redis://" in code:
            redis: RedisServer = request.getfixturevalue("redis_of_server")
            code = code.replace("redis://:PASSWORD@127.0.0.1:6379", redis.url)
        run_block(code, folder, folder / "bin", **variables)


@pytest.fixture
def reader(tmp_path: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = reader_folder(tmp_path / "reader")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    monkeypatch.setenv("CONTEND_WORKSPACE", str(tmp_path / "workspace"))
    return folder


async def test_the_program_that_answers_questions_ends_the_run(
    reader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [str(reader / "demo" / "documents")]
    options = {"documents": documents, "sources": ["local"], "approve": ["plan"], "max_rounds": 1}
    await contend.run(QUESTION, thread_id="waits", options=RunOptions.model_validate(options))
    answer = definitions("approvals.md", "answer")["answer"]

    assert callable(answer)
    await answer("waits")

    assert capsys.readouterr().out.endswith("completed\n")


RECIPES = {
    "1": r"\(\d+, \d+\) calls, \(\d+, \d+\) tokens, None US dollars\n",
    "2": r"run_started\n(\w+\n)*run_done\n(completed|partial) \d+ calls\n",
    "3": r"(\w+ .+ \[.*\]\n)+",
    "4": r"(completed|partial)\n",
    "5": r"\['Plan of .*'\]\n(completed|partial)\n",
    "6": r"# .+(.|\n)+## References(.|\n)+",
}
"""What the recipes of the cookbook in Python print, by number; those in the shell run as any page's."""


@pytest.mark.usefixtures("reader")
async def test_the_recipes_of_the_cookbook_run_as_in_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    first, *recipes = re.split(r"^## (?=\d)", (ROOT / "docs" / "cookbook.md").read_text("utf-8"), flags=re.MULTILINE)
    names: dict[str, object] = {}
    for recipe in [f"0{first}", *recipes]:
        number, code = re.match(r"\d+", recipe), re.search(r"^```python\n(.*?)^```$", recipe, re.MULTILINE | re.DOTALL)
        if number is not None and code is not None:
            steps = eval(compile(code[1], number[0], "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307 - the guide's own lines
            if inspect.iscoroutine(steps):
                await steps
            assert re.fullmatch(RECIPES.get(number[0], ""), capsys.readouterr().out), recipe

    assert len(recipes) == 10


def test_the_metric_by_a_function_is_scored(reader: Path, tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "scores-and-ranking.md", "python")
    workspace = tmp_path / "workspace"
    (workspace / "config").mkdir(parents=True)
    (workspace / block.splitlines()[0].removeprefix("# ")).write_text(block, "utf-8")
    (workspace / "config" / "evaluator.toml").write_text(
        '[[evaluator.metrics]]\nname = "short"\nfunction = "my_metrics:short_sentences"\n', "utf-8"
    )
    options = RunOptions(documents=[str(reader / "demo" / "documents")], sources=["local"], max_rounds=1)

    outcome = asyncio.run(contend.run(QUESTION, options=options))

    assert outcome.summary is not None
    assert "the longest sentence has" in outcome.summary.team_results[0].evaluation_feedback


@pytest.mark.usefixtures("reader")
def test_the_source_by_a_function_is_cited(tmp_path: Path) -> None:
    page = ROOT / "docs" / "sources-and-documents.md"
    workspace = tmp_path / "workspace"
    for block in [*blocks(page, "python"), *blocks(page, "toml")]:
        file = workspace / block.splitlines()[0].removeprefix("# ")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block, "utf-8")

    outcome = asyncio.run(
        contend.run(ON_BRIDGES, options=RunOptions(sources=["wiki"], teams=["insider"], max_rounds=1))
    )

    assert outcome.report is not None
    assert "https://wiki.example.org/wind" in [source.url for source in outcome.report.sources]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("agent", ["my_agent", "deep_agent"])
def test_an_agent_of_ones_own_enters_as_a_team(
    agent: str, tmp_path: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    page, workspace = ROOT / "docs" / "teams.md", tmp_path / "workspace"
    (workspace / "config" / "teams").mkdir(parents=True)
    for block in blocks(page, "python"):
        (workspace / block.splitlines()[0].removeprefix("# ")).write_text(block, "utf-8")
    (entry,) = [text for text in blocks(page, "toml") if "my_agent:agent" in text]
    (workspace / "config" / "teams" / "mine.toml").write_text(entry.replace("my_agent", agent), "utf-8")
    teams = '[orchestrator]\n[[orchestrator.teams]]\nconfig = "config/teams/mine.toml"\n'
    (workspace / "config" / "orchestrator.toml").write_text(teams, "utf-8")
    options = RunOptions(documents=[str(tmp_path / "reader" / "demo" / "documents")], sources=["local"], max_rounds=1)

    outcome = asyncio.run(contend.run(QUESTION, options=options))

    assert outcome.report is not None, outcome.message
    assert outcome.report.cited_sources()
    assert outcome.usage.requests == len(vendors.calls)


HUM = [
    "A long bridge hums in the wind because the air leaves its deck in vortices of a steady rhythm.",
    "The hum is loudest when the rhythm of the vortices meets a natural frequency of the deck.",
    "Engineers fix dampers to the cables of a long bridge, which take the energy out of the swing.",
    "Fairings along the deck guide the air and keep the vortices of the wind small.",
]
SEARCH = {"sources": ["local"], "teams": ["search"]}


async def test_a_report_names_the_page_of_each_passage_of_a_pdf_file_that_it_cites(reader: Path) -> None:
    """As `sources-and-documents.md` says."""
    (reader / "hum.pdf").write_bytes(make_pdf([["Contents of this booklet"], HUM]))
    options = RunOptions.model_validate({**SEARCH, "documents": [str(reader / "hum.pdf")]})

    outcome = await contend.run(ON_BRIDGES, options=options)

    assert outcome.markdown is not None
    assert "hum.pdf › p. 2[1]" in outcome.markdown


async def test_a_report_names_documents_by_their_paths_in_a_folder_that_a_link_leads_to(reader: Path) -> None:
    """As `sources-and-documents.md` says."""
    (reader / "notes").mkdir()
    (reader / "notes" / "hum.md").write_text("\n\n".join(["# Bridges", *HUM]), "utf-8")
    (reader / "linked").symlink_to(reader / "notes")
    options = RunOptions.model_validate({**SEARCH, "documents": [str(reader / "linked")]})

    outcome = await contend.run(ON_BRIDGES, options=options)

    assert outcome.markdown is not None
    assert "\n1. **Bridges**; hum.md\n" in outcome.markdown
    assert "file://" not in outcome.markdown


async def test_rows_of_a_table_are_quoted_without_a_model_as_they_are_read(reader: Path) -> None:
    """As `sources-and-documents.md` says."""
    months = ["January,4200,31", "February,4350,28", "March,4100,30", "April,4000,26"]
    rows = [f"{plant},{month}" for plant in ("Kassel", "Lyon") for month in months]
    (reader / "plants.csv").write_text("\n".join(["plant,month,units,defects", *rows]), "utf-8")
    options = RunOptions.model_validate({**SEARCH, "documents": [str(reader / "plants.csv")]})

    outcome = await contend.run("How many units did the plant in Kassel make in January?", options=options)

    assert outcome.markdown is not None
    assert "**plant**: **Kassel**; month: **January**; **units**: 4200; defects: 31.[1]" in outcome.markdown
