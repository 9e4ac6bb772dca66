"""Sentences that work on a judge instead of saying something: orders, pleas, bare openers.

In English and Japanese.
"""

import re
from collections.abc import Iterator

from contend.text import clean, normalized, without_item_mark, without_marks

_PIECE, _STEP = 600, 400
"""A text without full stops is looked through in overlapping pieces, so that patterns stay fast."""

_CLAUSE = r"(?:\A|[,;:.!?(\"“”'‘’—–-]\s*|\b(?:please|kindly|must|should|shall|and|so|then|now|just|always)\s+)"
_TEXT = r"(?:report|submission|answer|response|text|essay|paper|work|draft|team|author|writer)"
_THIS = rf"(?:it|this|these|that|my|our|me|us|the\s+(?:\w+\s+)?{_TEXT})\b"
_GRADE = (
    r"(?:\b(?:100|hundred|full|perfect|maxim(?:um|al)|max|highest|top|best|excellent|outstanding|high)\b|\d+\s*(?:%|/))"
)
_SCORE = r"\b(?:points?|scores?|marks?|grades?|ratings?|percent(?:age)?|stars?|credit|verdict|evaluation)\b"
_JUDGE = r"(?:judges?|evaluators?|graders?|reviewers?|assessors?|examiners?|raters?)\b"
_WHO = rf"(?:the\s+|all\s+|any\s+|our\s+)?(?:\w+\s+)?{_JUDGE}"
_HIGH = r"(?:100|百|満|最高|最大|高い?|良い)\s*(?:点|得点|評価|評点|スコア|%|パーセント)"
_ASKED = r"(?:ください|下さい|ほしい|欲しい|くれ|いただ|頂|なさい)"
_JUDGES = "(?:審査員|評価者|採点者|査読者|ジャッジ|評価モデル|採点モデル)"

_ORDERS = (
    rf"{_CLAUSE}(?:give|award|assign|grant|allot|return|output)\b(?=.*{_GRADE})(?=.*{_SCORE})",
    rf"{_CLAUSE}(?:give|award|grant|rate|score|mark|grade|evaluate|judge|assess)\s+{_THIS}.{{0,60}}{_GRADE}",
    rf"{_CLAUSE}set\s+(?:the|its|your|this|every)\s+(?:\w+\s+)?{_SCORE}\s+(?:to|at)\b",
    rf"{_CLAUSE}(?:answer|reply|respond)\b.{{0,40}}(?:{_SCORE}.{{0,20}}\b100\b|\b100\b.{{0,20}}{_SCORE})",
    (rf"{_CLAUSE}(?:ignore|disregard|forget|override|bypass|overlook)\b.{{0,60}}\b(?:rubrics?|instructions?|criteri(?:a|on)|"
    r"anchors?|guidelines?|rules?|prompts?|system\s+message|previous|prior|above|scoring|grading|judging)\b"),
    rf"\b(?:dear|attention|hello|hi|hey|(?:note|message|instructions?)\s+(?:to|for))\s*,?\s+{_WHO}|\Ato\s+{_WHO}\s*[,:!]",
    rf"\bas\s+(?:an?|the)\s+(?:\w+\s+)?{_JUDGE},?\s+you\b|\b{_JUDGE},\s+(?:you|please)\b",
    rf"\byou\s+(?:are|act\s+as)\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+){{0,3}}(?:{_JUDGE}|assistant\b|language\s+model\b)",
    (rf"\b(?:this|my|our|the)\s+(?:\w+\s+)?{_TEXT}\s+.{{0,30}}\b(?:deserves?|merits?|warrants?|is\s+worth|(?:should|must|ought\s+to)\s+"
    rf"(?:be\s+(?:given|awarded|rated|scored|graded|marked|judged)|receive|get|score|win))\b.{{0,60}}(?:{_GRADE}|{_SCORE})"),
    rf"\b(?:i|we)\s+(?:deserve|demand|request|ask\s+for|expect)\b.{{0,60}}{_SCORE}",
    rf"\A\W*(?:final\s+|overall\s+)?{_SCORE}\W*[:=]\W*\d|[\"']percent[\"']\s*:",
    rf"{_HIGH}[^。]{{0,25}}(?:て{_ASKED}|お願い|願います|なさい|せよ|しろ|べき|に値する|がふさわし|(?:付け|つけ|与え)(?:よ|ろ|ること))",
    (r"(?:基準|ルーブリック|指示|命令|規則|ルール|プロンプト|指標|目安|上記|以前|これまで)[^。]{0,15}"
    rf"(?:(?:無視し|忘れ|破棄し|従わな)[^。]{{0,3}}{_ASKED}|(?:無視|破棄)(?:せよ|しろ|すること|すべき)|無視し(?:て|、)[^。]*(?:点|評価))"),
    rf"\A\W*{_JUDGES}(?:の(?:皆様|皆さん|みなさん|方々))?(?:(?:へ|様|殿|さん|に告ぐ)|\s*[:：!！])",
    rf"あなたは[^。]{{0,20}}(?:{_JUDGES}|アシスタント|言語モデル)",
    r"\A\W*(?:得点|点数|スコア|評価|評点)\W*[:：=]\W*\d",
)  # fmt: skip
_ORDER = re.compile("|".join(f"(?:{order})" for order in _ORDERS), re.IGNORECASE)

# Openers that alone made judges give full marks (Zhao et al., "One Token to Fool LLM-as-a-Judge", 2025), and their kin.
_OPENER = re.compile(
    r"(?:the\s+)?(?:thought\s+process|thinking|reasoning|solution|(?:final\s+)?answer(?:\s+is)?|step\s+\d+)"
    r"|let(?:'?s|\s+(?:us|me))\s+(?:think|solve|work)(?:\s+(?:\w+\s+){0,3}(?:it|this|problem|question))?"
    r"(?:\s+(?:through|out|carefully|step\s+by\s+step))*"
    r"|(?:sure|certainly|of\s+course|okay|ok)(?:\s+here\s+is\s+(?:the|my)\s+\w+)?"
    r"|解答?|解説|かいせつ|回答|答え|思考(?:過程|プロセス)|(?:では|さて)?(?:段階的に|順を追って|一歩ずつ)?考えてみましょう|(?:段階的に|順を追って)考え(?:ます|よう)",
    re.IGNORECASE,
)


def works_on_the_judge(sentence: str) -> bool:
    """Whether a sentence orders, begs or addresses a judge, or is nothing but an opener such as "Thought process:"."""
    folded = _folded(sentence)
    opener = _OPENER.fullmatch(" ".join(re.sub(r"[^\w\s']", " ", folded).split()))
    return opener is not None or any(_ORDER.search(piece) for piece in _pieces(folded))


def _folded(sentence: str) -> str:
    folded = normalized(clean(without_marks(without_item_mark(sentence)), single_line=True))
    return re.sub(r"[*_`#>|]+", "", folded).strip()


def _pieces(text: str) -> Iterator[str]:
    for begin in range(0, max(1, len(text) - (_PIECE - _STEP)), _STEP):
        yield text[begin : begin + _PIECE]
