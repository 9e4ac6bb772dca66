"""The variables each prompt may use, with sample values: what a check before a run renders.

Each prompt has a full sample and a sparse one, as in a first round without anything to build on.
"""

from collections.abc import Mapping

from contend.prompts.wrapping import Untrusted

SYSTEM_VARIABLES = ("metric", "rubric", "stance", "language_name")
"""What system messages may show. None of it comes from outside."""

Values = Mapping[str, object]

_LONG = "Wind makes a bridge hum. 風が橋を鳴らす。\nAnother line <b>with</b> brackets."


def _said(label: str) -> Untrusted:
    return Untrusted(_LONG, label=label)


_PASSAGES = [
    {
        "number": number,
        "title": Untrusted("On bridges", label="title"),
        "speaks_to_ai": number > 1,
        "text": _said("passage"),
    }
    for number in (1, 2)
]
_CITED = [
    {**passage, "number": 3, "heading": Untrusted("Wind › Cables", label="heading"), "published": "2025-03-01"}
    for passage in _PASSAGES[:1]
]
_POINTS = [Untrusted("What makes a bridge hum"), Untrusted("What stops it")]
_LESSONS = [{"number": 1, "content": Untrusted("Name the year of each figure.", label="bullet")}]
_LENGTH = {"draft_words": 1_420, "draft_characters": 2_900}
_QUESTION = {"theme": Untrusted("Why do bridges hum in the wind?"), "instructions": _said("instructions")}
_PAST = {"round_number": 1, "score": 0.5, "feedback": _said("feedback"), "uncovered": _POINTS}
_ENTRY = {"content": _said("submission"), "feedback": _said("feedback")}
_HISTORY = [
    {"round_number": 1, "score": None, "score_details": {}, "metrics": {}, **_ENTRY},
    {"round_number": 2, "score": 0.7, "score_details": {}, "metrics": {"coverage": 0.7, "relevance": None}, **_ENTRY},
    {"round_number": 3, "score": 0.6, "score_details": {}, "metrics": {}, "content": "", "feedback": ""},
]
_RANKING = [
    {
        "rank": rank,
        "team_id": team,
        "team_name": Untrusted(team, label="team"),
        "best_score": score,
        "is_own": team == "scout",
    }
    for rank, team, score in ((1, "scholar", 0.8), (2, "scout", 0.7), (3, "skeptic", None), (None, "archivist", None))
]
_INSIGHT = {
    name: Untrusted("Check dates.", label="insight")
    for name in ("reasoning", "error_identification", "root_cause_analysis", "correct_approach", "key_insight")
}
_BULLET = {
    "id": "b1",
    "section": "general",
    "content": Untrusted("Check dates.", label="bullet"),
    "example": Untrusted("the offer of May", label="example"),
    "confidence": 0.5,
    "quarantined": True,
}
_ROUND = {
    "team_id": "scout",
    "round_number": 1,
    "score": 0.5,
    "feedback": _said("feedback"),
    "used": ["b1"],
    "metrics": {"coverage": 0.5, "relevance": None},
    "queries": [Untrusted("bridge hum", label="query")],
    "exit_reason": "plateau",
    "judged": [_said("judged")],
    "draft": _said("draft"),
    "cited": [_said("cited")],
    "changed": [_said("sentence")],
}

_PLANNING = {
    "stance": "Look at the web first.",
    "query_hints": ["overview"],
    "sources": ["local", "arxiv"],
    "round_number": 2,
}
_SEARCHES = [
    {"query": Untrusted("bridge hum", label="query"), "titles": Untrusted("On bridges", label="title")},
    {"query": Untrusted("cable damping", label="query"), "titles": ""},
]
_MARKS = [{"place": "2.1.3", "text": Untrusted("the source has no 2019")}]
_WRITING: Values = {
    "head": "Question and passages",
    "stance": "Look at the web first.",
    "bullets": _LESSONS,
    "words": 1_500,
    "characters": 3_000,
}
_WRITING_SPARSE: Values = {**_WRITING, "stance": "", "bullets": []}

