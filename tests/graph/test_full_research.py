"""Drafts, fixes and revisions, and documents that are read whole."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from contend.models.events import StepDone
from contend.models.options import TeamConfig
from contend.models.research import Draft
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.text import estimate_tokens
from fakes.chat_replies import report_reply
from fakes.contests import Contest, write_workspace
from fakes.kilns import TOO_FEW, fixes, prompts_of, write_kilns
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
CONFIG: Any = {"configurable": {"thread_id": "t-1"}}


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False, "teams": ["alpha"]})


async def research(services: Services, contest: Contest, **options: object) -> dict[str, Any]:
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(**options))
    values: dict[str, Any] = (await graph.aget_state(CONFIG)).values
    return values


async def test_a_report_has_sections_lists_and_tables_and_every_mark_is_a_source(
    contest: Contest, services: Services
) -> None:
    state = await research(services, contest, max_iterations=1)

    body = state["report"]["detailed_analysis"]
    assert "### Overview" in body
    assert "\n- " in body
    assert re.search(r"\| Statement \| Where \|\n\|---\|---\|\n\| .+\[\d+\] \| above\[\d+\] \|", body)
    assert len(state["report"]["sources"]) >= 2


async def test_the_researcher_sees_the_catalogue_of_the_own_documents(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    write_kilns(contest.documents)

    await research(services, contest, max_iterations=1, evidence_tokens=TOO_FEW)

    prompt, _ = prompts_of(vendors, "researcher/step")
    assert prompt.startswith("# Documents\n")
    assert all(title in prompt for title in ("How resume works", "What a team is", "How scores are made"))
    number = re.search(r"^(\d+)\. Kiln 03 \(372 tokens\)$", prompt, re.MULTILINE)
    assert number, prompt[:1500]
    assert f"\n{number[1]}.2 Heat\n{number[1]}.3 Guard\n" in prompt


def test_a_stance_speaks_only_of_sources_that_are_on(services: Services) -> None:
    for name, spoken_of in (("scout", "open web"), ("scholar", "research papers"), ("archivist", "elsewhere")):
        team = TeamConfig(team_id=name, name=name, sources=["local"])
        local = services.stance(team, "en", sources=["local"])
        every = services.stance(team, "en", sources=["tavily", "arxiv", "local"])
        assert (spoken_of in local, spoken_of in every) == (False, True)


async def test_a_revision_sees_the_type_of_each_block_and_both_lengths(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.reply(fixes("Name the step."), prompt="research/review", times=1)

    await research(services, contest, max_iterations=2)

    (prompt,) = prompts_of(vendors, "research/revise")
    assert re.search(r"^1\.1 paragraph\n1\.1\.1: ", prompt, re.MULTILINE)
    assert re.search(r"^2\.1 list\n2\.1\.1: ", prompt, re.MULTILINE)
    assert re.search(r"^2\.2 table: Statement \| Where\n2\.2\.1: .* \| above", prompt, re.MULTILINE)
    parts = r"title: \d+; legend: \d+; summary: \d+; .*; section 2: \d+; limits: \d+"
    assert re.search(rf"The draft has \d+ words \({parts}\) of the 1500 that are wanted: \d+ are left", prompt)


async def test_researcher_and_writer_see_the_file_and_the_day_of_each_of_the_own_documents(
    contest: Contest, services: Services, vendors: Vendors, documents: Path
) -> None:
    (documents / "teams-v2.md").write_text("# What a team is now\n\nOffice, 12 May 2026\n\nA team resumes.\n", "utf-8")
    write_kilns(contest.documents)

    await research(services, contest, max_iterations=1, evidence_tokens=TOO_FEW)

    (planned, _), (write_prompt,) = prompts_of(vendors, "researcher/step"), prompts_of(vendors, "research/write")
    assert re.search(r"^\d+\. What a team is now \(teams-v2.md, 2026-05-12, ", planned, re.MULTILINE)
    assert re.search(
        r"^<passages-\w+>\nWhat a team is now \(teams-v2.md, 2026-05-12\)\n\n<P\d+-", write_prompt, re.MULTILINE
    )


async def test_the_reviewers_fixes_arrive_whole_with_the_draft_they_speak_of(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    long = "Name the step that is repeated, and say which passage says so. " * 8
    vendors.reply(fixes(long.strip()), prompt="research/review", times=1)

    await research(services, contest, max_iterations=2)

    (prompt,) = prompts_of(vendors, "research/revise")
    assert f"- summary 1: {long.strip()}" in prompt
    assert "\nsummary 1: " in prompt
    assert "## Section 1: Overview" in prompt


async def test_what_a_revision_does_not_name_stays_word_for_word(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.reply(fixes("Say more of teams."), prompt="research/review", times=1)
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver(), interrupt_after=["write"])
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(max_iterations=2))
    first = (await graph.aget_state(CONFIG)).values["draft_report"]

    await graph.ainvoke(None, CONFIG)

    second = (await graph.aget_state(CONFIG)).values["draft_report"]
    assert second["summary"] == first["summary"]
    assert second["sections"][: len(first["sections"])] == first["sections"]


async def test_a_revision_sends_of_a_section_only_what_changes(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.reply(fixes("Say more of teams."), prompt="research/review", times=1)
    text = {"type": "paragraph", "sentences": [{"keep": "1.1.1"}, _statement("Teams search.", 1)]}
    change = {"number": 1, "section": {"heading": "Overview", "blocks": [text]}}
    unchanged = {"not_done": [], "summary": None, "findings": None, "limits": None, "lessons": []}
    vendors.reply(json.dumps({**unchanged, "sections": [change]}), prompt="research/revise", times=1)
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver(), interrupt_after=["write"])
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(max_iterations=2))
    first = (await graph.aget_state(CONFIG)).values["draft_report"]

    await graph.ainvoke(None, CONFIG)

    second = (await graph.aget_state(CONFIG)).values["draft_report"]
    kept, added = second["sections"][0]["blocks"][0]["sentences"]
    assert kept == first["sections"][0]["blocks"][0]["sentences"][0]
    assert added["text"] == "Teams search."
    assert second["sections"][1:] == first["sections"][1:]


async def test_a_revision_has_the_draft_and_every_passage_it_was_written_from(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.reply(fixes("Say how scores are made."), prompt="research/review", times=1)

    await research(services, contest, max_iterations=2)

    (first,), (second,) = prompts_of(vendors, "research/write"), prompts_of(vendors, "research/revise")
    passages_text = first.split("# Passages")[1].split("# Question")[0].strip()
    assert re.sub(r"-\w{8}>", ">", passages_text) in re.sub(r"-\w{8}>", ">", second)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fixes("Add rain."), "- summary 1: Add rain."),
        (fixes(accept=True), ""),
    ],
    ids=["fixes", "accepted"],
)
async def test_followers_of_a_run_are_told_what_a_reviewer_wants_and_that_it_accepts_only_where_it_does(
    contest: Contest, vendors: Vendors, reply: str, words: str
) -> None:
    vendors.reply(reply, prompt="research/review", times=1)

    await contest.run(THEME, max_rounds=1, max_iterations=2)

    (review,) = [event for event in contest.events if isinstance(event, StepDone) and event.step == "review"]
    assert (review.detail, review.feedback) == (words or "accepted", words)


async def test_documents_that_fit_are_read_whole_and_in_order_without_a_step(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    for file in contest.documents.iterdir():
        file.unlink()
    for name in "abc":
        text = f"# Note {name}\n\nAbout {name}.\n\n## Colour\n\nThe colour of {name} is nowhere else.\n"
        (contest.documents / f"{name}.md").write_text(text, "utf-8")

    await research(services, contest, max_iterations=1)

    (prompt,) = prompts_of(vendors, "research/write")
    places = [prompt.index(f"The colour of {name} is nowhere else.") for name in "abc"]
    assert places == sorted(places)
    assert vendors.prompts() == ["evaluator/criteria", "research/injection", "research/write"]


@pytest.mark.parametrize("length", ["standard", "long"])
async def test_documents_that_fit_two_fifths_of_a_context_stand_whole_in_order_before_writer_and_reviewer(
    contest: Contest, services: Services, vendors: Vendors, length: str
) -> None:
    for number in range(30):
        sentence = f"Kiln {number:02} was fired at noon and stood open until the evening. "
        text = f"# Note {number:02}\n\n" + sentence * 90
        (contest.documents / f"note-{number:02}.md").write_text(text, "utf-8")

    state = await research(services, contest, max_iterations=2, length=length)

    (written,), (reviewed,) = prompts_of(vendors, "research/write"), prompts_of(vendors, "research/review")
    for prompt in (written, reviewed):
        places = [prompt.index(f"Kiln {number:02}") for number in range(30)]
        assert places == sorted(places)
    assert "researcher/step" not in vendors.prompts()
    cited = {each for sentence in Draft.model_validate(state["draft_report"]).sentences() for each in sentence.passages}
    assert cited
    assert cited <= {*state["passages"]}


@pytest.fixture
def reads_less(contest: Contest) -> Contest:
    """Comes before `services`, which read its settings."""
    write_workspace(contest.workspace, reads=32_000)
    return contest


async def test_the_catalogue_of_a_large_folder_names_the_documents_nearest_to_the_question(
    reads_less: Contest, services: Services, vendors: Vendors
) -> None:
    for number in range(400):
        title = "Ledger of the harbour office, volume" if number else "Checkpoints after a crash, volume"
        (reads_less.documents / f"{number:03}.md").write_text(
            f"# {title} {number}\n\nResume? Sums of {number}.", "utf-8"
        )

    await research(services, reads_less, max_iterations=1, evidence_tokens=TOO_FEW)

    prompt = prompts_of(vendors, "researcher/step")[0]
    catalogue = prompt.split("# Documents")[1].split("# Question")[0]
    assert "Checkpoints after a crash, volume 0" in catalogue
    assert estimate_tokens(catalogue) < 3_400
    assert "more are searched with these" in catalogue


SUMMARY = "A run keeps a checkpoint after every step, and resume reads it."


def _reply(**parts: object) -> str:
    kept = {"text": "A run keeps a checkpoint after every step.", "sources": [1]}
    reply = json.loads(report_reply([{**kept, "text": SUMMARY}], [kept], body=[kept] * 3))
    return json.dumps({**reply, **parts})


def _statement(text: str, *sources: int, kind: str = "stated", basis: str = "") -> dict[str, Any]:
    return {"text": text, "sources": list(sources), "kind": kind, "basis": basis}


async def test_what_the_check_finds_of_a_citation_goes_back_to_the_reviewer_and_the_writer(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    false = _statement("The moon landing of 1969 was filmed by seven cameras.", 1)
    vendors.reply(_reply(findings=[false]), prompt="research/write", times=1)
    vendors.reply(fixes("Mend it."), prompt="research/review", times=1)

    await research(services, contest, max_iterations=2)

    for prompt in ("research/review", "research/revise"):
        (prompt_text,) = prompts_of(vendors, prompt)
        assert "\n- finding 1: " in prompt_text
        assert "1969" in prompt_text.split("What a check by code and judges found")[1].split("# ")[0]


async def test_a_report_longer_than_its_reader_allows_goes_back_once_and_is_kept_where_it_stays_so(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"reader_limit": 5}), prompt="research/write")
    vendors.reply(fixes("Mend it."), prompt="research/review", times=1)

    values = await research(services, contest, max_iterations=2)

    assert values["draft_report"]
    for prompt in ("research/write", "research/revise"):
        first, again = [call for call in vendors.calls if call.prompt == prompt]
        assert again.body["messages"][:2] == first.body["messages"]
        assert "its reader allows 5: leave out" in again.body["messages"][-1]["content"]


async def test_reviewer_and_writer_are_told_how_long_the_draft_is_and_how_long_it_is_to_be(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    sentence = _statement("Bridges hum in the wind.", 1)
    section = {"heading": "On bridges", "blocks": [{"type": "paragraph", "sentences": [sentence]}]}
    vendors.reply(report_reply([sentence], sections=[section], title=THEME), prompt="research/write", times=1)
    vendors.reply(fixes("Add rain."), prompt="research/review", times=1)

    await research(services, contest, max_iterations=2, length="brief")

    for prompt in ("research/review", "research/revise"):
        (asked,) = prompts_of(vendors, prompt)
        assert "The draft has 41 words (title: 16; summary: 8; findings: 9; section 1: 8) of the 500 that" in asked
        assert "wanted: 459 are left" in asked


async def test_a_statement_on_a_section_that_two_documents_share_names_the_one_it_cites(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    shared = "The fee for ending the contract is 9,000 pounds from the first of March on."
    for year in (2024, 2025):
        text = f"# Contract of {year}\n\nSigned in {year}.\n\n## Fees\n\n{shared}\n"
        (contest.documents / f"0-contract-{year}.md").write_text(text, "utf-8")
    one = {"text": shared, "sources": [4], "kind": "stated", "basis": ""}
    vendors.reply(report_reply([one]), prompt="research/write")

    state = await research(services, contest, max_iterations=1)

    (write_prompt,) = prompts_of(vendors, "research/write")
    assert re.findall(r"<P(\d)-\w+> Fees\n", write_prompt) == ["2", "4"]
    assert state["report"]["sources"][0]["url"].endswith("/0-contract-2025.md")
