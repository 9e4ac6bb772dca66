"""Checks by code: what it refutes of a statement, whether a citation was retrieved, text that speaks to AI systems.

Code never judges prose: whether a passage says a sentence is for models.
"""

from contend.checks.citations import Validity, check_validity, citation_numbers

__all__ = ["Validity", "check_validity", "citation_numbers"]
