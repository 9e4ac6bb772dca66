"""Words of English that the checks of claims look for. Data only."""

NEGATORS = frozenset(
    """
    not no never none neither nor nothing nobody nowhere without cannot cant hardly barely unable lack lacks lacked
    lacking fail fails failed failing refuse refuses refused decline declines declined deny denies denied
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Words that deny what comes after them. What ends in n't is one too."""

NOT_NEGATING = (r"not only", r"no(?:t)? (?:more|less|fewer|later|earlier|longer) than", r"no\. ?\d")
"""Phrases in which such a word denies nothing."""

NEGATIVE_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non")

CLAUSE_ENDS = r"\b(?:and|but|while|whereas|although|though|because|since|which|who|when|if|so)\b"

_MORE = """
    rise rises rose risen rising increase grow grows grew grown gain climb soar raise higher more greater larger up
    upward
"""
_LESS = """
    fall falls fell fallen falling decrease drop decline shrink shrank shrunk sink sank lower less fewer smaller down
    downward reduce halve
"""
OPPOSITES: tuple[tuple[str, str], ...] = (
    (_MORE, _LESS),
    ("above over exceed exceeded beyond", "below under beneath"),
    ("accept approve adopt choose chose chosen agree", "reject refuse decline deny dismiss disapprove"),
    ("allow permit enable let", "forbid ban prohibit disable prevent block"),
    ("open opened", "closed close shut"),
    ("include included including", "exclude excluded excluding"),
    ("all every each always", "none no never"),
    ("often frequently common commonly", "rarely seldom rare never"),
    ("better best improve", "worse worst worsen"),
    ("fast faster quick quicker", "slow slower"),
    ("cheap cheaper inexpensive", "expensive dear costly dearer"),
    ("support supports favour favor favoured", "oppose opposes opposed"),
    ("win wins won succeed success", "lose loses lost fail failure"),
    ("profit surplus", "loss deficit"),
    ("most majority", "least minority few"),
    ("first", "last"),
    ("start started begin began begun", "end ended stop stopped"),
    ("buy buys bought", "sell sells sold"),
    ("north northern", "south southern"),
)
"""Sides of a scale: a claim on one side of which its passage stands on the other says something else."""

SPELT = {
    word: value
    for value, word in enumerate(
        """
        zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty
        """.split()  # noqa: SIM905 - see above
    )
} | {"dozen": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

ABOUT = r"\b(?:about|around|nearly|almost|roughly|approximately|some|over|more than|under|less than|up to|at least)\s*$"
"""Before a figure: it is rounded."""

LINES = {
    "year": "the cited passages do not name the year {detail}",
    "figure": "the figure {detail} is not in the cited passages",
    "unit": "the cited passages give {detail} in another unit",
    "sign": "the cited passages give {detail} with another sign",
    "negation": "the cited passages say the opposite about “{detail}”",
    "direction": "the cited passages say the opposite of “{detail}”",
    "name": "the name {detail} is not in the cited passages",
    "language": "the cited passages are in another language, in which only names and figures were compared",
    "word": "nothing in the cited passages comes near to “{detail}”",
    "place": "in the cited passages {detail} belongs to something else",
    "elsewhere": "another passage says it clearly better: {detail}",
    "arithmetic": "{detail}",
    "no_passage": "no passage is named",
    "speaks_to_ai": "it rests on nothing but a source that holds text addressed to AI systems",
}
"""What a reader is told of each rule's marks."""

SIGNALS = {
    "roles": "turns of a chat",
    "override": "an order to set rules aside",
    "addressed": "an AI system that is told what to say",
    "begging": "a plea for a mark",
    "disguise": "letters that only look like others",
    "hidden": "text hidden from readers",
    "model": "as a language model read it",
}
"""What a reader is told of each signal by which a source speaks to AI systems."""
