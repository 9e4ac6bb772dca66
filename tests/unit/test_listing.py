"""What an endpoint lists, read within bounds."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from contend.llm.address import EndpointAddress
from contend.llm.endpoint import NoAnswer
from contend.llm.listing import endpoint_models
from fakes.model_lists import endpoint

_MEGABYTE = b" " * 1_000_000
_MOST_MEGABYTES = 100


@pytest.fixture
async def endless() -> AsyncIterator[tuple[str, list[int]]]:
    """The address of a server whose answers do not end, and how many megabytes each client took."""
    taken: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        taken.append(0)
        try:
            while taken[-1] < _MOST_MEGABYTES:
                writer.write(_MEGABYTE)
                await writer.drain()
                taken[-1] += 1
        except ConnectionError:
            return
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", taken


async def test_a_list_of_models_that_does_not_end_is_no_list_and_is_not_read_to_its_end(
    endless: tuple[str, list[int]],
) -> None:
    url, taken = endless

    with pytest.raises(NoAnswer, match="gave no list of models"):
        await endpoint_models(EndpointAddress.parse(url, "url", key=None), seconds=60)

    assert taken[0] < _MOST_MEGABYTES


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b'["m1"]', b'{"data": [{"name": "m1"}]}'])
async def test_a_server_of_chats_may_show_something_else_where_models_are_listed(body: bytes) -> None:
    with endpoint(body=body, refusal=b'{"error": "messages is missing"}') as url:
        assert await endpoint_models(EndpointAddress.parse(url, "url", key=None), seconds=60) == []


@pytest.mark.parametrize(("said", "is_chat"), [("The model `None` does not exist", True), ("Not Found", False)])
async def test_a_path_that_misses_the_model_is_there(said: str, *, is_chat: bool) -> None:
    with endpoint(status=403, chat=404, refusal=json.dumps({"error": {"message": said}}).encode()) as url:
        listing = endpoint_models(EndpointAddress.parse(url, "url", key=None), seconds=60)
        if is_chat:
            assert await listing == []
        else:
            with pytest.raises(NoAnswer, match="knows no chat there"):
                await listing


@pytest.mark.parametrize(("chat", "said"), [(400, b"<html>Welcome</html>"), (200, b'{"error": "Unexpected endpoint"}')])
async def test_a_server_that_knows_no_chats_either_is_none(chat: int, said: bytes) -> None:
    with endpoint(body=said, chat=chat, refusal=said) as url, pytest.raises(NoAnswer, match="gave no list of models"):
        await endpoint_models(EndpointAddress.parse(url, "url", key=None), seconds=60)
