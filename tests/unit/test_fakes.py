"""The fake endpoint itself: what tests of whole runs build on."""

import asyncio
import json
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest

from contend.llm import R, Scope
from contend.llm.budget import Ledger
from contend.llm.chat import ChatModel
from contend.llm.openai_endpoint import OpenAIEndpoint
from contend.models.evaluation import CriteriaReply, JudgmentReply, MetricReply, PairwiseReply, VerdictsReply
from contend.models.playbook import CurationReply, ReflectionReply
from contend.models.record import Language
from contend.models.replies import FixesReply, InjectionReply, MergeReply, Reply, ReportReply, RevisionReply, StepReply
from contend.prompts import PromptLibrary, PromptValues, UntrustedText
from contend.prompts.judging import JudgePrompt, MetricPrompt
from contend.prompts.research import StepPrompt
from fakes.replay import Answer, Replay
from fakes.servers import wait_for
from fakes.vendors import Vendors

SHAPES: dict[str, type[Reply]] = {
    "researcher/step": StepReply,
    "research/write": ReportReply,
    "research/revise": RevisionReply,
    "research/review": FixesReply,
    "research/merge": MergeReply,
    "research/injection": InjectionReply,
    "evaluator/criteria": CriteriaReply,
    "evaluator/verdicts": VerdictsReply,
    "evaluator/metric": MetricReply,
    "pairwise/compare": PairwiseReply,
    "judge/judge": JudgmentReply,
    "reflector/reflect": ReflectionReply,
    "curator/curate": CurationReply,
}
FILES = {"reflector/reflect": "reflector/default", "curator/curate": "curator/default"}
STANDINGS = "# Question\n\nWhy?\n\n# Ranking\n\n- 1 scholar: {first}/100\n\n# Round 2\n\nNow: {now}"


async def ask(
    vendors: Vendors,
    prompt: PromptValues,
    reply_type: type[R],
    *,
    language: Language = "en",
    run: str = "a",
) -> R:
    endpoint = OpenAIEndpoint(vendors.base_url, None)
    model = ChatModel("m", endpoint, PromptLibrary(None), lambda _: Ledger())
    try:
        scope = Scope(execution_id=run, role="judge", language=language)
        answer = await model.ask(prompt, reply_type, scope=scope)
    finally:
        await endpoint.aclose()
    assert answer.usage.requests == 1
    return answer.value


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("prompt", SHAPES)
async def test_every_prompt_gets_a_usable_reply_at_once(prompt: str, language: Language) -> None:
    with Vendors() as vendors:
        for full in (True, False):
            values = PromptValues.by_template[FILES.get(prompt, prompt)].sample(full=full)
            await ask(vendors, values, SHAPES[prompt], language=language)

        assert vendors.prompts() == [prompt, prompt]


async def test_dates_marks_and_standings_change_no_reply() -> None:
    values = StepPrompt.sample()
    with Vendors() as vendors:
        replies = [
            await ask(vendors, values.model_copy(update={"head": brief}), StepReply, run=run)
            for run, brief in (
                ("a", STANDINGS.format(first=70.5, now="2026-01-01T10:00:00+00:00")),
                ("b", STANDINGS.format(first=99.1, now="2027-12-31T23:59:59+09:00")),
            )
        ]
        lines = [call.line() for call in vendors.calls]

    assert replies[0] == replies[1]
    assert lines[0] == lines[1]
    assert lines[0]["round"] == "2"


async def test_more_of_the_question_in_cited_sentences_scores_higher() -> None:
    values = MetricPrompt.sample()
    sentences = [f"The wind makes a long bridge hum at {speed} metres a second [1]." for speed in range(12)]
    with Vendors() as vendors:
        percents = [
            (await ask(vendors, values.model_copy(update={"submission": submission}), MetricReply)).percent
            for submission in (
                UntrustedText("Cats sleep.", label="submission"),
                UntrustedText("\n".join(sentences), label="submission"),
            )
        ]

    assert percents[0] < percents[1]


async def test_alone_it_logs_each_request(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    script = Path(__file__).parents[1] / "fakes" / "vendors.py"
    server = subprocess.Popen(  # noqa: S603, ASYNC220 - ours, and it ends by itself
        [sys.executable, script, "--log", log, "--max-seconds", "120"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = (await asyncio.to_thread(server.stdout.readline)).removeprefix("READY ").strip()
        endpoint = OpenAIEndpoint(f"http://127.0.0.1:{port}/v1", None)
        model = ChatModel("m", endpoint, PromptLibrary(None), lambda _: Ledger())
        scope = Scope(execution_id="a", role="judge", language="en")
        await model.ask(JudgePrompt.sample(), JudgmentReply, scope=scope)
        await endpoint.aclose()
    finally:
        server.terminate()
        server.communicate()

    (line,) = [json.loads(text) for text in log.read_text("utf-8").splitlines()]
    assert (line["prompt"], line["model"], line["status"]) == ("judge/judge", "m", 200)


def test_a_server_that_answers_in_another_processs_place_is_not_taken_for_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("the address is taken", "utf-8")
    command = [sys.executable, "-c", "import time; time.sleep(0.5)"]

    with (
        Replay(lambda _: Answer(b"{}")) as other,
        subprocess.Popen(command) as server,  # noqa: S603 - nothing but a child
        pytest.raises(AssertionError, match="the server ended: the address is taken"),
    ):
        wait_for(other.url, server, log)


def test_a_fake_endpoint_leaves_no_thread_behind_where_clients_stay_connected() -> None:
    before = {*threading.enumerate()}
    with Vendors() as vendors:
        vendors.hang()
        waiting = HTTPConnection("127.0.0.1", vendors.port)
        waiting.request("GET", "/v1/models")
        waiting.getresponse().read()
        hung = HTTPConnection("127.0.0.1", vendors.port)
        hung.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "Why?"}]}))
        while not vendors.hung:
            pass

    assert {*threading.enumerate()} <= before
    waiting.close()
    hung.close()
