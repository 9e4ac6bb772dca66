"""Bad input at the command line: one line on standard error, exit code 2, nothing written, nothing spent."""

import json
import socket
from pathlib import Path
from uuid import UUID

import pytest

from fakes.terminal import CommandResult, Terminal, start_command
from fakes.vendors import Vendors


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def own_file(workspace: Path, name: str, text: str) -> None:
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def refuses(terminal: Terminal, result: CommandResult, *words: str, files: tuple[str, ...] = ()) -> None:
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err
    assert terminal.files() == sorted(files)


def test_an_empty_theme_is_refused(terminal: Terminal, documents: Path) -> None:
    refuses(terminal, terminal("run", "  ", "--docs", documents), "theme is empty")


def test_a_theme_of_8001_characters_is_refused_with_its_length(terminal: Terminal, documents: Path) -> None:
    refuses(terminal, terminal("run", "橋" * 8001, "--docs", documents), "theme has 8,001 characters", "--instructions")


def test_an_unknown_team_is_refused_with_the_known_ones(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", "resume?", "--docs", documents, "--team", "skeptc")
    refuses(terminal, result, "no team 'skeptc'", "skeptic")


def test_an_unknown_source_is_refused_with_the_known_ones(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", "resume?", "--docs", documents, "--source", "locl")
    refuses(terminal, result, "no source 'locl'", "local")


def test_broken_toml_is_refused_with_file_and_line(terminal: Terminal, documents: Path) -> None:
    own_file(terminal.workspace, "config/judgment.toml", "[judgment]\npatience = \n")

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "judgment.toml", "not valid TOML", "line 2", files=("config/judgment.toml",))


def test_malformed_sections_of_a_playbook_are_refused_before_a_call_by_run_dry_run_and_doctor(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_file(terminal.workspace, "config/sections.yaml", "default: [name: sources\n")
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)

    for options in ([], ["--dry-run"]):
        result = terminal("run", "resume?", "--docs", documents, *options)
        refuses(terminal, result, "sections.yaml: not YAML", "line 2", files=("config/sections.yaml",))
    assert vendors.calls == []
    checked = terminal("doctor", "--json")
    assert checked.code == 2
    assert "sections.yaml: not YAML" in checked.out


def test_an_unknown_key_is_refused_by_its_name(terminal: Terminal, documents: Path) -> None:
    own_file(terminal.workspace, "config/judgment.toml", "[judgment]\npatiance = 2\n")

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "judgment.toml", "unknown key 'judgment.patiance'", files=("config/judgment.toml",))


def test_a_missing_key_is_told_by_its_name(terminal: Terminal, documents: Path) -> None:
    own_file(terminal.workspace, "config/evaluator.toml", '[[evaluator.metrics]]\nkind = "code"\n')

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "evaluator.toml: key 'evaluator.metrics.0.name'", files=("config/evaluator.toml",))


def test_weights_that_do_not_add_up_are_refused_with_their_sum(terminal: Terminal, documents: Path) -> None:
    metric = '[[evaluator.metrics]]\nname = "{}"\nweight = 0.4\n'
    own_file(terminal.workspace, "config/evaluator.toml", metric.format("coverage") + metric.format("relevance"))

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "evaluator.toml", "weights sum to 0.8", files=("config/evaluator.toml",))


def test_a_template_that_does_not_render_is_refused_with_its_file(terminal: Terminal, documents: Path) -> None:
    own_file(terminal.workspace, "prompts/research/write.md.j2", "Write about {{ thema }}.\n")

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "write.md.j2", "thema", files=("prompts/research/write.md.j2",))


