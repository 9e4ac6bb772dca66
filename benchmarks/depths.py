"""What a contest costs: calls and tokens beside the dry run's range, beside one writer's single pass, and by reply.

`python benchmarks/depths.py [--quick] [--lengths]` plays the depths against a stub, for a model that reads 128,000
tokens: over the guide's written pages in English, over 30 documents of about 1,000 tokens, what modules of the standard
library say of themselves, over longer ones of more modules, which no prompt holds, and over the demo's, which are
short. The sizes of prompts also for a model that reads 16,000, in steps.
`--quick` leaves deep out; `--lengths` plays each depth with a brief, a standard and a long report.
The stub finds all criteria met; `auto, open` is `auto` where no report meets two of them. Below the table stand US
dollars at the prices of `costs.py`.
Tokens are estimates of contend's own: prompts, schemas and replies together. Repeats and cost are those of `costs.py`:
the share of the input that an earlier call of the run began with, too, and what all calls cost where that costs a tenth
and output five times as much. One pass: a writer that reads all documents once and writes the report; `times` it by
tokens, and by cost. Below stand US dollars at the prices of two models.
"""

import argparse
import asyncio
import inspect
import json
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

from contend.app import dry_run, run
from contend.llm import LEAST_CONTEXT_TOKENS
from contend.llm.chat import json_schema, schema_tokens
from contend.models.options import Depth, Length, RunOptions
from contend.models.replies import ReportReply
from contend.models.research import Passage
from contend.prompts import mark_of
from contend.prompts.research import ReportPrompt, ResearchHead, SourceDocument
from contend.services import Services
from contend.settings import load_settings
from contend.settings.files import resource
from contend.sources.local import LocalDocuments
from contend.text import estimate_tokens
from contend.writing import target_length
from costs import PRICES, Cost, cost_of, text_of
from stub import DOCS, reply_to, running, shape_in

_THEME = "How does contend resume a run after a crash, what is repeated, and what does Redis change about it?"
_DEMO = DOCS.parent / "demo"
_DEMO_THEME = (_DEMO / "question.txt").read_text("utf-8").strip()
_LIBRARY_THEME = (
    "How do the standard library's modules read, write and compare files and texts, and which errors do they raise?"
)
_MODULES = [
    "argparse", "base64", "calendar", "codecs", "collections", "contextlib", "csv", "dataclasses", "difflib", "enum",
    "fileinput", "functools", "http.client", "io", "json", "logging", "lzma", "mimetypes", "os", "pickle", "random",
    "shelve", "shutil", "string", "subprocess", "tarfile", "tempfile", "tokenize", "urllib.parse", "zipfile",
]  # fmt: skip
_MORE_MODULES = [
    "asyncio", "configparser", "ctypes", "datetime", "decimal", "email.message", "fractions", "ftplib",
    "gettext", "heapq", "inspect", "ipaddress", "itertools", "locale", "mailbox", "multiprocessing", "optparse",
    "pathlib", "platform", "smtplib", "socket", "socketserver", "ssl", "statistics", "struct", "threading", "tkinter",
    "trace", "turtle", "typing", "unittest", "unittest.mock", "uuid", "warnings", "weakref", "xmlrpc.client", "zlib",
]  # fmt: skip
_MOST_CHARACTERS, _SECTION_CHARACTERS = 4_200, 1_200
_LARGE_CHARACTERS = 24_000
_READS = (128_000, LEAST_CONTEXT_TOKENS)
_UNMET = 2
_TEAMS = ("archivist", "skeptic", "scholar")


class Corpus(NamedTuple):
    documents: Path
    theme: str


def corpora(folder: Path) -> dict[str, Corpus]:
    """By name. The documents about modules are written into the folder."""
    guide, thirty, large = (folder / name for name in ("guide", "thirty", "large"))
    for each in (guide, thirty, large):
        each.mkdir()
    for page in DOCS.glob("*.md"):
        if not page.name.startswith("reference"):
            shutil.copy(page, guide)
    for name in _MODULES:
        (thirty / f"{name}.md").write_text(page_of(name), "utf-8")
    for name in (*_MODULES, *_MORE_MODULES):
        (large / f"{name}.md").write_text(page_of(name, most=_LARGE_CHARACTERS), "utf-8")
    return {
        "guide": Corpus(guide, _THEME),
        "thirty": Corpus(thirty, _LIBRARY_THEME),
        "large": Corpus(large, _LIBRARY_THEME),
        "demo": Corpus(_DEMO / "documents", _DEMO_THEME),
    }


