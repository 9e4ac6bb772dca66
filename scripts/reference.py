"""The guide's reference pages, made from the code: options, outcome, TOML keys, variables, HTTP routes.

`make docs` writes them; a test compares the committed pages with what this gives.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from contend.api import research_app
from contend.app import RunOutcome
from contend.approval import Question
from contend.models.evaluation import CriteriaFile, WrittenCriterion
from contend.models.options import EvaluatorConfig, JudgmentConfig, MetricConfig, RunOptions, TeamConfig
from contend.models.record import IDENTIFIER_PATTERN
from contend.models.round import RoundPromptConfig
from contend.models.task import ExecutionSummary, RoundResult, RunUsage, TeamStatus
from contend.prompts.library import PromptBuilderSettings
from contend.settings import Settings, load_settings
from contend.settings.files import (
    ModelPrice,
    ModelsConfig,
    OrchestratorSettings,
    ProviderConfig,
    SourceConfig,
    TeamReference,
)

ROOT = Path(__file__).parents[1]
_LEFT_OUT = "Left out: "
"""Where a field's description says so, what follows is its default."""
_THOUSAND = 1000
_NAMES = {"integer": "whole number", "number": "number", "boolean": "yes or no", "string": "text"}
_PATTERNS = {IDENTIFIER_PATTERN: "name", r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "`module:attribute`"}
_FORMATS = {"uuid": "UUID", "uuid4": "UUID", "date-time": "time in UTC", "path": "path"}
_NETWORKS = {"ipv4network", "ipv6network"}

Schema = Mapping[str, Any]


def type_text(schema: Schema) -> str:
    """A JSON schema as people say it: what it is and within which limits."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if parts := schema.get("anyOf"):
        if {part.get("format") for part in parts} == _NETWORKS:
            return "network"
        return " or ".join(dict.fromkeys(type_text(part) for part in parts if part.get("type") != "null"))
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{value}`" for value in values)
    return _plain_type(schema)


def _plain_type(schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_plural(type_text(schema.get('items', {})))}{_limits(schema, 'Items', 'entries')}"
    if kind == "object":
        return _table_type(schema)
    name = _PATTERNS.get(schema.get("pattern", "")) or _FORMATS.get(schema.get("format", ""))
    return f"{name or _NAMES.get(str(kind), 'value')}{_limits(schema, 'Length', 'characters')}{_range(schema)}"


def _table_type(schema: Schema) -> str:
    values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    kinds = [f" of {_plural(type_text(value))}" for value in values if isinstance(value, Mapping) and value]
    keys = schema.get("propertyNames", {}).get("enum", ())
    return f"table{''.join(kinds)}{' by ' if keys else ''}{', '.join(f'`{key}`' for key in keys)}"


def _plural(kind: str) -> str:
    head, comma, limits = kind.partition(",")
    return kind if kind.startswith("`") else f"{head}s{comma}{limits}"


def _limits(schema: Schema, of: str, unit: str) -> str:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    if most is None:
        return f", {least} {unit} at least" if least and least > 1 else ""
    return f", {least} to {most:,} {unit}" if least else f", {most:,} {unit} at most"


def _range(schema: Schema) -> str:
    least, most, above = (_number(schema.get(key)) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if most:
        return f", {least} to {most}" if least else f", above {above} to {most}"
    if least:
        return f", {least} or more"
    return f", above {above}" if above else ""


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _default_text(schema: Schema, *, required: bool, shipped: object = None) -> str:
    """A field's default: as its description says it, else the shipped file's or the model's own."""
    if left_out := schema.get("description", "").partition(_LEFT_OUT)[2]:
        return str(left_out).removesuffix(".")
    if required and shipped is None:
        return "needed"
    value = schema.get("default") if shipped is None else shipped
    if isinstance(value, dict | list):
        return "the shipped file's" if value else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}" if value < _THOUSAND else f"{value:,}"
    return f"`{value}`" if value else ""


