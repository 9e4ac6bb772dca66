"""The Agent Server's queue where the server's answer comes too late."""

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from contend.api.researches import ServerQueue, ServerThread

GOING = ServerThread({"thread_id": "t"}, {"run_id": "r", "status": "running"})


def queue_that_answers(status: int) -> ServerQueue:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"detail": "No runs found to cancel."}))
    return ServerQueue(LangGraphClient(httpx.AsyncClient(transport=transport, base_url="http://server")))


@pytest.mark.parametrize("status", [404, 409])
async def test_a_run_that_ends_as_it_is_cancelled_is_no_fault(status: int) -> None:
    await queue_that_answers(status).cancel(GOING)


async def test_a_server_that_fails_to_cancel_is_heard() -> None:
    with pytest.raises(httpx.HTTPStatusError, match="500"):
        await queue_that_answers(500).cancel(GOING)
