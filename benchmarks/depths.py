"""What each depth costs: calls and tokens beside the dry run's range, prompt sizes by role, and what repeats.

`python benchmarks/depths.py [--quick]` plays quick, standard and deep over the guide against a stub, for a model that
reads 128,000 tokens; the table of prompt sizes also for one that reads 8,000. `--quick` leaves deep out. Tokens are
estimates of contend's own. What repeats: the share of prompt tokens that an earlier prompt of the run began with, too,
which providers' caches serve.
"""

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, get_args

from contend.app import dry_run, run
from contend.models.options import Depth, RunOptions
from contend.resources import resource
from contend.settings import load_settings
from contend.text import estimate_tokens
from stub import DOCS, running

_THEME = "How does contend resume a run after a crash, what is repeated, and what does Redis change about it?"
_READS = (128_000, 8_000)
_TEAMS = ("archivist", "skeptic", "scholar")


class Prompt(NamedTuple):
    shape: str
    text: str

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


class Run(NamedTuple):
    calls: int
    tokens: int
    prompts: list[Prompt]
    least: tuple[int, int]
    most: tuple[int, int]


def write_workspace(folder: Path, reads: int) -> None:
    """Three teams over own documents; every model reads so much."""
    (folder / "config" / "teams").mkdir(parents=True)
    entries = "".join(f'\n[[orchestrator.teams]]\nconfig = "config/teams/{team}.toml"\n' for team in _TEAMS)
    (folder / "config" / "orchestrator.toml").write_text(f"[orchestrator]\n{entries}", "utf-8")
    for team in _TEAMS:
        lines = f'team_id = "{team}"\nname = "{team.title()}"\nsources = ["local"]\n'
        (folder / "config" / "teams" / f"{team}.toml").write_text(lines, "utf-8")
    models = resource("config/models.toml").read_text("utf-8")
    context = models.replace("[context]", f'[context]\n"*" = {reads}')
    (folder / "config" / "models.toml").write_text(context, "utf-8")


async def play(depth: Depth, reads: int, folder: Path) -> Run:
    write_workspace(folder, reads)
    log = folder / "requests.jsonl"
    options = RunOptions(documents=[str(DOCS)], sources=["local"], model="stub", depth=depth, learn=False)
    with running(0, log=log) as stub:
        settings = load_settings(workspace=folder, OPENAI_BASE_URL=stub.address, OPENAI_API_KEY="sk-stub")
        planned = (await dry_run(_THEME, options=options, settings=settings)).estimate
        outcome = await run(_THEME, options=options, settings=settings)
    if outcome.report is None:
        raise SystemExit(f"the run ended {outcome.status}: {outcome.message}")
    bodies = [json.loads(line) for line in log.read_bytes().splitlines()]
    prompts = list(prompts_of(bodies))
    tokens = sum(prompt.tokens for prompt in prompts)
    return Run(
        len(prompts), tokens, prompts, (planned.calls[0], planned.tokens[0]), (planned.calls[1], planned.tokens[1])
    )


def prompts_of(bodies: Sequence[dict[str, object]]) -> Iterator[Prompt]:
    for body in bodies:
        shape = body.get("response_format")
        messages = body["messages"]
        if isinstance(shape, dict) and isinstance(messages, list):
            yield Prompt(shape["json_schema"]["name"], "\n".join(str(message["content"]) for message in messages))


def repeated_share(prompts: Sequence[Prompt]) -> float:
    """The share of prompt tokens that stand at the beginning of an earlier prompt, too."""
    repeated = total = 0
    for place, prompt in enumerate(prompts):
        longest = max((shared_start(prompt.text, other.text) for other in prompts[:place]), default=0)
        repeated += estimate_tokens(prompt.text[:longest])
        total += prompt.tokens
    return repeated / total


def shared_start(text: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(text), len(other)))


def sizes(prompts: Sequence[Prompt]) -> dict[str, tuple[int, int, int]]:
    """Calls, mean and largest tokens by reply shape."""
    by_shape: defaultdict[str, list[int]] = defaultdict(list)
    for prompt in prompts:
        by_shape[prompt.shape].append(prompt.tokens)
    return {shape: (len(each), round(sum(each) / len(each)), max(each)) for shape, each in sorted(by_shape.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without deep")
    depths: tuple[Depth, ...] = get_args(Depth)[:2] if parser.parse_args().quick else get_args(Depth)
    print("depth       calls  dry run        prompt tokens  dry run, all tokens   repeats")
    runs: dict[int, Run] = {}
    for depth in depths:
        with TemporaryDirectory() as folder:
            played = asyncio.run(play(depth, _READS[0], Path(folder)))
        calls = f"{played.least[0]}-{played.most[0]}"
        tokens = f"{played.least[1]:,}-{played.most[1]:,}"
        share = f"{repeated_share(played.prompts):.0%}"
        print(f"{depth:10} {played.calls:6}  {calls:12} {played.tokens:14,}  {tokens:20} {share:>8}")
        if depth == "standard":
            runs[_READS[0]] = played
    with TemporaryDirectory() as folder:
        runs[_READS[1]] = asyncio.run(play("standard", _READS[1], Path(folder)))
    for reads, played in runs.items():
        print(f"\nstandard, a model that reads {reads:,} tokens\nreply               calls   mean    most")
        for shape, (calls_made, mean, most) in sizes(played.prompts).items():
            print(f"{shape:20} {calls_made:4} {mean:6,} {most:7,}")


if __name__ == "__main__":
    main()
