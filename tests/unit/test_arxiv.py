import asyncio
import gzip
import inspect
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from email.utils import formatdate
from itertools import pairwise
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import InputError, SourceError
from contend.models.research import SearchResult
from contend.sources.arxiv import ArxivSource, as_search_query, with_readable_dates
from fakes.replay import Answer, HttpRequest, Recording, Replay, arxiv_recordings

ENTRY = """<entry>
  <id>http://arxiv.org/abs/{number}v1</id>
  <title>Vortex shedding
  of bridge decks {number}</title>
  <published>{published}</published>
  <updated>2020-05-01T10:00:00Z</updated>
  <summary>{summary}</summary>
  <author><name>Ada  Lovelace</name></author>
  <category term="physics.flu-dyn"/>
</entry>"""


def entry(number: str, *, published: str = "2020-05-01T10:00:00Z", summary: str = "Wind makes\n  bridges hum.") -> str:
    return ENTRY.format(number=number, published=published, summary=summary)


def feed(*entries: str) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"'
        f' xmlns="http://www.w3.org/2005/Atom"><opensearch:totalResults>{len(entries)}</opensearch:totalResults>'
        f"{''.join(entries)}</feed>\n"
    ).encode()


ONE_PAPER = feed(entry("2001.00001"))


@pytest.fixture
def arxiv() -> Iterator[Replay]:
    with Replay(lambda _: Answer(ONE_PAPER)) as server:
        yield server


def source(server: Replay, *, deadline: float = 60.0, interval: float = 0.0) -> ArxivSource:
    return ArxivSource(server.url, deadline_seconds=deadline, interval_seconds=interval)


def first(*answers: Answer) -> Callable[[HttpRequest], Answer]:
    """These answers once each, then the last one for ever."""
    remaining = list(answers)
    return lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def once(event: Event, body: bytes) -> Callable[[HttpRequest], Answer]:
    """Answers when the event has come; refuses where it does not."""
    return lambda _: Answer(body) if event.wait(60) else Answer(status=403)


async def was_asked(server: Replay) -> None:
    while not server.requests:  # noqa: ASYNC110 - the server is in another thread
        await asyncio.sleep(0.01)


async def failure(asked: ArxivSource, query: str = "humming bridges") -> SourceError:
    with pytest.raises(SourceError) as excinfo:
        await asked.search(query, limit=5)
    assert "\n" not in str(excinfo.value)
    return excinfo.value


def is_page(recording: Recording) -> bool:
    return recording.status == 200


async def replay(server: Replay, recording: Recording) -> list[SearchResult]:
    server.answer = lambda _: Answer(recording.body, recording.status)
    results = await source(server).search("recorded", limit=max(1, recording.body.count(b"<entry>")))
    return [each.result for each in results]


async def test_every_recorded_entry_becomes_a_result(arxiv: Replay) -> None:
    pages = [recording for recording in arxiv_recordings() if is_page(recording)]

    results = [await replay(arxiv, page) for page in pages]

    assert [len(each) for each in results] == [page.body.count(b"<entry>") for page in pages]
    assert len({result.url for each in results for result in each}) == 105


async def test_recorded_results_have_days_names_and_https_addresses(arxiv: Replay) -> None:
    page = max(arxiv_recordings(), key=lambda recording: len(recording.body))

    for result in await replay(arxiv, page):
        assert result.url.startswith("https://arxiv.org/abs/")
        assert result.published_date
        assert result.authors
        assert result.categories
        assert "  " not in result.title + result.summary
        assert "\n" not in result.title + result.summary


async def test_pages_that_were_recorded_empty_give_no_results(arxiv: Replay) -> None:
    empty = [page for page in arxiv_recordings() if is_page(page) and b"<entry>" not in page.body]

    assert [await replay(arxiv, page) for page in empty] == [[], []]


async def test_a_recorded_refusal_names_the_query_and_arxivs_reason(arxiv: Replay) -> None:
    [refusal] = [recording for recording in arxiv_recordings() if not is_page(recording)]
    arxiv.answer = lambda _: Answer(refusal.body, refusal.status)

    error = await failure(source(arxiv), "id:abc")

    assert not error.transient
    assert str(error) == "arXiv refused the query 'id:abc': incorrect id format for abc"
    assert len(arxiv.requests) == 1


