"""What a caller may set for a run, and the same with every value settled."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, create_model, model_validator

from contend.models.evaluation import CODE_METRIC_NAMES, CriteriaFile, MetricScore
from contend.models.record import FunctionName, Identifier, Language, Record, Score
from contend.models.round import RoundPromptConfig
from contend.text import WORDS

Role = Literal["supervisor", "writer", "reviewer", "evaluator", "judge", "reflector", "curator"]
INSTRUCTIONS_CHARACTERS = 20_000
Instructions = Annotated[str, StringConstraints(strip_whitespace=True, max_length=INSTRUCTIONS_CHARACTERS)]
Approval = Literal["plan", "report", "playbook"]
Depth = Literal["auto", "quick", "standard", "deep"]
Length = Literal["brief", "standard", "long"]
Rounds = Annotated[int, Field(ge=1, le=10)]
ReadTop = Annotated[int, Field(ge=0, le=20)]
Steps = Annotated[int, Field(ge=1, le=60)]
EvidenceTokens = Annotated[int, Field(ge=2_000, le=400_000)]


LENGTH_WORDS: Mapping[Length, int] = {"brief": 500, "standard": 1500, "long": 3500}
"""About how many words a report of a length has."""


class DepthDefaults(NamedTuple):
    """What a depth stands for where no option says otherwise. `teams`: how many enter at most; None for all.

    `mends_only`: one more round than `max_rounds` follows, which only mends.
    """

    teams: int | None
    max_rounds: int
    max_iterations: int
    max_steps: int
    synthesis: bool
    length: Length
    timeout_per_team_seconds: int
    mends_only: bool = False


DEPTHS: Mapping[Depth, DepthDefaults] = {
    "auto": DepthDefaults(3, 2, 2, 20, synthesis=True, length="standard", timeout_per_team_seconds=2400),
    "quick": DepthDefaults(
        1, 1, 2, 10, synthesis=False, length="standard", timeout_per_team_seconds=1200, mends_only=True
    ),
    "standard": DepthDefaults(3, 2, 2, 20, synthesis=True, length="standard", timeout_per_team_seconds=2400),
    "deep": DepthDefaults(None, 3, 2, 30, synthesis=True, length="long", timeout_per_team_seconds=3600),
}


class RecordedReplies(Record):
    """Where a run's replies come from that plays a recording; `calls` and `tokens` are what they cost once."""

    recorded_on: date
    model: str
    calls: int = Field(ge=0)
    tokens: int = Field(ge=0)


class RunOptions(Record):
    """Options of one run. What is left out comes from the environment, the workspace's TOML, then the defaults."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    """What stands below a field describes it in Studio and in the API."""

    instructions: Instructions | None = None
    """Further instructions, at most 20,000 characters. Left out: none."""
    criteria: Identifier | None = None
    """Criteria that people wrote: NAME of criteria/NAME.toml in the workspace. Left out: a model sets them."""
    depth: Depth | None = None
    """auto: one team, more where needed; quick: one team, which mends; standard: three; deep: all. Left out: auto."""
    length: Length | None = None
    """Words of the report: brief (about 500), standard (1,500), long (3,500). Left out: standard, long for deep."""
    teams: list[Identifier] | None = None
    """Team ids to enter. Left out: as many as `depth` says."""
    min_rounds: Rounds | None = None
    """Rounds each team plays at least (1-10). Left out: 1."""
    max_rounds: Rounds | None = None
    """Rounds each team plays at most (1-10). Left out: as `depth` says."""
    max_iterations: Rounds | None = None
    """Drafts within a round at most (1-10); all but the last are reviewed. Left out: as `depth` says, else 5."""
    read_top: ReadTop | None = None
    """Pages and papers of other sources read in full in a step at most (0-20). Left out: 5."""
    max_steps: Steps | None = None
    """Steps of search, find and read in a round at most (1-60). Left out: as `depth` says, else 20."""
    evidence_tokens: EvidenceTokens | None = None
    """Tokens of passages that a team holds at most, within two fifths of its model's context. Left out: 60,000."""
    sources: list[str] | None = None
    """Sources to use: local, arxiv, tavily. Left out: all."""
    documents: list[str] | None = None
    """Files or folders of your own documents. Left out: none."""
    dataset: Identifier | None = None
    """The playbook to start from and to learn into. Left out: default."""
    language: Literal["auto", "en", "ja"] | None = None
    """Language of prompts and report. Left out: auto, the question's."""
    model: str | None = None
    """Model for every role. Left out: the server's configuration."""
    models: dict[Role, str] | None = None
    """Models for single roles. Left out: `model`."""
    max_tokens: int | None = Field(None, ge=1)
    """Tokens the whole run may use. Left out: no limit."""
    max_usd: float | None = Field(None, gt=0)
    """Money the whole run may cost; needs known prices. Left out: no limit."""
    max_minutes: float | None = Field(None, gt=0)
    """Active minutes the whole run may take. Left out: no limit."""
    max_calls: int | None = Field(None, ge=1)
    """Model calls the whole run may make. Left out: no limit."""
    target_score: Score | None = None
    """A team stops when it reaches this score (0-1). Left out: no score stops it."""
    approve: list[Approval] | None = None
    """What a person approves first: plan, report, playbook. Left out: nothing."""
    synthesis: bool | None = None
    """An editor merges the teams' best parts into one report. Left out: as `depth` says."""
    learn: bool | None = None
    """Write lessons into the playbook at the end. Left out: yes."""
    playbook: bool | None = None
    """Start from the lessons of the playbook. Left out: yes."""
    lesson_tokens: int | None = Field(None, ge=0, le=8000)
    """Tokens of lessons that a run starts with. Left out: 600."""


