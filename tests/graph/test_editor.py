"""The editor: the teams' best reports merged into one, which is published if it is not worse."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contend.app import RunOutcome
from contend.contest.edit import editors_passages, with_all_texts
from contend.models.evaluation import Submission
from contend.models.events import ReportMerged
from contend.models.research import CitedSentence, Draft, Paragraph, Passage, Section
from contend.services import Services
from fakes.chat_replies import report_reply
from fakes.contests import Contest, Finished, finished_contest, preferring, write_workspace
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False})


async def ran(contest: Contest, **options: object) -> RunOutcome:
    return await contest.run(THEME, **{"max_rounds": 1, "max_iterations": 1, "learn": False, **options})


TEXT = "Merged: a run keeps a checkpoint after every step."
TITLE: dict[str, Any] = {"title": "Merged: after a crash"}


def merging(vendors: Vendors, text: str = TEXT, title: dict[str, Any] = TITLE) -> None:
    taken = [{"report": "A", "what": "the checkpoints"}, {"report": "B", "what": "the teams"}]
    report = json.loads(report_reply([{"text": text, "sources": [1]}], taken=taken, **title))
    vendors.reply(json.dumps({"actions": [], "report": report}), prompt="research/merge")


async def test_a_merged_report_that_judges_prefer_is_published_says_what_it_took_and_leaves_a_near_tie_of_teams(
    contest: Contest, vendors: Vendors
) -> None:
    all_are_near(contest)
    merging(vendors)
    preferring(vendors, merged=True)

    outcome = await ran(contest)

    assert outcome.report is not None
    assert outcome.report.executive_summary == "Merged: a run keeps a checkpoint after every step[1]."
    assert outcome.report.theme == "Merged: after a crash"
    assert "### The editor" in (outcome.markdown or "")
    # It scores less than the best team's.
    assert "merged of the best parts of 2 teams' reports, and judges preferred it" in (outcome.markdown or "")
    assert "From Alpha: the " in (outcome.markdown or "")
    (merged,) = [event for event in contest.events if isinstance(event, ReportMerged)]
    assert merged.published
    assert vendors.prompts().count("pairwise/compare") == 2


async def test_a_comment_on_the_merged_report_is_followed_by_the_runs_writer(
    contest: Contest, vendors: Vendors
) -> None:
    all_are_near(contest)
    merging(vendors)
    preferring(vendors, merged=True)
    await ran(contest, thread_id="asked", approve=["report"])
    added = {"text": "Merged: calls in flight are made again.", "sources": [1], "kind": "stated", "basis": ""}
    parts = {"not_done": ["no date is known"], "summary": None, "findings": [added], "limits": None}
    vendors.reply(json.dumps({**parts, "sections": [], "lessons": []}), prompt="research/revise")

    again = await contest.resume("asked", "Say which calls are made again, and since when.")
    outcome = await contest.resume("asked", "approve")

    (revision,) = [call for call in vendors.calls if call.prompt == "research/revise"]
    assert TEXT in revision.user
    assert revision.model not in {"alpha", "beta", "gamma"}
    assert again.questions[0].problem == "the writer did not do: no date is known"
    assert outcome.report is not None
    assert outcome.report.key_findings == ["Merged: calls in flight are made again[1]."]
    assert TEXT.removesuffix(".") in outcome.report.detailed_analysis


async def test_a_merged_report_longer_than_its_reader_allows_goes_back_to_the_editor_once(
    contest: Contest, vendors: Vendors
) -> None:
    merging(vendors, title=TITLE | {"reader_limit": 30})
    preferring(vendors, merged=True)

    outcome = await ran(contest)

    assert outcome.report is not None
    assert outcome.report.theme == "Merged: after a crash"
    _, again = [call for call in vendors.calls if call.prompt == "research/merge"]
    assert "its reader allows 30: leave out" in again.body["messages"][-1]["content"]


def all_are_near(contest: Contest) -> None:
    (contest.workspace / "config" / "evaluator.toml").write_text("[evaluator]\nnear_tie = 1.0\n", "utf-8")


@pytest.mark.parametrize(("verdict", "marked"), [("stated", False), ("contradicted", True)])
async def test_the_judges_word_on_its_citations_decides_what_a_merged_report_marks(
    contest: Contest, vendors: Vendors, verdict: str, *, marked: bool
) -> None:
    text = "Merged: a killed process loses its workspace and begins again from nothing."
    merging(vendors, text)
    preferring(vendors, merged=True)
    quote = "When the process is killed"
    answer = {"number": 1, "reason": "Read against its passage.", "quote": quote, "verdict": verdict}
    vendors.malform(
        lambda reply: json.dumps(json.loads(reply) | {"citations": [answer]}),
        prompt="evaluator/verdicts",
        match="Merged: a killed",
    )

    outcome = await ran(contest)

    assert outcome.report is not None
    assert "Merged" in outcome.report.executive_summary
    to_check = (outcome.markdown or "").partition("Citations to check")[2]
    assert ("a killed process loses its workspace" in to_check) == marked


async def test_where_judges_like_the_merged_report_less_teams_near_each_other_are_compared_and_the_best_is_published(
    contest: Contest, vendors: Vendors
) -> None:
    all_are_near(contest)
    merging(vendors)
    preferring(vendors, merged=False)

    outcome = await ran(contest)

    assert outcome.report is not None
    assert "Merged" not in outcome.report.executive_summary
    assert "the merged report was not better" in (outcome.markdown or "")
    assert vendors.prompts().count("pairwise/compare") == 2 + 2


async def test_the_next_run_of_a_thread_publishes_nothing_that_was_merged_before(
    contest: Contest, vendors: Vendors
) -> None:
    merging(vendors)
    preferring(vendors, merged=True)
    await ran(contest, thread_id="asked-twice")

    again = await ran(contest, thread_id="asked-twice", synthesis=False)

    assert again.status == "completed", again.message
    assert again.report is not None
    assert "Merged" not in again.report.executive_summary


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Iterator[Finished]:
    """A run with a merged report, for the tests that read its prompts."""

    def prepare(workspace: Path, vendors: Vendors) -> Contest:
        write_workspace(workspace)
        return Contest(workspace, shared_documents, vendors.base_url)

    options = {"max_rounds": 1, "max_iterations": 1, "learn": False}
    with finished_contest(tmp_path_factory.mktemp("finished"), prepare, THEME, **options) as run:
        yield run


def test_the_editor_sees_every_report_its_passages_and_what_judges_found(finished: Finished) -> None:
    (prompt,) = [call.user for call in finished.vendors.calls if call.prompt == "research/merge"]
    assert prompt.count("\n# Report ") == 2
    assert prompt.count("What judges found of report") == 2
    assert "\n<P1-" in prompt
    assert "Alpha" not in prompt


async def test_the_editor_reads_the_own_documents_whole_once_also_what_no_team_cites(
    contest: Contest, documents: Path, vendors: Vendors
) -> None:
    (documents / "tolls.md").write_text("# Tolls\n\nEach of the nine gates asks 4 kroner since 2019.\n", "utf-8")
    vendors.malform(lambda reply: re.sub(r'"sources": \[[\d, ]+\]', '"sources": [1]', reply), prompt="research/write")

    outcome = await ran(contest)

    prompts = [call.user for call in vendors.calls if call.prompt in {"research/merge", "research/revise"}]
    assert prompts
    assert [text.count("nine gates asks 4 kroner") for text in prompts] == [1] * len(prompts)
    assert outcome.report
    assert "[1]" in outcome.report.detailed_analysis


async def test_passages_of_one_document_stand_together_for_the_editor_whichever_team_cites_them(
    services: Services, finished: Finished
) -> None:
    ids = {name: await services.documents.put(f"Of {name}.") for name in ("wind", "rain", "wind again", "fog")}
    passages = {
        name: Passage(id=each, url=f"https://{name.partition(' ')[0]}.example", title=name)
        for name, each in ids.items()
    }
    assert finished.outcome.report

    def submission(*names: str) -> Submission:
        sentences = [CitedSentence(text=f"On {name}.", passages=[ids[name]]) for name in names]
        section = Section(blocks=[Paragraph(sentences=sentences)])
        draft = Draft(summary=sentences, findings=sentences, sections=[section])
        own = [passages[name] for name in names]
        return Submission(content="-", report=finished.outcome.report, draft=draft, passages=own, results=[])

    submissions = [submission("wind", "rain"), submission("wind again", "fog")]
    at_hand = editors_passages(submissions, await with_all_texts(services.documents, submissions), tokens=99)

    assert [each.title for each in at_hand] == ["wind", "wind again", "rain", "fog"]


def test_nobody_is_asked_to_mend_the_merged_report(finished: Finished) -> None:
    calls = [call.user for call in finished.vendors.calls if call.prompt == "evaluator/verdicts"]

    *of_teams, of_merged = calls
    assert of_teams
    assert "nobody follows fixes any more" in of_merged
    assert not [each for each in of_teams if "nobody follows fixes any more" in each]


async def test_a_judge_that_asks_for_no_fix_of_the_merged_report_is_not_asked_again(
    contest: Contest, vendors: Vendors
) -> None:
    def unmet(reply: str) -> str:
        verdicts = json.loads(reply)
        lacking = [{**each, "verdict": "unmet", "fix": None} for each in verdicts["criteria"]]
        return json.dumps({**verdicts, "criteria": lacking})

    vendors.malform(unmet, prompt="evaluator/verdicts", match="nobody follows fixes any more")

    await ran(contest)

    judged = [call.user for call in vendors.calls if call.prompt == "evaluator/verdicts"]
    assert len([each for each in judged if "nobody follows fixes any more" in each]) == 1


def test_the_editors_calls_count_in_the_runs_usage(finished: Finished) -> None:
    assert finished.outcome.usage.requests == len([call for call in finished.vendors.calls if call.prompt])


@pytest.mark.parametrize("values", [{"synthesis": False}, {"teams": ["alpha"]}], ids=["turned off", "one team"])
async def test_there_is_nothing_to_merge(contest: Contest, vendors: Vendors, values: dict[str, object]) -> None:
    outcome = await ran(contest, **values)

    assert outcome.status == "completed"
    assert "research/merge" not in vendors.prompts()


async def test_an_editor_that_fails_leaves_the_best_teams_report_and_is_named(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply("no JSON at all", prompt="research/merge")

    outcome = await ran(contest)

    assert outcome.report is not None
    assert "the editor failed, and the best team's report stands" in outcome.message


async def test_of_reports_that_do_not_fit_a_models_context_together_the_best_are_merged(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_workspace(workspace, ("alpha", "beta", "gamma", "delta"), reads=20_000)
    words = (
        "A run keeps a checkpoint after every step, and a team loses no more than the call that was in flight then. "
    )
    item = {"text": words * 3, "sources": [1], "kind": "stated", "basis": ""}
    section = {"heading": "Runs", "blocks": [{"type": "paragraph", "sentences": [item] * 10}] * 3}
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"sections": [section]}), prompt="research/write")
    vendors.context = 20_000

    await ran(Contest(workspace, documents, vendors.base_url, defaults={"learn": False}))

    (merge,) = [call for call in vendors.calls if call.prompt == "research/merge"]
    assert "# Report B" in merge.user
    assert "# Report D" not in merge.user
