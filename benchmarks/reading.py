"""How many facts of a key a team's evidence holds after each step of its research, and at how many tokens.

`python benchmarks/reading.py [COLLECTION…] [--documents FOLDER] [--missed]`: folders as those in `reading/`, which are
all measured where none is named. No model is asked: the steps of a recorded run are replayed on the documents, so that
its searches find what they find today, and its holding and giving up is done by today's rules. A fact is held where one
held passage of one of its files says its quote: white space, case and the marks of Markdown do not count.

A collection has four files. `collection.json`: the Debian package with its `version`, and the `folder` in it that was
searched; the package is fetched with `apt-get download`, unless `--documents` names that folder or the collection holds
it as `documents.tar.xz`. `question.txt`.
`key.json`: `facts`, each with what it `asks`, a `file` or several, and a `quote` or several that one passage says.
`steps.jsonl`: a run on these documents alone, as CONTEND_RECORD writes it, by a model that has not seen the key.
"""

import argparse
import asyncio
import json
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from contend.errors import SourceError
from contend.evidence import (
    Action,
    Brought,
    Desk,
    EvidencePool,
    after_step,
    empty_pool,
    store_hits,
    with_results,
)
from contend.evidence.actions import HITS, desk_of, place_to_read, tasks_of, words_to_find
from contend.evidence.pool import as_passage, held_tokens, hold, with_catalogue, with_evidence
from contend.llm import ContextProfile, R, Scope
from contend.llm.recording import RecordedReply, Recording, ReplayModel
from contend.models.replies import FixesReply, StepReply
from contend.models.research import FoundPassage
from contend.prompts import PromptValues
from contend.prompts.research import FixesPrompt, StepPrompt
from contend.sources.local import LocalDocuments
from contend.stores import DocumentStore

COLLECTIONS = Path(__file__).with_name("reading")
_MARKS_OF_MARKDOWN = str.maketrans("", "", "*_`\\|")
_NAMES_PASSAGES = ("passages", "others", "give_up")


def comparable(text: str) -> str:
    return "".join(text.translate(_MARKS_OF_MARKDOWN).split()).casefold()


class Fact(NamedTuple):
    """A fact of the key: what is asked, the ends of its files' addresses, and what one passage must say."""

    asks: str
    files: tuple[str, ...]
    quotes: tuple[str, ...]

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Fact":
        files, quotes = ([each] if isinstance(each, str) else each for each in (entry["file"], entry["quote"]))
        return cls(entry.get("asks", quotes[0]), tuple(f"/{file}" for file in files), tuple(map(comparable, quotes)))

    def stands_in(self, url: str, text: str) -> bool:
        """`text`: of a passage, comparable."""
        path = unquote(urlsplit(url).path)
        return path.endswith(self.files) and all(quote in text for quote in self.quotes)


@dataclass(frozen=True)
class Collection:
    """What is measured, as its folder has it."""

    folder: Path
    package: str
    version: str
    searched: str
    question: str
    facts: Sequence[Fact]
    replies: Sequence[RecordedReply]

    @classmethod
    def read(cls, folder: Path) -> "Collection":
        about = json.loads((folder / "collection.json").read_text("utf-8"))
        key = json.loads((folder / "key.json").read_text("utf-8"))
        lines = (folder / "steps.jsonl").read_text("utf-8").split("\n")
        replies = [RecordedReply.model_validate_json(line) for line in lines if line.strip()]
        return cls(
            folder,
            about["package"],
            about["version"],
            about.get("folder", "usr/share/doc"),
            (folder / "question.txt").read_text("utf-8").strip(),
            [Fact.of(entry) for entry in key["facts"]],
            # A call that a crash repeated is there twice: the run went on from the later one.
            [*{reply.call_key: reply for reply in replies if reply.run == replies[-1].run}.values()],
        )

    @property
    def parts(self) -> list[str]:
        of_run = (reply.reply.get("parts") for reply in self.replies if reply.prompt == "evaluator/criteria")
        return next(of_run, None) or [self.question]

    def fetch(self, folder: Path) -> Path:
        """The documents: those that the collection holds, else from the package index."""
        archive = self.folder / "documents.tar.xz"
        if archive.exists():
            with tarfile.open(archive) as documents:
                documents.extractall(folder, filter="data")
            return folder / "docs"
        package = f"{self.package}={self.version}"
        fetched = subprocess.run(
            ["apt-get", "download", package], cwd=folder, capture_output=True, text=True, check=False
        )
        files = sorted(folder.glob("*.deb"))
        if fetched.returncode or not files:
            raise SystemExit(
                f"{package} cannot be fetched ({fetched.stderr.strip()}): run apt-get update, or fetch it from "
                "snapshot.debian.org, unpack it with dpkg-deb -x, and name its folder with --documents"
            )
        subprocess.run(["dpkg-deb", "-x", files[0], folder / "unpacked"], check=True)
        return folder / "unpacked" / self.searched