def _options_without(name: str, about: str, others: frozenset[str]) -> type[Record]:
    """`RunOptions` without some of its fields; the others are its own."""
    fields: dict[str, Any] = {
        key: (field.annotation, field) for key, field in RunOptions.model_fields.items() if key not in others
    }
    only_plans = Field(None, description="What a person approves first: plan. Left out: nothing.")
    fields["approve"] = (list[Literal["plan"]] | None, only_plans)
    return create_model(name, __base__=Record, __doc__=about, **fields)


_OF_CONTESTS = frozenset(["dataset", "learn", "lesson_tokens", "playbook", "synthesis"])
_OF_ROUNDS = frozenset(["criteria", "depth", "max_rounds", "min_rounds", "target_score", "teams"])
TeamOptions = _options_without("TeamOptions", "Options of a team on its own.", _OF_CONTESTS)
ResearchOptions = _options_without(
    "ResearchOptions", "Options of one round's research on its own.", _OF_CONTESTS | _OF_ROUNDS
)


def run_options(values: object) -> RunOptions:
    """The options that a graph was given as its context, which may be some of a run's.

    In somebody else's graph the context is its parent's, and another one is no concern of ours.
    """
    return RunOptions.model_validate(values.model_dump(exclude_unset=True) if isinstance(values, Record) else {})


class JudgmentConfig(Record):
    """When a team stops. Scores and shares are 0.0 to 1.0."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    target_score: Score | None = None
    """A team stops when it reaches this score. Left out: no score stops it."""
    min_improvement: Score = 0.01
    """A smaller gain counts as none."""
    patience: int = Field(default=2, ge=1, le=10)
    """Rounds without a gain after which a team stops."""
    budget_reserve: Score = 0.15
    """A team stops when less than this share of a budget is left."""
    confidence_threshold: Score = 0.5
    """The round judge's "stop" is followed from this confidence on."""


class MetricConfig(Record):
    """One metric: by a model with a rubric, by contend's own code, or by a Python function of the workspace."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Identifier
    """The metric's name."""
    kind: Literal["model", "code", "python"] = "model"
    """Who scores. Left out: `model`, or `python` with a `function`."""
    weight: Score | None = None
    """Its share of a round's score; for all metrics (sum 1) or for none. Left out: equal weights."""
    model: str | None = None
    """Its own judge. Left out: the run's."""
    rubric: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)] | None = None
    """The rubric's text, or the name of a file in `prompts/rubrics`. Left out: the file of the metric's name."""
    function: FunctionName | None = None
    """A function in a Python file of the workspace, as `module:function`. Left out: none; code may bring an object."""
    timeout_seconds: float | None = Field(default=None, gt=0, le=600)
    """Seconds that the function may take. Left out: those that it sets itself, else 30."""

    @model_validator(mode="before")
    @classmethod
    def _function_says_the_kind(cls, values: object) -> object:
        return {"kind": "python", **values} if isinstance(values, dict) and values.get("function") else values

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "MetricConfig":
        if self.kind != "python" and self.function is not None:
            raise ValueError(f'metrics: {self.name}: `function` belongs to kind "python"')
        if self.kind != "model" and (self.model or self.rubric):
            raise ValueError(f'metrics: {self.name}: `model` and `rubric` belong to kind "model"')
        return self

    def with_score(self, score: float | None, reason: str, **more: Any) -> MetricScore:  # noqa: ANN401 - its other fields
        """The metric's score with its weight."""
        return MetricScore(name=self.name, score=score, reason=reason, weight=self.weight or 0.0, **more)


