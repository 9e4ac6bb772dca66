"""How long prompts get over ten rounds: of a team's brief and of each call that holds it, in English and Japanese.

`python benchmarks/prompts.py [--quick]`: characters of the user's message. Submissions hold 4,000 characters, feedback
600; twelve teams are ranked, and a team holds as many passages as a model of 16,000 tokens lets it. `--quick` is the
same: it takes no time.
"""

import argparse
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import NamedTuple

from contend.llm import LEAST_CONTEXT_TOKENS, ContextProfile
from contend.models.record import Language
from contend.models.research import Passage
from contend.models.round import LiveLeaderboard, RoundPromptContext, RoundState
from contend.prompts import PromptBuilderSettings, PromptLibrary, PromptValues, UserPromptBuilder
from contend.prompts.judging import JudgePrompt
from contend.prompts.library import LANGUAGES
from contend.prompts.research import (
    PartLength,
    ReportPrompt,
    ResearcherHead,
    ResearchHead,
    RevisePrompt,
    ShownPart,
    SourceDocument,
    StepPrompt,
)
from contend.settings.files import resource
from contend.text import estimate_tokens
from contend.writing import target_length
from stub import prose

ROUNDS = range(1, 11)
SUBMISSION, FEEDBACK, PASSAGE = 4000, 600, 2000
"""Characters."""
TEAMS = 12
_RUN, _MARK = "bench", "1a2b3c4d"
_QUESTIONS: Mapping[Language, str] = {
    "en": "How does a run go on after a crash, and what is repeated?",
    "ja": "強制終了の後、実行はどのように再開され、何が繰り返されますか。",
}
_LIBRARY = PromptLibrary(None)


class Lengths(NamedTuple):
    """Characters of a round's prompts."""

    brief: int
    step: int
    write: int
    judge: int


def sentences(language: Language) -> Iterator[str]:
    """Sentences without end: of the guide, or of the Japanese prompts."""
    if language == "en":
        return cycle(prose())
    files: list[Path] = sorted(resource("prompts").rglob("*.ja.md.j2"))
    text = "".join(path.read_text("utf-8") for path in files)
    return cycle(re.findall(r"[ぁ-んァ-ヶ一-龠、]{20,}。", text))


def text_of(language: Language, characters: int, *, first: int = 0) -> str:
    return " ".join(islice(sentences(language), first, first + characters // 10))[:characters]


def passages(language: Language) -> list[SourceDocument]:
    """As many as a team holds, of one document."""
    texts = [text_of(language, PASSAGE, first=number * 17) for number in range(1, 33)]
    room = ContextProfile(LEAST_CONTEXT_TOKENS).evidence_tokens
    fitting = [end <= room for end in accumulate(map(estimate_tokens, texts))].count(True)
    return SourceDocument.of_passages(
        Passage(id=str(at), url="file:///guide.md", title="guide", text=text) for at, text in enumerate(texts[:fitting])
    )


def board(rounds: int) -> LiveLeaderboard:
    live = LiveLeaderboard()
    live.enter(_RUN, [(f"team{team}", f"Team {team}") for team in range(TEAMS)])
    for team in range(TEAMS):
        for number in range(1, rounds + 1):
            live.add_score(_RUN, f"team{team}", number, 0.4 + 0.03 * number + team / 100)
    return live


def rounds_before(language: Language, number: int) -> list[RoundState]:
    return [
        RoundState(
            round_number=before,
            submission_content=text_of(language, SUBMISSION, first=before),
            evaluation_score=0.4 + 0.03 * before,
            score_details={
                "feedback": text_of(language, FEEDBACK, first=before * 3),
                "metrics": {"coverage": 0.5, "relevance": 0.6, "clarity_coherence": 0.7},
            },
        )
        for before in range(1, number)
    ]


def calls(language: Language, brief: str, past: list[RoundState]) -> list[PromptValues]:
    """What the calls that hold the brief are asked with: the first step and the first draft of a round."""
    theme, latest = _QUESTIONS[language], past[-1] if past else None
    parts = [text_of(language, 60, first=at) for at in range(4)]
    best, fixes = (latest.submission_content, latest.feedback) if latest else ("", "")
    held = passages(language)
    researcher = ResearcherHead(theme=theme, brief=brief, parts=parts, best_draft=best, fixes=fixes, passages=held)
    shown = [ShownPart(number=at, text=text) for at, text in enumerate(parts, start=1)]
    step = StepPrompt(
        head=_shown(researcher, language),
        number=1,
        most=12,
        parts=shown,
        tokens=0,
        room=ContextProfile(LEAST_CONTEXT_TOKENS).evidence_tokens,
        step_tokens=ContextProfile(LEAST_CONTEXT_TOKENS).step_tokens,
        sources=["local"],
        can_find=True,
        round_number=len(past) + 1,
    )
    head = _shown(ResearchHead(theme=theme, brief=brief, parts=shown, passages=held), language)
    target = target_length("standard", len(parts))
    if latest is None:
        return [step, ReportPrompt(head=head, **target)]
    size = {"words": len(best.split()), "characters": len(best)}
    revise = RevisePrompt(
        head=head,
        draft=best,
        fixes=fixes,
        draft_words=size["words"],
        draft_characters=size["characters"],
        draft_parts=[PartLength(name="section 1", **size)],
        limit=target["words"],
        room_left=target["words"] - size["words"],
    )
    return [step, revise]


def _shown(values: PromptValues, language: Language) -> str:
    return _LIBRARY.show(values, language=language, mark=_MARK)


def lengths(language: Language, number: int) -> Lengths:
    """Of the round with this number."""
    past = rounds_before(language, number)
    context = RoundPromptContext(
        user_prompt=_QUESTIONS[language],
        round_number=number,
        round_history=past,
        team_id="team3",
        team_name="Team 3",
        execution_id=_RUN,
    )
    builder = UserPromptBuilder(
        PromptBuilderSettings(), board(number - 1), library=_LIBRARY, language=language, mark=_MARK
    )
    bullets = [{"id": f"b{at}", "content": text_of(language, 120, first=at)} for at in range(8)]
    brief = builder.build_team_prompt(context, bullets=bullets)
    scores = [each.evaluation_score for each in past]
    judged = JudgePrompt(prompt=builder.build_judgment_prompt(context), scores=scores)
    prompts = [*calls(language, brief, past), judged]
    rendered = [len(_LIBRARY.show(each, language=language, mark=_MARK)) for each in prompts]
    return Lengths(len(brief), *rendered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same")
    parser.parse_args()
    print(f"{'prompt characters of round':28}", *(f"{number:6}" for number in ROUNDS), "   8 ÷ 3")
    for language in LANGUAGES:
        by_round = [lengths(language, number) for number in ROUNDS]
        for at, name in enumerate(Lengths._fields):
            counted = [each[at] for each in by_round]
            print(f"{language} {name:25}", *(f"{count:6,}" for count in counted), f"{counted[7] / counted[2]:8.2f}")


if __name__ == "__main__":
    main()
