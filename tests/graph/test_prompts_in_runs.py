"""What reaches the models of a run: templates, limits and language as they were set, the best draft in full."""

import re
from uuid import UUID

import pytest

from contend.settings.files import resource
from fakes.contests import Contest
from fakes.vendors import Call, Vendors

THEME = "How does resume work after a crash, and what is a team?"
METRICS = ("coverage", "correctness", "insight", "clarity_coherence")
CODE = re.compile(r"```toml\n(.*?)```", re.DOTALL)
CITED = re.compile(r"([A-Z][^.\[\]\n]{20,}?)\.? ?\[\d")


def own_prompts(contest: Contest, toml: str) -> None:
    (contest.workspace / "config" / "prompt_builder.toml").write_text(toml, "utf-8")


def calls_for(vendors: Vendors, prompt: str, **model: str) -> list[Call]:
    return [call for call in vendors.calls if call.prompt == prompt and call.model == model.get("model", call.model)]


async def test_the_judge_is_asked_with_all_finished_rounds_and_the_number_of_the_next(
    contest: Contest, vendors: Vendors
) -> None:
    own_prompts(
        contest,
        'judgment_user_prompt = "{{ user_prompt }} next {{ round_number }}'
        '{% for item in history %} past {{ item.round_number }}{% endfor %}."\n',
    )

    await contest.run(THEME, max_rounds=2, learn=False)

    calls = calls_for(vendors, "judge/judge")
    assert calls
    for call in calls:
        assert re.match(rf"<question-(\w+)>{re.escape(THEME)}</question-\1> next 2 past 1\.\n", call.user)


async def test_the_judge_knows_what_the_reader_asks_of_the_report(contest: Contest, vendors: Vendors) -> None:
    await contest.run(THEME, max_rounds=2, learn=False, instructions="Begin with the answer.")

    calls = calls_for(vendors, "judge/judge")
    assert calls
    for call in calls:
        assert re.search(r"<instructions-(\w+)>Begin with the answer\.</instructions-\1>", call.user)


async def test_the_judge_reads_the_reports_title_and_summary_whole(contest: Contest, vendors: Vendors) -> None:
    await contest.run(THEME, max_rounds=2, learn=False)

    calls = calls_for(vendors, "judge/judge")
    assert calls
    assert all(f"{THEME}\n\n" in call.user.partition("Handed in:")[2] for call in calls)
    assert not any("[…]" in call.user for call in calls)
    assert all("coverage" in call.user.partition("Metrics:")[2] for call in calls)
    assert not any("point_coverage" in call.user for call in calls)  # it weighs nothing


@pytest.mark.parametrize("theme", [THEME, "強制終了した後、再開はどのように動きますか？"], ids=["en", "ja"])
async def test_a_template_of_the_workspaces_file_is_what_models_read_in_every_language(
    contest: Contest, vendors: Vendors, theme: str
) -> None:
    own_prompts(contest, 'evaluator_user_prompt = "Own: {{ user_query }} {{ submission }}"\n')

    await contest.run(theme, max_rounds=1, learn=False)

    assert calls_for(vendors, "evaluator/metric")
    assert all(call.user.startswith("Own: <query-") for call in calls_for(vendors, "evaluator/metric"))


@pytest.mark.parametrize(
    "template",
    [
        "Score {{ submission }} as an answer to {{ user_query }}.",
        "{{ metric[:3] }}: {{ rubric | summarize(20) }}",
        None,
    ],
    ids=["neither shown", "both cut", "as in the guide"],
)
async def test_each_metric_has_its_name_and_rubric_in_its_prompt_whatever_the_template_shows(
    contest: Contest, vendors: Vendors, template: str | None
) -> None:
    guide = (resource("docs") / "prompts.md").read_text("utf-8")
    own_prompts(contest, f"evaluator_user_prompt = {template!r}" if template else CODE.findall(guide)[0])

    await contest.run(THEME, max_rounds=1, learn=False, teams=["alpha"])

    calls = calls_for(vendors, "evaluator/metric")
    for name in METRICS:
        rubric = (resource("prompts") / f"rubrics/{name}.md.j2").read_text("utf-8").strip()
        assert [name in call.user for call in calls if rubric in call.user] == [True]
    assert len({call.user for call in calls}) == len(calls) == len(METRICS)


async def test_limits_of_the_workspaces_file_hold_in_a_run(contest: Contest, vendors: Vendors) -> None:
    own_prompts(contest, "[round_prompt]\nmax_leaderboard_display_teams = 1\nenable_trend_analysis = false\n")

    await contest.run(THEME, min_rounds=3, max_rounds=3, learn=False)

    later = [call for call in calls_for(vendors, "research/revise") if "# Round 3" in call.user]
    assert {call.model for call in later} == {"alpha", "beta"}
    for call in later:
        assert call.user.count("<team-") == 1
        assert "of 2" in call.user
        assert "Trend:" not in call.user


@pytest.mark.parametrize(
    ("theme", "language", "heading"),
    [
        (THEME, None, "# Question"),
        (THEME, "ja", "# 質問"),
        ("再開はどのように動きますか？", "auto", "# 質問"),
        ("再開はどのように動きますか？", "en", "# Question"),
    ],
)
async def test_prompts_speak_the_themes_language_unless_one_is_set(
    contest: Contest, vendors: Vendors, theme: str, language: str | None, heading: str
) -> None:
    await contest.run(theme, max_rounds=1, learn=False, teams=["alpha"], language=language)

    assert all(f"\n{heading}\n" in call.user for call in calls_for(vendors, "research/write"))


async def test_from_the_second_round_the_writer_has_its_best_draft_in_full_and_what_carried_it(
    contest: Contest, vendors: Vendors
) -> None:
    outcome = await contest.run("Resume: checkpoint?", min_rounds=2, max_rounds=2, learn=False, teams=["alpha"])

    services = contest.services()
    first, _ = await services.record.rounds(outcome.execution_id)
    await services.aclose()
    (one,), (two,) = (calls_for(vendors, f"research/{name}", model="alpha") for name in ("write", "revise"))
    blocks = re.findall(r"<passages-(\w+)>(.*?)</passages-\1>", two.user, re.DOTALL)
    passages = " ".join(" ".join(text for _, text in blocks).split())
    sentences = set(CITED.findall(first.submission))
    assert "<draft-" not in one.user
    draft = two.user.partition("<draft-")[2].partition("</draft-")[0]
    assert all(sentence in draft for sentence in sentences)
    assert len(sentences) > 1
    assert all(sentence in passages for sentence in sentences)


async def test_an_execution_is_known_by_its_tasks_random_id(contest: Contest) -> None:
    outcome = await contest.run(THEME, max_rounds=1, learn=False, teams=["alpha"])

    assert outcome.summary is not None
    assert UUID(outcome.execution_id).version == 4
    assert outcome.summary.task_id == UUID(outcome.execution_id)
