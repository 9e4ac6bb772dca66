"""A lease on a thread in Redis: one worker among all machines. What a killed process held runs out by itself."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockNotOwnedError, RedisError, ResponseError

from contend.errors import ThreadBusy
from contend.settings import Settings
from contend.stores.leases import Lease
from contend.stores.redis_server import epoch_of, open_redis, redis_errors

LEASE_SECONDS = 10.0
_RENEWAL_SECONDS = LEASE_SECONDS / 4
_LOOK_SECONDS = 0.25
_LEAVING_SECONDS = 3.0


@asynccontextmanager
async def redis_lease(settings: Settings, thread_id: str) -> AsyncIterator[Lease]:
    """Hold the thread while the block runs; renewed meanwhile. A block whose lease was taken by another is cancelled.

    Raises:
        ThreadBusy: another process or task holds it, or has taken it because this one was cut off; names it.
        StoreError: the server can't be used.
    """
    # A client of its own: renewing never waits behind the saver's work.
    async with open_redis(settings, connections=2) as client:
        with redis_errors(settings.redis_address):
            held_lease = await _acquire(client, settings.redis_address, thread_id)
        owner = asyncio.current_task()
        keeper = asyncio.create_task(held_lease.keep(owner))
        try:
            yield held_lease.lease
        except asyncio.CancelledError:
            if held_lease.lease.taken_by is None or owner is None or owner.uncancel() > 0:
                raise
            raise ThreadBusy(
                f"thread {thread_id}: {held_lease.lease.taken_by} took it over while this process could not renew its "
                "lease in Redis; that one goes on with it"
            ) from None
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await held_lease.let_go()


async def is_redis_leased(settings: Settings, thread_id: str) -> bool:
    """Whether somebody works on the thread now; nobody can while the server is away."""
    try:
        async with open_redis(settings, patient=False) as client:
            return bool(await client.exists(_key(thread_id)))
    except (RedisError, OSError):
        return False


@dataclass
class _HeldLease:
    client: Redis
    lock: Lock
    token: str
    address: str
    epoch: str
    lease: Lease = field(default_factory=Lease)

    async def keep(self, owner: asyncio.Task[object] | None) -> None:
        while self.lease.taken_by is None:
            await asyncio.sleep(_RENEWAL_SECONDS)
            # While the server is away nobody else can take the lease; the saver says that it is.
            with suppress(RedisError, OSError):
                await self._renew()
        if owner is not None:
            owner.cancel()

    async def _renew(self) -> None:
        await self._note_loss()
        try:
            await self.lock.reacquire()
        except LockNotOwnedError:
            # Gone because the server lost it, or this process slept: it stays ours unless another took it.
            if not await self.lock.acquire(blocking=False, token=self.token):
                self.lease.taken_by = await _holder(self.client, self.lock)

    async def _note_loss(self) -> None:
        now = await epoch_of(self.client)
        if now != self.epoch:
            self.epoch = now
            self.lease.notices.append(
                f"Redis at {self.address} lost its data while the run went (FLUSHALL, eviction or a restart without "
                "persistence): what was saved before is gone, a run that was waiting there cannot be resumed"
            )

    async def let_go(self) -> None:
        # A lease that can't be let go of runs out.
        with suppress(RedisError, OSError):
            async with asyncio.timeout(_LEAVING_SECONDS):
                with suppress(ResponseError):
                    await self._note_loss()
                await self.lock.release()


async def _acquire(client: Redis, address: str, thread_id: str) -> _HeldLease:
    lock = client.lock(_key(thread_id), timeout=LEASE_SECONDS, thread_local=False)
    token = f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex}"
    milliseconds = float("inf")
    while not await lock.acquire(blocking=False, token=token):
        before, milliseconds = milliseconds, await client.pttl(lock.name)
        # A holder that lives renews its lease; what a killed one left runs out within seconds.
        if milliseconds > before:
            holder = await _holder(client, lock)
            raise ThreadBusy(f"thread {thread_id} is being worked on by {holder}: wait for it or stop it")
        await asyncio.sleep(_LOOK_SECONDS)
    return _HeldLease(client, lock, token, address, await epoch_of(client))


async def _holder(client: Redis, lock: Lock) -> str:
    value = await client.get(lock.name)
    host, _, rest = (value.decode() if isinstance(value, bytes) else value or "").partition("/")
    return f"process {rest.partition('/')[0]} on {host}" if host else "another process"


def _key(thread_id: str) -> str:
    return f"contend:lease:{thread_id}"
