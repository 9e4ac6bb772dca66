"""The values of prompts as the extractive model reads them; what only a language model can use is left aside."""

from pydantic import BaseModel


class PastRound(BaseModel):
    uncovered: list[str] = []


class PlanValues(BaseModel):
    theme: str
    instructions: str = ""
    query_hints: list[str] = []
    history: list[PastRound] = []


class PassageValues(BaseModel):
    """A passage on offer. `title` stands for its document."""

    number: int
    title: str
    text: str


class WriteValues(BaseModel):
    theme: str
    points: list[str] = []
    passages: list[PassageValues] = []
    best_draft: str = ""


class ReviewValues(BaseModel):
    theme: str
    points: list[str] = []
    draft: str
    iteration: int = 1


class MetricValues(BaseModel):
    metric: str
    user_query: str
    submission: str
    points: list[str] = []


class JudgeValues(BaseModel):
    scores: list[float | None] = []


class PlayedRound(BaseModel):
    team_id: str
    round_number: int
    score: float | None = None
    used: list[str] = []
    metrics: dict[str, float | None] = {}
    queries: list[str] = []
    exit_reason: str | None = None


class KnownBullet(BaseModel):
    id: str
    content: str


class ReflectValues(BaseModel):
    rounds: list[PlayedRound] = []
    bullets: list[KnownBullet] = []


class GivenInsight(BaseModel):
    key_insight: str
    correct_approach: str = ""


class GivenSection(BaseModel):
    name: str
    description: str = ""


class CurateValues(BaseModel):
    insights: list[GivenInsight] = []
    sections: list[GivenSection] = []
    bullets: list[KnownBullet] = []