NEAR_TIE = 0.02
"""A difference of two scores, 0.0 to 1.0, that does not yet say which is better."""
WEIGHT_TOLERANCE = 0.001
"""How far weights may be from summing to 1: thirds are written as 0.333."""


class EvaluatorConfig(Record):
    """The metrics that score each submission, and how."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    samples: int = Field(default=1, ge=1, le=9)
    """How often each metric asks a model; the median counts."""
    expected_score: bool = False
    """Take the mean of the percentages that the judge found likely, if the endpoint gives log-probabilities."""
    near_tie: Score = NEAR_TIE
    """Teams this near to the best score are compared with it in pairs."""
    metrics: list[MetricConfig] = Field(min_length=1, max_length=20)
    """The metrics."""

    @model_validator(mode="after")
    def _weights_add_up(self) -> "EvaluatorConfig":
        names = [metric.name for metric in self.metrics]
        if len(set(names)) != len(names):
            raise ValueError(f"metrics: names must differ: {', '.join(names)}")
        weights = [metric.weight for metric in self.metrics if metric.weight is not None]
        if weights and len(weights) != len(self.metrics):
            raise ValueError("metrics: give a weight to every metric or to none")
        if weights and abs(sum(weights) - 1) > WEIGHT_TOLERANCE:
            raise ValueError(f"metrics: weights sum to {sum(weights):g}, not to 1")
        return self

    @property
    def all_metrics(self) -> list[MetricConfig]:
        """The metrics listed, then those by code that are not: they are measured all the same, and weigh nothing.

        Each has its weight.
        """
        weights, names = self.weights(), {metric.name for metric in self.metrics}
        others = [MetricConfig(name=name, kind="code") for name in CODE_METRIC_NAMES if name not in names]
        return [each.model_copy(update={"weight": weights[each.name]}) for each in [*self.metrics, *others]]

    def without(self, name: str) -> "EvaluatorConfig":
        """The same without a metric, and the others as heavy among each other; unchanged if nothing else weighs."""
        rest = [metric for metric in self.metrics if metric.name != name]
        total = sum(self.weights()[metric.name] for metric in rest)
        if not total or len(rest) == len(self.metrics):
            return self
        metrics = [each.model_copy(update={"weight": each.weight and each.weight / total}) for each in rest]
        return self.model_copy(update={"metrics": metrics})

    def weights(self) -> dict[str, float]:
        """The weight of each metric measured; equal among those listed where none is given."""
        share = 1 / len(self.metrics)
        weights = {metric.name: share if metric.weight is None else metric.weight for metric in self.metrics}
        return dict.fromkeys(CODE_METRIC_NAMES, 0.0) | weights


def _present_kind(kind: object) -> object:
    """Stored runs and workspaces of earlier releases call a search `quotes`."""
    return "search" if kind == "quotes" else kind


GRAPH_ENTRY = 'kind = "graph": give `graph` as module:attribute, or `url` and `assistant`'


class TeamConfig(Record):
    """One team. A team of kind `graph` has a `graph`, or a `url` and an `assistant`; it needs no sources."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    team_id: Identifier
    """Unlike any other team's."""
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
    """What people see."""
    kind: Annotated[Literal["research", "search", "graph"], BeforeValidator(_present_kind)] = "research"
    """`research` competes, `graph` is a graph of your own, `search` shows passages without a model."""
    graph: FunctionName | None = None
    """The graph in a Python file of the workspace, as `module:attribute`. Left out: none; code may bring one."""
    url: str | None = None
    """The Agent Server that has the graph. Left out: none."""
    assistant: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    """The graph's name on that server. Left out: none."""
    api_key_env: str | None = None
    """The variable that holds that server's key. Left out: no key."""
    stance: str = Field("", max_length=2000)
    """How it goes about its research. Left out: the file `prompts/stance/TEAM_ID.md.j2`."""
    sources: list[str] = Field(default_factory=list)
    """In order of preference: results of the first weigh most."""
    needs: list[str] = Field(default_factory=list)
    """The team enters if one of these is on. Left out: one of `sources`."""
    query_hints: list[Annotated[str, Field(max_length=40)]] = Field(default_factory=list, max_length=10)
    """Words that suit its searches. Left out: none."""
    max_iterations: Rounds | None = None
    """Drafts within a round at most. Left out: as the depth says."""
    models: dict[Role, str] = Field(default_factory=dict)
    """Its own supervisor, writer and reviewer. Left out: the run's."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "TeamConfig":
        keys = [name for name in ("graph", "url", "assistant", "api_key_env") if getattr(self, name)]
        if self.kind != "graph":
            if keys:
                raise ValueError(f'{keys[0]}: belongs to kind = "graph"')
            if not self.sources:
                raise ValueError("sources: name one at least")
        elif (self.graph and self.url) or bool(self.url) != bool(self.assistant):
            raise ValueError(GRAPH_ENTRY)
        elif self.api_key_env and not self.url:
            raise ValueError("api_key_env: belongs to `url`")
        return self


class ContestLimits(Record):
    """Limits of a contest. `max_rounds` and `timeout_per_team_seconds` follow a run's depth where nobody sets them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    min_rounds: Rounds = 1
    """Rounds of each team at least."""
    max_rounds: Rounds = 3
    """Rounds of each team at most. Left out: as the depth says."""
    timeout_per_team_seconds: int = Field(default=600, gt=0)
    """Active seconds of a team at most. Left out: as the depth says."""
    max_retries_per_team: int = Field(default=0, ge=0)
    """Repeats of a team's failed round."""
    max_concurrent_teams: int = Field(default=8, ge=1)
    """Teams at work at the same time."""


