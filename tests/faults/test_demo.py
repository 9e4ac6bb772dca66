"""`make demo` spends nothing: keys in the environment or in `.env` do not reach it."""

import sys
from pathlib import Path

from fakes.terminal import child_of
from fakes.vendors import Vendors

ROOT = Path(__file__).parents[2]


def test_the_demo_asks_no_model_although_keys_stand_in_the_environment_and_in_the_env_file(
    tmp_path: Path, vendors: Vendors
) -> None:
    keys = {"OPENAI_API_KEY": "sk-planted-0123456789", "OPENAI_BASE_URL": vendors.base_url, "TAVILY_API_KEY": "tvly-x"}
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in keys.items()), "utf-8")
    make = ["make", "--makefile", ROOT / "Makefile", "--directory", tmp_path]
    # The environment that the tests run in stands for the demo's own.
    given = ["demo", "--assume-old=.venv/core", f"BIN={Path(sys.executable).parent}"]

    with child_of([*make, *given], CONTEND_MODEL="gpt-5-mini", **keys) as child:
        out, err = child.communicate(timeout=120)

    assert child.returncode == 0, err
    assert "extractive (no language model)" in out
    assert (tmp_path / "demo" / "report.md").is_file()
    assert vendors.calls == []