def page_of(name: str, *, most: int = _MOST_CHARACTERS) -> str:
    """What a module of the standard library says of itself, in sections of `most` characters in all."""
    module = import_module(name)
    page = f"# {name}\n\n{inspect.getdoc(module) or ''}"[:most]
    for part in getattr(module, "__all__", None) or dir(module):
        described = getattr(module, part)
        text = inspect.getdoc(described) if inspect.isroutine(described) or inspect.isclass(described) else None
        if text and text not in page and len(page) < most:
            page += f"\n\n## {name}.{part}\n\n{text[:_SECTION_CHARACTERS]}"
    return page


class Call(NamedTuple):
    """`shape`: the name of the reply's shape; `schema`, `reply`: their tokens; `counted`: as `costs.py` counts it."""

    shape: str
    text: str
    schema: int
    reply: int
    counted: tuple[str, int]

    @property
    def tokens(self) -> int:
        """Of the prompt."""
        return estimate_tokens(self.text)


class Run(NamedTuple):
    calls: list[Call]
    planned_calls: tuple[int, int]
    planned_tokens: tuple[int, int]

    @property
    def prompts(self) -> int:
        return sum(call.tokens for call in self.calls)

    @property
    def tokens(self) -> int:
        """All that is paid for: prompts, schemas, replies."""
        return self.prompts + sum(call.schema + call.reply for call in self.calls)

    @property
    def cost(self) -> Cost:
        return cost_of([call.counted for call in self.calls])


def write_workspace(folder: Path, reads: int) -> None:
    """Three teams over own documents; every model reads so much."""
    (folder / "config" / "teams").mkdir(parents=True)
    entries = "".join(f'\n[[orchestrator.teams]]\nconfig = "config/teams/{team}.toml"\n' for team in _TEAMS)
    (folder / "config" / "orchestrator.toml").write_text(f"[orchestrator]\n{entries}", "utf-8")
    for team in _TEAMS:
        lines = f'team_id = "{team}"\nname = "{team.title()}"\nsources = ["local"]\nstance = "As a {team} would."\n'
        (folder / "config" / "teams" / f"{team}.toml").write_text(lines, "utf-8")
    models = resource("config/models.toml").read_text("utf-8")
    context = models.replace("[context]", f'[context]\n"*" = {reads}')
    (folder / "config" / "models.toml").write_text(context, "utf-8")


async def play(depth: Depth, length: Length | None, reads: int, corpus: Corpus, folder: Path, *, unmet: int = 0) -> Run:
    write_workspace(folder, reads)
    log = folder / "requests.jsonl"
    documents, theme = corpus
    options = RunOptions(
        documents=[str(documents)], sources=["local"], model="stub", depth=depth, length=length, learn=False
    )
    with running(0, log=log, unmet=unmet) as stub:
        settings = load_settings(workspace=folder, OPENAI_BASE_URL=stub.address, OPENAI_API_KEY="sk-stub")
        planned = (await dry_run(theme, options=options, settings=settings)).estimate
        outcome = await run(theme, options=options, settings=settings)
    if outcome.report is None:
        raise SystemExit(f"the run ended {outcome.status}: {outcome.message}")
    calls = [call for line in log.read_bytes().splitlines() if (call := call_of(line, unmet))]
    return Run(calls, planned.calls, planned.tokens)


def call_of(line: bytes, unmet: int = 0) -> Call | None:
    """A request of the log; None where it is none with a shape, such as a check whether the endpoint answers."""
    body = json.loads(line)
    if (shape := shape_in(body)) is None:
        return None
    text = "\n".join(str(message["content"]) for message in body["messages"])
    reply = reply_to(line, unmet)
    counted = text_of(body), len(json.dumps(reply))
    schema = _json_tokens(body["response_format"])
    return Call(shape.name, text, schema, _json_tokens(reply), counted)


class Single(NamedTuple):
    """One writer's pass over all documents: its tokens, and what it costs by `costs.py`."""

    tokens: int
    cost: int