async def test_a_refusal_that_comes_with_status_200_is_a_refusal_too(arxiv: Replay) -> None:
    entry_of_error = (
        "<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad field</summary></entry>"
    )
    arxiv.answer = lambda _: Answer(feed(entry_of_error))

    assert str(await failure(source(arxiv))).endswith("'humming bridges': bad field")


async def test_the_recorded_query_is_asked_as_it_was_recorded(arxiv: Replay) -> None:
    [page] = [recording for recording in arxiv_recordings() if recording.name.startswith("q_testing_s0_m15")]

    await source(arxiv).search("testing", limit=15)

    assert arxiv.requests[0].path == "/api/query"
    assert arxiv.requests[0].query == {name: value for name, value in page.query.items() if value}


async def test_a_paper_is_mapped_field_by_field(arxiv: Replay) -> None:
    [(result, text, *_)] = await source(arxiv).search("humming bridges", limit=5)

    assert result == SearchResult(
        title="Vortex shedding of bridge decks 2001.00001",
        summary="Wind makes bridges hum.",
        source="arxiv",
        url="https://arxiv.org/abs/2001.00001v1",
        published_date="2020-05-01",
        authors=["Ada Lovelace"],
        categories=["physics.flu-dyn"],
        relevance_score=1.0,
    )
    assert text == "Wind makes bridges hum."


