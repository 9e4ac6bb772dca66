"""Checks by code of what a report says: was what it cites retrieved, does it say so? Rules mark and delete nothing."""

from contend.checks.checking import Validity, body_of, calculate, check_claim, check_validity, citation_numbers
from contend.checks.claims import Claim, ClaimCheck, DraftClaim, Level, Mark, PassageText, claims_of, passage_text
from contend.checks.rules import RULES

__all__ = [
    "RULES",
    "Claim",
    "ClaimCheck",
    "DraftClaim",
    "Level",
    "Mark",
    "PassageText",
    "Validity",
    "body_of",
    "calculate",
    "check_claim",
    "check_validity",
    "citation_numbers",
    "claims_of",
    "passage_text",
]
