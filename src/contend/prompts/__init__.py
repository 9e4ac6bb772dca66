"""Every word a model reads: prompt files rendered in a sandbox, outside text between delimiters."""

from contend.prompts.library import PromptLibrary, PromptRow, Rendered, local_now
from contend.prompts.settings import PromptBuilderSettings
from contend.prompts.wrapping import Untrusted, mark_of

__all__ = ["PromptBuilderSettings", "PromptLibrary", "PromptRow", "Rendered", "Untrusted", "local_now", "mark_of"]
