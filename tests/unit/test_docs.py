"""The guide, README and architecture page say what is so: links, commands, config and code in them are tried."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from contend.cli.main import app
from contend.learning.curator import read_sections
from contend.models.options import Approval, JudgmentConfig, Role, RunOptions
from contend.models.round import ExitReason, RoundPromptConfig
from contend.models.task import RunStatus
from contend.prompts import samples_of
from contend.prompts.library import SETTINGS, PromptBuilderSettings
from contend.services import Services
from contend.settings import Settings, load_settings
from contend.settings.files import load_config, read_criteria, resource
from contend.sources.readers import KINDS, read_document
from fakes.guide import EXAMPLES, PAGES, ROOT, blocks, without_blocks
from fakes.vendors import Vendors

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`([^`\n]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")

_VARIABLE = re.compile(r"\b(?:CONTEND|OPENAI|TAVILY)_[A-Z_]+\b")
_FILE = re.compile(r"`((?:\w+/)*(?:\w+\.(?:py|toml|json|js)|\w+/))`(?: \((`[^)]*`)\))?")
"""A file or folder, and what in it a page names behind it in brackets."""


def _shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=_shown)


def _commands(page: Path) -> list[str]:
    """Command lines: whole lines of shell blocks, and inline code."""
    text = page.read_text("utf-8")
    lines = [line.partition(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [*lines, *_INLINE.findall(without_blocks(text))]


@cache
def _contend() -> TyperCommand | TyperGroup:
    return typer.main.get_command(app)


def _command_of(line: str) -> tuple[TyperCommand | TyperGroup, list[str]] | None:
    """The command that a line calls, and the words after its name; None where it calls none of contend's."""
    words = line.split()
    if words[:1] != ["contend"] or len(words) == 1:
        return None
    command = _contend()
    rest = words[1:]
    while isinstance(command, TyperGroup):
        assert rest, f"{line!r} names a group of commands and none of its commands"
        if rest[0].startswith("--"):
            break
        assert rest[0] in command.commands, f"{line!r} names no command of contend"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def _options(command: TyperCommand | TyperGroup) -> set[str]:
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    nested = command.commands.values() if isinstance(command, TyperGroup) else []
    return own.union({"--help"}, *(_options(inner) for inner in nested))


@each_page
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(without_blocks(page.read_text("utf-8"))) if "://" not in link]

    missing = [link for link in links if not (page.parent / unquote(link.partition("#")[0])).exists()]

    assert missing == []


@each_page
def test_every_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    known = _options(_contend())
    for line in _commands(page):
        called = _command_of(line)
        if called is not None:
            command, rest = called
            assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= _options(command), line
        elif line.startswith("--"):
            assert set(_OPTION.findall(line)) <= known, line


@each_page
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    names = {line.split()[1] for line in _commands(page) if line.startswith("make ")}

    assert names <= targets


@each_page
def test_every_environment_variable_that_a_page_names_is_read(page: Path) -> None:
    options = {f"CONTEND_{name.upper()}" for name in [*RunOptions.model_fields, *PromptBuilderSettings.model_fields]}

    names = set(_VARIABLE.findall(page.read_text("utf-8"))) - {"CONTEND_", "CONTEND_DATA"}  # the tests read the latter

    assert names <= _variables() | options


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_for_developers_names_is_there_and_defines_what_it_names_of_it(page: str) -> None:
    named = _FILE.findall((ROOT / page).read_text("utf-8"))
    assert len(named) > 5

    wrong = []
    for name, definitions in named:
        paths = [path for root in (ROOT / "src" / "contend", ROOT) if (path := root / name).exists()]
        missing = [each for each in _INLINE.findall(definitions) if not (paths and _defines(paths[0], each))]
        if missing or not paths:
            wrong.append((name, missing))

    assert wrong == []


def _defines(path: Path, name: str) -> bool:
    definition = rf"(?:def|class|function) {name}\b|^ *{name}\b[^=\n]*="
    return bool(re.search(definition, path.read_text("utf-8"), re.MULTILINE))