class ResolvedOptions(ContestLimits):
    """The options of a run with every value settled; kept in the run's state, which every node reads."""

    instructions: str = ""
    criteria: str = ""
    """The name of a file of criteria in the workspace; "" where a model sets them."""
    criteria_file: CriteriaFile | None = None
    """What that file held when the run opened."""
    depth: Depth = "standard"
    explicit: list[Literal["teams", "synthesis"]] = Field(default_factory=list)
    """Which of these somebody chose: `auto` does not decide on it."""
    length: Length = "standard"
    synthesis: bool = True
    mends_only: bool = False
    """Rounds after the first only mend what judges named: no research, no reviewer, and no round judge."""
    max_iterations: Rounds = 5
    read_top: ReadTop = 5
    max_steps: Steps = 20
    evidence_tokens: EvidenceTokens = 60_000
    sources: list[str] = Field(default_factory=list)
    documents: list[str] = Field(default_factory=list)
    dataset: Identifier = "default"
    language: Language = "en"
    models: dict[Role, str] = Field(default_factory=dict)
    """Empty in a run without a language model: its team searches."""
    contexts: dict[str, int] = Field(default_factory=dict)
    """The tokens that each model can read, by its name."""
    recorded: RecordedReplies | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    max_minutes: float | None = None
    max_calls: int | None = None
    approve: list[Approval] = Field(default_factory=list)
    learn: bool = True
    playbook: bool = True
    lesson_tokens: int = Field(default=600, ge=0, le=8000)
    judgment: JudgmentConfig = Field(default_factory=JudgmentConfig)
    evaluator: EvaluatorConfig
    round_prompt: RoundPromptConfig = Field(default_factory=RoundPromptConfig)

    def model_name(self, role: Role, *, team: TeamConfig | None = None, name: str | None = None) -> str:
        """The name of the model that plays a role: the team's own, else `name`, else the run's."""
        default = name or self.models[role]
        return default if team is None else team.models.get(role, default)

    @property
    def begins_with_one(self) -> bool:
        """Whether one team plays first, and others only where it leaves something open."""
        return self.depth == "auto" and "teams" not in self.explicit

    @model_validator(mode="after")
    def _rounds_in_order(self) -> "ResolvedOptions":
        if self.min_rounds > self.max_rounds:
            bounds = f"min_rounds {self.min_rounds} is above max_rounds {self.max_rounds}"
            raise ValueError(f"rounds: {bounds}: raise the one or lower the other")
        return self

    @property
    def model_names(self) -> dict[str, str]:
        """The models by role; under `replies` in the run's language when and by which model those were recorded."""
        names: dict[str, str] = {str(role): name for role, name in self.models.items()}
        if self.recorded:
            recorded = WORDS[self.language].recorded
            names["replies"] = recorded.format(date=self.recorded.recorded_on, model=self.recorded.model)
        return names
