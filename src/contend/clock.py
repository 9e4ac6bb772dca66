"""The one clock of a run: seconds in which it worked, as a whole and team by team. It stands still while it waits."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from typing_extensions import TypedDict


class Reading(TypedDict):
    """Active seconds of a run and of one of its teams at a moment, and which clock counted them."""

    clock: str
    run: float
    team: float


@dataclass
class _Counter:
    """Seconds that an earlier clock counted, those of this one, and since when it counts."""

    before: float = 0.0
    own: float = 0.0
    since: float | None = None

    def start(self, now: float) -> None:
        self.since = now if self.since is None else self.since

    def stop(self, now: float) -> None:
        self.own, self.since = self.own + self._running(now), None

    def seconds(self, now: float) -> float:
        return self.before + self.own + self._running(now)

    def _running(self, now: float) -> float:
        return 0.0 if self.since is None else now - self.since


class _Limit(NamedTuple):
    seconds: float
    timeout: asyncio.Timeout


class RunClock:
    """Counts from its making by `now` (monotonic seconds) until the whole run waits for a person.

    States keep readings of it, from which the clock of another process goes on.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._id = uuid4().hex
        self._run = _Counter(since=now())
        self._teams: dict[str, _Counter] = {}
        self._waiting: set[str] = set()
        self._limits: dict[str, _Limit] = {}

    @property
    def seconds(self) -> float:
        """The run's, those before a resume too."""
        return self._run.seconds(self._now())

    def team_seconds(self, team_id: str) -> float:
        """Those in which a team neither waited nor stood in the queue."""
        return self._team(team_id).seconds(self._now())

    def reading(self, team_id: str) -> Reading:
        return {"clock": self._id, "run": self.seconds, "team": self.team_seconds(team_id)}

    def carry(self, seconds: float) -> None:
        """The run took so long in earlier processes; of several such figures the latest counts."""
        self._run.before = max(self._run.before, seconds)

    def go(self, team_id: str = "", reading: Reading | None = None) -> None:
        """The team works, or the run itself; `reading`: what its state last knew."""
        team, now = self._team(team_id), self._now()
        if reading and reading.get("clock", self._id) != self._id:
            self.carry(reading["run"])
            team.before = max(team.before, reading["team"])
        self._waiting.discard(team_id)
        self._run.start(now)
        team.start(now)
        self._set_timer(team_id)

    def wait(self, team_id: str = "") -> None:
        """The team waits for a person. Where nobody works meanwhile, neither does the run."""
        self._waiting.add(team_id)
        self._stop(team_id)

    @asynccontextmanager
    async def limit(self, team_id: str, seconds: float) -> AsyncIterator[None]:
        """A team at work, for at most so many active seconds in all.

        Raises:
            TimeoutError: they are used up.
        """
        async with asyncio.timeout(None) as timeout:
            self._limits[team_id] = _Limit(seconds, timeout)
            self.go(team_id)
            try:
                yield
            finally:
                del self._limits[team_id]
                self._stop(team_id)

    def _stop(self, team_id: str) -> None:
        now = self._now()
        self._team(team_id).stop(now)
        if self._waiting and all(team.since is None for team in self._teams.values()):
            self._run.stop(now)

    def _set_timer(self, team_id: str) -> None:
        limit = self._limits.get(team_id)
        if limit is not None and not limit.timeout.expired():
            rest = max(0.0, limit.seconds - self.team_seconds(team_id))
            limit.timeout.reschedule(asyncio.get_running_loop().time() + rest)

    def _team(self, team_id: str) -> _Counter:
        return self._teams.setdefault(team_id, _Counter())
