"""Every word a model reads: prompt files rendered in a sandbox, outside text between delimiters."""

from contend.prompts.builder import UserPromptBuilder
from contend.prompts.lessons import curator_values, nearest, reflector_values
from contend.prompts.library import PromptLibrary, PromptRow, Rendered, local_now
from contend.prompts.settings import PromptBuilderSettings
from contend.prompts.wrapping import Untrusted, mark_of, without_delimiters

__all__ = [
    "PromptBuilderSettings",
    "PromptLibrary",
    "PromptRow",
    "Rendered",
    "Untrusted",
    "UserPromptBuilder",
    "curator_values",
    "local_now",
    "mark_of",
    "nearest",
    "reflector_values",
    "without_delimiters",
]