def fields_table(model: type[BaseModel], *, shipped: Mapping[str, Any] | None = None, prefix: str = "") -> str:
    """A table of a model's fields. `shipped`: values of the shipped file, which win over the model's defaults.

    With a prefix the keys are environment variables.
    """
    schema, values = model.model_json_schema(mode="validation"), shipped or {}
    rows = ["| Key | Type | Default | Meaning |", "|---|---|---|---|"]
    for name, field in schema["properties"].items():
        default = _default_text(field, required=name in schema.get("required", ()), shipped=values.get(name))
        key = f"{prefix}{name.upper()}" if prefix and not name.isupper() else name
        if not (name in model.model_fields and model.model_fields[name].exclude):
            rows.append(_row(f"`{key}`", type_text(field), default, _meaning(field)))
    return "\n".join(rows)


def values_table(model: type[BaseModel]) -> str:
    """A table of what an object holds, of which nobody sets anything."""
    fields = model.model_json_schema(mode="validation")["properties"].items()
    rows = [_row(f"`{name}`", type_text(field), _meaning(field)) for name, field in fields]
    return "\n".join(["| Field | Type | Meaning |", "|---|---|---|", *rows])


def _meaning(field: Schema) -> str:
    return str(field.get("description", "")).partition(_LEFT_OUT)[0]


def _row(*cells: str) -> str:
    texts = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |"


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _shipped(name: str, *keys: str) -> Mapping[str, Any]:
    values = tomllib.loads((ROOT / "config" / f"{name}.toml").read_text("utf-8"))
    for key in keys:
        values = values.get(key, {})
    return values


_OUTCOME_PARTS: tuple[type[BaseModel], ...] = (ExecutionSummary, TeamStatus, RoundResult, RunUsage, Question)


_OPTIONS_PAGE = """\
# Reference of contend: options, outcome, configuration

Made from the code by `make docs`; edit docstrings, not this page. [Configuration](configuration.md) says where each
value comes from and which one wins. A `name` has 1 to 64 letters, digits, underscores or hyphens.

## RunOptions

What a run is asked to do: `contend.RunOptions` in Python, the context of an Agent Server run, `options` of the HTTP
API, `[options]` in `config/orchestrator.toml`, or the key in capitals with `CONTEND_` before it as an environment
variable. On the command line most are options of the same name, such as `--max-usd`.

{options}

## Outcome

What `contend.run`, `contend.resume`, `contend.research` and `contend.status` return: a `contend.RunOutcome`. Its
property `exit_code` is the command line's [exit code](getting-started.md#exit-codes).

{outcome}

## TOML keys

Files of the workspace; what they leave out comes from the shipped ones. An unknown key is refused.

{toml}

## Environment variables

They may also stand in a file `.env` in the working directory; a variable of the environment wins over it, and an empty
one turns off what the file sets. Lists are separated by commas.

{environment}
"""


def options_page() -> str:
    """Run options, what a run gives back, TOML keys, environment variables."""
    parts = [
        f"### {part.__name__}\n\n{_first_paragraph(part.__doc__)}\n\n{values_table(part)}" for part in _OUTCOME_PARTS
    ]
    return _OPTIONS_PAGE.format(
        options=fields_table(RunOptions),
        outcome="\n\n".join([values_table(RunOutcome), *parts]),
        toml="\n\n".join(f"### {title}\n\n{table}" for title, table in _toml_tables()),
        environment=fields_table(Settings, prefix="CONTEND_"),
    )


