"""Drafts: made from a writer's reply, revised, checked by code, rendered for prompts, and cleaned of planted orders."""

from contend.writing.drafts import (
    EarlierDraft,
    draft_of,
    faults_of,
    faults_of_revision,
    not_found_words,
    revise,
)
from contend.writing.forms import (
    DraftLength,
    TargetLength,
    length_of,
    over_limit,
    shown_draft,
    target_length,
    with_passages,
    without,
)
from contend.writing.planted import PlantedOrders, without_planted_text, without_speaking
from contend.writing.proving import (
    Statement,
    faults_of_mending,
    marks_of,
    mended,
    prove,
    reasons_of,
    refuted_in,
    refuted_statements,
    with_statements,
)

__all__ = [
    "DraftLength",
    "EarlierDraft",
    "PlantedOrders",
    "Statement",
    "TargetLength",
    "draft_of",
    "faults_of",
    "faults_of_mending",
    "faults_of_revision",
    "length_of",
    "marks_of",
    "mended",
    "not_found_words",
    "over_limit",
    "prove",
    "reasons_of",
    "refuted_in",
    "refuted_statements",
    "revise",
    "shown_draft",
    "target_length",
    "with_passages",
    "with_statements",
    "without",
    "without_planted_text",
    "without_speaking",
]
