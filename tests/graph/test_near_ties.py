"""Near ties for the win: compared in pairs, in both orders, and the ranking follows."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.app import RunOutcome
from contend.contest.comparing import compare_prompt, pairwise_keys
from contend.contest.edit import with_all_texts
from contend.contest.state import Comparison
from contend.models.evaluation import Submission
from contend.models.events import WinnerPicked
from contend.models.research import CitedSentence, Draft, Paragraph, Passage, SearchResult, Section
from contend.models.round import LeaderboardEntry, rank_entries
from contend.report import build_report
from contend.services import Services
from contend.team.judge_view import report_view
from contend.text import estimate_tokens
from fakes.chat_replies import whole
from fakes.contests import Contest, Finished, finished_contest, judge_apart, write_workspace
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
SIGNS = {
    "alpha": "Alphabets are kept in order.",
    "beta": "Betting is not allowed here.",
    "delta": "Deltas are fertile ground.",
    "epsilon": "Epsilons are small numbers.",
    "gamma": "Gamma rays pass.",
}


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return contest_of(workspace, documents, vendors, {"alpha": 80, "beta": 79})


def contest_of(workspace: Path, documents: Path, vendors: Vendors, percents: dict[str, int]) -> Contest:
    """Teams with a sentence of their own in each report, scored by it."""
    write_workspace(workspace, tuple(percents))
    judge_apart(workspace)
    text = '[[evaluator.metrics]]\nname = "coverage"\n'
    (workspace / "config" / "evaluator.toml").write_text(text, "utf-8")
    for team, percent in percents.items():
        vendors.malform(with_sign(SIGNS[team]), model=team, prompt="research/write")
        verdict = json.dumps({"reason": "Fair.", "evidence": [], "percent": percent})
        vendors.reply(verdict, prompt="evaluator/metric", match=re.escape(SIGNS[team].removesuffix(".")))
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False, "synthesis": False})


def with_sign(*signs: str) -> Callable[[str], str]:
    def add(reply: str) -> str:
        draft = json.loads(reply)
        sentences = [whole({"text": sign, "sources": []}) for sign in signs]
        return json.dumps(draft | {"findings": [*sentences, *draft["findings"]][:8]})

    return add


def prefer(vendors: Vendors, team: str) -> None:
    """A judge that finds a team's report better wherever it stands."""
    for place, heading in (("first", "# First report"), ("second", "# Second report")):
        sign = re.escape(SIGNS[team].removesuffix("."))
        pattern = rf"{heading}\n(?:(?!# (?:Second report|Task)).)*{sign}"
        verdict = json.dumps({"reason": "It says more.", "choice": place})
        vendors.reply(verdict, prompt="pairwise/compare", match=pattern)


async def play(contest: Contest, **options: object) -> RunOutcome:
    return await contest.run(THEME, max_rounds=1, learn=False, **options)


