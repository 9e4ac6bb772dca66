"""A team's evidence: the passages that its actions found, those it holds, and how far each part is answered."""

from contend.evidence.actions import (
    ActionHit,
    ActionTask,
    Brought,
    Desk,
    places_of,
    store_hits,
    with_results,
    with_texts,
)
from contend.evidence.pool import Action, ActionResult, Evidence, EvidencePool, Step, empty_pool, evidence_of_submission
from contend.evidence.steps import after_step, faults_of_step

__all__ = [
    "Action",
    "ActionHit",
    "ActionResult",
    "ActionTask",
    "Brought",
    "Desk",
    "Evidence",
    "EvidencePool",
    "Step",
    "after_step",
    "empty_pool",
    "evidence_of_submission",
    "faults_of_step",
    "places_of",
    "store_hits",
    "with_results",
    "with_texts",
]
