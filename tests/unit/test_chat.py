import asyncio
import email.utils
import json
import logging
import subprocess
import sys
import time
import traceback
from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Barrier
from typing import Any, TypedDict, Unpack

import pytest
from langchain_core.language_models import FakeListChatModel

from contend.errors import BudgetExhausted, InputError, ModelError, ReplyError
from contend.llm import Answer, Scope
from contend.llm.budget import Ledger
from contend.llm.chat import ChatModel, schema_text
from contend.llm.endpoint import CallLimits
from contend.llm.langchain_endpoint import LangChainEndpoint
from contend.llm.openai_endpoint import OpenAIEndpoint
from contend.models.evaluation import MetricReply
from contend.models.replies import MendedReply, MergeReply, Reply, ReportReply, RevisionReply, StepReply
from contend.models.research import Passage
from contend.prompts import PromptLibrary, mark_of
from contend.prompts.judging import MetricPrompt
from contend.prompts.research import MendPrompt, ReportPrompt, ResearchHead, SourceDocument, StepPrompt
from contend.settings.files import ModelPrice, ModelsConfig
from fakes.vendors import Vendors

KEY = "planted-key-4711-abcdefgh"
THEME = "Why do bridges hum in the wind?"
SCOPE = Scope(execution_id="run-1", role="evaluator", language="en", team_id="scout", round_number=2, step="coverage")
TEMPLATES = {
    "evaluator/system": "You score one metric: {{ metric }}.",
    "evaluator/metric": "{{ user_query }}\n{{ submission }}",
    "researcher/system": "You search.",
    "researcher/step": "{{ head }}",
    "research/system": "You write.",
    "research/write": "{{ head }}",
}
STEP: dict[str, Any] = {
    "number": 1,
    "most": 12,
    "parts": [],
    "tokens": 0,
    "room": 8000,
    "step_tokens": 4000,
    "sources": ["arxiv"],
}
PROMPT = MetricPrompt(
    metric="coverage",
    rubric="",
    user_query=THEME,
    submission="Bridges hum because the wind sheds vortices from their cables [1].",
)


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    with Vendors() as server:
        yield server


@pytest.fixture
def prompts(tmp_path: Path) -> PromptLibrary:
    for name, text in TEMPLATES.items():
        path = tmp_path / "prompts" / f"{name}.md.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return PromptLibrary(tmp_path)


class Settings(TypedDict, total=False):
    call_deadline_seconds: float
    max_calls_in_flight: int
    max_retries: int | None


class Caller:
    """A model at the fake endpoint, and the ledgers that it pays from."""

    def __init__(self, url: str, prompts: PromptLibrary, **settings: Unpack[Settings]) -> None:
        self.prompts = prompts
        self.ledgers = defaultdict[str, Ledger](Ledger)
        defaults: Settings = {"call_deadline_seconds": 60.0, "max_retries": 1}
        self.endpoint = OpenAIEndpoint(url, KEY, CallLimits(**{**defaults, **settings}))

    def model(
        self, name: str = "judge-1", *, price: ModelPrice | None = None, room: int = 300, context: int = 32_000
    ) -> ChatModel:
        prices = {name: price} if price else {}
        return ChatModel(
            name,
            self.endpoint,
            self.prompts,
            self.ledgers.__getitem__,
            config=ModelsConfig(default=name, max_output_tokens={"evaluator": room}, prices=prices),
            context_of=lambda _: context,
        )

    async def score(
        self, name: str = "judge-1", *, price: ModelPrice | None = None, room: int = 300
    ) -> Answer[MetricReply]:
        model = self.model(name, price=price, room=room)
        return await model.ask(PROMPT, MetricReply, scope=SCOPE)


@asynccontextmanager
async def calling(vendors: Vendors, prompts: PromptLibrary, **settings: Unpack[Settings]) -> AsyncIterator[Caller]:
    caller = Caller(vendors.base_url, prompts, **settings)
    try:
        yield caller
    finally:
        await caller.endpoint.aclose()


async def failure(caller: Caller) -> ModelError:
    with pytest.raises(ModelError) as excinfo:
        await caller.score()
    assert "\n" not in str(excinfo.value)
    return excinfo.value


async def test_a_reply_comes_back_in_the_agreed_shape_with_its_usage(vendors: Vendors, prompts: PromptLibrary) -> None:
    async with calling(vendors, prompts) as caller:
        value, usage, _ = await caller.score(price=ModelPrice(input=2, output=10))

    assert all(quote in PROMPT.submission for quote in value.evidence)
    assert 0 <= value.percent <= 100
    assert usage.call_key == "scout/2/evaluator/evaluator/metric/coverage"
    assert (usage.model, usage.role, usage.requests) == ("judge-1", "evaluator", 1)
    assert usage.cost_usd == pytest.approx((usage.input_tokens * 2 + usage.output_tokens * 10) / 1e6)
    assert caller.ledgers["run-1"].usage.input_tokens == usage.input_tokens