def test_a_template_of_toml_that_does_not_render_is_refused_before_any_call(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    name = "config/prompt_builder.toml"
    own_file(terminal.workspace, name, 'judgment_user_prompt = "one\\n{{ submision }}"\n')

    result = terminal("run", "resume?", "--docs", documents, "--source", "local")

    fault = "Jinja2 template error: setting judgment_user_prompt, line 2: 'submision' is undefined"
    refuses(terminal, result, fault, files=(name,))
    assert vendors.calls == []


def test_a_missing_folder_of_documents_is_refused_by_its_path(terminal: Terminal, tmp_path: Path) -> None:
    refuses(terminal, terminal("run", "resume?", "--docs", tmp_path / "nowhere"), str(tmp_path / "nowhere"))


def test_a_file_of_instructions_over_20000_characters_is_refused(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    own_file(tmp_path, "long.txt", "橋" * 20_001)
    result = terminal("run", "resume?", "--docs", documents, "--instructions", tmp_path / "long.txt")
    refuses(terminal, result, "instructions", "20000 characters")


def test_a_missing_file_of_instructions_is_refused_by_its_path(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", "resume?", "--docs", documents, "--instructions", "nowhere.txt")
    refuses(terminal, result, "--instructions nowhere.txt", "No such file")


def test_a_file_of_instructions_without_a_word_is_refused(terminal: Terminal, documents: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("\ufeff\n \n", "utf-8")
    result = terminal("run", "resume?", "--docs", documents, "--instructions", tmp_path / "none.txt")
    refuses(terminal, result, "none.txt: holds nothing", "leave it out")


def test_folders_in_which_nothing_can_be_read_are_named_with_what_to_do(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "tune.mp3").write_bytes(b"ID3")
    result = terminal("run", "resume?", "--docs", tmp_path / "music", "--source", "local")
    refuses(terminal, result, "tune.mp3 (of no known kind", "`documents` (--docs) that can be read")


@pytest.mark.parametrize("rounds", ["many", "1:", "3:1", "0", "1:11"])
def test_rounds_that_are_no_range_are_refused(terminal: Terminal, documents: Path, rounds: str) -> None:
    refuses(terminal, terminal("run", "resume?", "--docs", documents, "--rounds", rounds), "round")


NO_NAMES = ["../up", "a/b", "a b", "", "a\n", "a\x00", "..", "x" * 65, "x" * 5000, "橋", "\u0430lpha", "ａ", "a\u200b"]
"""Paths, control characters, lengths, and letters that only look like those of names."""

RESERVED = ["CON", "nul", "Com7", "00000000-0000-0000-0000-000000000000", "__empty__"]
"""What Windows takes for a device, and what Redis checkpoints take for no id."""


@pytest.mark.parametrize("dataset", [*NO_NAMES, *RESERVED, "-rf"])
def test_a_dataset_that_is_no_name_is_refused(terminal: Terminal, documents: Path, dataset: str) -> None:
    words = ["a reserved name"] if dataset in RESERVED else ["1 to 64 letters"]
    refuses(terminal, terminal("run", "resume?", "--docs", documents, "--dataset", dataset), "dataset", *words)


@pytest.mark.parametrize(
    "thread", ["", "a\n", "a\x00", "a\u200b", "x" * 256, "x" * 5000, "__empty__", str(UUID(int=0))]
)
def test_a_thread_that_is_no_id_is_refused(terminal: Terminal, documents: Path, thread: str) -> None:
    refuses(terminal, terminal("run", "resume?", "--docs", documents, "--thread", thread), "1 to 255 printable")


@pytest.mark.parametrize("command", ["resume", "status", "delete", "report"])
@pytest.mark.parametrize("thread", [*NO_NAMES, *RESERVED])
def test_a_thread_that_is_no_name_is_refused_by_every_command(terminal: Terminal, command: str, thread: str) -> None:
    result = terminal(command, thread)

    assert result.code == 2
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert terminal.files() == []


@pytest.mark.parametrize("team", NO_NAMES)
def test_a_team_whose_id_is_no_name_is_refused_with_its_file(terminal: Terminal, documents: Path, team: str) -> None:
    own_file(terminal.workspace, "config/orchestrator.toml", '[[orchestrator.teams]]\nconfig = "config/teams/a.toml"\n')
    team_file = f'team_id = {json.dumps(team)}\nname = "A"\nsources = ["local"]\n'
    own_file(terminal.workspace, "config/teams/a.toml", team_file)

    result = terminal("run", "resume?", "--docs", documents)

    files = ("config/orchestrator.toml", "config/teams/a.toml")
    refuses(terminal, result, "config/teams/a.toml", "team_id", files=files)


@pytest.mark.parametrize("command", ["resume", "status", "leaderboard", "report", "delete"])
def test_an_unknown_thread_is_refused_with_a_way_to_find_the_known_ones(terminal: Terminal, command: str) -> None:
    refuses(terminal, terminal(command, "nobody"), "nobody", "contend runs")


def test_a_dataset_without_a_playbook_is_refused(terminal: Terminal) -> None:
    refuses(terminal, terminal("playbook", "show", "nothing"), "'nothing' has no playbook")


def test_a_limit_in_dollars_without_prices_is_refused_before_any_call(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)

    result = terminal("run", "resume?", "--docs", documents, "--source", "local", "--max-usd", "1")

    refuses(terminal, result, "max_usd", "gpt-5-mini", "[prices]")
    assert vendors.calls == []


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1", "much"])
@pytest.mark.parametrize("option", ["--max-usd", "--max-minutes"])
def test_a_limit_that_is_no_amount_is_refused(terminal: Terminal, documents: Path, option: str, limit: str) -> None:
    result = terminal("run", "resume?", "--docs", documents, f"{option}={limit}")
    refuses(terminal, result, option.removeprefix("--").replace("-", "_") if limit != "much" else option)


def test_a_price_that_is_no_amount_is_refused_with_its_file(terminal: Terminal, documents: Path) -> None:
    own_file(terminal.workspace, "config/models.toml", 'default = "m"\n[prices.m]\ninput = nan\noutput = 1\n')

    result = terminal("run", "resume?", "--docs", documents)

    refuses(terminal, result, "models.toml", "prices.m.input", files=("config/models.toml",))


def test_a_folder_for_copies_that_is_a_file_is_refused_before_the_run(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", "resume?", "--docs", documents, "--out", documents / "resume.md")
    refuses(terminal, result, "--out", "is a file")


def test_an_unusable_environment_variable_is_refused_by_its_name(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_MAX_RETRIES", "often")
    refuses(terminal, terminal("run", "resume?", "--docs", documents), "environment", "max_retries", "often")


@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "resume?", "--colour"), ("runn",), ("run", "resume?", "--language", "fr"), ("runs", "x")],
)
def test_a_usage_error_is_one_line_with_a_way_to_the_help(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    result = terminal(*arguments)

    refuses(terminal, result, ". See `contend", "--help`")
    assert "Value error" not in result.err
    assert ".. " not in result.err


@pytest.fixture
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not refused would take the place of the tests' process."""
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("a server was started"))


@pytest.mark.usefixtures("_no_server")
def test_others_can_reach_a_server_only_if_that_is_allowed(terminal: Terminal) -> None:
    refuses(terminal, terminal("serve", "--host", "192.0.2.7"), "192.0.2.7", "--expose")


@pytest.mark.usefixtures("_no_server")
def test_a_server_takes_no_other_port_than_the_one_it_tells(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        refuses(terminal, terminal("serve", "--port", str(port)), f"--port {port}", "name another port")
        result = terminal("serve", "--expose", "--host", "0.0.0.0", "--port", str(port))  # noqa: S104 - it is refused
        refuses(terminal, result, "--expose: set CONTEND_SERVER_TOKEN")  # before anything listens


def test_hostile_words_cannot_steer_the_terminal_through_an_error(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", "resume?", "--docs", documents, "--team", "a\x1b[31m\nerror: b\u202e")

    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "\x1b" not in result.err
    assert "\u202e" not in result.err


def test_the_real_command_refuses_on_one_line_too(workspace: Path, documents: Path) -> None:
    with start_command("run", "", "--docs", documents, "--workspace", workspace) as child:
        out, err = child.communicate(timeout=240)

    assert (child.returncode, out) == (2, "")
    assert err.startswith("error: theme is empty")
    assert err.count("\n") == 1
    assert not workspace.exists()