def test_each_behaviour_of_the_architecture_page_leads_to_a_function() -> None:
    rows = [row for row in _section("## Behaviour").splitlines()[2:] if row.startswith("| ")][1:]

    assert len(rows) >= 40
    assert [row for row in rows if not _FILE.search(row.split("|")[2])] == []


def test_the_architecture_page_is_read_in_minutes() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 12_000


def _section(heading: str) -> str:
    return (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition(heading)[2].partition("\n## ")[0]


def test_the_architecture_page_lists_every_room_in_the_order_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = [row.split("|")[1] for row in _section("## Rooms").splitlines() if row.startswith("| `")]

    rooms = [[room.removeprefix("contend.") for room in layer.split(" | ")] for layer in layers]
    places = [[_row_of(room, rows) for room in layer] for layer in rooms]

    for above, below in pairwise(places):
        assert max(above) <= min(below), f"{rows[min(below)]} stands before {rows[max(above)]}"


def _row_of(room: str, rows: list[str]) -> int:
    (place,) = [place for place, row in enumerate(rows) if re.search(rf"`{room}(?:/|\.py)`", row)]
    return place


def _write_config(page: Path, workspace: Path) -> set[str]:
    """The page's config examples as a workspace's files, each named by its first line; the names.

    A function that one names is there, too: whoever configures it has written it.
    """
    names = set()
    workspace.mkdir(exist_ok=True)
    for module, function in re.findall(r'^function = "(\w+):(\w+)"', page.read_text("utf-8"), re.MULTILINE):
        with (workspace / f"{module}.py").open("a", encoding="utf-8") as file:
            file.write(f"def {function}(*given):\n    raise NotImplementedError\n")
    for block in [*blocks(page, "toml"), *blocks(page, "yaml")]:
        name = block.splitlines()[0].removeprefix("# ")
        assert name.startswith(("config/", "criteria/")), (
            f"{page.name}: the first line of a config example names its file: {name!r}"
        )
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(block, "utf-8")
        names.add(name)
    for block in blocks(page, "python"):
        name = block.splitlines()[0].removeprefix("# ")
        if name.endswith(".py"):
            (workspace / name).write_text(block, "utf-8")
    return names


_WITH_CONFIG = [page for page in PAGES if re.search(r"^# (?:config|criteria)/", page.read_text("utf-8"), re.MULTILINE)]


@pytest.mark.parametrize("page", _WITH_CONFIG, ids=_shown)
def test_every_config_example_loads(page: Path, workspace: Path) -> None:
    names = _write_config(page, workspace)

    services = Services(load_settings(workspace=workspace))

    services.library.check("en")
    read_sections(services.config.files["config/sections.yaml"], "default")
    criteria = {name for name in names if name.startswith("criteria/")}
    assert all(read_criteria(workspace, Path(name).stem).criteria for name in criteria)
    own_files = {name for name, path in services.config.files.items() if path.is_relative_to(workspace)}
    assert own_files == names - criteria


def test_the_reference_says_what_the_code_says() -> None:
    pages = runpy.run_path(str(ROOT / "scripts" / "reference.py"))["PAGES"]

    assert pages.keys() == {page.name for page in (ROOT / "docs").glob("reference*.md")}
    for name, page in pages.items():
        assert (ROOT / "docs" / name).read_text("utf-8") == page(), "run `make docs`"


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "approvals": lambda: get_args(Approval),
    "failures": lambda: {*get_args(RunStatus)} - {"running"},
    "how-a-run-works": lambda: [node for room in ("contest", "team", "research", "learning") for node in _nodes(room)],
    "models-and-endpoints": lambda: get_args(Role),
    "prompts": lambda: [*_prompt_variables(), *PromptBuilderSettings.model_fields, *RoundPromptConfig.model_fields],
    "rounds-and-stopping": lambda: [*get_args(ExitReason), *JudgmentConfig.model_fields],
    "scores-and-ranking": lambda: [metric.name for metric in load_config(ROOT).evaluator.metrics],
    "sources-and-documents": lambda: [*KINDS, *Services(load_settings(workspace=ROOT)).sources.factories],
    "teams": lambda: load_config(ROOT).teams,
}
"""What a reader looks up on a page."""