def _toml_tables() -> Iterator[tuple[str, str]]:
    yield (
        "`config/orchestrator.toml`, `[orchestrator]`",
        fields_table(OrchestratorSettings, shipped=_shipped("orchestrator", "orchestrator")),
    )
    yield "`config/orchestrator.toml`, `[[orchestrator.teams]]`", fields_table(TeamReference)
    yield "`config/teams/NAME.toml`", fields_table(TeamConfig)
    yield (
        "`config/evaluator.toml`, `[evaluator]`",
        fields_table(EvaluatorConfig, shipped=_shipped("evaluator", "evaluator")),
    )
    yield "`config/evaluator.toml`, `[[evaluator.metrics]]`", fields_table(MetricConfig)
    yield "`config/judgment.toml`, `[judgment]`", fields_table(JudgmentConfig, shipped=_shipped("judgment", "judgment"))
    yield "`config/models.toml`", fields_table(ModelsConfig, shipped=_shipped("models"))
    yield "`config/models.toml`, `[prices.NAME]`", fields_table(ModelPrice)
    yield "`config/models.toml`, `[providers.NAME]`", fields_table(ProviderConfig)
    yield "`config/sources.toml`, `[sources.NAME]`", fields_table(SourceConfig)
    yield "`config/prompt_builder.toml`", fields_table(PromptBuilderSettings)
    yield (
        "`config/prompt_builder.toml`, `[round_prompt]`",
        fields_table(RoundPromptConfig, shipped=_shipped("prompt_builder", "round_prompt")),
    )
    yield "`criteria/NAME.toml`", fields_table(CriteriaFile)
    yield "`criteria/NAME.toml`, `[[criteria]]`", fields_table(WrittenCriterion)


_HTTP_PAGE = """\
# Reference of contend: the HTTP API

Made from the code by `make docs`; edit docstrings, not this page. [The HTTP API](http-api.md) says how to use it. A
server shows the same, with every field of every answer, under `/docs` and `/openapi.json`.

## Routes

| Route | Does | Takes | Gives |
|---|---|---|---|
{routes}

## What a client sends

{sent}

## What a client gets

| Model | Is | Fields |
|---|---|---|
{given}
"""


def http_page() -> str:
    """The routes of the HTTP API, what they take and what they give."""
    api = research_app(load_settings()).openapi()
    schemas = api["components"]["schemas"]
    routes = [(method, path, route) for path, methods in api["paths"].items() for method, route in methods.items()]
    sent = dict.fromkeys(body for _, _, route in routes if (body := _body(route)))
    given = dict.fromkeys(name for _, _, route in routes if (name := _gives(route)[1]) in schemas)
    bodies = [f"### {name}\n\n{_about(schemas[name])}\n\n{_body_table(schemas[name])}" for name in sent]
    return _HTTP_PAGE.format(
        routes="\n".join(_route_row(*route) for route in routes),
        sent="\n\n".join(bodies),
        given="\n".join(_row(f"`{name}`", _about(schemas[name]), _field_names(schemas[name])) for name in given),
    )


def _route_row(method: str, path: str, route: Schema) -> str:
    queries = [query for query in route.get("parameters", ()) if query["in"] != "path"]
    takes = [f"`{body}`"] if (body := _body(route)) else []
    takes += [f"`{query['name']}` ({type_text(query['schema'])})" for query in queries]
    code, name = _gives(route)
    gives = f"`{name}`" if name else ""
    success = gives if code == "200" else f"{gives} ({code})".strip()
    return _row(f"`{method.upper()} {path}`", _first_paragraph(route.get("description")), ", ".join(takes), success)


def _body(route: Schema) -> str:
    schema = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _gives(route: Schema) -> tuple[str, str]:
    """The code of a success, and the model of its JSON."""
    code = min(code for code in route["responses"] if code.startswith("2"))
    content = route["responses"][code].get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    return code, reference.rpartition("/")[2] or ", ".join(content)


def _about(schema: Schema) -> str:
    return _first_paragraph(schema.get("description"))


def _field_names(schema: Schema) -> str:
    return ", ".join(f"`{name}`" for name in schema.get("properties", ()))


def _body_table(schema: Schema) -> str:
    rows = ["| Field | Type | Default |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        default = _default_text(field, required=name in schema.get("required", ()))
        rows.append(_row(f"`{name}`", type_text(field), default))
    return "\n".join(rows)


PAGES = {"reference.md": options_page, "reference-http.md": http_page}
"""The pages under `docs/`, each by what makes it."""

if __name__ == "__main__":
    for name, page in PAGES.items():
        (ROOT / "docs" / name).write_text(page(), "utf-8")
