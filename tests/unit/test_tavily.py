import asyncio
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import InputError, SourceError
from contend.models.research import FoundPassage, SearchResult
from contend.sources.source import as_day, as_score
from contend.sources.tavily import TavilySource
from fakes.replay import Answer, HttpRequest, Replay, as_json, tavily_searches

KEY = "tvly-planted-0123456789"
PAGE = {
    "title": "Humming bridges",
    "url": "https://example.org/hum",
    "content": "Wind makes bridges hum.",
    "score": 0.9,
}
LIMITS = {"detail": {"error": f"This request exceeds the plan of {KEY}."}}


def results(*items: object) -> Answer:
    return as_json({"query": "q", "results": list(items), "response_time": 0.1})


@pytest.fixture
def tavily() -> Iterator[Replay]:
    with Replay(lambda _: results(PAGE)) as server:
        yield server


def source(server: Replay, *, deadline: float = 60.0, wait: float = 0.0) -> TavilySource:
    return TavilySource(KEY, server.url, deadline_seconds=deadline, retry_wait_seconds=wait)


def first(*answers: Answer) -> Callable[[HttpRequest], Answer]:
    """These answers once each, then the last one for ever."""
    remaining = list(answers)
    return lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]


async def failure(asked: TavilySource, query: str = "humming bridges") -> SourceError:
    with pytest.raises(SourceError) as excinfo:
        await asked.search(query, limit=5)
    assert "\n" not in str(excinfo.value)
    assert KEY not in str(excinfo.value)
    assert excinfo.value.__cause__ is None
    return excinfo.value


async def one(server: Replay, **item: Any) -> FoundPassage:  # noqa: ANN401 - an answer's field may hold anything
    server.answer = lambda _: results({**PAGE, **item})
    [result] = await source(server).search("humming bridges", limit=5)
    return result


async def test_every_recorded_result_is_mapped(tavily: Replay) -> None:
    tavily_source = source(tavily)
    mapped = 0
    for place, answer in enumerate(tavily_searches()):
        tavily.answer = first(as_json(answer))
        hits = await tavily_source.search(f"recorded {place}", limit=20)
        assert [each.result.url for each in hits] == [item["url"] for item in answer["results"]]
        mapped += len(hits)

    assert mapped == 185
    assert tavily_source.left_out == 0


async def test_recorded_texts_stay_whole_while_their_summaries_fit(tavily: Replay) -> None:
    answer = tavily_searches()[0]
    tavily.answer = lambda _: as_json(answer)

    hits = await source(tavily).search("iPhones", limit=20)

    long = [each.text for each in hits if len(each.text) > 2000]
    assert len(long) >= 5
    assert all(each.result.summary.endswith("…") for each in hits if len(each.text) > 2100)


async def test_a_page_is_mapped_field_by_field(tavily: Replay) -> None:
    result, text, *_ = await one(tavily, published_date="Fri, 01 May 2020 10:00:00 GMT")

    assert result == SearchResult(
        title="Humming bridges",
        summary="Wind makes bridges hum.",
        source="tavily",
        url="https://example.org/hum",
        published_date="2020-05-01",
        relevance_score=0.9,
    )
    assert text == "Wind makes bridges hum."


async def test_the_text_keeps_its_lines_and_loses_what_cannot_be_seen(tavily: Replay) -> None:
    result, text, *_ = await one(tavily, content="# Hum\u200b\r\n\r\nWind\x00 blows.\n", title="A\u202e  title\n")

    assert text == "# Hum\n\nWind blows."
    assert (result.title, result.summary) == ("A title", "# Hum Wind blows.")


async def test_a_very_long_text_is_cut(tavily: Replay) -> None:
    _, text, *_ = await one(tavily, content="wind " * 10_000)

    assert 19_900 < len(text) <= 20_000


async def test_a_page_without_a_title_is_called_by_its_address(tavily: Replay) -> None:
    result, *_ = await one(tavily, title=None)

    assert result.title == "https://example.org/hum"


