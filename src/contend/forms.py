"""What Studio's forms show of a graph's input: the question. What a parent graph passes in is `SkipJsonSchema[…]`."""

from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import Field

AskedTheme = Annotated[str, Field(description="The question to research, 1 to 8,000 characters.")]
Chat = Annotated[
    list[AnyMessage],
    Field(description="Instead of a theme: a chat. Its last human message is the question."),
    add_messages,
]
