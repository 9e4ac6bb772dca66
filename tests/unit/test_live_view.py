"""The live view: a fold over events, drawn within the terminal's width in both languages."""

from collections.abc import Iterator, Sequence
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from contend.cli import COMMAND, speak
from contend.cli.chart import ends_table, why_text
from contend.cli.live import Board, LiveView, line_of
from contend.cli.ui import hanging
from contend.models.events import (
    AnyEvent,
    CriteriaSet,
    DocumentsLeftOut,
    DocumentsRead,
    Learned,
    ReportMerged,
    RoundJudged,
    RoundScored,
    RoundStarted,
    RunDone,
    RunStarted,
    SourceOff,
    StepChosen,
    StepDone,
    TeamDone,
    TeamStarted,
    WinnerPicked,
)
from contend.models.round import LeaderboardEntry, rank_entries
from contend.models.task import RunUsage

RUN = "run"
THEMES = {
    "en": "How does contend resume a run after a crash, and what is repeated when it goes on?",
    "ja": "強制終了の後に実行はどのように再開され、どの呼び出しが繰り返されますか。チームの失敗は他に影響しますか。",
}
NAMES = {"en": ("Archivist", "Skeptic"), "ja": ("文書係のチーム", "懐疑的なチーム")}


def events(language: str) -> list[AnyEvent]:
    """A run in its second round: one team ahead, one failed."""
    first, second = NAMES[language]
    board = rank_entries(
        [
            LeaderboardEntry(
                team_id="a", team_name=first, best_score=0.868, best_round=1, latest_round=1, scored_round=1
            ),
            LeaderboardEntry(team_id="b", team_name=second),
        ]
    )
    usage = RunUsage(requests=12, input_tokens=30_000, output_tokens=4_120, cost_usd=0.0123)
    return [
        RunStarted(
            execution_id=RUN,
            thread_id="t",
            theme=THEMES[language],
            teams=["a", "b"],
            sources=["local", "arxiv"],
            sources_off={"tavily": "TAVILY_API_KEY is not set"},
            models={"writer": "gpt-5-mini", "judge": "gpt-5-mini"},
        ),
        TeamStarted(execution_id=RUN, team_id="a", team_name=first),
        TeamStarted(execution_id=RUN, team_id="b", team_name=second),
        RoundStarted(execution_id=RUN, team_id="a", round_number=1),
        RoundScored(
            execution_id=RUN,
            team_id="a",
            round_number=1,
            score=0.868,
            metrics=[],
            usage=usage,
            leaderboard=board,
            spent=usage,
        ),
        SourceOff(execution_id=RUN, team_id="b", source="arxiv", reason="no answer within 3 s"),
        DocumentsRead(execution_id=RUN, read=250, files=9000),
        TeamDone(execution_id=RUN, team_id="b", status="failed", error_message="no source gave anything " * 4),
        RoundStarted(execution_id=RUN, team_id="a", round_number=2),
        StepDone(execution_id=RUN, team_id="a", round_number=2, step="search", detail="7 sources"),
    ]


def board_after(told: Sequence[AnyEvent]) -> Board:
    board = Board()
    for event in told:
        board.apply(event)
    return board