@pytest.mark.parametrize(
    "item",
    [
        {**PAGE, "content": " "},
        {**PAGE, "content": None},
        {**PAGE, "url": "ftp://example.org/x"},
        {**PAGE, "url": "file:///etc/passwd"},
        {**PAGE, "url": "http://[broken"},
        {**PAGE, "url": "https://"},
        {**PAGE, "url": "https://example.org/a b"},
        {"title": "no more than that"},
        "not a result",
        None,
    ],
)
async def test_a_result_without_text_or_usable_address_is_left_out_and_counted(tavily: Replay, item: object) -> None:
    tavily.answer = lambda _: results(item, PAGE)
    tavily_source = source(tavily)

    hits = await tavily_source.search("humming bridges", limit=5)

    assert [each.result.url for each in hits] == ["https://example.org/hum"]
    assert tavily_source.left_out == 1


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("Tue, 18 Nov 2025 09:30:00 GMT", "2025-11-18"),
        ("2025-11-18", "2025-11-18"),
        ("2025-11-18T09:30:00Z", "2025-11-18"),
        ("soon", None),
        ("", None),
        (20251118, None),
        (None, None),
    ],
)
def test_dates_become_days(written: object, day: str | None) -> None:
    assert as_day(written) == day


@given(st.text() | st.integers() | st.none())
def test_no_date_is_too_odd_to_be_read_or_left(written: object) -> None:
    day = as_day(written)

    assert day is None or SearchResult(title="t", summary="s", source="x", url="https://a", published_date=day)


@pytest.mark.parametrize(
    ("given_score", "score"),
    [(0.4, 0.4), (1.7, 1.0), (-3, 0.0), (float("inf"), 1.0), (float("nan"), None), ("0.4", None), (True, None)],
)
def test_scores_are_cut_off_at_their_bounds(given_score: object, score: float | None) -> None:
    assert as_score(given_score) == score


async def test_a_long_query_is_cut_to_what_tavily_takes(tavily: Replay) -> None:
    await source(tavily).search("橋が鳴る" * 200, limit=5)

    assert len(tavily.requests[0].body["query"]) == 400


async def test_the_key_goes_into_the_header_and_the_limit_into_the_body(tavily: Replay) -> None:
    await source(tavily).search("humming bridges", limit=50)

    assert tavily.requests[0].path == "/search"
    assert tavily.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert tavily.requests[0].body["max_results"] == 20


async def test_no_more_results_come_than_asked_for(tavily: Replay) -> None:
    tavily.answer = lambda _: results(*({**PAGE, "url": f"https://example.org/{n}"} for n in range(9)))

    assert len(await source(tavily).search("humming bridges", limit=3)) == 3


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_without_a_key_the_source_is_off_and_nobody_is_asked(tavily: Replay, key: str | None) -> None:
    keyless = TavilySource(key, tavily.url)

    assert await keyless.check() == "TAVILY_API_KEY is not set"
    assert str(await failure(keyless)) == "TAVILY_API_KEY is not set"
    assert tavily.requests == []


async def test_a_key_in_the_environment_alone_does_not_count(tavily: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)

    assert await TavilySource(None, tavily.url).check() == "TAVILY_API_KEY is not set"


@pytest.mark.parametrize("key", ["tvly-planted\nx", "tvly-plantéd"])
async def test_a_key_that_no_header_can_carry_is_named_but_not_shown(tavily: Replay, key: str) -> None:
    why = await TavilySource(key, tavily.url).check()

    assert why == "TAVILY_API_KEY holds characters that no key has: copy it again"


async def test_with_a_key_and_a_connection_the_source_is_on(tavily: Replay) -> None:
    assert await source(tavily).check() is None


