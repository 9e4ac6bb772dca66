"""A run without a language model: it shows the passages nearest to each part of the question.

Pure and deterministic; needs no key. Nobody judges whether a passage answers the question.
"""

from contend.search.editions import Edition, newest_editions, newest_first
from contend.search.passages import NearPassage, PartPassages, parts_in, shown_passages
from contend.search.reporting import search_report

__all__ = [
    "Edition",
    "NearPassage",
    "PartPassages",
    "newest_editions",
    "newest_first",
    "parts_in",
    "search_report",
    "shown_passages",
]