class Row(NamedTuple):
    """The evidence of a team after a step. `tokens`: held; `found`: facts in all that its actions brought so far.

    `paid`: the prompts' and replies' tokens of this step, as recorded; `gone`: passages that it names and today's
    search did not bring.
    """

    team: str
    round: int
    step: str
    passages: int
    tokens: int
    held: list[Fact]
    found: list[Fact]
    paid: int
    gone: int


@dataclass
class Replay:
    """A recorded run's research, team by team, on documents as they are searched today."""

    collection: Collection
    source: LocalDocuments
    store: DocumentStore
    model: ReplayModel
    room: int
    urls: Sequence[str] = ()
    pools: dict[str, EvidencePool] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Of all passages found, comparable, by id."""

    async def rows(self) -> AsyncIterator[Row]:
        self.urls = [entry.url for entry in await self.source.catalogue()]
        for reply in self.collection.replies:
            if reply.prompt == "researcher/step":
                yield await self._step(reply)
            elif reply.prompt == "research/review" and reply.team in self.pools and (row := await self._review(reply)):
                yield row

    async def _step(self, reply: RecordedReply) -> Row:
        pool = self._begun(reply)
        said = await self._said(pool, reply, StepPrompt.sample(), StepReply)
        pool, _ = after_step(pool, said, round_number=reply.round, room=self.room)
        row = self._row(reply, pool, said)
        desk = self._desk(pool)
        pool = await self._acted(pool, desk.actions([] if said.done else said.actions, "researcher"))
        self.pools[reply.team] = pool
        return row

    async def _review(self, reply: RecordedReply) -> Row | None:
        """What a reviewer looks up joins the evidence; what its fixes rest on is held, above the room if need be."""
        pool = self.pools[reply.team]
        said = await self._said(pool, reply, FixesPrompt.sample(), FixesReply)
        if said.actions:
            self.pools[reply.team] = await self._acted(pool, self._desk(pool).actions(said.actions, "reviewer"))
            return None
        ids = [each["id"] for each in pool["passages"]]
        named = [ids[number - 1] for fix in said.fixes for number in fix.passages if number <= len(ids)]
        self.pools[reply.team], _ = hold(pool, named, room=self.room * 5 // 4)
        return self._row(reply, self.pools[reply.team], said)

    def _begun(self, reply: RecordedReply) -> EvidencePool:
        """The team's evidence; where a round begins, with what the teams hold whose rounds it saw."""
        pool = self.pools.get(reply.team) or with_catalogue(empty_pool(self.collection.parts), self.urls)
        if self.rounds.get(reply.team) != reply.round:
            self.rounds[reply.team] = reply.round
            others = [self.pools[team] for team in reply.seen or {} if team in self.pools]
            shared = [each for other in others for each in other["passages"] if each["id"] in other["held"]]
            pool = with_evidence(pool, [{**each, "found_by": []} for each in shared])
        return pool

    async def _said(self, pool: EvidencePool, reply: RecordedReply, prompt: PromptValues, shape: type[R]) -> R:
        """The recorded reply, its passages under the numbers of the team's evidence here."""
        ids = tuple(each["id"] for each in pool["passages"])
        scope = Scope("", reply.role, "en", team_id=reply.team, round_number=reply.round, step=reply.step, passages=ids)
        return (await self.model.ask(prompt, shape, scope=scope)).value

    def _desk(self, pool: EvidencePool) -> Desk:
        return desk_of(["local"], pool, most_pages=0)

    async def _acted(self, pool: EvidencePool, actions: Sequence[Action]) -> EvidencePool:
        tasks = tasks_of(actions, self._desk(pool), pool, {})
        brought = [await self._brought(task["number"], task["action"], task["url"]) for task in tasks]
        pool, results = with_results(pool, actions, brought, visible=pool["held"], room=self.room)
        if pool["steps"]:
            pool["steps"][-1]["results"] = results
        return pool

    async def _brought(self, number: int, action: Action, url: str) -> Brought:
        hits, total, problem = await self._hits(action, url)
        made = await store_hits(hits, action, self.store)
        for hit, found in zip(hits, made, strict=True):
            self.texts[found["evidence"]["id"]] = comparable(f"{hit.heading}\n{hit.text}")
        return Brought(number=number, hits=made, total=total, problem=problem, url=url)

    async def _hits(self, action: Action, url: str) -> tuple[list[FoundPassage], int, str]:
        """What an action brings, how many sections hold the words of a find, and why nothing came."""
        if action["kind"] == "search":
            return await self.source.search(action["text"], limit=HITS), 0, ""
        if action["kind"] == "find":
            words = words_to_find(action["text"], len(self.urls) if url else 0)
            hits, total = await self.source.find(words.text, limit=10**6 if url else HITS)
            own = [hit for hit in hits if not url or hit.result.url == url]
            return own[:HITS], total, ""
        place = place_to_read(action["text"])
        try:
            return (await self.source.read(url, place.first, place.last) if place else []), 0, ""
        except SourceError as error:
            return [], 0, str(error)

    def _row(self, reply: RecordedReply, pool: EvidencePool, said: StepReply | FixesReply) -> Row:
        return Row(
            team=reply.team,
            round=reply.round,
            step=reply.step if reply.prompt == "researcher/step" else "review",
            passages=len(pool["held"]),
            tokens=held_tokens(pool),
            held=self._known(pool, pool["held"]),
            found=self._known(pool, [each["id"] for each in pool["passages"]]),
            paid=reply.input_tokens + reply.output_tokens,
            gone=len([*_named(reply.reply)]) - len([*_named(said.model_dump(mode="json"))]),
        )

    def _known(self, pool: EvidencePool, ids: Sequence[str]) -> list[Fact]:
        wanted = {*ids}
        passages = [as_passage(each) for each in pool["passages"] if each["id"] in wanted]
        return [
            fact
            for fact in self.collection.facts
            if any(fact.stands_in(each.url, self.texts[each.id]) for each in passages)
        ]


