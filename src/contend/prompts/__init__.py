"""Every word a model reads: prompt files rendered in a sandbox, what each is asked with, outside text delimited."""

from contend.prompts.builder import UserPromptBuilder
from contend.prompts.library import PromptBuilderSettings, PromptLibrary, PromptRow, Rendered, local_now
from contend.prompts.values import PromptValues, Untrusted, mark_of, samples_of, without_delimiters

__all__ = [
    "PromptBuilderSettings",
    "PromptLibrary",
    "PromptRow",
    "PromptValues",
    "Rendered",
    "Untrusted",
    "UserPromptBuilder",
    "local_now",
    "mark_of",
    "samples_of",
    "without_delimiters",
]
