"""What a team knows: passages found by actions on sources, held until given up, and how far each part is answered."""

from contend.evidence.actions import ActionTask, Brought, Desk, Hit, collected, places_of, stored, with_texts
from contend.evidence.pool import Action, ActionResult, Evidence, EvidencePool, Step, empty_pool, evidence_in
from contend.evidence.steps import after_step, faults_of_step

__all__ = [
    "Action",
    "ActionResult",
    "ActionTask",
    "Brought",
    "Desk",
    "Evidence",
    "EvidencePool",
    "Hit",
    "Step",
    "after_step",
    "collected",
    "empty_pool",
    "evidence_in",
    "faults_of_step",
    "places_of",
    "stored",
    "with_texts",
]
