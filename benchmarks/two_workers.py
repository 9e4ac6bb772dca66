"""Two workers of another Agent Server, one of them killed: is a run lost?

`python benchmarks/two_workers.py GRAPHHARBOR --database URI --redis URI [--runs 10]`, where GRAPHHARBOR is the command
of that name in an environment that holds it and contend: `pip install graphharbor -e .`. The PostgreSQL database may be
written to. Starts the server and two workers on one workspace and a stub of a model, asks for the runs, ends one worker
by SIGKILL in the middle of its run, and says what became of each.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from stub import DOCS, running

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = f"""
[options]
sources = ["local"]
documents = ["{DOCS}"]
learn = false
depth = "quick"
"""
GRAPHS = {"contend": "./graphs/contest.py:graph", "research": "./graphs/research.py:graph"}
LATENCY_SECONDS = 0.5
MOST_SECONDS = 600
ENDED = {"success", "error", "interrupted", "timeout"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def child(*command: str, log: Path, **environment: str) -> AsyncIterator[Process]:
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **environment}, cwd=ROOT, stdout=output, stderr=output
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def wait_until_up(client: LangGraphClient, log: Path) -> None:
    for _ in range(240):
        try:
            await client.assistants.search()
        except httpx.HTTPError:  # it is not up yet
            await asyncio.sleep(0.5)
        else:
            return
    sys.exit(f"the server does not answer: see {log}")


async def statuses(client: LangGraphClient, runs: list[dict[str, Any]]) -> list[str]:
    return [(await client.runs.get(run["thread_id"], run["run_id"]))["status"] for run in runs]


async def ask(client: LangGraphClient, number: int) -> dict[str, Any]:
    thread = await client.threads.create()
    theme = f"How does a run go on after a crash, case {number + 1}?"
    run = await client.runs.create(thread["thread_id"], "contend", input={"theme": theme})
    return {**run, "theme": theme}


async def kill_midway(client: LangGraphClient, runs: list[dict[str, Any]], worker: Process) -> int:
    """Kill the worker as soon as two runs have ended and two more go; how many had ended then."""
    while True:
        now = Counter(await statuses(client, runs))
        if worker.returncode is not None:
            sys.exit("the worker that was to be killed had ended by itself: see its log")
        if now["success"] >= 2 and now["running"] >= 2:  # noqa: PLR2004 - as said
            await asyncio.sleep(1)
            worker.send_signal(signal.SIGKILL)
            return now["success"]
        await asyncio.sleep(0.2)


async def final_statuses(client: LangGraphClient, runs: list[dict[str, Any]]) -> list[str]:
    until = time.monotonic() + MOST_SECONDS
    while time.monotonic() < until:
        now = await statuses(client, runs)
        if {*now} <= ENDED:
            return now
        await asyncio.sleep(1)
    return await statuses(client, runs)


async def measure(arguments: argparse.Namespace, folder: Path) -> None:
    (folder / "config").mkdir()
    shipped = (ROOT / "config" / "orchestrator.toml").read_text("utf-8")
    (folder / "config" / "orchestrator.toml").write_text(shipped.partition("\n[options]")[0] + OPTIONS, "utf-8")
    # The graphs alone: checkpoints are the other server's own, and the HTTP API and its page are made for LangGraph's.
    shutil.copytree(ROOT / "graphs", folder / "graphs")
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": GRAPHS}), "utf-8")
    port, log, config = str(free_port()), folder / "server.log", str(folder / "langgraph.json")
    with running(LATENCY_SECONDS, log=folder / "calls.jsonl") as stub:
        variables = {
            "CONTEND_WORKSPACE": str(folder),
            "OPENAI_BASE_URL": stub.address,
            "OPENAI_API_KEY": "sk-stub",
            "DATABASE_URI": arguments.database,
            "REDIS_URI": arguments.redis,
            "LANGSMITH_TRACING": "false",
        }
        command = arguments.graphharbor
        async with child(command, "migrate", "upgrade", log=log, **variables) as migration:
            await migration.wait()
        worker = (command, "worker", "--config", config)
        async with child(command, "serve", "--port", port, "-c", config, log=log, **variables):
            client = get_client(url=f"http://127.0.0.1:{port}")
            await wait_until_up(client, log)
            async with (
                child(*worker, log=folder / "killed.log", **variables) as killed,
                child(*worker, log=folder / "other.log", **variables),
            ):
                runs = [await ask(client, number) for number in range(arguments.runs)]
                before = await kill_midway(client, runs, killed)
                print(f"{before} of {arguments.runs} runs had ended when one of two workers was killed", flush=True)
                after = await final_statuses(client, runs)
                states = [(await client.threads.get_state(run["thread_id"]))["values"] for run in runs]
    themes = [state.get("theme") if state.get("report") else None for state in states]
    answered = sum(theme == run["theme"] for theme, run in zip(themes, runs, strict=True))
    print("statuses:", dict(Counter(after)))
    print("contend's own:", dict(Counter(state.get("status") for state in states)))
    print("reports, each on its own question:", answered)
    print("calls of a model:", len((folder / "calls.jsonl").read_text("utf-8").splitlines()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphharbor")
    parser.add_argument("--database", required=True)
    parser.add_argument("--redis", required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="a folder for workspace and logs, to look at afterwards")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
        asyncio.run(measure(arguments, arguments.keep))
        return
    with TemporaryDirectory() as folder:
        asyncio.run(measure(arguments, Path(folder)))


if __name__ == "__main__":
    main()
