"""The round judge: another round is worth it while scores rise."""

from typing import Any

from contend.llm.extractive.asked import JudgeValues
from contend.models.record import Language
from contend.text import shown_score

_LEAST_GAIN = 0.01
_HIGH = 0.95
_SURE = 80
_LIKELY = 60

_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "plateau": "Plateau: the last round's {last} gained {gain:+.1f} on the best before it.",
        "high": "The best score is {best}, which leaves little to gain.",
        "rising": "The last round gained {gain:+.1f} points; another may add to {best}.",
        "first": "One scored round with {best} says nothing of a plateau; another may add to it.",
        "unscored": "The last round is unscored, so no plateau can be seen.",
    },
    "ja": {
        "plateau": "頭打ち: 最終ラウンドの{last}は、それまでの最高から{gain:+.1f}点。",
        "high": "最高点は{best}で、伸びる余地は小さい。",
        "rising": "最終ラウンドで{gain:+.1f}点伸びた。もう一度で{best}より伸びる見込みがある。",
        "first": "採点されたラウンドは一つ({best})で、頭打ちかどうかはまだ分からない。",
        "unscored": "最終ラウンドは採点されておらず、頭打ちかどうかは分からない。",
    },
}


def judge(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """The plateau rule: stop when the last round gained less than 0.01 on the best before it."""
    scores = JudgeValues.model_validate(values).scores
    known = [score for score in scores if score is not None]
    best = max(known, default=0.0)
    gain = known[-1] - max(known[:-1]) if len(known) > 1 else None
    verdict = _verdict(scores, best=best, gain=gain)
    last = known[-1] if known else 0.0
    return {
        "reasoning": _SAID[language][verdict].format(
            last=shown_score(last), gain=(gain or 0.0) * 100, best=shown_score(best)
        ),
        "should_continue": verdict not in {"plateau", "high"},
        "confidence_percent": _SURE if verdict == "plateau" else _LIKELY,
    }


def _verdict(scores: list[float | None], *, best: float, gain: float | None) -> str:
    if not scores or scores[-1] is None:
        return "unscored"
    if gain is not None and gain < _LEAST_GAIN:
        return "plateau"
    if best >= _HIGH:
        return "high"
    return "first" if gain is None else "rising"