async def one_pass(corpus: Corpus, folder: Path) -> Single:
    """A writer that reads all documents once."""
    documents, theme = corpus
    services = Services(load_settings(workspace=folder, OPENAI_API_KEY="sk-stub"))
    source = services.sources.get("local", [str(documents)])
    if not isinstance(source, LocalDocuments):
        raise SystemExit("the documents of a benchmark are local")
    await source.read_all()
    passages = [
        Passage(id=str(number), url=each.result.url, title=each.result.title, heading=each.heading, text=each.text)
        for number, each in enumerate(await source.whole(10**9))
    ]
    values = ResearchHead(theme=theme, passages=SourceDocument.of_passages(passages))
    head = services.library.show(values, language="en", mark=mark_of("x"))
    prompt = ReportPrompt(head=head, **target_length("standard", parts=1))
    asked = services.library.call(prompt, language="en", mark=mark_of("x"))
    request = json.dumps(
        {"messages": [{"role": "user", "content": ""}], "response_format": {"json_schema": json_schema(ReportReply)}}
    ).encode()
    read = estimate_tokens(asked.system) + estimate_tokens(asked.user) + schema_tokens(ReportReply)
    reply = reply_to(request)
    text = json.dumps(json_schema(ReportReply)) + asked.system + asked.user
    return Single(read + _json_tokens(reply), cost_of([(text, len(json.dumps(reply)))]).total)


def _json_tokens(value: Any) -> int:  # noqa: ANN401 - JSON
    return estimate_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def sizes(calls: Sequence[Call]) -> dict[str, tuple[int, int, int, int]]:
    """Calls, mean and largest prompt, mean reply, in tokens, by reply shape."""
    by_shape: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_shape[call.shape].append(call)
    return {shape: _sizes(each) for shape, each in sorted(by_shape.items())}


def _sizes(calls: Sequence[Call]) -> tuple[int, int, int, int]:
    prompts = [call.tokens for call in calls]
    replied = sum(call.reply for call in calls)
    return len(calls), round(sum(prompts) / len(calls)), max(prompts), round(replied / len(calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without deep")
    parser.add_argument("--lengths", action="store_true", help="each depth with reports of each length")
    chosen = parser.parse_args()
    depths: tuple[Depth, ...] = get_args(Depth)[:3] if chosen.quick else get_args(Depth)
    with TemporaryDirectory() as documents:
        report(depths, get_args(Length) if chosen.lengths else (None,), corpora(Path(documents)))


def report(depths: Sequence[Depth], lengths: Sequence[Length | None], played_over: Mapping[str, Corpus]) -> None:
    runs: dict[str, Run] = {}
    costs: dict[str, Cost] = {}
    print("corpus  depth      length   calls  dry run      tokens  dry run           schemas", end="")
    print("  repeats       cost   one pass  times  of cost")
    for name, corpus in played_over.items():
        with TemporaryDirectory() as folder:
            single = asyncio.run(one_pass(corpus, Path(folder)))
        with TemporaryDirectory() as folder:
            played = asyncio.run(play("auto", None, _READS[0], corpus, Path(folder), unmet=_UNMET))
            costs[f"{name:7} auto, open"] = played.cost
        print(_row(f"{name:7} auto, open          ", played, single))
        for depth, length in product(depths, lengths):
            with TemporaryDirectory() as folder:
                played = asyncio.run(play(depth, length, _READS[0], corpus, Path(folder)))
                costs[f"{name:7} {depth} {length or ''}".rstrip()] = played.cost
            print(_row(f"{name:7} {depth:10} {length or '':8}", played, single))
            if (depth, length or "standard") == ("standard", "standard"):
                runs[f"{name}, a model that reads {_READS[0]:,} tokens"] = played
    print("\ndollars                ", *(f"{model:>10}" for model in PRICES))
    for name, cost in costs.items():
        print(f"{name:23}", *(f"{cost.dollars(model):10.2f}" for model in PRICES))
    with TemporaryDirectory() as folder:
        runs[f"guide, a model that reads {_READS[1]:,} tokens"] = asyncio.run(
            play("standard", None, _READS[1], played_over["guide"], Path(folder))
        )
    for name, played in runs.items():
        print(f"\nstandard, {name}\nreply               calls   mean    most  reply")
        for shape, (made, mean, most, replied) in sizes(played.calls).items():
            print(f"{shape:20} {made:4} {mean:6,} {most:7,} {replied:6,}")


def _row(name: str, played: Run, single: Single) -> str:
    calls = "{:,}-{:,}".format(*played.planned_calls)
    tokens = "{:,}-{:,}".format(*played.planned_tokens)
    schemas = sum(call.schema for call in played.calls)
    return (
        f"{name} {len(played.calls):5}  {calls:8} {played.tokens:10,}  {tokens:17} {schemas:7,}"
        f" {played.cost.repeated_share:8.0%} {played.cost.total:10,} {single.tokens:10,}"
        f" {played.tokens / single.tokens:6.1f} {played.cost.total / single.cost:8.1f}"
    )


if __name__ == "__main__":
    main()