def _named(value: Any) -> Iterator[object]:  # noqa: ANN401 - JSON
    """What a reply names of passages, by number or id."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from inner if name in _NAMES_PASSAGES else _named(inner)


async def measured(collection: Collection, documents: Path, store: Path) -> AsyncIterator[Row]:
    """The evidence after each step of the recorded run. `store`: a folder for texts."""
    recording = Recording.read(collection.folder / "steps.jsonl")
    context = min(reply.context for reply in collection.replies)
    room = ContextProfile(context).evidence_tokens
    replay = Replay(
        collection, LocalDocuments([documents]), DocumentStore(store), ReplayModel("recorded", recording), room
    )
    async for row in replay.rows():
        yield row


async def report(collection: Collection, documents: Path, *, missed: bool) -> None:
    source = LocalDocuments([documents])
    entries, sections = await source.catalogue(), await source.whole(10**12)
    tokens, facts = sum(entry.tokens for entry in entries), collection.facts
    print(f"\n{collection.folder.name}: {len(entries)} documents, {tokens:,} tokens, {len(facts)} facts")
    texts = [(hit.result.url, comparable(f"{hit.heading}\n{hit.text}")) for hit in sections]
    for fact in facts:
        if not any(fact.stands_in(*each) for each in texts):
            print(f"no passage says it, as it is quoted: {fact.asks}")
    print("team         round  step      passages   held tokens   facts held       found        paid   gone")
    latest: dict[str, Row] = {}
    paid = 0
    with TemporaryDirectory() as store:
        async for row in measured(collection, documents, Path(store)):
            latest[row.team] = row
            paid += row.paid
            print(
                f"{row.team:12} {row.round:5}  {row.step:9} {row.passages:8}   {row.tokens:11,}   "
                f"{_share(row.held, facts)}   {_share(row.found, facts)}   {paid:9,} {row.gone:6}"
            )
    for team, row in latest.items() if missed else ():
        for fact in facts:
            if fact not in row.held:
                print(f"{team} {'gave up or left' if fact in row.found else 'missed'}: {fact.asks}")


def _share(known: Sequence[Fact], facts: Sequence[Fact]) -> str:
    return f"{len(known):3} {len(known) / len(facts):6.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, nargs="*", help="folders; left out: all beside this file")
    parser.add_argument("--documents", type=Path, help="the folder that was searched, of one collection")
    parser.add_argument("--missed", action="store_true", help="also the facts that are not held in the end")
    given = parser.parse_args()
    folders = given.collections or sorted(each.parent for each in COLLECTIONS.glob("*/collection.json"))
    if given.documents and len(folders) != 1:
        parser.error("--documents is the folder of one collection: name that")
    for folder in folders:
        collection = Collection.read(folder)
        with TemporaryDirectory() as fetched:
            documents = given.documents or collection.fetch(Path(fetched))
            asyncio.run(report(collection, documents, missed=given.missed))


if __name__ == "__main__":
    main()