def draw(board: Board, *, width: int, height: int) -> list[str]:
    """The view's lines on a terminal of this size."""
    console = Console(file=StringIO(), width=width, height=height, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(LiveView(board, console))
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.fixture(autouse=True)
def _in_english(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unless a test speaks another language, and for a person, whoever read what an earlier test's command printed."""
    monkeypatch.setattr(COMMAND, "as_json", False)
    yield
    speak()


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_a_run_in_its_second_round(language: str, width: int, height: int, snapshot: SnapshotAssertion) -> None:
    speak(THEMES[language])
    lines = draw(board_after(events(language)), width=width, height=height)

    assert max(cell_len(line) for line in lines) <= width
    assert "\n".join(lines) == snapshot


def test_more_teams_than_lines_are_cut_to_the_best() -> None:
    board = Board(theme="many")
    board.rank(
        rank_entries(
            LeaderboardEntry(
                team_id=f"t{n}", team_name=f"T{n}", best_score=n / 100, best_round=1, latest_round=1, scored_round=1
            )
            for n in range(40)
        )
    )

    lines = draw(board, width=80, height=24)

    assert len(lines) < 24
    assert any("T39" in line for line in lines)
    assert any("and 27 more" in line for line in lines)


@pytest.mark.parametrize("theme", ["橋はなぜ風の中で鳴るのか。" * 38, "Why do bridges hum in the wind? " * 15])
def test_the_longest_theme_takes_two_lines(theme: str) -> None:
    _, first, second, third, *_ = draw(Board(theme=theme), width=80, height=24)

    assert theme.startswith(first.strip())
    assert second.endswith("…")
    assert third.strip() == "Opening · 0:00"


def test_outside_text_neither_styles_nor_steers_the_terminal() -> None:
    board = Board(theme="[bold red]theme[/] \x1b[31m\u202e")
    board.team("a").doing = "[link=https://evil.example]x[/link]\x07"

    text = "\n".join(draw(board, width=80, height=24))

    assert "[bold red]theme[/] \n" in text or "[bold red]theme[/]\n" in text
    assert "[link=https://evil.example]x[/link]" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_teams_without_a_rank_come_last_in_the_order_in_which_they_were_entered() -> None:
    board = board_after(events("en"))
    board.team("c")

    assert [row.team_id for row in board.rows()] == ["a", "b", "c"]


def test_a_team_that_nobody_could_score_is_shown_as_unscored() -> None:
    board = Board(theme="unscored")
    board.rank(rank_entries([LeaderboardEntry(team_id="a", team_name="A", latest_round=1)]))

    assert any("unscored" in line for line in draw(board, width=80, height=24))


def test_each_event_tells_what_is_spent_and_the_end_has_the_last_word() -> None:
    board = board_after(events("en"))
    assert board.usage.requests == 12

    board.apply(StepDone(execution_id=RUN, team_id="a", round_number=2, step="write", spent=RunUsage(requests=13)))
    assert board.usage.requests == 13

    board.apply(RunDone(execution_id=RUN, status="completed", message="", usage=RunUsage(requests=14)))

    assert board.usage.requests == 14


def test_a_source_that_goes_off_is_no_longer_among_those_that_are_on() -> None:
    text = "\n".join(draw(board_after(events("en")), width=80, height=24))

    assert "Sources  local\n" in text
    assert "arxiv: no answer within 3 s" in text


def test_how_far_the_reading_of_documents_is_is_shown_until_a_team_goes_on() -> None:
    board = board_after([DocumentsRead(execution_id=RUN, read=250, files=9000)])

    text = "\n".join(draw(board, width=80, height=24))
    board.apply(RoundStarted(execution_id=RUN, team_id="a", round_number=1))

    assert "Reading documents: 250 of 9,000" in text
    assert board.stage == "Competing"


def test_files_that_are_left_out_stay_on_the_screen_when_the_view_is_gone() -> None:
    console = Console(file=StringIO(), width=80, height=24, force_terminal=True, color_system=None)
    view = LiveView(Board(), console)
    files = ["a.pdf (broken, or no PDF)", *(f"{n}.txt (why {n})" for n in range(5))]
    with console.capture() as capture, view.live:
        view.show(DocumentsLeftOut(execution_id=RUN, files=files))

    text = " ".join(capture.get().split())
    assert "no part of the answer: a.pdf (broken, or no PDF); 0.txt (why 0); 1.txt (why 1); and 3 more" in text


def test_a_team_that_ends_well_keeps_the_reason() -> None:
    board = board_after(
        [
            RoundJudged(
                execution_id=RUN,
                team_id="a",
                round_number=2,
                exit_reason="plateau",
                reasoning="no gain",
                asked_judge=False,
            ),
            TeamDone(execution_id=RUN, team_id="a", status="completed"),
        ]
    )

    assert (board.team("a").state, board.team("a").doing) == ("completed", "done: no gain any more")


def test_what_was_learned_is_kept_for_the_end() -> None:
    event = Learned(
        execution_id=RUN, dataset="bridges", playbook_version=3, summary="1 added", lessons=["Name the year."]
    )
    board = board_after([event])

    assert board.learned == event


def test_teams_have_not_begun_while_the_criteria_are_set() -> None:
    started = events("en")[0]
    board = board_after([started])
    assert (board.stage, board.team("a").doing) == ("Setting the criteria", "not begun")

    board.apply(CriteriaSet(execution_id=RUN, criteria=[]))

    assert board.stage == "Competing"


@pytest.mark.parametrize(
    ("merged", "line"),
    [
        ({"score": 0.9, "published": True, "reports": 2}, "the merged report is chosen (90.0/100)"),
        ({"score": 0.7, "published": False, "reports": 2}, "not better than the best team's (70.0/100)"),
        ({"score": 0.9, "published": False, "reports": 2}, "judges prefer the best team's report"),
        ({"score": None, "published": False, "failure": "no reply"}, "the reports are not merged: no reply"),
    ],
    ids=["chosen", "scores", "judges", "failure"],
)
def test_why_a_merged_report_is_chosen_or_not_is_told(merged: dict[str, object], line: str) -> None:
    event = ReportMerged.model_validate({"execution_id": RUN, "best_score": 0.8, **merged})

    assert line in line_of(event)


@pytest.mark.parametrize(
    ("merged", "why"),
    [
        (None, "All 14 criteria met."),
        (
            {"score": 0.9, "published": True, "preferred": ["editor", "tie"]},
            "the editor's merge scored 90.0/100, the best team's report 80.0/100; judges preferred the merge 1 to 0",
        ),
        ({"score": None, "published": False, "failure": "no reply"}, "the reports are not merged: no reply"),
    ],
    ids=["no merge", "chosen", "failed"],
)
def test_the_end_says_why_a_report_is_published(merged: dict[str, object] | None, why: str) -> None:
    told: list[AnyEvent] = [StepChosen(execution_id=RUN, step="publish", reason="All 14 criteria met.")]
    told += [ReportMerged.model_validate({"execution_id": RUN, "best_score": 0.8, **merged})] if merged else []

    assert why_text(board_after(told)) == why


def test_a_team_without_a_score_has_no_bar_and_one_that_failed_says_why() -> None:
    console = Console(file=StringIO(), width=120, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(ends_table(board_after(events("en")), ""))

    scored, failed = [line for line in capture.get().splitlines() if "Archivist" in line or "Skeptic" in line]
    assert "█" in scored
    assert "█" not in failed
    assert "failed: no source gave anything" in failed


def test_a_long_lesson_wraps_word_by_word_behind_its_mark_within_the_screen() -> None:
    lesson = "When two documents contradict each other, name both with their days and say which one replaces the other."
    console = Console(file=StringIO(), width=40, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(hanging("  -", Text(lesson)))

    first, *others = capture.get().rstrip().splitlines()
    assert first.startswith("  - When two")
    assert others
    assert all(line.startswith("    ") and cell_len(line) <= 40 for line in others)
    assert " ".join([first.removeprefix("  - "), *others]).split() == lesson.split()


def test_while_the_editors_merge_is_published_the_live_view_says_so_and_names_the_best_team() -> None:
    board = Board()
    event = WinnerPicked(
        execution_id=RUN, team_id="a", score=0.8, leaderboard=[], published="editor", published_score=0.9
    )
    board.apply(event)

    assert board.stage == "Publishing the editor's merge (90.0/100)"
    assert line_of(event).endswith("Published: editor's merge 90.0/100; best team a 80.0/100")


def test_what_learning_did_is_one_line_in_the_readers_language() -> None:
    event = Learned(
        execution_id=RUN, dataset="bridges", playbook_version=3, summary="1 added, 2 rated", lessons=["Name the year."]
    )
    assert line_of(event).endswith("playbook bridges, version 3: 1 added, 2 rated")

    speak(THEMES["ja"])
    assert line_of(event).endswith("プレイブック bridges、第3版: 追加1件, 評価2件")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_each_event_is_one_line_without_control_characters(language: str) -> None:
    speak(THEMES[language])
    for event in events(language):
        line = line_of(event)
        assert line.isprintable()
        assert line[2] == line[5] == ":"


def test_of_a_long_question_the_line_of_a_runs_start_shows_the_beginning() -> None:
    started = events("en")[0].model_copy(update={"theme": "Why do bridges hum in the wind? " * 200})

    assert len(line_of(started)) < 300
    assert "Why do bridges hum" in line_of(started)
