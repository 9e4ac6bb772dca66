"""What a run settles when it opens, and keeps: contexts of models, depth."""

from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

import contend
from contend.contest.graph import build_contest_graph
from contend.errors import InputError
from contend.llm import LEAST_CONTEXT_TOKENS, role_profile
from contend.models.options import ResolvedOptions, RunOptions
from contend.preflight import check_run
from contend.services import Services
from contend.settings import load_settings
from contend.text import estimate_tokens
from fakes.contests import LARGE_CONTEXT, Contest, rounds_of, write_workspace
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
FERRY = Path(__file__).parents[1] / "data" / "ferry"


@pytest.fixture
def untold(contest: Contest) -> Contest:
    """A contest whose workspace does not say how much its models read: the endpoint does."""
    (contest.workspace / "config" / "models.toml").unlink()
    return contest


async def test_a_run_keeps_the_contexts_that_it_began_with(untold: Contest, vendors: Vendors) -> None:
    vendors.models = [{"id": "alpha", "max_model_len": 18_000}, {"id": "beta"}]
    services = untold.services()
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}

    await graph.ainvoke({"theme": THEME}, config, context=untold.options(approve=["plan"], model="beta"))
    options = (await graph.aget_state(config)).values["options"]
    await services.aclose()

    assert options["contexts"]["alpha"] == 18_000
    assert options["contexts"]["beta"] == 32_000
    assert role_profile(ResolvedOptions.model_validate(options), "writer", name="alpha").evidence_tokens == 7_200


@pytest.mark.parametrize("context", [LEAST_CONTEXT_TOKENS, 32_000])
async def test_a_question_with_wishes_that_a_model_cannot_read_is_refused_before_it_is_asked(
    workspace: Path, documents: Path, vendors: Vendors, context: int
) -> None:
    write_workspace(workspace, reads=context)
    contest = Contest(workspace, documents, vendors.base_url)

    with pytest.raises(InputError, match=rf"about \d\d,\d{{3}} tokens, and model '.*' reads {context:,}"):
        await contest.run("橋はなぜ鳴るか。" * 900, instructions="結論を先に書くこと。" * 1_900)

    assert vendors.calls == []


async def opening(
    workspace: Path, documents: Path | None, vendors: Vendors, *, tavily: str | None = None, **options: object
) -> tuple[list[str], ResolvedOptions]:
    """The teams that enter a run of the shipped config, and its options. arXiv and Tavily answer the door."""
    addresses = dict.fromkeys(["OPENAI_BASE_URL", "arxiv_base_url", "tavily_base_url"], vendors.base_url)
    services = Services(load_settings(workspace=workspace, TAVILY_API_KEY=tavily, **addresses))
    own = {"documents": [str(documents)]} if documents else {}
    checked = await check_run(services, THEME, [], RunOptions.model_validate({**own, **options}))
    return [team.team_id for team in checked.teams], checked.options


@pytest.mark.parametrize(
    ("depth", "with_documents", "tavily", "teams"),
    [
        ("quick", True, "key", ["archivist"]),
        ("quick", False, "key", ["scout"]),
        ("quick", False, None, ["scholar"]),
        ("standard", True, None, ["archivist", "scholar", "skeptic"]),
        ("standard", True, "key", ["archivist", "scout", "scholar"]),
        ("standard", False, None, ["scholar", "skeptic"]),
        (None, True, "key", ["archivist", "scout", "scholar"]),
        (None, False, "key", ["scout", "scholar", "skeptic"]),
        (None, False, None, ["scholar", "skeptic"]),
        ("deep", True, "key", ["archivist", "scout", "scholar", "skeptic"]),
    ],
)
async def test_the_teams_that_fit_what_is_on_enter_as_many_as_the_depth_says(
    workspace: Path,
    documents: Path,
    vendors: Vendors,
    *,
    depth: str | None,
    with_documents: bool,
    tavily: str | None,
    teams: list[str],
) -> None:
    folder = documents if with_documents else None

    entered, _ = await opening(workspace, folder, vendors, tavily=tavily, depth=depth)

    assert entered == teams


