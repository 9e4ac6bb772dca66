"""What a fresh install gets: pins that fit the ranges, without addresses."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import dockerfile
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)$")


MODULES = {
    "langgraph-checkpoint-redis": "langgraph.checkpoint.redis",
    "langgraph-checkpoint-sqlite": "langgraph.checkpoint.sqlite",
    "tavily-python": "tavily",
    "pyyaml": "yaml",
    "python-dotenv": "dotenv",
    "python-docx": "docx",
    "markdown-it-py": "markdown_it",
}
"""Where a package's name is not that of what it brings."""


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").split("\n")
    pins = [PIN.match(line) for line in lines if line and not line.startswith("#")]
    assert all(pins), "constraints.txt holds `name==version` lines only"
    return {canonicalize_name(pin[1]): pin[2] for pin in pins if pin}


def _requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    return [Requirement(line) for line in requirements]


def test_every_dependency_is_pinned_within_its_range() -> None:
    pins = _pins()
    unfit = [
        str(requirement)
        for requirement in _requirements()
        if requirement.name != "contend"
        and not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert unfit == []


def test_every_core_dependency_is_imported_by_shipped_code() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {canonicalize_name(Requirement(line).name) for line in core}
    shipped = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    unused = []
    for name in names - {"wordllama"}:  # its weights are read, its code is not run
        module = re.escape(MODULES.get(name, name.replace("-", "_")))
        if not re.search(rf"^\s*(?:from|import) {module}\b", shipped, re.MULTILINE):
            unused.append(name)

    assert {"langgraph", "langchain-core", "langchain-openai", "tavily-python", "arxiv", "redis"} <= names
    assert {"langgraph-checkpoint-redis", "pydantic", "jinja2"} <= names
    assert unused == []


def test_every_package_that_shipped_code_imports_is_declared() -> None:
    declared = {canonicalize_name(requirement.name) for requirement in _requirements()}
    brought_by = packages_distributions()
    undeclared = [
        module
        for module in sorted(_imports() - sys.stdlib_module_names - {"contend"})
        if declared.isdisjoint(map(canonicalize_name, brought_by.get(module, [module])))
    ]

    assert undeclared == []


def _imports() -> set[str]:
    """The first names of all modules that shipped code imports, wherever in a file."""
    files = [path for folder in ("src", "graphs") for path in (ROOT / folder).rglob("*.py")]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.partition(".")[0] for name in plain | modules}


def test_an_image_holds_what_it_is_installed_from_and_neither_keys_nor_a_workspace() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    everything, *let_in = [line for line in lines if line and not line.startswith(("#", "**"))]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    needed = {*build["wheel"]["packages"], *build["wheel"]["force-include"], "pyproject.toml", "constraints.txt"}

    names = {line.removeprefix("!") for line in let_in}
    assert everything == "*"
    assert all(line.startswith("!") and (ROOT / line.removeprefix("!")).exists() for line in let_in)
    assert [each for each in needed if not any(each == name or each.startswith(f"{name}/") for name in names)] == []
    assert names.isdisjoint({".env", "documents", "leases", "playbooks", "results", "contend.duckdb", "demo", "."})
    assert "**/.env" in lines


def test_langgraphs_dockerfile_of_the_project_is_one_that_docker_reads(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", str(tmp_path / "Dockerfile")]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, timeout=120)  # noqa: S603 - this test's own words

    commands = dockerfile.parse_file(str(tmp_path / "Dockerfile"))

    variables = {each.value[0]: each.value[1].strip("'") for each in commands if each.cmd.upper() == "ENV"}
    assert json.loads(variables["LANGSERVE_GRAPHS"]).keys() == {"contend", "team", "research", "learn"}
    assert json.loads(variables["LANGGRAPH_HTTP"])["disable_a2a"]