def _variables() -> set[str]:
    """What the process reads from its environment beside run options and prompts."""
    fields = Settings.model_fields.items()
    return {str(field.validation_alias or f"CONTEND_{name.upper()}") for name, field in fields}


def _prompt_variables() -> set[str]:
    """The variables of the prompts that a setting may replace, and the keys of their lists."""
    full = [samples_of(name)[0] for name in SETTINGS]
    keys = {key for values in full for name in ("history", "leaderboard") for key in values.get(name, [{}])[0]}
    return {name for values in full for name in values} | keys | {"current_datetime", "language_name"}


def _nodes(room: str) -> list[str]:
    text = (ROOT / "src" / "contend" / room / "graph.py").read_text("utf-8")
    return re.findall(r'add_node\(graph, "(\w+)"', text)


@pytest.mark.parametrize("page", _NAMES)
def test_a_page_names_all_there_is(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")

    missing = [name for name in _NAMES[page]() if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", text)]

    assert missing == []


@each_page
def test_every_python_example_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, page.name, "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", [page for page in PAGES if "asyncio.run(" in page.read_text("utf-8")], ids=_shown)
def test_every_whole_python_example_ends_with_a_report(
    page: Path,
    *,
    workspace: Path,
    vendors: Vendors,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    _write_config(page, workspace)
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    monkeypatch.setenv("CONTEND_WORKSPACE", str(workspace))
    for number, block in enumerate(text for text in blocks(page, "python") if "asyncio.run(" in text):
        (tmp_path / f"example{number}.py").write_text(block, "utf-8")

        runpy.run_path(str(tmp_path / f"example{number}.py"), run_name="__main__")

        output = capsys.readouterr().out
        assert "completed" in output
        assert "## References" in output


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_every_page_of_the_guide_is_found_by_a_title_that_names_contend(page: Path) -> None:
    assert "contend" in read_document(page).title


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder]  # `--quiet` would let warnings pass
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, cwd=ROOT, timeout=120, env=environment, capture_output=True, text=True)  # noqa: S603 - this test's own words
    assert done.returncode == 0, done.stderr
    return folder


def test_the_guides_pictures_are_of_the_demos_recording() -> None:
    """`make pictures` takes them, and notes which recording they show."""
    pictures = runpy.run_path(str(ROOT / "scripts" / "pictures.py"))

    assert pictures["MADE_FROM"].read_text("utf-8").split()[0] == pictures["recording_digest"](), "run `make pictures`"


def test_the_guides_site_has_every_page_and_no_link_that_leads_nowhere(site: Path) -> None:
    """The build is strict: a link to no page or heading, and a page outside the navigation, fail it."""
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}

    assert pages == {page.relative_to(site) for page in site.rglob("*.html")} - {Path("404.html")}


def test_the_guides_site_loads_nothing_from_another_host(site: Path) -> None:
    loaded = [
        address
        for page in site.rglob("*.html")
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text("utf-8"))
        for address in re.findall(r'(?:src|href)="([^"]*)"', tag)
    ]
    styles = "".join(style.read_text("utf-8") for style in site.rglob("*.css"))

    assert loaded
    assert [address for address in loaded if "//" in address] == []
    assert re.findall(r"url\(\W?(?:https?:)?//", styles) == []


def test_the_guide_is_what_the_package_ships() -> None:
    assert resource("docs").samefile(ROOT / "docs")


def test_the_words_of_the_design_notes_live_where_their_page_says() -> None:
    text = (ROOT / "docs/words-of-the-design-notes.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(contend[\w.]+)` \|", text, re.MULTILINE)

    assert len(rows) > 30
    assert [
        name for name, module in rows if getattr(import_module(module), name).__module__.partition(".")[0] != "contend"
    ] == []
