"""Files that other programs read of the repository, and which are passed over in silence where they are wrong."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def _parsed(path: Path) -> Any:  # noqa: ANN401 - whatever YAML holds
    return yaml.safe_load(path.read_text("utf-8"))


def test_the_hooks_of_a_commit_run_what_lint_runs_with_tools_that_are_installed() -> None:
    (repository,) = _parsed(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = [hook["entry"].replace(" --force-exclude", "") for hook in repository["hooks"]]
    lint = re.findall(r"^\t@\$\(BIN\)/(.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    linters = [line.removesuffix(" .") for line in lint if line.startswith(("ruff ", "mypy", "lint-imports"))]

    assert repository["repo"] == "local"
    assert hooks == [f".venv/bin/{line}" for line in linters]
    assert [hook for hook in hooks if not Path(sys.executable).with_name(Path(hook.split()[0]).name).exists()] == []


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.stem)
def test_an_issue_form_is_one_that_github_shows(form: Path) -> None:
    parsed = _parsed(form)
    asked = [part for part in parsed["body"] if part["type"] != "markdown"]
    ids = [part["id"] for part in asked]

    assert parsed["name"]
    assert parsed["description"]
    assert len(set(ids)) == len(ids) > 0
    assert {part["type"] for part in asked} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert all(part["attributes"]["label"] for part in asked)


def test_the_workflow_installs_what_the_checks_of_a_clean_checkout_install() -> None:
    (job,) = _parsed(ROOT / ".github/workflows/ci.yml")["jobs"].values()
    (install,) = [step["run"] for step in job["steps"] if "apt-get install" in step.get("run", "")]
    own = (ROOT / ".ci/run").read_text("utf-8")
    wanted = re.findall(r"missing\+=\(([\w -]+)\)", own) + re.findall(r"for package in (.+); do", own)

    assert {package for line in wanted for package in line.split()} <= set(install.split())
