"""The Redis server for checkpoints: clients, checks before a run, errors, and leases on threads."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.lock import Lock
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redisvl.exceptions import RedisVLError

from contend.errors import CheckpointError, ThreadBusy
from contend.settings import Settings, secret_text
from contend.stores.leases import Lease
from contend.text import shorten

_EPOCH = "contend:epoch"
"""A key that is never deleted: if it is missing or has changed, the server lost its data."""

_CHECK_SECONDS = 5.0
_LONGEST_REASON = 200
_REMEDIES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (
        (exceptions.AuthenticationError, exceptions.AuthorizationError),
        "refused the user name or password: mend CONTEND_REDIS_URL",
    ),
    (exceptions.ReadOnlyError, "is a read-only replica: give its primary's address in CONTEND_REDIS_URL"),
    (exceptions.OutOfMemoryError, "is out of memory: raise its maxmemory or free space"),
    (exceptions.BusyLoadingError, "is still loading its data: wait until it is ready"),
    ((exceptions.TimeoutError, asyncio.TimeoutError), "gives no answer: see that it runs and is not overloaded"),
    ((exceptions.ConnectionError, OSError), "cannot be reached: start it, or mend CONTEND_REDIS_URL"),
)
_MODULES_MISSING = (
    "has no search and JSON modules, which the checkpoints need: use Redis 8 or Redis Stack, "
    "or unset CONTEND_REDIS_URL to keep checkpoints in SQLite"
)


class _KeepsCancellation(AbstractConnection):
    """A connection that does not lose a cancellation.

    redis-py sends by `asyncio.wait_for`, which in Python 3.11 drops a cancellation that arrives as the send completes:
    a stopped run would continue.
    """

    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:  # noqa: ANN401 - the library's
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        await super().send_packed_command(command, check_health)
        if task is not None and task.cancelling() > before:
            # Nobody reads the answer any more.
            await self.disconnect(nowait=True)
            raise asyncio.CancelledError


@asynccontextmanager
async def open_redis(settings: Settings, *, connections: int = 1, patient: bool = True) -> AsyncIterator[Redis]:
    """A client with at most `connections` connections; further commands wait. Connects at the first command.

    `patient`: retry long enough for a server to restart in a few seconds.
    """
    retry = Retry(ExponentialBackoff(cap=2, base=0.25), 3) if patient else Retry(ExponentialBackoff(), 0)
    # The default pool fails when about 48 branches want a connection at once; this one lets them wait.
    pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
        secret_text(settings.redis_url),
        max_connections=connections,
        timeout=30,
        socket_timeout=3,
        socket_connect_timeout=3,
        retry=retry,
    )
    # Keep the class that the URL asks for: TCP, TLS or a socket.
    pool.connection_class = type("Connection", (_KeepsCancellation, pool.connection_class), {})
    client = Redis(connection_pool=pool)
    try:
        yield client
    finally:
        await client.aclose()
        await pool.disconnect()


@contextmanager
def redis_errors(address: str, then: str = "") -> Iterator[None]:
    """Turn errors of Redis into one line that ends with `then`.

    Raises:
        CheckpointError: whatever failed.
    """
    try:
        yield
    except (exceptions.RedisError, RedisVLError, OSError) as error:
        raise CheckpointError(f"Redis at {address} {_reason(error)}{then}") from error


def _reason(error: BaseException) -> str:
    cause = _root(error)
    for kinds, remedy in _REMEDIES:
        if isinstance(cause, kinds):
            return remedy
    # In a pipeline, redis-py puts the command with its data before the server's answer, and that into a tuple.
    message = " ".join(str(cause).split()).rpartition("of pipeline caused error: ")[2].strip("(',)")
    if "unknown command" in message:
        return _MODULES_MISSING
    if message.startswith("MISCONF"):
        return "cannot save to its own disk, so it takes no writes: free space there"
    return f"refused: {shorten(message, _LONGEST_REASON)}"


def is_away(error: CheckpointError) -> bool:
    """Whether the server did not answer at all, so that another try would only wait again."""
    return isinstance(_root(error.__cause__), (exceptions.ConnectionError, OSError, exceptions.TimeoutError))


def _root(error: BaseException | None) -> BaseException | None:
    # redisvl wraps the server's answer.
    while isinstance(error, RedisVLError) and error.__cause__ is not None:
        error = error.__cause__
    return error


async def check_redis(settings: Settings) -> list[str]:
    """Check, within seconds, that runs can save checkpoints on the server; returns warnings where they may be lost.

    Raises:
        StoreError: unreachable, refused, without search and JSON, or not taking writes.
    """
    address = settings.redis_address
    async with open_redis(settings, patient=False) as client:
        with redis_errors(address):
            async with asyncio.timeout(_CHECK_SECONDS):
                needs, facts = await _server_answers(client)
            for answer in needs:
                _refuse(answer)
    return _warnings(address, facts)


async def _server_answers(client: Redis) -> tuple[list[Any], list[Any]]:
    """Answers, or errors in their place: about what a run needs, and about persistence."""
    pipeline = client.pipeline(transaction=False)
    # A write: replicas and full servers refuse it.
    pipeline.set(_EPOCH, uuid4().hex, nx=True)
    pipeline.execute_command("FT.INFO", "contend:none")
    pipeline.execute_command("JSON.GET", "contend:none")
    for name in ("appendonly", "save", "maxmemory-policy"):
        pipeline.config_get(name)
    answers = await pipeline.execute(raise_on_error=False)
    return answers[:3], answers[3:]


def _refuse(answer: Any) -> None:  # noqa: ANN401 - an error or anything else
    # That the index is unknown is the expected answer.
    says_no = "unknown command" in str(answer) or str(answer).startswith("MISCONF")
    fatal = isinstance(answer, exceptions.ReadOnlyError | exceptions.OutOfMemoryError | exceptions.NoPermissionError)
    if fatal or isinstance(answer, exceptions.ConnectionError):
        raise answer
    if says_no and isinstance(answer, exceptions.RedisError):
        raise answer


def _warnings(address: str, answers: list[Any]) -> list[str]:
    """Warnings from the configuration; none if a hosted server does not show it."""
    config: dict[str, str] = {}
    for answer in answers:
        if isinstance(answer, dict):
            config |= {_text(name): _text(value) for name, value in answer.items()}
    warnings = []
    if config.get("appendonly") == "no" and config.get("save") == "":
        warnings.append(
            f"Redis at {address} keeps nothing on disk: when it restarts, runs cannot be resumed (set appendonly yes)"
        )
    policy = config.get("maxmemory-policy", "noeviction")
    if policy != "noeviction":
        warnings.append(
            f"Redis at {address} may drop checkpoints when its memory is full "
            f"(maxmemory-policy {policy}; set noeviction)"
        )
    return warnings


async def _epoch_of(client: Redis) -> str:
    """The server's epoch; sets one if missing."""
    while (epoch := await client.get(_EPOCH)) is None:
        await client.set(_EPOCH, uuid4().hex, nx=True)
    return _text(epoch)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