_TEAM_FULL: Values = {
    "user_prompt": Untrusted("Why do bridges hum in the wind?", label="question"),
    "instructions": _said("instructions"),
    "earlier_report": _said("report"),
    "round_number": 4,
    "submission_history": "Round 1: 50.0/100",
    "ranking_table": "🥇 scholar: 80.0/100",
    "team_position_message": "Your team is in place 2 of 4.",
    "team_id": "scout",
    "team_name": Untrusted("Scout", label="team"),
    "current_team_rank": 2,
    "history": _HISTORY,
    "leaderboard": _RANKING,
    "playbook_bullets": [_BULLET | _LESSONS[0]],
}
_TEAM_SPARSE: Values = {
    **_TEAM_FULL,
    "instructions": "",
    "earlier_report": "",
    "round_number": 1,
    "submission_history": "",
    "ranking_table": "",
    "team_position_message": "",
    "current_team_rank": None,
    "history": [],
    "leaderboard": [],
    "playbook_bullets": [],
}

_BRIEF_ONLY = {"instructions", "earlier_report", "playbook_bullets"}

_SAMPLES: dict[str, tuple[Values, Values]] = {
    "team/brief": (_TEAM_FULL, _TEAM_SPARSE),
    "judge/judgment": (
        {key: value for key, value in _TEAM_FULL.items() if key not in _BRIEF_ONLY},
        {key: value for key, value in _TEAM_SPARSE.items() if key not in _BRIEF_ONLY},
    ),
    "team/history": (
        {"history": _HISTORY, "best_round": 2, "trend": {"first": 2, "last": 3, "change": -0.1}},
        {"history": [], "best_round": None, "trend": None},
    ),
    "team/ranking": ({"leaderboard": _RANKING}, {"leaderboard": []}),
    "team/position": (
        {"current_team_rank": 2, "teams": 4, "behind": 0.1},
        {"current_team_rank": None, "teams": 4, "behind": None},
    ),
    "supervisor/plan": (
        {
            **_QUESTION,
            "brief": "Question: why do bridges hum?",
            "stance": "Look at the web first.",
            "query_hints": ["overview"],
            "feedback": _said("feedback"),
            "sources": ["local", "arxiv"],
            "round_number": 2,
            "history": [_PAST],
            "at_hand": [{"title": _said("title"), "text": _said("passage")}],
        },
        {
            **_QUESTION,
            "instructions": "",
            "brief": "",
            "stance": "",
            "query_hints": [],
            "feedback": "",
            "sources": ["local"],
            "round_number": 1,
            "history": [],
            "at_hand": [],
        },
    ),
    "writer/write": (
        {
            **_QUESTION,
            "brief": "Question: why do bridges hum?",
            "stance": "Look at the web first.",
            "points": _POINTS,
            "passages": _PASSAGES,
            "best_draft": _said("draft"),
            "feedback": _said("feedback"),
            "bullets": _LESSONS,
        },
        {
            **_QUESTION,
            "instructions": "",
            "brief": "",
            "stance": "",
            "points": [],
            "passages": [],
            "best_draft": "",
            "feedback": "",
            "bullets": [],
        },
    ),
    "reviewer/review": (
        {
            "theme": _QUESTION["theme"],
            "points": _POINTS,
            "draft": _said("draft"),
            "passages": _PASSAGES,
            "iteration": 1,
            "max_iterations": 5,
        },
        {"theme": _QUESTION["theme"], "points": [], "draft": "", "passages": [], "iteration": 5, "max_iterations": 5},
    ),
    "research/head": (
        {
            **_QUESTION,
            "brief": "Question: why do bridges hum?",
            "points": _POINTS,
            "passages": [
                {
                    **passage,
                    "heading": Untrusted("Wind › Cables", label="heading"),
                    "file": Untrusted("bridges.md", label="file"),
                    "published": "2025-03-01",
                }
                for passage in _PASSAGES
            ],
        },
        {**_QUESTION, "instructions": "", "brief": "", "points": [], "passages": []},
    ),
    "research/plan": (
        {
            **_QUESTION,
            **_PLANNING,
            "brief": "Question: why do bridges hum?",
            "catalogue": _said("catalogue"),
            "more_documents": 40,
            "searches": _SEARCHES,
            "best_draft": _said("draft"),
            "fixes": _said("fixes"),
            "rejected": _said("feedback"),
        },
        {
            **_QUESTION,
            "instructions": "",
            "brief": "",
            "stance": "",
            "query_hints": [],
            "sources": ["local"],
            "round_number": 1,
            "catalogue": "",
            "more_documents": 0,
            "searches": [],
            "best_draft": "",
            "fixes": "",
            "rejected": "",
        },
    ),
    "research/choose": (
        {"head": "Question and passages", "budget": 8_000, "searches": _SEARCHES},
        {"head": "Question and passages", "budget": 8_000, "searches": []},
    ),
    "research/write": (
        {**_WRITING, "outline": [Untrusted("Causes"), Untrusted("Remedies")]},
        {**_WRITING_SPARSE, "outline": []},
    ),
    "research/revise": (
        {**_WRITING, **_LENGTH, "draft": _said("draft"), "marks": _MARKS, "fixes": _said("fixes"), "new_passages": [2]},
        {**_WRITING_SPARSE, **_LENGTH, "draft": _said("draft"), "marks": [], "fixes": "", "new_passages": []},
    ),
    "research/section": (
        {**_WRITING, "outline": [Untrusted("Causes"), Untrusted("Remedies")], "number": 2},
        {**_WRITING_SPARSE, "outline": [Untrusted("Causes")], "number": 1},
    ),
    "research/summarize": (
        {"head": "Question and passages", "draft": _said("draft")},
        {"head": "Question and passages", "draft": _said("draft")},
    ),
    "research/merge": (
        {
            "head": "Question and passages",
            "reports": [
                {"label": label, "draft": _said("draft"), "feedback": _said("feedback"), **_LENGTH} for label in "AB"
            ],
            "words": 1_500,
            "characters": 3_000,
        },
        {
            "head": "Question and passages",
            "reports": [{"label": "A", "draft": _said("draft"), "feedback": "", **_LENGTH}],
            "words": 500,
            "characters": 1_000,
        },
    ),
    "research/review": (
        {"head": "Question and passages", "draft": _said("draft"), "marks": _MARKS},
        {"head": "Question and passages", "draft": _said("draft"), "marks": []},
    ),
    "evaluator/criteria": (
        {"user_query": Untrusted("Why do bridges hum?", label="query"), "instructions": _said("instructions")},
        {"user_query": Untrusted("Why?", label="query"), "instructions": ""},
    ),
    "evaluator/verdicts": (
        {
            "user_query": Untrusted("Why do bridges hum?", label="query"),
            "instructions": _said("instructions"),
            "passages": _CITED,
            "structured": True,
            "invented": True,
            "submission": Untrusted("summary 1: Wind makes a bridge hum. [3]", label="submission"),
            "doubtful": [
                {"number": 1, "place": "summary 1", "passages": [3], "expression": Untrusted("")},
                {"number": 2, "place": "2.1.3", "passages": [3], "expression": Untrusted("21.4 * 4")},
            ],
            "criteria": Untrusted("1. It says what makes a bridge hum.", label="criteria"),
            "rubrics": "## insight\n\n100: it explains causes",
        },
        {
            "user_query": Untrusted("Why?", label="query"),
            "instructions": "",
            "passages": [],
            "structured": False,
            "invented": False,
            "submission": _said("submission"),
            "doubtful": [],
            "criteria": "",
            "rubrics": "",
        },
    ),
    "evaluator/metric": (
        {
            "metric": "coverage",
            "rubric": "100: all points are answered",
            "user_query": Untrusted("Why do bridges hum?", label="question"),
            "instructions": _said("instructions"),
            "passages": _CITED,
            "submission": _said("submission"),
            "points": _POINTS,
        },
        {
            "metric": "coverage",
            "rubric": "100: all points are answered",
            "points": [],
            "user_query": Untrusted("Why?", label="question"),
            "instructions": "",
            "passages": [],
            "submission": _said("submission"),
        },
    ),
    "checks/injection": (
        {"excerpts": [{"number": 1, "text": _said("passage")}]},
        {"excerpts": []},
    ),
    "citation/check": (
        {
            "passages": [{"number": 1, "text": _said("passage")}, {"number": 2, "text": _said("passage")}],
            "claims": [
                {"number": 1, "sentence": _said("sentence"), "expression": Untrusted(""), "passages": [1]},
                {"number": 2, "sentence": _said("sentence"), "expression": Untrusted("21.4 * 4"), "passages": [1, 2]},
            ],
        },
        {"passages": [], "claims": []},
    ),
    "pairwise/compare": (
        {
            "user_query": Untrusted("Why do bridges hum?", label="query"),
            "instructions": _said("instructions"),
            "criteria": Untrusted("1. It says what makes a bridge hum. (100%)", label="criteria"),
            "passages": _CITED,
            "others": _CITED,
            "structured": True,
            "invented": True,
            "submissions": [_said("submission"), _said("submission")],
        },
        {
            "user_query": "Why?",
            "instructions": "",
            "criteria": "",
            "passages": [],
            "others": [],
            "structured": False,
            "invented": False,
            "submissions": [_said("submission"), _said("submission")],
        },
    ),
    "judge/judge": (
        {"prompt": "Question: why do bridges hum?", "scores": [0.5, None, 0.7]},
        {"prompt": "Question: why?", "scores": []},
    ),
    "reply/repair": (
        {"problem": Untrusted("percent: 120 is over 100", label="problem"), "cut_off": False, "limit": 800},
        {"problem": "", "cut_off": True, "limit": 800},
    ),
    "reply/shape": ({"schema": '{"type": "object"}'}, {"schema": "{}"}),
    "reflector/default": (
        {"dataset": "default", "theme": _QUESTION["theme"], "rounds": [_ROUND], "bullets": [_BULLET]},
        {"dataset": "default", "theme": _QUESTION["theme"], "rounds": [], "bullets": []},
    ),
    "answers/question": (
        {"question": _said("question"), "lessons": [_said("lesson")], "form": "expression"},
        {"question": _said("question"), "lessons": [], "form": "text"},
    ),
    "errors/reflect": (
        {
            "errors": [
                {
                    "question": _said("question"),
                    "answer": _said("answer"),
                    "expected": _said("expected"),
                    "kind": "sign",
                    "reasoning": _said("reasoning"),
                }
            ],
            "bullets": [_BULLET],
        },
        {"errors": [], "bullets": []},
    ),
    "lessons/same": (
        {"pairs": [{"number": 1, "first": _said("lesson"), "second": _said("lesson")}]},
        {"pairs": []},
    ),
    "curator/default": (
        {
            "dataset": "default",
            "insights": [{"number": 1, **_INSIGHT}],
            "sections": [{"name": "general", "description": "What fits nowhere else"}],
            "bullets": [_BULLET],
        },
        {"dataset": "default", "insights": [{"number": 1, **_INSIGHT}], "sections": [], "bullets": []},
    ),
}
_SYSTEM: tuple[Values, Values] = (
    {"metric": "coverage", "rubric": "100: all points are answered", "stance": "Look at the web first."},
    {"metric": "coverage", "rubric": "100: all points are answered", "stance": ""},
)


def samples_for(name: str) -> tuple[Values, Values]:
    """A full and a sparse set of values for a prompt; rubrics have none."""
    agent, _, step = name.partition("/")
    if agent == "stance":
        return {"sources": ["tavily", "arxiv", "local"]}, {"sources": ["local"]}
    if step == "system":
        return _SYSTEM
    return _SAMPLES.get(name) or _SAMPLES.get(f"{agent}/default") or ({}, {})
