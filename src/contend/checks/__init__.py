"""Checks by code: refute statements, check that citations were retrieved, find text that speaks to AI systems.

Code never judges prose. Whether a passage supports a sentence is for models to say.
"""

from contend.checks.citations import Validity, check_validity, citation_numbers

__all__ = ["Validity", "check_validity", "citation_numbers"]
