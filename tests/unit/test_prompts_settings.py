from pathlib import Path

import pytest
from pydantic import ValidationError

from contend.errors import InputError
from contend.models.round import RoundPromptConfig
from contend.prompts import PromptBuilderSettings


def workspace(tmp_path: Path, toml: str) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/prompt_builder.toml").write_text(toml, "utf-8")
    return tmp_path


def test_templates_are_left_to_the_prompt_files_unless_set() -> None:
    settings = PromptBuilderSettings()

    assert (settings.team_user_prompt, settings.evaluator_user_prompt, settings.judgment_user_prompt) == (None,) * 3
    assert settings.round_prompt == RoundPromptConfig()


@pytest.mark.parametrize("name", ["team_user_prompt", "evaluator_user_prompt", "judgment_user_prompt"])
def test_a_blank_template_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="prompt template cannot be empty"):
        PromptBuilderSettings(**{name: " \n"})


def test_the_caller_stands_before_the_environment_and_that_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace(
        tmp_path, 'team_user_prompt = "t"\nevaluator_user_prompt = "t"\njudgment_user_prompt = "{{ 審査 }}"\n'
    )
    monkeypatch.setenv("CONTEND_TEAM_USER_PROMPT", "e")
    monkeypatch.setenv("CONTEND_EVALUATOR_USER_PROMPT", "e")

    settings = PromptBuilderSettings(workspace=folder, team_user_prompt="c")

    assert settings.team_user_prompt == "c"
    assert settings.evaluator_user_prompt == "e"
    assert settings.judgment_user_prompt == "{{ 審査 }}"


def test_limits_come_from_the_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace(tmp_path, "[round_prompt]\nsubmission_preview_chars = 50\nmax_leaderboard_display_teams = 3\n")
    monkeypatch.setenv("CONTEND_ROUND_PROMPT__SUBMISSION_PREVIEW_CHARS", "80")

    limits = PromptBuilderSettings.load(folder).round_prompt

    assert limits == RoundPromptConfig(submission_preview_chars=80, max_leaderboard_display_teams=3)


def test_the_limits_of_rounds_prompts_have_their_defaults() -> None:
    assert RoundPromptConfig().model_dump() == {
        "max_submission_history_items": 5,
        "max_leaderboard_display_teams": 10,
        "submission_preview_chars": 200,
        "enable_trend_analysis": True,
        "estimated_prompt_tokens": 3000,
        "submission_history_tokens": 2000,
    }


@pytest.mark.parametrize("value", [0, -1, "many", 1.5])
@pytest.mark.parametrize("name", sorted(set(RoundPromptConfig.model_fields) - {"enable_trend_analysis"}))
def test_a_limit_below_one_or_no_number_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        RoundPromptConfig.model_validate({name: value})


def test_the_environment_may_name_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_WORKSPACE", str(workspace(tmp_path, 'team_user_prompt = "t"')))

    assert PromptBuilderSettings().team_user_prompt == "t"


def test_a_workspace_without_the_file_has_the_defaults(tmp_path: Path) -> None:
    assert PromptBuilderSettings.load(tmp_path) == PromptBuilderSettings(workspace=tmp_path)


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('team_prompt = "x"', r"prompt_builder\.toml: team_prompt: unknown key"),
        ("[round_prompt]\nmax_rounds = 3", r"prompt_builder\.toml: round_prompt\.max_rounds: unknown key"),
        ("[round_prompt]\nsubmission_preview_chars = 0", r"round_prompt\.submission_preview_chars: .* greater than"),
        ('team_user_prompt = " "', r"prompt_builder\.toml: team_user_prompt: prompt template cannot be empty"),
        ("team_user_prompt = ", r"prompt_builder\.toml: not valid TOML"),
    ],
)
def test_a_fault_in_the_file_names_the_file_and_the_key(tmp_path: Path, toml: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        PromptBuilderSettings.load(workspace(tmp_path, toml))


def test_a_fault_in_the_environment_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_JUDGMENT_USER_PROMPT", " ")

    with pytest.raises(InputError, match=r"^CONTEND_JUDGMENT_USER_PROMPT: prompt template cannot be empty"):
        PromptBuilderSettings.load(tmp_path)
