"""Citations checked by code: was each cited source retrieved, and does the text it cites say the sentence?"""

from contend.citations.sentences import CheckedSentence, cited_in_draft, cited_in_report, text_of
from contend.citations.support import CitationCheck, check_support, support
from contend.citations.validity import Validity, check_validity, citation_numbers

__all__ = [
    "CheckedSentence",
    "CitationCheck",
    "Validity",
    "check_support",
    "check_validity",
    "citation_numbers",
    "cited_in_draft",
    "cited_in_report",
    "support",
    "text_of",
]