@pytest.mark.parametrize("told", [{"prompt_tokens_details": {"cached_tokens": 40}}, {"prompt_cache_hit_tokens": 40}])
async def test_what_a_provider_has_in_its_cache_costs_what_its_price_says(
    vendors: Vendors, prompts: PromptLibrary, told: dict[str, Any]
) -> None:
    vendors.tell_cached(told)
    async with calling(vendors, prompts) as caller:
        _, usage, _ = await caller.score(price=ModelPrice(input=2, output=10, cached_input=0.2))

    assert usage.cached_tokens == 40
    paid = (usage.input_tokens - 40) * 2 + 40 * 0.2 + usage.output_tokens * 10
    assert usage.cost_usd == pytest.approx(paid / 1e6)


async def test_delimiters_that_a_model_copies_are_taken_out(vendors: Vendors, prompts: PromptLibrary) -> None:
    tag = f"submission-{mark_of(SCOPE.execution_id)}"
    reply = {
        "reason": f"<{tag}>\nIt is short.</{tag}>",
        "evidence": [f"<{tag}>Bridges hum.", "a <b-1> c"],
        "percent": 50,
    }
    vendors.reply(json.dumps(reply), prompt="evaluator/metric")
    async with calling(vendors, prompts) as caller:
        value, _, _ = await caller.score()

    assert value.reason == "It is short."
    assert value.evidence == ["Bridges hum.", "a <b-1> c"]


@pytest.mark.parametrize(("context", "room"), [(128_000, 16_000), (32_000, 8_000), (8_000, 6_000), (300, 256)])
async def test_a_reply_takes_no_more_of_the_context_than_its_prompt_leaves(
    vendors: Vendors, prompts: PromptLibrary, context: int, room: int
) -> None:
    async with calling(vendors, prompts) as caller:
        await caller.model(room=16_000, context=context).ask(PROMPT, MetricReply, scope=SCOPE)

    assert vendors.calls[0].body["max_tokens"] == room


