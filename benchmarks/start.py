"""How long contend takes to start: its help beside a bare typer's, its first model call beside the imports it needs.

`python benchmarks/start.py [--quick]`. Each time is the median of several starts, taken in turns.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from stub import DOCS, running

_CONTEND = str(Path(sys.executable).with_name("contend"))
_TYPER = """
import typer
app = typer.Typer(add_completion=False)

@app.command()
def run(theme: str) -> None: "Run."

app()
"""
_IMPORTS = "import langgraph.graph, langchain_openai"


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def own_help() -> float:
    return seconds([_CONTEND, "--help"])


def bare_help() -> float:
    return seconds([sys.executable, "-c", _TYPER, "--help"])


def imports() -> float:
    return seconds([sys.executable, "-c", _IMPORTS])


def first_call() -> float:
    """From the start of `contend run` in a new workspace to its first request."""
    with TemporaryDirectory() as folder, running(1) as stub:
        given = ["--docs", str(DOCS), "--source", "local", "--workspace", folder]
        environment = os.environ | {"OPENAI_BASE_URL": stub.address, "OPENAI_API_KEY": "sk-stub"}
        began = time.perf_counter()
        command = [_CONTEND, "run", "How does a run go on after a crash?", *given]
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            stub.wait_for_first_request()
            took = time.perf_counter() - began
            run.kill()
    return took


def compare(what: str, ours: Callable[[], float], beside: str, theirs: Callable[[], float], times: int) -> str:
    pairs = [(ours(), theirs()) for _ in range(times)]
    own, other = (median(taken) for taken in zip(*pairs, strict=True))
    return f"{what:36} {own:6.2f} s   {beside:40} {other:6.2f} s   ratio {own / other:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three starts each, not seven")
    times = 3 if parser.parse_args().quick else 7
    print(compare("contend --help", own_help, "a bare typer app", bare_help, times))
    print(compare("contend run, to its first model call", first_call, _IMPORTS, imports, times))


if __name__ == "__main__":
    main()
