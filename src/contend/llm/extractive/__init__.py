"""The model that works without a language model: it plans by key terms, quotes whole sentences and scores by rule."""

from contend.llm.extractive.model import ExtractiveModel

__all__ = ["ExtractiveModel"]
