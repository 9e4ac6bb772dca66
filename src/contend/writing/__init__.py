"""Drafts: from a writer's reply to a draft with passage ids, its revision, its forms, what it must not say."""

from contend.writing.drafts import draft_of, faults_of, faults_of_revision, not_found_words, revise
from contend.writing.forms import is_full, length_of, length_values, over_limit, shown_draft, with_passages, without
from contend.writing.planted import PlantedFilter, without_planted_text

__all__ = [
    "PlantedFilter",
    "draft_of",
    "faults_of",
    "faults_of_revision",
    "is_full",
    "length_of",
    "length_values",
    "not_found_words",
    "over_limit",
    "revise",
    "shown_draft",
    "with_passages",
    "without",
    "without_planted_text",
]
