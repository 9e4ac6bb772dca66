"""The values of prompts as the extractive model reads them."""

from pydantic import BaseModel


class Values(BaseModel):
    """What one prompt is asked with. Values that only a language model can use are left aside."""


class PassageValues(Values):
    """A passage on offer. `title` stands for its document."""

    number: int
    title: str
    text: str