_LEASE_SECONDS = 10.0
_RENEWAL_SECONDS = _LEASE_SECONDS / 4
_LOOK_SECONDS = 0.25
_LEAVING_SECONDS = 3.0


@asynccontextmanager
async def redis_lease(settings: Settings, thread_id: str) -> AsyncIterator[Lease]:
    """Hold the thread's lease across machines during the block, and renew it.

    The lease of a killed process expires. If another process takes the lease, the block is cancelled.

    Raises:
        ThreadBusy: another process or task holds it, or has taken it because this one was cut off; names it.
        StoreError: the server can't be used.
    """
    # A client of its own: renewing never waits behind the saver's work.
    async with open_redis(settings, connections=2) as client:
        with redis_errors(settings.redis_address):
            own_lease = await _acquire(client, settings.redis_address, thread_id)
        owner = asyncio.current_task()
        keeper = asyncio.create_task(own_lease.keep(owner))
        try:
            yield own_lease
        except asyncio.CancelledError:
            if own_lease.taken_by is None or owner is None or owner.uncancel() > 0:
                raise
            raise ThreadBusy(
                f"thread {thread_id}: {own_lease.taken_by} took it over while this process could not renew its lease "
                "in Redis; that one goes on with it"
            ) from None
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await own_lease.let_go()


async def is_redis_leased(settings: Settings, thread_id: str) -> bool:
    """Whether a process is working on the thread; none can while the server is away."""
    try:
        async with open_redis(settings, patient=False) as client:
            return bool(await client.exists(_key(thread_id)))
    except (exceptions.RedisError, OSError):
        return False


@dataclass(kw_only=True)
class _RedisLease(Lease):
    client: Redis
    lock: Lock
    token: str
    address: str
    epoch: str

    async def keep(self, owner: asyncio.Task[object] | None) -> None:
        while self.taken_by is None:
            await asyncio.sleep(_RENEWAL_SECONDS)
            # While the server is away nobody else can take the lease; the saver says that it is.
            with suppress(exceptions.RedisError, OSError):
                await self._renew()
        if owner is not None:
            owner.cancel()

    async def _renew(self) -> None:
        await self._note_loss()
        try:
            await self.lock.reacquire()
        except exceptions.LockNotOwnedError:
            # Gone because the server lost it, or this process slept: it stays ours unless another took it.
            if not await self.lock.acquire(blocking=False, token=self.token):
                self.taken_by = await _holder(self.client, self.lock)

    async def _note_loss(self) -> None:
        now = await _epoch_of(self.client)
        if now != self.epoch:
            self.epoch = now
            self.notices.append(
                f"Redis at {self.address} lost its data while the run went (FLUSHALL, eviction or a restart without "
                "persistence): what was saved before is gone, a run that was waiting there cannot be resumed"
            )

    async def let_go(self) -> None:
        # A lease that can't be let go of runs out.
        with suppress(exceptions.RedisError, OSError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                with suppress(exceptions.ResponseError):
                    await self._note_loss()
                await self.lock.release()


async def _acquire(client: Redis, address: str, thread_id: str) -> _RedisLease:
    lock = client.lock(_key(thread_id), timeout=_LEASE_SECONDS, thread_local=False)
    token = f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex}"
    milliseconds = float("inf")
    while not await lock.acquire(blocking=False, token=token):
        before, milliseconds = milliseconds, await client.pttl(lock.name)
        # A holder that lives renews its lease; what a killed one left runs out within seconds.
        if milliseconds > before:
            holder = await _holder(client, lock)
            raise ThreadBusy(f"thread {thread_id} is being worked on by {holder}: wait for it or stop it")
        await asyncio.sleep(_LOOK_SECONDS)
    return _RedisLease(client=client, lock=lock, token=token, address=address, epoch=await _epoch_of(client))


async def _holder(client: Redis, lock: Lock) -> str:
    value = await client.get(lock.name)
    host, _, rest = (value.decode() if isinstance(value, bytes) else value or "").partition("/")
    return f"process {rest.partition('/')[0]} on {host}" if host else "another process"


def _key(thread_id: str) -> str:
    return f"contend:lease:{thread_id}"
