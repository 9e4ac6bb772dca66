"""Checks by code of what a report says: does what a claim names say it? Named rules mark, they delete nothing."""

from contend.checks.arithmetic import calculate
from contend.checks.checking import DOUBTFUL, NEAR, SUPPORTED, check_claim, level_of
from contend.checks.claims import Calibration, Claim, ClaimCheck, Kind, Level, Mark, PassageText
from contend.checks.rules import RULES

__all__ = [
    "DOUBTFUL",
    "NEAR",
    "RULES",
    "SUPPORTED",
    "Calibration",
    "Claim",
    "ClaimCheck",
    "Kind",
    "Level",
    "Mark",
    "PassageText",
    "calculate",
    "check_claim",
    "level_of",
]
