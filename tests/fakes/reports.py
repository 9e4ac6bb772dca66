"""Reports and what they are made of."""

from datetime import UTC, datetime

from contend.models.record import Language
from contend.models.research import CitedSentence, Draft, Passage, ResearchReport, SearchResult, flat_section
from contend.models.round import LeaderboardEntry
from contend.models.task import RunUsage
from contend.report import ReportHead, build_report

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
FILLER = "Wind that passes a cable sheds vortices on alternating sides, and each vortex pushes the cable sideways"


def source(name: str, **fields: object) -> SearchResult:
    defaults = {"title": f"Title {name}", "summary": f"Summary of {name}.", "source": "tavily"}
    return SearchResult.model_validate({**defaults, "url": f"https://{name}.example/page", **fields})


def passage(name: str) -> Passage:
    return Passage(id=name, url=f"https://{name}.example/page", title=f"Title {name}")


def sentence(text: str, *passages: str) -> CitedSentence:
    return CitedSentence(text=text, passages=list(passages))


def draft(**parts: list[CitedSentence]) -> Draft:
    defaults = {
        "summary": [sentence(f"{FILLER}.", "a")],
        "findings": [sentence("The pitch follows the wind speed.", "a")],
        "analysis": [sentence(f"{FILLER}, said report {number}.", "a") for number in range(3)],
    }
    fields = defaults | parts
    section = flat_section(fields.pop("analysis"))
    return Draft(**fields, sections=[section])


def build(
    parts: Draft,
    *,
    names: str = "abc",
    language: Language = "en",
    theme: str = "Why do bridges hum?",
) -> ResearchReport:
    return build_report(
        parts,
        [passage(name) for name in names],
        [source(name) for name in names],
        theme=theme,
        language=language,
        generated_at=NOON,
    )


def finished_report(language: Language = "en") -> ResearchReport:
    """A report with every part, and sources of every kind."""
    sources = [
        source("a", source="arxiv", published_date="2023-01-04", authors=["A. Weiss", "Karo Tanaka"]),
        source("b", title="Slats & <b>rails</b>"),
        source("c", source="local", url="file:///home/ann/My%20notes/damping.md"),
    ]
    passages = [Passage(id=name, url=one.url, title=one.title) for name, one in zip("abc", sources, strict=True)]
    english = draft(
        findings=[sentence("The pitch follows the wind speed.", "a", "c"), sentence("It is loud.")],
        limits=[sentence("Few bridges were measured.", "a")],
    )
    japanese = draft(
        summary=[
            sentence(
                "吊り橋が鳴るのは、細い部材から渦が一定の周期で放出され、部材の固有振動数と一致するためである。", "a"
            )
        ],
        findings=[sentence("薄い板はケーブルより大きな音を出す。", "c")],
        analysis=[
            sentence(f"円柱を過ぎる風は左右交互に渦を放出し、{part}は円柱を横に押す。" * 2, "a") for part in "渦風波"
        ],
        limits=[sentence("冬季の測定は少ない。", "a")],
    )
    parts, theme = (english, "Why do bridges hum?") if language == "en" else (japanese, "橋はなぜ鳴るのか。")
    return build_report(parts, passages, sources, theme=theme, language=language, generated_at=NOON)


def run_head(**fields: object) -> ReportHead:
    defaults = ReportHead(
        status="partial",
        winner="Scout",
        best_score=0.8734,
        leaderboard=[
            LeaderboardEntry(
                rank=1, team_id="scout", team_name="Scout", best_score=0.8734, best_round=2, latest_round=2
            ),
            LeaderboardEntry(rank=2, team_id="skeptic", team_name="Skep|tic", latest_round=1),
            LeaderboardEntry(team_id="scholar", team_name="Scholar"),
        ],
        sources_off={"tavily": "no key"},
        warnings=["Judge and writer are the same model."],
        models={"writer": "gpt-x"},
        usage=RunUsage(requests=42, input_tokens=120_345, output_tokens=9876, cost_usd=0.1234),
        seconds=72.3,
        notes=["Composed by extraction; no language model."],
        unverified=["The pitch follows the wind speed [1]."],
    )
    return defaults.model_copy(update=fields)