async def test_a_long_abstract_is_shortened_in_the_summary_and_whole_in_the_text(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(feed(entry("2001.00001", summary="Wind hums. " * 400)))

    [(result, text, *_)] = await source(arxiv).search("humming bridges", limit=5)

    assert len(result.summary) <= 2000
    assert result.summary.endswith("…")
    assert text == ("Wind hums. " * 400).strip()


async def test_more_authors_than_fit_are_cut_off(arxiv: Replay) -> None:
    crowd = "".join(f"<author><name>Author {number}</name></author>" for number in range(80))
    arxiv.answer = lambda _: Answer(feed(entry("2001.00001").replace("</entry>", crowd + "</entry>")))

    [(result, *_)] = await source(arxiv).search("humming bridges", limit=5)

    assert result.authors is not None
    assert len(result.authors) == 50


async def test_relevance_falls_with_the_rank(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(feed(*(entry(f"2001.0000{number}") for number in range(4))))

    results = await source(arxiv).search("humming bridges", limit=4)

    assert [each.result.relevance_score for each in results] == [1.0, 0.75, 0.5, 0.25]


async def test_entries_without_an_abstract_are_left_out_and_counted(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(feed(entry("2001.00001", summary=" \n "), entry("2001.00002")))
    arxiv_source = source(arxiv)

    results = await arxiv_source.search("humming bridges", limit=5)

    assert [each.result.url for each in results] == ["https://arxiv.org/abs/2001.00002v1"]
    assert arxiv_source.left_out == 1


@pytest.mark.parametrize("written", ["yesterday", "", "2020-13-41T00:00:00Z", "9999-12-31T23:59:59-12:00"])
async def test_one_bad_date_loses_that_date_only(arxiv: Replay, written: str) -> None:
    arxiv.answer = lambda _: Answer(feed(entry("2001.00001"), entry("2001.00002", published=written)))

    results = await source(arxiv).search("humming bridges", limit=5)

    assert [each.result.published_date for each in results] == ["2020-05-01", None]


async def test_an_entry_without_a_date_stays_and_costs_no_second_page(arxiv: Replay) -> None:
    undated = re.sub("<published>.*</published>", "", entry("2001.00002"))
    arxiv.answer = lambda _: Answer(feed(entry("2001.00001"), undated))

    results = await source(arxiv).search("humming bridges", limit=5)

    assert [each.result.published_date for each in results] == ["2020-05-01", None]
    assert len(arxiv.requests) == 1


async def test_one_bad_date_in_a_recorded_page_leaves_all_its_entries(arxiv: Replay) -> None:
    page = max(arxiv_recordings(), key=lambda recording: len(recording.body))
    body = re.sub(rb"(<published>)[^<]*", rb"\1soon", page.body, count=1)

    results = await replay(arxiv, page._replace(body=body))

    assert [result.published_date is None for result in results] == [True] + [False] * 99


@given(st.binary(max_size=60))
def test_any_date_leaves_a_feed_of_as_many_entries(written: bytes) -> None:
    plain = entry("2001.00001").encode().replace(b"2020-05-01T10:00:00Z", written.replace(b"<", b""))

    readable = with_readable_dates(plain)
    assert readable.count(b"</entry>") == plain.count(b"</entry>")
    for date in re.findall(rb"<(?:published|updated)>([^<]*)", readable):
        datetime.fromisoformat(date.decode().strip())


async def test_a_web_page_instead_of_a_feed_is_a_failure_and_not_an_empty_answer(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(b"<!doctype html><html><body>arXiv is being repaired</body></html>")

    error = await failure(source(arxiv))

    assert "something else than a feed" in str(error)
    assert not error.transient


async def test_a_feed_that_breaks_off_is_asked_for_again(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(ONE_PAPER[:-40]), Answer(ONE_PAPER, cut=True), Answer(ONE_PAPER))

    assert len(await source(arxiv).search("humming bridges", limit=5)) == 1
    assert len(arxiv.requests) == 3


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_arxiv_is_asked_again(arxiv: Replay, status: int) -> None:
    arxiv.answer = first(Answer(status=status), Answer(ONE_PAPER))

    assert len(await source(arxiv).search("humming bridges", limit=5)) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_an_arxiv_that_stays_busy_is_given_up_as_transient(arxiv: Replay, status: int) -> None:
    arxiv.answer = lambda _: Answer(status=status)

    error = await failure(source(arxiv))

    assert error.transient
    assert f"HTTP {status}" in str(error)
    assert len(arxiv.requests) == 3


async def test_another_refusal_is_not_asked_again(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(status=403)

    assert not (await failure(source(arxiv))).transient
    assert len(arxiv.requests) == 1


async def test_retry_after_in_seconds_is_waited_for(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(status=429, headers={"Retry-After": "0.4"}), Answer(ONE_PAPER))

    await source(arxiv).search("humming bridges", limit=5)

    assert arxiv.requests[1].at - arxiv.answered_at[0] >= 0.35


async def test_retry_after_as_a_date_is_waited_for(arxiv: Replay) -> None:
    def answer(_: HttpRequest) -> Answer:
        # A date has whole seconds: two from now are at least one away.
        later = formatdate(time.time() + 2, usegmt=True)
        return Answer(status=503, headers={"Retry-After": later}) if len(arxiv.requests) == 1 else Answer(ONE_PAPER)

    arxiv.answer = answer

    await source(arxiv).search("humming bridges", limit=5)

    assert arxiv.requests[1].at - arxiv.answered_at[0] >= 0.9


@pytest.mark.parametrize("wait", ["120", formatdate(time.time() + 7200, usegmt=True)], ids=["seconds", "date"])
async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(arxiv: Replay, wait: str) -> None:
    arxiv.answer = lambda _: Answer(status=429, headers={"Retry-After": wait})

    error = await failure(source(arxiv))

    assert error.transient
    assert "asks to wait" in str(error)
    assert len(arxiv.requests) == 1


async def test_a_dead_server_is_a_transient_failure_that_names_the_host() -> None:
    error = await failure(ArxivSource("http://127.0.0.1:9", interval_seconds=0))

    assert error.transient
    assert "no connection to 127.0.0.1" in str(error)


@pytest.mark.parametrize("slowness", [Answer(hang=True), Answer(ONE_PAPER, drip_seconds=0.05)])
async def test_a_server_that_hangs_is_left_at_the_deadline(arxiv: Replay, slowness: Answer) -> None:
    arxiv.answer = lambda _: slowness

    error = await failure(source(arxiv, deadline=0.5))

    assert error.transient
    assert arxiv.whole == 0


async def test_those_who_wait_behind_a_lasting_failure_share_it(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(hang=True)
    arxiv_source = source(arxiv, deadline=2)

    failures = await asyncio.gather(*(failure(arxiv_source, f"bridge {number}") for number in range(6)))

    assert {error.transient for error in failures} == {True}
    assert len(arxiv.requests) == 1


async def test_concurrent_searches_are_one_at_a_time_and_never_closer_than_the_interval(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(ONE_PAPER, seconds=0.05)
    one, other = source(arxiv, interval=0.2), source(arxiv, interval=0.2)

    await asyncio.gather(*(request.search(f"bridge {n}", limit=5) for n, request in enumerate([one, other, one])))

    arrivals = [request.at for request in arxiv.requests]
    assert arxiv.most_at_once == 1
    assert [later - earlier >= 0.2 for earlier, later in pairwise(arrivals)] == [True, True]


def test_the_interval_is_three_seconds_unless_told_otherwise() -> None:
    # A real wait would take as long.
    assert inspect.signature(ArxivSource).parameters["interval_seconds"].default == 3.0


def test_the_interval_holds_between_event_loops(arxiv: Replay) -> None:
    def search(number: int) -> None:
        asyncio.run(source(arxiv, interval=0.2).search(f"bridge {number}", limit=5))

    with ThreadPoolExecutor(2) as loops:
        list(loops.map(search, range(2)))

    assert arxiv.requests[1].at - arxiv.requests[0].at >= 0.2


async def test_repeats_keep_the_interval_too(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(status=503, headers={"Retry-After": "0"}), Answer(ONE_PAPER))

    await source(arxiv, interval=0.2).search("humming bridges", limit=5)

    assert arxiv.requests[1].at - arxiv.requests[0].at >= 0.2


async def test_a_page_that_comes_short_is_followed_by_another_after_the_interval(arxiv: Replay) -> None:
    announced = ONE_PAPER.replace(b"totalResults>1<", b"totalResults>9<")
    arxiv.answer = first(Answer(announced), Answer(announced.replace(b"00001", b"00002")))

    results = await source(arxiv, interval=0.2).search("humming bridges", limit=2)

    assert len({each.result.url for each in results}) == 2
    assert [request.query["start"] for request in arxiv.requests] == ["0", "1"]
    assert arxiv.requests[1].at - arxiv.requests[0].at >= 0.2


async def test_a_further_page_that_is_empty_leaves_what_was_found(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(ONE_PAPER.replace(b"totalResults>1<", b"totalResults>9<")), Answer(feed()))

    assert len(await source(arxiv).search("humming bridges", limit=2)) == 1


async def test_the_same_search_at_the_same_time_is_one_call(arxiv: Replay) -> None:
    arxiv_source = source(arxiv)

    answers = await asyncio.gather(*(arxiv_source.search("humming  bridges", limit=5) for _ in range(8)))

    assert len(arxiv.requests) == 1
    assert all(answer == answers[0] for answer in answers)


async def test_the_same_search_later_is_answered_from_memory(arxiv: Replay) -> None:
    arxiv_source = source(arxiv)

    await arxiv_source.search("humming bridges", limit=5)
    await arxiv_source.search("humming bridges", limit=5)
    await arxiv_source.search("humming bridges", limit=6)

    assert len(arxiv.requests) == 2


async def test_a_failure_is_not_remembered(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(status=403), Answer(ONE_PAPER))
    arxiv_source = source(arxiv)
    await failure(arxiv_source)

    assert len(await arxiv_source.search("humming bridges", limit=5)) == 1


async def test_one_who_gives_up_leaves_the_shared_call_to_the_others(arxiv: Replay) -> None:
    given_up = Event()
    arxiv.answer = once(given_up, ONE_PAPER)
    arxiv_source = source(arxiv)
    one, other = (asyncio.create_task(arxiv_source.search("humming bridges", limit=5)) for _ in range(2))
    await was_asked(arxiv)
    one.cancel()
    await asyncio.wait([one])
    given_up.set()

    assert len(await other) == 1
    assert len(arxiv.requests) == 1


async def test_a_search_that_nobody_waits_for_gives_up_its_place(arxiv: Replay) -> None:
    arxiv.answer = first(Answer(status=503, headers={"Retry-After": "4"}), Answer(ONE_PAPER))
    arxiv_source = source(arxiv)
    task = asyncio.create_task(arxiv_source.search("humming bridges", limit=5))
    await was_asked(arxiv)
    task.cancel()

    await arxiv_source.search("another bridge", limit=5)

    assert ["another" in request.query["search_query"] for request in arxiv.requests] == [False, True]


async def test_waiting_for_arxiv_leaves_the_event_loop_free(arxiv: Replay) -> None:
    went_on = Event()
    arxiv.answer = once(went_on, ONE_PAPER)
    search = asyncio.create_task(source(arxiv).search("humming bridges", limit=5))
    await was_asked(arxiv)

    went_on.set()

    assert len(await search) == 1


async def test_a_compressed_feed_is_read(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(gzip.compress(ONE_PAPER), headers={"Content-Encoding": "gzip"})

    assert len(await source(arxiv).search("humming bridges", limit=5)) == 1


async def test_an_endless_feed_is_left_when_it_is_too_large(arxiv: Replay) -> None:
    bomb = gzip.compress(b"<feed>" + b" " * 60_000_000)
    arxiv.answer = lambda _: Answer(bomb, headers={"Content-Encoding": "gzip"})

    assert "more than 20000000 bytes" in str(await failure(source(arxiv)))


async def test_a_redirect_is_followed(arxiv: Replay) -> None:
    redirect = Answer(status=301, headers={"Location": f"{arxiv.url}/api/query?search_query=moved"})
    arxiv.answer = first(redirect, Answer(ONE_PAPER))

    assert len(await source(arxiv).search("humming bridges", limit=5)) == 1


async def test_a_redirect_loop_ends(arxiv: Replay) -> None:
    arxiv.answer = lambda _: Answer(status=302, headers={"Location": f"{arxiv.url}/api/query"})

    assert "unusable answer" in str(await failure(source(arxiv)))


@pytest.mark.parametrize("query", ["", " ?!( ", "\u200b"])
async def test_a_query_without_words_finds_nothing_and_asks_nobody(arxiv: Replay, query: str) -> None:
    assert await source(arxiv).search(query, limit=5) == []
    assert arxiv.requests == []


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Why do bridges hum? (a review: 2020)", "Why do bridges hum a review 2020"),
        ('"vortex-induced" AND vibration', "vortex-induced vibration"),
        ("ti:checkerboard AND au:del_maestro", "ti:checkerboard AND au:del_maestro"),
        ("橋はなぜ、鳴るのか？", "橋はなぜ 鳴るのか"),
    ],
)
def test_a_question_is_asked_as_words_and_a_field_query_as_it_is(query: str, asked: str) -> None:
    assert as_search_query(query) == asked


async def test_an_arxiv_that_can_be_reached_is_on(arxiv: Replay) -> None:
    assert await source(arxiv).check() is None


async def test_an_arxiv_that_refuses_connections_is_off_and_says_why() -> None:
    assert await ArxivSource("http://127.0.0.1:9").check() == "no connection to 127.0.0.1 (Connection refused)"


async def test_an_arxiv_that_does_not_answer_is_off_within_three_seconds() -> None:
    with closing(socket.socket()) as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        filling = [socket.socket() for _ in range(4)]
        for each in filling:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))

        why = await ArxivSource(f"http://127.0.0.1:{port}").check()

        for each in filling:
            each.close()
    assert why == "no answer from 127.0.0.1 within 3 s"


async def test_behind_a_proxy_the_proxy_is_what_must_be_reached(arxiv: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", arxiv.url)
    monkeypatch.delenv("no_proxy", raising=False)

    assert await ArxivSource("http://arxiv.invalid").check() is None


@pytest.mark.parametrize("address", ["export.arxiv.org", "ftp://export.arxiv.org", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(InputError, match="CONTEND_ARXIV_BASE_URL"):
        ArxivSource(address)