@pytest.fixture(scope="module")
def won_by_beta(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Iterator[Finished]:
    """A contest whose near tie went to the team with the lower score."""

    def prepare(workspace: Path, vendors: Vendors) -> Contest:
        contest = contest_of(workspace, shared_documents, vendors, {"alpha": 80, "beta": 79})
        prefer(vendors, "beta")
        return contest

    with finished_contest(tmp_path_factory.mktemp("near-tie"), prepare, THEME, max_rounds=1) as finished:
        yield finished


def order_of(contest: Contest) -> list[str]:
    picked = next(event for event in contest.events if isinstance(event, WinnerPicked))
    return [entry.team_id for entry in picked.leaderboard]


def test_the_team_that_is_chosen_in_both_orders_wins_a_near_tie(won_by_beta: Finished) -> None:
    outcome = won_by_beta.outcome

    assert outcome.summary is not None
    assert outcome.summary.best_team_id == "beta"
    assert outcome.summary.best_score == 0.79
    assert won_by_beta.vendors.prompts().count("pairwise/compare") == 2
    assert outcome.status == "completed"


async def test_record_events_report_and_winner_follow_one_ranking(won_by_beta: Finished) -> None:
    contest, _, outcome = won_by_beta

    services = contest.services()
    stored = await services.record.leaderboard(outcome.execution_id)
    await services.aclose()
    markdown = await asyncio.to_thread(Path(outcome.files[0]).read_text, "utf-8")
    page = await asyncio.to_thread(Path(outcome.files[1]).read_text, "utf-8")
    assert [(entry.team_id, entry.pairwise_key) for entry in stored] == [("beta", 1.0), ("alpha", 0.0)]
    assert order_of(contest) == ["beta", "alpha"]
    assert markdown.rindex("Beta") < markdown.rindex("Alpha")
    assert "near tie" in markdown
    assert "near tie" in page


async def test_a_judge_that_always_takes_the_first_decides_nothing(contest: Contest, vendors: Vendors) -> None:
    vendors.reply(json.dumps({"reason": "The first.", "choice": "first"}), prompt="pairwise/compare")

    outcome = await play(contest)

    assert outcome.summary is not None
    assert outcome.summary.best_team_id == "alpha"
    assert "near tie" not in (outcome.markdown or "")


async def test_a_comparison_that_fails_decides_nothing_and_ends_no_run(contest: Contest, vendors: Vendors) -> None:
    prefer(vendors, "beta")
    vendors.fail(prompt="pairwise/compare", status=401)

    outcome = await play(contest)

    assert outcome.summary is not None
    assert outcome.summary.best_team_id == "alpha"
    assert outcome.status == "completed"
    assert "near tie: 2 of 2 comparisons failed (model 'gpt-5-mini'" in outcome.message
    assert "near tie: 2 of 2 comparisons failed" in (outcome.markdown or "")


async def test_one_order_that_fails_leaves_the_pair_a_tie(contest: Contest, vendors: Vendors) -> None:
    prefer(vendors, "beta")
    vendors.fail(prompt="pairwise/compare", status=401, times=1)

    outcome = await play(contest)

    assert order_of(contest) == ["alpha", "beta"]
    assert "near tie: 1 of 2 comparisons failed" in outcome.message


async def test_a_budget_that_ends_between_comparisons_is_named_and_nothing_is_learned(
    contest: Contest, vendors: Vendors
) -> None:
    prefer(vendors, "beta")

    outcome = await contest.run(THEME, learn=True, max_rounds=1, max_calls=8)

    assert outcome.usage.requests == 8
    assert outcome.status == "partial"
    assert "max_calls was reached" in outcome.message
    assert order_of(contest) == ["alpha", "beta"]
    assert "reflector/reflect" not in vendors.prompts()


async def test_after_a_budget_has_ended_nobody_is_compared(contest: Contest, vendors: Vendors) -> None:
    await play(contest, max_calls=7)

    assert "pairwise/compare" not in vendors.prompts()


async def test_the_best_of_at_most_four_teams_is_compared_with_each_other_one(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    names = ("alpha", "beta", "delta", "epsilon", "gamma")
    contest = contest_of(workspace, documents, vendors, dict(zip(names, (80, 80, 79, 78, 79), strict=True)))
    prefer(vendors, "epsilon")

    await play(contest)

    assert vendors.prompts().count("pairwise/compare") == 6
    assert order_of(contest)[-1] == "epsilon"


async def test_a_team_that_beats_the_best_wins_among_four(workspace: Path, documents: Path, vendors: Vendors) -> None:
    names = ("alpha", "beta", "delta", "gamma")
    contest = contest_of(workspace, documents, vendors, dict(zip(names, (80, 79, 79, 79), strict=True)))
    prefer(vendors, "alpha")
    prefer(vendors, "gamma")

    await play(contest)

    assert order_of(contest)[:2] == ["gamma", "alpha"]


def test_the_commands_that_show_a_ranking_follow(
    contest: Contest, vendors: Vendors, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prefer(vendors, "beta")
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    terminal = Terminal(contest.workspace, capsys.readouterr)
    options = (
        "--docs",
        contest.documents,
        "--source",
        "local",
        "--rounds",
        "1",
        "--no-learn",
        "--no-synthesis",
        "--thread",
        "tie",
    )

    outputs = [
        terminal(*command).out for command in (("run", THEME, *options), ("leaderboard", "tie"), ("status", "tie"))
    ]

    for text in outputs:
        assert re.findall(r"^([12])  (Alpha|Beta) ", text, re.MULTILINE) == [("1", "Beta"), ("2", "Alpha")]
    assert "Beta wins with 79.0/100" in outputs[0]


async def test_what_comparisons_cost_is_counted(won_by_beta: Finished) -> None:
    contest, vendors, outcome = won_by_beta

    services = contest.services()
    stored = await services.record.usage(outcome.execution_id)
    await services.aclose()
    assert outcome.usage.requests == len(vendors.calls)
    assert stored.requests == len(vendors.calls)


def test_judges_of_a_pair_see_neither_names_nor_scores(won_by_beta: Finished) -> None:
    calls = [call for call in won_by_beta.vendors.calls if call.prompt == "pairwise/compare"]

    assert calls
    for call in calls:
        assert not re.search(r"\b(?:alpha|beta)\b|/100", call.system + call.user, re.IGNORECASE)


@pytest.mark.parametrize("words", ["Own words {}.", "The same words."], ids=["says", "cites"])
async def test_judges_of_a_pair_see_the_passages_behind_what_only_one_report(
    words: str, workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_workspace(workspace)
    verdict = {"reason": "Fair.", "evidence": [], "fixes": [], "percent": 80}

    def alike(reply: str) -> str:
        verdicts = json.loads(reply)
        return json.dumps(verdicts | {"criteria": [], "metrics": [{**each, **verdict} for each in verdicts["metrics"]]})

    def of_one_passage(number: int) -> Callable[[str], str]:
        def change(reply: str) -> str:
            sentence = {"text": words.format(number), "sources": [number], "kind": "stated", "basis": ""}
            report = json.loads(reply)
            section = {"heading": "Body", "blocks": [{"type": "paragraph", "sentences": [report["summary"][0]]}]}
            return json.dumps({**report, "findings": [sentence], "sections": [section], "limits": []})

        return change

    text = '[evaluator]\nnear_tie = 1.0\n\n[[evaluator.metrics]]\nname = "insight"\n'
    (workspace / "config" / "evaluator.toml").write_text(text, "utf-8")
    vendors.malform(alike, prompt="evaluator/metric")
    vendors.malform(of_one_passage(2), model="alpha", prompt="research/write")
    vendors.malform(of_one_passage(3), model="beta", prompt="research/write")
    contest = Contest(workspace, documents, vendors.base_url)

    await contest.run(THEME, max_rounds=1, max_iterations=1, learn=False, synthesis=False, instructions="Be brief.")

    prompts_by_model = {call.model: call.user for call in vendors.calls if call.prompt == "research/write"}
    prompts = [call.user for call in vendors.calls if call.prompt == "pairwise/compare"]
    assert len(prompts) == 2
    for prompt in prompts:
        head, reports = prompt.split("# First report")
        for model, number in (("alpha", 2), ("beta", 3)):
            passage_text = re.split(r"<P\d+-|</passages-", prompts_by_model[model].split(f"\n<P{number}-")[1])[0]
            assert passage_text.strip() in head
        assert len(set(re.findall(r"^finding 1: .+ words.* (\[P\d\])$", reports, re.MULTILINE))) == 2
        assert re.search(
            r"^- <title-\w+>How resume works .*>: P\d$", head.split("# Other passages that they cite")[1], re.MULTILINE
        )
        assert "Be brief." in head


async def test_passages_have_the_same_numbers_for_the_judges_of_a_pair_as_for_those_of_one_report(
    services: Services,
) -> None:
    texts = {name: await services.documents.put(f"Of {name}.") for name in ("wind", "rain", "snow", "fog")}
    passages = [Passage(id=each, url=f"https://{name}.example", title=name) for name, each in texts.items()]

    def submission(*cited: str) -> Submission:
        sentences = [CitedSentence(text=f"On {name}.", passages=[texts[name]]) for name in cited]
        draft = Draft(
            summary=sentences, findings=sentences[:1], sections=[Section(blocks=[Paragraph(sentences=sentences)])]
        )
        results = [SearchResult(title=each.title, summary="-", source="tavily", url=each.url) for each in passages]
        report = build_report(draft, passages, results, theme=THEME, language="en")
        return Submission(content=report.to_markdown(), report=report, draft=draft, passages=passages, results=results)

    first, second = submission("fog", "rain"), submission("snow", "rain")

    texts = await with_all_texts(services.documents, [first, second])
    prompt = compare_prompt(first, second, texts, tokens=1_000, user_query=THEME)

    assert [each.title for each in prompt.passages] == ["snow", "fog"]
    assert [each.title for each in prompt.others] == ["rain"]
    for text, each in zip(prompt.submissions, (first, second), strict=True):
        assert text == report_view(each, texts, tokens=1_000, beside=1_000).text
    assert [passage.number for document in prompt.passages for passage in document.passages] == [3, 4]
    assert [each.numbers for each in prompt.others] == [[2]]


async def test_a_judge_sees_what_a_report_cites_and_of_the_rest_what_fits_beside_it_in_the_teams_order(
    services: Services,
) -> None:
    texts = {name: f"The {name} " * 40 for name in ("wind", "rain", "snow", "fog")}
    ids = {name: await services.documents.put(text) for name, text in texts.items()}
    passages = [Passage(id=ids[name], url=f"https://{name}.example", title=name) for name in texts]
    sentences = [CitedSentence(text="On fog and rain.", passages=[ids["fog"], ids["rain"]])]
    draft = Draft(summary=sentences, findings=sentences, sections=[Section(blocks=[Paragraph(sentences=sentences)])])
    results = [SearchResult(title=each.title, summary="-", source="tavily", url=each.url) for each in passages]
    report = build_report(draft, passages, results, theme=THEME, language="en")
    submission = Submission(content="-", report=report, draft=draft, passages=passages, results=results)
    each = max(map(estimate_tokens, texts.values()))

    with_text = await with_all_texts(services.documents, [submission])

    def titles(*, tokens: int, beside: int) -> list[str]:
        view = report_view(submission, with_text, tokens=tokens, beside=beside)
        return [passage.title for passage in view.passages]

    assert titles(tokens=9_000, beside=9_000) == ["wind", "rain", "snow", "fog"]
    assert titles(tokens=9_000, beside=3 * each) == ["wind", "rain", "fog"]
    assert titles(tokens=9_000, beside=0) == ["rain", "fog"]
    assert titles(tokens=each, beside=9_000) == ["fog"]


async def submission_citing(services: Services, cited: str, text: str) -> Submission:
    """One sentence that cites a passage by its id; only the passage with `text` was retrieved."""
    sentences = [CitedSentence(text="Bridges hum.", passages=[cited])]
    draft = Draft(
        summary=sentences,
        findings=sentences,
        sections=[Section(heading="Body", blocks=[Paragraph(sentences=sentences)])],
    )
    result = SearchResult(title="On bridges", summary=text, source="tavily", url="https://bridges.example")
    passage = Passage(id=await services.documents.put(text), url=result.url, title=result.title)
    report = build_report(draft, [passage], [result], theme=THEME, language="en")
    return Submission(content="Bridges hum.", report=report, draft=draft, passages=[passage], results=[result])


async def test_a_source_that_nobody_retrieved_is_shown_as_such_to_the_judges_of_a_pair(services: Services) -> None:
    text = "Wind makes bridges hum."
    honest = await submission_citing(services, await services.documents.put(text), text)
    inventing = await submission_citing(services, "invented", text)

    texts = await with_all_texts(services.documents, [honest, inventing])
    prompt = compare_prompt(honest, inventing, texts, tokens=1_000, user_query=THEME)

    pair_prompt = services.library.show(prompt, language="en", mark="1a2b3c4d")
    first, second = pair_prompt.split("# First report")[1].split("# Second report")
    assert "summary 1: Bridges hum. [P1]" in first
    assert "summary 1: Bridges hum. [?]" in second
    assert "[?] is a source that nobody retrieved" in second
    assert text in pair_prompt
    alone = report_view(inventing, texts, tokens=1_000, beside=1_000)
    assert "summary 1: Bridges hum. [?]" in alone.text
    assert alone.invented


async def test_teams_further_apart_are_not_compared(workspace: Path, documents: Path, vendors: Vendors) -> None:
    contest = contest_of(workspace, documents, vendors, {"alpha": 80, "beta": 77, "gamma": 76})

    await play(contest)

    assert "pairwise/compare" not in vendors.prompts()


async def test_only_the_teams_near_the_best_are_compared(workspace: Path, documents: Path, vendors: Vendors) -> None:
    contest = contest_of(workspace, documents, vendors, {"alpha": 78, "beta": 80, "gamma": 60})
    prefer(vendors, "alpha")

    await play(contest)

    assert vendors.prompts().count("pairwise/compare") == 2
    assert order_of(contest) == ["alpha", "beta", "gamma"]


async def test_a_japanese_pair_is_compared_in_japanese(contest: Contest, vendors: Vendors) -> None:
    await contest.run("再開はどのように動きますか？", max_rounds=1, learn=False)

    prompts = [call.user for call in vendors.calls if call.prompt == "pairwise/compare"]
    assert prompts
    assert all("# レポート first（一つ目）" in prompt for prompt in prompts)


# ---- the keys


def compared(*choices: tuple[str, str, str]) -> dict[str, float]:
    return pairwise_keys([Comparison(first=a, second=b, choice=choice) for a, b, choice in choices])  # type: ignore[arg-type]


def test_a_win_counts_one_and_a_tie_a_half() -> None:
    keys = compared(
        ("a", "b", "first"), ("b", "a", "second"), ("a", "c", "tie"), ("c", "a", "second"),
        ("b", "c", "second"), ("c", "b", "first"),
    )  # fmt: skip

    assert keys == {"a": 0.75, "b": 0.0, "c": 0.75}


@pytest.mark.parametrize("choices", [("first", "first"), ("second", "second"), ("tie", "tie"), ("first", "tie")])
def test_without_agreement_nothing_is_decided(choices: tuple[str, str]) -> None:
    assert compared(("a", "b", choices[0]), ("b", "a", choices[1])) == {}


CHOICES = st.lists(st.sampled_from(["first", "second", "tie"]), min_size=12, max_size=12)


@given(CHOICES)
def test_keys_are_shares_that_sum_to_half_of_all_pairs(choices: list[str]) -> None:
    pairs = permutations("abcd", 2)
    keys = compared(*((a, b, choice) for (a, b), choice in zip(pairs, choices, strict=True)))

    assert all(0 <= key <= 1 for key in keys.values())
    assert not keys or sum(keys.values()) == pytest.approx(2)


def test_a_team_that_was_compared_once_and_won_stands_above_whom_it_beat() -> None:
    wins = [("a", rival, "first") for rival in "cd"] + [(rival, "a", "second") for rival in "cd"]

    assert compared(("a", "b", "second"), ("b", "a", "first"), *wins) == {"a": 2 / 3, "b": 1.0, "c": 0.0, "d": 0.0}


# ---- the ranking

ENTRIES = st.builds(
    LeaderboardEntry,
    team_id=st.text("abcdefgh", min_size=1, max_size=3),
    team_name=st.just("Team"),
    best_score=st.none() | st.sampled_from([0.5, 0.79, 0.8, 0.8 + 1e-15]),
    latest_round=st.integers(0, 3),
    scored_round=st.integers(0, 3),
    pairwise_key=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
)
BOARDS = st.lists(ENTRIES, max_size=8, unique_by=lambda entry: entry.team_id)


def without_keys(board: list[LeaderboardEntry]) -> list[LeaderboardEntry]:
    return [entry.model_copy(update={"pairwise_key": None}) for entry in board]


@given(BOARDS.flatmap(lambda board: st.tuples(st.just(board), st.permutations(board))))
def test_a_ranking_does_not_depend_on_the_order_of_its_entries(
    boards: tuple[list[LeaderboardEntry], list[LeaderboardEntry]],
) -> None:
    assert rank_entries(boards[0]) == rank_entries(boards[1])


@given(BOARDS)
def test_without_keys_a_better_score_then_a_later_scored_round_ranks_higher(board: list[LeaderboardEntry]) -> None:
    order = [entry for entry in rank_entries(without_keys(board)) if entry.rank is not None]

    assert [entry.rank for entry in order] == list(range(1, len(order) + 1))
    for upper, lower in pairwise(order):
        if upper.best_score is None:
            assert lower.best_score is None
        elif lower.best_score is not None:
            assert (upper.best_score, upper.scored_round) >= (lower.best_score, lower.scored_round)


@given(BOARDS)
def test_among_compared_teams_the_key_decides_and_then_the_score(board: list[LeaderboardEntry]) -> None:
    order = [entry for entry in rank_entries(board) if entry.rank is not None and entry.best_score is not None]
    compared_ones = [entry for entry in order if entry.pairwise_key is not None]

    for upper, lower in pairwise(compared_ones):
        assert (upper.pairwise_key, upper.best_score) >= (lower.pairwise_key, lower.best_score)


@given(BOARDS)
def test_equal_keys_change_nothing_among_those_compared(board: list[LeaderboardEntry]) -> None:
    equal = [entry.model_copy(update={"pairwise_key": 0.5}) for entry in board]

    assert without_keys(rank_entries(equal)) == rank_entries(without_keys(board))