async def test_with_a_key_and_no_connection_the_source_is_off() -> None:
    assert await TavilySource(KEY, "http://127.0.0.1:9").check() == "no connection to 127.0.0.1 (Connection refused)"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Tavily refused the query 'humming bridges'"),
        (401, "set TAVILY_API_KEY"),
        (403, "does not allow this with the key's plan"),
        (432, "plan is used up"),
        (433, "plan is used up"),
        (404, "HTTP 404"),
    ],
)
async def test_a_refusal_says_what_to_do_and_is_not_asked_again(tavily: Replay, status: int, words: str) -> None:
    tavily.answer = lambda _: as_json(LIMITS, status=status)

    error = await failure(source(tavily))

    assert words in str(error)
    assert not error.transient
    assert len(tavily.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
async def test_a_busy_tavily_is_asked_again(tavily: Replay, status: int) -> None:
    tavily.answer = first(as_json(LIMITS, status=status), results(PAGE))

    assert len(await source(tavily).search("humming bridges", limit=5)) == 1


async def test_a_tavily_that_stays_busy_is_given_up_as_transient(tavily: Replay) -> None:
    tavily.answer = lambda _: as_json(LIMITS, status=429)

    error = await failure(source(tavily))

    assert error.transient
    assert "HTTP 429" in str(error)
    assert len(tavily.requests) == 3


async def test_each_wait_is_longer_than_the_one_before(tavily: Replay) -> None:
    tavily.answer = lambda _: Answer(status=503)

    await failure(source(tavily, wait=0.15))

    one, two, three = (request.at for request in tavily.requests)
    assert two - one >= 0.15
    assert three - two >= 0.3


async def test_retry_after_in_seconds_is_waited_for(tavily: Replay) -> None:
    tavily.answer = first(Answer(status=429, headers={"Retry-After": "0.4"}), results(PAGE))

    await source(tavily).search("humming bridges", limit=5)

    assert tavily.requests[1].at - tavily.requests[0].at >= 0.4


async def test_retry_after_as_a_date_is_waited_for(tavily: Replay) -> None:
    def answer(_: HttpRequest) -> Answer:
        # A date has whole seconds: two from now are at least one away.
        later = formatdate(time.time() + 2, usegmt=True)
        return Answer(status=429, headers={"Retry-After": later}) if len(tavily.requests) == 1 else results(PAGE)

    tavily.answer = answer

    await source(tavily).search("humming bridges", limit=5)

    assert tavily.requests[1].at - tavily.requests[0].at >= 0.9


async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(tavily: Replay) -> None:
    tavily.answer = lambda _: Answer(status=429, headers={"Retry-After": "120"})

    error = await failure(source(tavily))

    assert "asks to wait 120 s" in str(error)
    assert len(tavily.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<!doctype html><html>welcome to the network</html>"),
        Answer(b""),
        as_json([]),
        as_json(None),
        as_json({"results": None}),
        as_json({"answer": "none"}),
        Answer(b"[" * 100_000),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(tavily: Replay, answer: Answer) -> None:
    tavily.answer = lambda _: answer

    error = await failure(source(tavily))

    assert "something else than results" in str(error)
    assert not error.transient


async def test_a_dead_server_is_a_transient_failure_that_names_the_host() -> None:
    error = await failure(TavilySource(KEY, "http://127.0.0.1:9", retry_wait_seconds=0))

    assert error.transient
    assert str(error) == "no connection to 127.0.0.1 (ConnectError)"


async def test_an_answer_that_breaks_off_is_asked_for_again(tavily: Replay) -> None:
    whole = results(PAGE)
    tavily.answer = first(Answer(whole.body, cut=True), whole)

    assert len(await source(tavily).search("humming bridges", limit=5)) == 1


@pytest.mark.parametrize("slowness", [Answer(hang=True), Answer(results(PAGE).body, drip_seconds=0.05)])
async def test_a_server_that_hangs_is_left_at_the_deadline(tavily: Replay, slowness: Answer) -> None:
    tavily.answer = lambda _: slowness

    error = await failure(source(tavily, deadline=0.5))

    assert error.transient
    assert tavily.whole == 0


async def test_the_same_search_at_the_same_time_is_one_call(tavily: Replay) -> None:
    tavily_source = source(tavily)

    answers = await asyncio.gather(*(tavily_source.search("humming bridges", limit=5) for _ in range(8)))

    assert len(tavily.requests) == 1
    assert all(answer == answers[0] for answer in answers)


async def test_the_same_search_later_is_answered_from_memory(tavily: Replay) -> None:
    tavily_source = source(tavily)

    await tavily_source.search("humming bridges", limit=5)
    await tavily_source.search("humming  bridges", limit=5)

    assert len(tavily.requests) == 1


async def test_different_searches_run_at_the_same_time(tavily: Replay) -> None:
    all_are_asked = Barrier(4, timeout=30)

    def once_all_are_asked(_: HttpRequest) -> Answer:
        all_are_asked.wait()
        return results(PAGE)

    tavily.answer = once_all_are_asked
    tavily_source = source(tavily)

    answers = await asyncio.gather(*(tavily_source.search(f"bridge {n}", limit=5) for n in range(4)))

    assert [len(answer) for answer in answers] == [1] * 4


def test_a_source_serves_one_event_loop_after_another(tavily: Replay) -> None:
    tavily_source = source(tavily)

    hits = [asyncio.run(tavily_source.search(f"bridge {n}", limit=5)) for n in range(2)]

    assert [len(each) for each in hits] == [1, 1]


async def test_an_empty_query_finds_nothing_and_asks_nobody(tavily: Replay) -> None:
    assert await source(tavily).search(" \u200b ", limit=5) == []
    assert tavily.requests == []


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="CONTEND_TAVILY_BASE_URL"):
        TavilySource(KEY, "api.tavily.com")
