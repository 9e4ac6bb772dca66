"""What a run without a language model gives: passages of the user's own documents, word for word.

Pure and deterministic: the peer of `llm/` that needs no key.
"""

from contend.quotes.answering import CALIBRATION, Quote, QuotedAnswer, answers_of, parts_of
from contend.quotes.reporting import quoted_report
from contend.quotes.units import SourceText, Unit, said_by, units_of

__all__ = [
    "CALIBRATION",
    "Quote",
    "QuotedAnswer",
    "SourceText",
    "Unit",
    "answers_of",
    "parts_of",
    "quoted_report",
    "said_by",
    "units_of",
]