async def test_teams_that_are_named_all_enter_whatever_the_depth(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    teams, options = await opening(workspace, documents, vendors, depth="quick", teams=["skeptic", "archivist"])

    assert teams == ["skeptic", "archivist"]
    assert (options.max_rounds, options.mends_only) == (2, True)


async def test_teams_that_the_environment_names_all_enter_too(
    workspace: Path, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_TEAMS", "skeptic,archivist")
    monkeypatch.setenv("CONTEND_DEPTH", "quick")

    teams, options = await opening(workspace, documents, vendors)

    assert (teams, options.depth) == (["skeptic", "archivist"], "quick")


async def test_a_quick_run_plays_one_team_for_a_round_and_one_that_mends(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(THEME, depth="quick", learn=False)

    assert outcome.status == "completed"
    assert [(row.team_id, row.round_number) for row in rounds_of(contest)] == [("archivist", 1), ("archivist", 2)]


@pytest.mark.parametrize("reads", [None, LARGE_CONTEXT], ids=["reads little", "reads much"])
@pytest.mark.parametrize("depth", ["auto", "quick", "standard", "deep"])
async def test_a_runs_calls_lie_in_the_range_of_its_dry_run_and_its_tokens_within_twice_that(
    workspace: Path, documents: Path, vendors: Vendors, depth: str, reads: int | None
) -> None:
    if reads:
        write_workspace(workspace, ("alpha", "beta", "gamma"), reads=reads)
    contest = Contest(workspace, documents, vendors.base_url)
    services = contest.services()

    values = {"depth": depth, "length": "brief"}  # the fake's reports are short
    dry = await contend.dry_run(THEME, options=contest.options(**values), services=services)
    await services.aclose()
    before = len(vendors.calls)
    outcome = await contest.run(THEME, **values)

    (least_calls, most_calls), (least, most) = dry.estimate.calls, dry.estimate.tokens
    assert before == 0
    assert least_calls <= outcome.usage.requests <= most_calls
    assert least / 2 <= outcome.usage.input_tokens + outcome.usage.output_tokens <= most * 2


@pytest.mark.parametrize("length", ["brief", "standard", "long"])
async def test_a_report_kept_short_by_the_question_costs_no_less_than_the_dry_run_says(
    workspace: Path, vendors: Vendors, length: str
) -> None:
    write_workspace(workspace, ("alpha",), reads=LARGE_CONTEXT)
    contest = Contest(workspace, FERRY / "documents", vendors.base_url)  # the fake's reports have some 300 words
    question, values = (FERRY / "question.txt").read_text("utf-8"), {"depth": "quick", "length": length}
    services = contest.services()

    dry = await contend.dry_run(question, options=contest.options(**values), services=services)
    await services.aclose()
    outcome = await contest.run(question, **values)

    least, most = dry.estimate.tokens
    assert least <= outcome.usage.input_tokens + outcome.usage.output_tokens <= most


async def test_deeper_and_longer_runs_are_estimated_to_cost_more(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    contest = Contest(workspace, documents, vendors.base_url)
    services = contest.services()

    wishes = [{"depth": "quick", "length": "brief"}, {"depth": "quick"}, {"depth": "standard"}, {"depth": "deep"}]
    dry = [await contend.dry_run(THEME, options=contest.options(**values), services=services) for values in wishes]
    await services.aclose()

    tokens = [plan.estimate.tokens[1] for plan in dry]
    assert tokens == sorted(set(tokens))


async def test_documents_that_a_report_may_rest_on_are_estimated_to_be_read_by_more_than_its_writer(
    workspace: Path, tmp_path: Path, vendors: Vendors
) -> None:
    write_workspace(workspace, ("alpha",), reads=LARGE_CONTEXT)
    page = "The crane of quay seven lifts forty tonnes, and its log names each load and hour. " * 60
    tokens = []
    for files in (8, 30):
        folder = tmp_path / f"{files} files"
        folder.mkdir()
        for number in range(files):
            (folder / f"{number}.md").write_text(f"# Day {number}\n\n{page}", "utf-8")
        contest = Contest(workspace, folder, vendors.base_url)
        services = contest.services()
        dry = await contend.dry_run(THEME, options=contest.options(depth="quick"), services=services)
        await services.aclose()
        tokens.append(dry.estimate.tokens[1])

    assert tokens[1] - tokens[0] > 1.5 * 22 * estimate_tokens(page)