async def test_a_long_prompt_leaves_the_reply_what_is_left_of_the_context(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    prompt = PROMPT.model_copy(update={"submission": "A bridge hums in the wind. " * 800})
    vendors.context = 8_000

    async with calling(vendors, prompts) as caller:
        await caller.model(room=6_000, context=8_000).ask(prompt, MetricReply, scope=SCOPE)

    assert 1_000 < vendors.calls[0].body["max_tokens"] < 3_000


async def test_where_an_endpoint_counts_fewer_tokens_than_estimated_the_next_reply_has_more_room(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    prompt = PROMPT.model_copy(update={"submission": "| a | --max-x | 0x1F |\n" * 1_000})
    async with calling(vendors, prompts) as caller:
        model = caller.model(room=6_000, context=18_000)
        for _ in range(2):
            await model.ask(prompt, MetricReply, scope=SCOPE)

    first, second = (call.body["max_tokens"] for call in vendors.calls)
    assert first < second <= 6_000


async def test_a_model_that_writes_less_than_it_is_let_is_asked_for_less_from_then_on(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    text = "max_tokens is too large: 16000. This model supports at most 8192 completion tokens."
    vendors.fail(status=400, message=text, param="max_tokens", times=1)
    async with calling(vendors, prompts) as caller:
        for _ in range(2):
            await caller.model(room=16_000, context=128_000).ask(PROMPT, MetricReply, scope=SCOPE)

    assert [call.body["max_tokens"] for call in vendors.calls] == [16_000, 8_192, 8_192]


async def test_a_model_that_refused_a_long_reply_is_not_asked_for_a_longer_one_where_it_only_thought(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.fail(status=400, message="max_tokens is too large: 16000.", param="max_tokens", times=1)

    async with calling(vendors, prompts) as caller:
        model = caller.model(room=16_000, context=128_000)
        await model.ask(PROMPT, MetricReply, scope=SCOPE)
        vendors.reply("", finish_reason="length", times=1)
        await model.ask(PROMPT, MetricReply, scope=SCOPE)

    assert [call.body["max_tokens"] for call in vendors.calls] == [16_000, 6_000, 6_000, 6_000]


class Refusing(FakeListChatModel):
    words: str

    def _call(self, *_: object, **__: object) -> str:
        error = ValueError(self.words)
        error.status_code = 400  # type: ignore[attr-defined]
        raise error


@pytest.mark.parametrize(
    ("option", "value", "words", "next_value"),
    [
        ("max_tokens", 16_000, "max_tokens: 16000 > 8192, which is the maximum number of output tokens", 8_192),
        ("temperature", 0, "Unsupported value: 'temperature' does not support 0 with this model.", None),
    ],
)
async def test_a_langchain_model_that_refuses_an_option_is_asked_with_less_of_it_or_without(
    prompts: PromptLibrary, option: str, value: int, words: str, next_value: int | None
) -> None:
    reply, values = json.dumps({"reason": "It hums.", "evidence": [], "percent": 50}), list[object]()

    def make(_: str, **options: object) -> FakeListChatModel:
        values.append(options.get(option))
        return Refusing(responses=[], words=words) if values[-1] == value else FakeListChatModel(responses=[reply])

    endpoint = LangChainEndpoint("mine", make, remedy="try later")
    ledger = Ledger()
    config = ModelsConfig(default="m", max_output_tokens={"evaluator": 16_000}, temperature={"evaluator": 0})
    model = ChatModel("m", endpoint, prompts, lambda _: ledger, config=config, context_of=lambda _: 128_000)

    assert (await model.ask(PROMPT, MetricReply, scope=SCOPE)).value.percent == 50
    assert values == [value, next_value]


async def test_prompts_of_many_lengths_share_few_clients_of_a_langchain_model(prompts: PromptLibrary) -> None:
    reply, limits = json.dumps({"reason": "It hums.", "evidence": [], "percent": 50}), list[int]()

    def make(_: str, *, max_tokens: int, **__: object) -> FakeListChatModel:
        limits.append(max_tokens)
        return FakeListChatModel(responses=[reply])

    endpoint = LangChainEndpoint("mine", make, remedy="try later")
    ledger = Ledger()
    model = ChatModel("m", endpoint, prompts, lambda _: ledger, context_of=lambda _: 2_000)
    for length in range(1, 31):
        await model.ask(PROMPT.model_copy(update={"submission": "Hum. " * length}), MetricReply, scope=SCOPE)

    assert len(limits) <= 3, limits


async def test_the_endpoint_is_bound_to_the_shape_and_to_the_roles_limit(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    async with calling(vendors, prompts) as caller:
        await caller.score(room=123)

    body = vendors.calls[0].body
    assert body["model"] == "judge-1"
    assert body["max_tokens"] == 123
    assert body["response_format"]["json_schema"]["strict"] is True
    shape = body["response_format"]["json_schema"]
    assert {**shape["schema"], "title": shape["name"]} == json.loads(schema_text(MetricReply))
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


async def test_a_draft_rests_on_the_passages_that_were_offered(vendors: Vendors, prompts: PromptLibrary) -> None:
    texts = {
        1: "Wind sheds vortices from a bridge's cables and makes them sing.",
        2: "Dampers keep a bridge from humming in a steady wind.",
    }
    passages = [Passage(id=f"p{at}", url=f"https://a.org/{at}", title="A", text=text) for at, text in texts.items()]
    head = ResearchHead(theme=THEME, passages=SourceDocument.of_passages(passages))
    prompt = ReportPrompt(head=prompts.show(head, language="en", mark=mark_of("run-1")), words=500, characters=1000)
    async with calling(vendors, prompts) as caller:
        draft = await caller.model().ask(prompt, ReportReply, scope=SCOPE)

    sentences = {number: sentence.text for sentence in draft.value.findings for number in sentence.sources}
    assert sentences == texts


@pytest.mark.parametrize(
    "wrapping",
    ["```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nDone.", "<think>{{hm}} 50?</think>\n{}", "\ufeff  {}\n"],
)
async def test_what_stands_around_the_json_is_put_aside(
    vendors: Vendors, prompts: PromptLibrary, wrapping: str
) -> None:
    vendors.malform(lambda text: wrapping.replace("{}", text))

    async with calling(vendors, prompts) as caller:
        _, usage, _ = await caller.score()

    assert usage.requests == 1


@pytest.mark.parametrize(
    ("spoilt", "text"),
    [
        ('{"reason": "half a re', "EOF while parsing"),
        ('{"reason": ["no", "text"], "evidence": [], "percent": 5}', "reason: Input should be a valid string"),
        (
            '{"reason": "too much", "evidence": [], "percent": 250}',
            "percent: Input should be less than or equal to 100",
        ),
        ('{"reason": "more than asked", "evidence": [], "percent": 5, "score": 9}', "score: Extra inputs"),
        (
            '{"reason": "It hums.", "evidence": [], "percent": true}',
            "percent: Value error, true and false are no numbers",
        ),
        ("", "the reply is empty"),
        ("Fifty, I think.", "Invalid JSON"),
    ],
)
async def test_an_unusable_reply_is_repaired_once_with_its_fault_shown(
    vendors: Vendors, prompts: PromptLibrary, spoilt: str, text: str
) -> None:
    vendors.reply(spoilt, times=1)

    async with calling(vendors, prompts) as caller:
        value, usage, _ = await caller.score()

    first, second = vendors.calls
    assert second.body["messages"][1] == first.body["messages"][1]
    assert ('"percent"' in second.system) == (spoilt.startswith("Fifty"))  # no JSON at all: the shape was not known
    assert text in second.body["messages"][-1]["content"]
    assert usage.requests == 2
    assert usage.input_tokens == caller.ledgers["run-1"].usage.input_tokens
    assert value.reason


async def test_a_reply_that_is_unusable_twice_is_an_error_and_was_paid_for(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.reply('{"percent": "a lot"}')

    async with calling(vendors, prompts) as caller:
        with pytest.raises(ReplyError, match=r"judge-1.*evaluator/metric.*after one repair") as excinfo:
            await caller.score()

    assert len(vendors.calls) == 2
    assert caller.ledgers["run-1"].usage.requests == 2
    assert not excinfo.value.transient


async def test_a_reply_cut_by_its_length_is_asked_for_again_shorter(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.truncate(times=1)

    async with calling(vendors, prompts) as caller:
        await caller.score(room=77)

    assert "cut off after 77 tokens" in vendors.calls[1].body["messages"][-1]["content"]


async def test_a_reply_cut_twice_names_the_setting(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.truncate()

    async with calling(vendors, prompts) as caller:
        with pytest.raises(ReplyError, match="max_output_tokens"):
            await caller.score()


async def test_a_model_that_only_thought_gets_more_room(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.reply("", finish_reason="length", times=1)

    async with calling(vendors, prompts) as caller:
        await caller.score(room=100)

    assert [call.body["max_tokens"] for call in vendors.calls] == [100, 400]
    assert vendors.calls[0].body["messages"] == vendors.calls[1].body["messages"]


async def test_a_refusal_is_an_error_at_once(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.reply("", refusal="I cannot help with that.")

    async with calling(vendors, prompts) as caller:
        with pytest.raises(ReplyError, match=r"refused.*I cannot help"):
            await caller.score()

    assert len(vendors.calls) == 1


async def test_a_content_filter_is_named(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.reply("", finish_reason="content_filter")

    async with calling(vendors, prompts) as caller:
        with pytest.raises(ReplyError, match="content filter"):
            await caller.score()


async def test_a_reply_over_two_megabytes_is_not_read(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.reply(json.dumps({"reason": "x" * 2_100_000, "evidence": [], "percent": 5}))

    async with calling(vendors, prompts) as caller:
        with pytest.raises(ReplyError, match="2,100,0"):
            await caller.score()

    assert len(json.dumps(vendors.calls[1].body)) < 20_000


async def test_characters_that_no_text_should_hold_are_dropped(vendors: Vendors, prompts: PromptLibrary) -> None:
    reason = r"\ud800lone, \u0000nul, \u202eright to left, \ud83c\udf09 bridge, 風"
    vendors.reply(f'{{"reason": "{reason}", "evidence": [], "percent": 5}}')

    async with calling(vendors, prompts) as caller:
        value, usage, _ = await caller.score()

    assert value.reason == "lone, nul, right to left, 🌉 bridge, 風"
    assert usage.requests == 1


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_a_rate_limit_is_waited_out_as_told(vendors: Vendors, prompts: PromptLibrary, form: str) -> None:
    wait = 1.2 if form == "seconds" else email.utils.formatdate(time.time() + 3, usegmt=True)
    vendors.fail(status=429, retry_after=wait, times=1)

    async with calling(vendors, prompts) as caller:
        _, usage, _ = await caller.score()

    assert [call.status for call in vendors.calls] == [429, 200]
    assert vendors.calls[1].at - vendors.calls[0].at > 0.8
    assert usage.requests == 1


@pytest.mark.parametrize("seconds", [60, 100_000])
async def test_a_wait_longer_than_the_call_may_take_is_not_begun(
    vendors: Vendors, prompts: PromptLibrary, seconds: int
) -> None:
    vendors.fail(status=429, retry_after=seconds)

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert f"asks to wait {seconds} s" in str(error)
    assert not error.transient
    assert len(vendors.calls) == 1


async def test_a_rate_limit_for_ever_ends_in_an_error(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=429, retry_after=0.1)

    async with calling(vendors, prompts, max_retries=2) as caller:
        error = await failure(caller)

    assert len(vendors.calls) == 3
    assert error.transient
    assert "429" in str(error)


@pytest.mark.parametrize("status", [408, 409, 424, 425, 429, 498, 499])
async def test_a_refusal_for_now_may_pass(vendors: Vendors, prompts: PromptLibrary, status: int) -> None:
    vendors.fail(status=status)

    async with calling(vendors, prompts, max_retries=0) as caller:
        error = await failure(caller)

    assert error.transient
    assert f"failed ({status}: planted failure)" in str(error)


async def test_a_quota_that_is_used_up_is_not_asked_again_later(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=429, code="insufficient_quota", retry_after=0.1)

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert "quota" in str(error)
    assert not error.transient


@pytest.mark.parametrize("fault", ["500", "503", "cut"])
async def test_a_failure_that_passes_is_asked_again(vendors: Vendors, prompts: PromptLibrary, fault: str) -> None:
    if fault == "cut":
        vendors.cut(times=1)
    else:
        vendors.fail(status=int(fault), times=1)

    async with calling(vendors, prompts) as caller:
        await caller.score()

    assert len(vendors.calls) == 2


async def test_a_server_that_fails_on_a_schema_is_asked_without_from_then_on(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.fail(status=500, message="Internal Server Error", times=2)

    async with calling(vendors, prompts) as caller:
        await caller.score()
        await caller.score()

    assert ["response_format" in call.body for call in vendors.calls] == [True, True, False, False]


async def test_a_schema_that_was_answered_before_is_not_to_blame(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=500, message="Internal Server Error", after=1)

    async with calling(vendors, prompts) as caller:
        model = caller.model()
        await model.ask(PROMPT, MetricReply, scope=SCOPE)
        with pytest.raises(ModelError, match="500: Internal Server Error"):
            await model.ask(PROMPT, MetricReply, scope=SCOPE)

    assert all("response_format" in call.body for call in vendors.calls)


@pytest.mark.parametrize("status", [413, 429])
async def test_a_call_over_the_accounts_tokens_per_minute_is_no_matter_of_context_or_time(
    vendors: Vendors, prompts: PromptLibrary, status: int
) -> None:
    vendors.fail(status=status, message="Request too large for m on tokens per min (TPM): Limit 6000, Requested 10338")

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert len(vendors.calls) == 1
    assert not error.transient
    assert "more tokens than the account has per minute" in str(error)


async def test_a_server_that_keeps_failing_is_named(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=500, message="out of\nmemory")

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert error.transient
    assert "judge-1" in str(error)
    assert vendors.base_url in str(error)
    assert "500: out of memory" in str(error)


async def test_an_endpoint_that_is_not_there_is_named(vendors: Vendors, prompts: PromptLibrary) -> None:
    with Vendors() as server:
        address = server.base_url
    caller = Caller(address, prompts, max_retries=0)
    error = await failure(caller)
    await caller.endpoint.aclose()

    assert error.transient
    assert f"{address} cannot be reached" in str(error)
    assert vendors.calls == []


@pytest.mark.parametrize("fault", ["hang", "drip"])
async def test_a_call_ends_at_its_deadline(vendors: Vendors, prompts: PromptLibrary, fault: str) -> None:
    if fault == "hang":
        vendors.hang()
    else:
        vendors.drip(0.02)

    async with calling(vendors, prompts, call_deadline_seconds=0.7) as caller:
        error = await failure(caller)

    assert error.transient
    assert "within 0.7 s" in str(error)
    assert "CONTEND_CALL_DEADLINE_SECONDS" in str(error)


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "OPENAI_API_KEY"), (403, "another model"), (404, "config/models.toml"), (413, "shorter documents")],
)
async def test_a_refusal_of_the_request_is_not_repeated(
    vendors: Vendors, prompts: PromptLibrary, status: int, remedy: str
) -> None:
    vendors.fail(status=status, message="no")

    async with calling(vendors, prompts, max_retries=3) as caller:
        error = await failure(caller)

    assert len(vendors.calls) == 1
    assert not error.transient
    assert "judge-1" in str(error)
    assert vendors.base_url in str(error)
    assert remedy in str(error)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, {"code": "context_length_exceeded", "message": "8192 tokens is the most"}),
        (400, {"message": "Input tokens exceed the configured limit of 272000 tokens."}),
        (400, {"message": "Your input exceeds the context window of this model."}),
        (400, {"message": "prompt is too long: 9000 tokens"}),
        (400, {"message": "litellm.ContextWindowExceededError: 9000 tokens"}),
        (400, {"kind": "exceed_context_size_error", "message": "the request exceeds the available context size"}),
        (400, {"message": "This model's maximum context length is 4096 tokens."}),
        (422, {"message": "This model's maximum context length is 4096 tokens."}),
    ],
)
async def test_a_prompt_over_the_models_context_is_named_so(
    vendors: Vendors, prompts: PromptLibrary, status: int, said: dict[str, Any]
) -> None:
    vendors.fail(status=status, **said)

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert "longer than the model's context" in str(error)
    assert not error.transient


@pytest.mark.parametrize("other", ["sk-other-1234567890", "tvly-dev-1234567890", "Bearer 1234567890"])
@pytest.mark.parametrize("status", [200, 400, 401, 403, 429, 500])
async def test_no_error_repeats_a_key(vendors: Vendors, prompts: PromptLibrary, status: int, other: str) -> None:
    if status == 200:
        vendors.raw(json.dumps({"error": f"key {KEY} or {other}"}).encode(), content_type="application/json")
    else:
        vendors.fail(status=status, message=f"Incorrect API key provided: {KEY}, {other}", retry_after=0.1)

    async with calling(vendors, prompts, max_retries=0) as caller:
        error = await failure(caller)

    text = "".join(traceback.format_exception(error)) + repr(error)
    assert KEY not in text
    assert "1234567890" not in text


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    "message",
    [
        "response_format of type json_schema is unknown",
        "Invalid schema for response_format 'MetricReply': no maxLength",
        "'response_format' of type 'json_schema' is not supported with this model",
    ],
)
async def test_an_endpoint_without_schemas_is_shown_the_shape_from_then_on(
    vendors: Vendors, prompts: PromptLibrary, message: str, status: int
) -> None:
    vendors.fail(status=status, message=message, param="response_format", times=1)

    async with calling(vendors, prompts) as caller:
        first = await caller.score()
        second = await caller.score()

    formats = [call.body["response_format"]["type"] for call in vendors.calls]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert '"percent"' in vendors.calls[1].system
    assert first.value == second.value
    assert first.usage.requests == 1


LONG = MendPrompt(head="Wind makes a bridge's cables hum. " * 2_000, statements=[])
"""What calls of other shapes begin with, too."""


async def mend(caller: Caller) -> MendedReply:
    return (await caller.model(context=128_000).ask(LONG, MendedReply, scope=SCOPE)).value


async def test_behind_a_long_shared_beginning_the_shape_stands_at_the_end(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    async with calling(vendors, prompts) as caller:
        await mend(caller)
        await caller.score()

    shared, alone = vendors.calls
    assert shared.body["response_format"] == {"type": "json_object"}
    assert json.loads(shared.user.splitlines()[-1])["title"] == "MendedReply"
    assert "MendedReply" not in shared.system
    assert alone.body["response_format"]["type"] == "json_schema"


async def test_an_endpoint_that_takes_schemas_alone_is_given_them_from_then_on(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.fail(status=400, message="'response_format.type' must be 'json_schema' or 'text'", times=1)

    async with calling(vendors, prompts) as caller:
        await mend(caller)
        await mend(caller)

    formats = [call.body["response_format"]["type"] for call in vendors.calls]
    assert formats == ["json_object", "json_schema", "json_schema"]


async def test_a_model_that_answers_without_json_is_bound_to_the_shape(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.reply("Bridges hum.", times=1)

    async with calling(vendors, prompts) as caller:
        await mend(caller)
        await mend(caller)

    formats = [call.body["response_format"]["type"] for call in vendors.calls]
    assert formats == ["json_object", "json_schema", "json_schema"]


@pytest.mark.parametrize(
    "body", [b"<html>Sign in to the guest network</html>", b"{", b"[]", b'{"choices": null}', b'{"choices": []}']
)
async def test_something_else_than_a_chat_completion_is_named(
    vendors: Vendors, prompts: PromptLibrary, body: bytes
) -> None:
    vendors.raw(body, content_type="text/html" if body.startswith(b"<") else "application/json")

    async with calling(vendors, prompts) as caller:
        error = await failure(caller)

    assert "something else than a chat completion" in str(error)
    assert "OPENAI_BASE_URL" in str(error)


async def test_an_answer_that_cannot_be_unpacked_is_named_at_once(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.raw(b'{"choices": []}', content_type="application/json", encoding="gzip")

    async with calling(vendors, prompts, max_retries=None) as caller:
        error = await failure(caller)

    assert "cannot be read" in str(error)
    assert "OPENAI_BASE_URL" in str(error)
    assert len(vendors.calls) == 3


async def test_usage_is_estimated_where_the_endpoint_sends_none(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.count_nothing()

    async with calling(vendors, prompts) as caller:
        _, usage, _ = await caller.score()

    assert 20 < usage.input_tokens < 90
    assert 10 < usage.output_tokens < 60


async def test_as_many_calls_are_in_flight_as_set_and_no_more(vendors: Vendors, prompts: PromptLibrary) -> None:
    three_are_asked = Barrier(3, timeout=60)

    def once_three_are_asked(reply: str) -> str:
        three_are_asked.wait()
        return reply

    vendors.malform(once_three_are_asked)

    async with calling(vendors, prompts, max_calls_in_flight=3) as caller:
        await asyncio.gather(*(caller.score(name=f"judge-{number}") for number in range(9)))

    assert vendors.most_in_flight == 3


async def test_waiting_for_a_free_slot_is_no_part_of_the_deadline(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.latency = 0.25

    async with calling(vendors, prompts, max_calls_in_flight=1, call_deadline_seconds=2.5) as caller:
        answers = await asyncio.gather(*(caller.score() for _ in range(12)))

    assert len(answers) == 12


def test_an_endpoint_serves_one_event_loop_after_another(vendors: Vendors, prompts: PromptLibrary) -> None:
    caller = Caller(vendors.base_url, prompts)

    async def once() -> None:
        await asyncio.gather(caller.score(), caller.score())
        await caller.endpoint.aclose()

    asyncio.run(once())
    asyncio.run(once())

    assert len(vendors.calls) == 4


async def test_a_call_over_the_budget_is_not_made(vendors: Vendors, prompts: PromptLibrary) -> None:
    async with calling(vendors, prompts) as caller:
        caller.ledgers["run-1"] = Ledger({"max_tokens": 100})
        with pytest.raises(BudgetExhausted, match="max_tokens = 100"):
            await caller.score()

    assert vendors.calls == []


async def test_teams_that_call_at_once_do_not_overshoot_a_budget(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.latency = 0.05

    async with calling(vendors, prompts) as caller:
        ledger = caller.ledgers["run-1"] = Ledger({"max_calls": 3})
        outcomes = await asyncio.gather(*(caller.score() for _ in range(8)), return_exceptions=True)

    assert len(vendors.calls) == 3
    assert sum(isinstance(outcome, BudgetExhausted) for outcome in outcomes) == 5
    assert ledger.exhausted_limit() == "max_calls"


async def test_a_failed_or_cancelled_call_gives_its_reservation_back(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=404, times=1)
    async with calling(vendors, prompts) as caller:
        caller.ledgers["run-1"] = Ledger({"max_calls": 1})
        await failure(caller)
        vendors.hang(times=1)
        cancelled = asyncio.create_task(caller.score())
        while not vendors.hung:  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0.01)
        cancelled.cancel()
        await asyncio.wait([cancelled])

        answer = await caller.score()

    assert answer.usage.requests == 1


async def test_the_same_request_gets_the_same_reply_whatever_was_asked_before(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    """What every test of a whole run builds on."""
    prompt = StepPrompt(head=f"# Question\n<query-12345678>{THEME}</query-12345678>", **STEP)
    async with calling(vendors, prompts) as caller:
        model = caller.model()
        first = await model.ask(prompt, StepReply, scope=SCOPE)
        await caller.score()
        other = Scope(execution_id="run-2", role="supervisor", language="en")
        again = await model.ask(prompt, StepReply, scope=other)

    assert first.value == again.value
    assert any("bridge" in action.text for action in first.value.actions)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host/v1", "http://", "http://host:x/v1"])
def test_an_unusable_address_is_refused_before_any_call(url: str) -> None:
    with pytest.raises(InputError, match="OPENAI_BASE_URL"):
        OpenAIEndpoint(url, KEY)


def test_a_key_that_no_header_can_carry_is_refused_and_not_shown() -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY") as excinfo:
        OpenAIEndpoint(None, "sk-鍵-secret")

    assert "secret" not in str(excinfo.value)


async def test_credentials_in_the_address_log_in_and_stand_in_no_log(
    vendors: Vendors, prompts: PromptLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caller = Caller(vendors.base_url.replace("127.0.0.1", "user:hush%2Dhush@127.0.0.1"), prompts)

    await caller.score()
    await caller.endpoint.aclose()

    assert vendors.calls[0].headers["Authorization"] == f"Basic {b64encode(b'user:hush-hush').decode()}"
    assert "POST" in caplog.text
    assert "hush" not in caplog.text


async def test_credentials_in_the_address_are_not_shown(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=404, message="no such model for user:hush-hush")
    caller = Caller(vendors.base_url.replace("127.0.0.1", "user:hush-hush@127.0.0.1"), prompts)

    error = await failure(caller)
    await caller.endpoint.aclose()

    assert vendors.base_url in str(error)
    assert "hush-hush" not in str(error)


def test_the_client_libraries_are_not_imported_before_a_call() -> None:
    program = (
        "import sys, contend.llm.chat; print([m for m in ('openai', 'langchain_core', 'httpx2') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - ours

    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("reply", [ReportReply, RevisionReply, MergeReply])
def test_a_reply_of_blocks_has_a_shape_that_strict_endpoints_take(reply: type[Reply]) -> None:
    shape = schema_text(reply)

    assert '"oneOf"' not in shape
    assert '"anyOf":[{"$ref":' in shape
    assert '"additionalProperties":true' not in shape


def test_a_reply_shape_goes_out_with_what_binds_it_and_without_what_describes_it() -> None:
    text = schema_text(ReportReply)
    shape = json.loads(text)

    assert "title" in shape["properties"]
    assert shape["properties"]["title"] == {"maxLength": 120, "minLength": 2, "type": "string"}
    assert '"description"' not in text
    assert shape["additionalProperties"] is False


async def test_a_prompt_that_the_endpoint_cut_silently_is_named_with_what_to_set(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.count(prompt=2_048)
    long = PROMPT.model_copy(update={"submission": "A bridge hums in the wind. " * 800})

    async with calling(vendors, prompts) as caller:
        await caller.score()  # a short one may well have been read whole
        with pytest.raises(ModelError, match=r"read 2,048 of about [\d,]+ tokens.*num_ctx.*-c.*--max-model-len"):
            await caller.model().ask(long, MetricReply, scope=SCOPE)


async def test_an_endpoint_that_is_away_is_asked_until_the_calls_deadline(
    vendors: Vendors, prompts: PromptLibrary
) -> None:
    vendors.fail(status=503, message="Loading model")
    caller = Caller(vendors.base_url, prompts, max_retries=None, call_deadline_seconds=5)
    error = await failure(caller)
    await caller.endpoint.aclose()

    assert len(vendors.calls) == 4  # after 0, 0.5, 1.5 and 3.5 seconds at most
    assert error.transient
    assert "503: Loading model" in str(error)


async def test_what_a_model_was_taught_by_refusals_is_not_asked_again(vendors: Vendors, prompts: PromptLibrary) -> None:
    vendors.fail(status=400, message="System role not supported", times=1)
    vendors.fail(status=400, message="logprobs are not available", times=1)
    async with calling(vendors, prompts) as caller:
        for _ in range(2):
            await caller.model().ask(PROMPT, MetricReply, scope=SCOPE, distribution_over="percent")

    *_, last, after = [call.body for call in vendors.calls]
    assert len(vendors.calls) == 4
    for body in (last, after):
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert "You score one metric" in body["messages"][0]["content"]
        assert "logprobs" not in body


async def test_what_did_not_help_is_not_kept(vendors: Vendors, prompts: PromptLibrary) -> None:
    """A request that is refused in every form says nothing of how the model is asked."""
    vendors.fail(status=400, message="no")
    async with calling(vendors, prompts) as caller:
        await failure(caller)
        calls = len(vendors.calls)
        vendors.heal()
        await caller.score()

    assert calls < 12
    assert vendors.calls[-1].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "path", [f"/openai/deployments/d{rest}?api-version=2026-01-01" for rest in ("", "/chat/completions")]
)
async def test_an_azure_deployment_is_asked_by_its_whole_address_with_its_key_in_its_header(
    vendors: Vendors, prompts: PromptLibrary, path: str
) -> None:
    caller = Caller(vendors.base_url.removesuffix("/v1") + path, prompts)
    await caller.score()
    await caller.endpoint.aclose()

    assert vendors.calls[0].path == "/openai/deployments/d/chat/completions?api-version=2026-01-01"
    assert {name.lower(): value for name, value in vendors.calls[0].headers.items()}["api-key"] == KEY


async def test_a_pasted_chat_address_works(vendors: Vendors, prompts: PromptLibrary) -> None:
    caller = Caller(f"{vendors.base_url}/chat/completions", prompts)
    await caller.score()
    await caller.endpoint.aclose()

    assert vendors.calls[0].path == "/v1/chat/completions"
