"""What all models have in common, and the bounds of names, scores, times and texts."""

import importlib
import math
import pkgutil
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from contend import models
from contend.models.evaluation import MetricScore
from contend.models.options import TeamConfig
from contend.models.playbook import Bullet, Playbook, PlaybookSection
from contend.models.round import LeaderboardEntry, LiveLeaderboard, RoundPromptContext, RoundState
from contend.models.task import OrchestratorTask, TeamStatus

# What a schema does not tell of a field: None leaves it out.
KNOWN = {"url": "https://a.example/b", "published_date": "2026-01-02", "weight": 1.0, "function": None}
OF_GRAPHS = ("graph", "url", "assistant", "api_key_env")
OWN: dict[str, dict[str, Any]] = {"TeamConfig": {**dict.fromkeys(OF_GRAPHS), "sources": ["local"]}}
"""The same for fields of one model."""


def kinds() -> list[type[BaseModel]]:
    for module in pkgutil.iter_modules(models.__path__, "contend.models."):
        importlib.import_module(module.name)
    classes, todo = set[type[BaseModel]](), [BaseModel]
    while todo:
        new = set(todo.pop().__subclasses__()) - classes
        classes |= new
        todo += new
    own = [kind for kind in classes if kind.__module__.startswith("contend.models.") and kind.model_fields]
    own.remove(RoundPromptContext)  # it holds a live object
    return sorted(own, key=lambda kind: kind.__qualname__)


def sample(schema: dict[str, Any], shapes: dict[str, Any], *, full: bool) -> Any:  # noqa: ANN401, PLR0911 - any JSON, a return for each kind
    """A value of a JSON schema: with every field, or with the required ones only."""
    match schema:
        case {"$ref": name}:
            return sample(shapes[name.rpartition("/")[2]], shapes, full=full)
        case {"const": value}:
            return value
        case {"enum": choices}:
            return choices[0]
        case {"anyOf": choices} | {"oneOf": choices}:
            return sample(choices[0], shapes, full=full)
        case {"type": "object"}:
            properties, required = schema.get("properties", {}), schema.get("required", ())
            wanted = [name for name in properties if full or name in required or "const" in properties[name]]
            own = OWN.get(schema.get("title", ""), {})
            known = KNOWN | own
            names = [name for name in dict.fromkeys([*wanted, *own]) if known.get(name, 0) is not None]
            return {name: known.get(name) or sample(properties[name], shapes, full=full) for name in names}
        case {"type": "array", "prefixItems": items}:
            return [sample(item, shapes, full=full) for item in items]
        case {"type": "array", "items": items}:
            return [sample(items, shapes, full=full)] * max(1, schema.get("minItems", 0))
    return plain(schema)


def plain(schema: dict[str, Any]) -> object:
    match schema:
        case {"type": "integer" | "number"}:
            return schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        case {"format": "date-time"}:
            return "2026-01-02T03:04:05.678901Z"
        case {"format": "date"}:
            return "2026-01-02"
        case {"format": "uuid" | "uuid4"}:
            return "0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55"
        case {"type": "string"}:
            return "x" * max(1, schema.get("minLength", 0))
    return True if schema.get("type") == "boolean" else None


@pytest.mark.parametrize("full", [True, False], ids=["full", "sparse"])
@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__qualname__)
def test_a_model_refuses_unknown_fields_and_loads_again_unchanged_from_its_own_json(
    kind: type[BaseModel], *, full: bool
) -> None:
    schema = kind.model_json_schema()
    values = sample(schema, schema.get("$defs", {}), full=full)

    made = kind.model_validate(values)

    assert kind.model_validate_json(made.model_dump_json()) == made
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        kind.model_validate({**values, "surprise": 1})


def test_a_rounds_context_leaves_its_live_store_out_and_loads_again_without_it() -> None:
    past = RoundState(round_number=1, submission_content="Because.", evaluation_score=None)
    context = RoundPromptContext(
        user_prompt="Why?",
        round_number=2,
        round_history=[past],
        team_id="scout",
        team_name="Scout",
        execution_id="run",
        store=LiveLeaderboard(),
    )

    loaded = RoundPromptContext.model_validate_json(context.model_dump_json())

    assert "store" not in context.model_dump()
    assert loaded == context.model_copy(update={"store": None})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, 1.001, 87.3])
def test_a_score_that_is_none_is_refused(value: float) -> None:
    for make in (
        lambda: RoundState(round_number=1, submission_content="x", evaluation_score=value),
        lambda: MetricScore(name="coverage", score=value, weight=1),
        lambda: LeaderboardEntry(team_id="a", team_name="A", best_score=value),
    ):
        with pytest.raises(ValidationError, match="score"):
            make()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../a", "橋", "x" * 65, "a\n", "a.b"])
def test_a_name_that_forms_files_or_keys_is_refused_where_it_could_not(name: str) -> None:
    for make in (
        lambda: TeamConfig(team_id=name, name="A", sources=["local"]),
        lambda: TeamStatus(team_id=name, team_name="A"),
        lambda: Playbook(dataset=name),
    ):
        with pytest.raises(ValidationError):
            make()


@pytest.mark.parametrize("name", ["a", "A-1_b", "x" * 64])
def test_letters_digits_dashes_and_underscores_make_a_name(name: str) -> None:
    assert TeamStatus(team_id=name, team_name="A").team_id == Playbook(dataset=name).dataset == name


@pytest.mark.parametrize("name", ["", " ", "x" * 65, "a\nb", "a\x07"])
def test_a_section_whose_name_is_blank_long_or_unprintable_is_refused(name: str) -> None:
    for make in (
        lambda: PlaybookSection(name=name),
        lambda: Bullet(id="b", section=name, content="c", searchable_text="s"),
    ):
        with pytest.raises(ValidationError):
            make()


@pytest.mark.parametrize("name", ["書き方", "How to write: 1/2 (draft)", "橋" * 64])
def test_a_section_may_have_any_printable_name(name: str) -> None:
    assert (
        PlaybookSection(name=name).name
        == Bullet(id="b", section=name, content="c", searchable_text="s").section
        == name
    )


def test_times_need_a_zone_and_are_kept_in_utc() -> None:
    tokyo = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=9)))

    started_at = TeamStatus(team_id="a", team_name="A", started_at=tokyo).started_at

    assert started_at == tokyo
    assert started_at is not None
    assert started_at.tzinfo is UTC
    with pytest.raises(ValidationError, match="timezone"):
        TeamStatus(team_id="a", team_name="A", started_at=tokyo.replace(tzinfo=None))


def test_a_task_draws_a_random_id_and_takes_no_other_kind() -> None:
    values = {"user_prompt": " Why? ", "team_configs": ["a.toml"], "timeout_seconds": 1}
    one, other = (OrchestratorTask.model_validate(values) for _ in range(2))

    assert one.task_id.version == 4
    assert one.task_id != other.task_id
    assert one.user_prompt == "Why?"
    with pytest.raises(ValidationError, match="version 4"):
        OrchestratorTask.model_validate({**values, "task_id": "0b9f3c6e-4f43-1b2c-9a3a-0f6f2f1f7a55"})
