"""One execution in memory: its options, budget and clock, leaderboard, sources that are off and slots for teams.

Opened by a run's first node, or by whichever node comes first in a process that goes on with the run; closed as one
when the run ends or waits.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from langgraph.runtime import Runtime

from contend.clock import RunClock
from contend.errors import StoreError
from contend.evidence.screening import Screening
from contend.llm import ContextProfile, Model, Scope, role_profile
from contend.llm.budget import Ledger, limits_of
from contend.models.evaluation import CitationWord
from contend.models.options import ResolvedOptions, Role, TeamConfig
from contend.models.round import LiveLeaderboard, Round
from contend.models.task import CallUsage, ExecutionRow, TeamStatus
from contend.prompts import PromptBuilderSettings, PromptLibrary, PromptValues, UserPromptBuilder, mark_of
from contend.stores import DocumentStore, RecordDocuments, checked_thread, thread_name, write_file
from contend.stores.record import RecordStore


@dataclass(kw_only=True, eq=False)
class RunContext:
    """What the nodes of one execution share."""

    execution_id: str
    options: ResolvedOptions
    record: RecordStore
    templates: PromptBuilderSettings
    library: PromptLibrary
    language_model: Callable[[str], Model]
    """A model by its name."""
    now: InitVar[Callable[[], float]]
    """Monotonic seconds."""
    folder: Path
    """Where documents of runs lie."""
    recorded_seen: Callable[[str, int], Mapping[str, int] | None]
    """Of a run that plays a recording, whose rounds a team saw when it began one; None where it says nothing."""
    goes_on: bool
    """Whether it began in another process, or waited."""
    sources_off: dict[str, str] = field(default_factory=dict)
    """The reason by name of each source that failed."""
    verdicts: dict[str, CitationWord] = field(default_factory=dict)
    """What judges have said of statements, by their keys."""
    submitted: dict[tuple[str, int], str] = field(default_factory=dict)
    """The submission's id of each team and round that was handed in."""

    def __post_init__(self, now: Callable[[], float]) -> None:
        self.ledger = Ledger(limits_of(self.options), clock=RunClock(now))
        self.board = LiveLeaderboard()
        self.slots = asyncio.Semaphore(self.options.max_concurrent_teams)
        """The cap on teams in flight."""
        self.documents = DocumentStore(self.folder / thread_name(self.execution_id))
        """What the run's state names by id: deleted with its thread."""
        self.rounds = RecordDocuments(Round, self.documents)
        self.screening = Screening(self.folder / thread_name(self.execution_id) / "screening.json")
        self._recall: asyncio.Future[None] | None = None
        self._handed_in = asyncio.Event()
        self._ended: set[str] = set()

    @property
    def clock(self) -> RunClock:
        """The run's one clock: all its limits in seconds and minutes read it."""
        return self.ledger.clock

    def model(self, role: Role, *, team: TeamConfig | None = None, name: str | None = None) -> Model:
        """The model that plays a role: the team's own, else `name`, else the run's."""
        return self.language_model(self.options.model_name(role, team=team, name=name))

    def profile(self, role: Role, *, team: TeamConfig | None = None, name: str | None = None) -> ContextProfile:
        """What the calls of the model may hold that plays a role, found as `model` finds it."""
        return role_profile(self.options, role, team=team, name=name)

    def scope(self, role: Role, **more: Any) -> Scope:  # noqa: ANN401 - the other fields of a Scope
        """Whose call it is: the run's, in its language."""
        return Scope(execution_id=self.execution_id, role=role, language=self.options.language, **more)

    def asked(self, question: str) -> str:
        """What the reader said, whose figures carry: the question, his wishes, and the day on which prompts ask.

        Of replies that are played, the day on which they were given.
        """
        day = self.options.recorded.recorded_on if self.options.recorded else self.library.today()
        return f"{question}\n{self.options.instructions}\n{day}"

    def builder(self) -> UserPromptBuilder:
        """The builder of the rounds' prompts, in the run's language and with its mark."""
        return UserPromptBuilder(
            self.templates,
            self.board,
            library=self.library,
            config=self.options.round_prompt,
            language=self.options.language,
            mark=mark_of(self.execution_id),
        )

    def render(self, values: PromptValues) -> str:
        """A prompt's text in the run's language, what is untrusted in it delimited by the run's mark.

        Raises:
            PromptError: it does not render.
        """
        return self.library.show(values, language=self.options.language, mark=mark_of(self.execution_id))

    def close(self) -> None:
        """Nobody is left who waits for what teams asked together."""
        self.screening.close()

    def turn_off(self, source: str, reason: str) -> bool:
        """A source is off for the rest of the run; True the first time."""
        first = source not in self.sources_off
        self.sources_off.setdefault(source, reason)
        return first

    def hand_in(self, team_id: str, round_number: int, document: str) -> None:
        """Note a team's submission, so that other teams can use the evidence behind it."""
        self.submitted[team_id, round_number] = document
        self._tell_waiting()

    def end_team(self, team_id: str) -> None:
        """Nobody waits for its rounds any more."""
        self._ended.add(team_id)
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        waiting, self._handed_in = self._handed_in, asyncio.Event()
        waiting.set()

    async def rounds_seen(self, team_id: str, round_number: int) -> dict[str, int]:
        """The latest submitted round of every other team, as seen by a team that begins a round.

        A replay sees what the recorded run saw, and waits for it: there all teams answer at once.
        """
        recorded = self.recorded_seen(team_id, round_number)
        if recorded is None:
            seen: dict[str, int] = {}
            for other, number in self.submitted:
                if other != team_id:
                    seen[other] = max(number, seen.get(other, 0))
            return dict(sorted(seen.items()))
        for other, number in recorded.items():
            while (other, number) not in self.submitted and other not in self._ended:
                await self._handed_in.wait()
        return {other: number for other, number in recorded.items() if (other, number) in self.submitted}

    async def keep_round(self, team_round: Round) -> dict[str, Any]:
        """Keep a round's record; gives its id, beside what one wants to see of it in a state.

        Raises:
            StoreError: it cannot be written.
        """
        document = await self.rounds.put(team_round)
        return {"document": document, "round_number": team_round.round_number, "score": team_round.score}

    async def rounds_of(self, references: Sequence[Mapping[str, Any]]) -> list[Round]:
        """The rounds that a state names, as `keep_round` gave them.

        Raises:
            StoreError: one cannot be read.
        """
        return await self.rounds.get_many([each["document"] for each in references])

    async def keep_calls(self, calls: Sequence[CallUsage]) -> None:
        """Calls of no team, on record."""
        await self.record.save_usage(self.execution_id, "", 0, calls)
        await self.record.flush()

    async def keep_options(self) -> None:
        """What the run is to do, for nodes that are sent no more than whose run it is.

        Raises:
            StoreError: the file cannot be written.
        """
        await asyncio.to_thread(
            write_file, options_file(self.folder, self.execution_id), self.options.model_dump_json()
        )

    async def enter(self, teams: Sequence[TeamConfig], *, theme: str, thread_id: str) -> None:
        """On record, with the teams that play, and on the leaderboard.

        Raises:
            StoreError: the record can't be written.
        """
        await self.keep_options()
        await self.enter_teams(teams)
        await self.record.start_execution(
            ExecutionRow(
                execution_id=self.execution_id,
                thread_id=thread_id,
                theme=theme,
                options_fingerprint=options_fingerprint(self.options),
                dataset=self.options.dataset,
                models=self.options.model_names,
            )
        )

    async def enter_teams(self, teams: Sequence[TeamConfig]) -> None:
        """On record, as teams that are to play, and on the leaderboard.

        Raises:
            StoreError: the record can't be written.
        """
        for team in teams:
            await self.record.save_team_status(self.execution_id, TeamStatus(team_id=team.team_id, team_name=team.name))
        self.board.enter(self.execution_id, [(team.team_id, team.name) for team in teams])

    async def wait_for_record(self) -> None:
        """In a process that goes on with the run: leaderboard and budget are as the record has them.

        Raises:
            StoreError: the record can't be read.
        """
        if not self.goes_on:
            return
        if self._recall is None:
            self._recall = asyncio.ensure_future(self._read_record())
        try:
            # Shielded: a team that is cancelled while it waits does not take the answer from the others.
            await asyncio.shield(self._recall)
        except StoreError:
            self._recall = None
            raise

    async def _read_record(self) -> None:
        self.board = await self.record.board([self.execution_id])
        for row in await self.record.rounds(self.execution_id):
            self.submitted[row.team_id, row.round_number] = row.role_records["submission"]
        calls = await self.record.calls(self.execution_id)
        self.ledger.seed(calls, await self.record.active_seconds(self.execution_id))


def options_file(folder: Path, execution_id: str) -> Path:
    """Where a run's options lie among its documents."""
    return folder / thread_name(execution_id) / "options.json"


def options_fingerprint(options: ResolvedOptions) -> str:
    """Eight hex digits: equal where every option of two runs is."""
    return sha256(json.dumps(options.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()[:8]


def thread_of(runtime: Runtime[Any]) -> str | None:
    """The run's thread, as it runs: never from state, which may have been written by others. None without one.

    Raises:
        InputError: its id is not usable.
    """
    here = runtime.execution_info
    return None if here is None or here.thread_id is None else checked_thread(here.thread_id)


def identity(runtime: Runtime[Any]) -> tuple[str, str]:
    """Execution id and thread id; without a checkpointer a run is its own thread.

    The execution id is a UUID4 drawn from the node's own task: a crash inside this node opens no second execution.
    """
    here, thread_id = runtime.execution_info, thread_of(runtime)
    if here is None or thread_id is None:
        execution_id = str(uuid4())
        return execution_id, execution_id
    seed = f"{thread_id}/{here.checkpoint_id}/{here.task_id}"
    return str(UUID(bytes=sha256(seed.encode()).digest()[:16], version=4)), thread_id
