"""The documents and questions on which the search without a language model is measured."""

import tomllib
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

from fakes.files import make_pdf

DATA = Path(__file__).parents[1] / "data" / "search"

INSURANCE = [
    [
        "# Insurance for members",
        "The house insures the equipment of its members against fire, water",
        "and theft. A stolen laptop is insured up to 2,000 euros. Cash,",
        "jewellery and works of art are not covered by the insurance.",
    ],
    [
        "Claims are made in writing. Any damage must be reported to the",
        "insurer within seven days. The report of the police is attached",
        "to the claim.",
    ],
]


class SearchQuestion(NamedTuple):
    """A question, and for each of its parts what the passages shown of it hold."""

    question: str
    parts: list[list[str]]


def read_questions() -> list[SearchQuestion]:
    content = tomllib.loads((DATA / "questions.toml").read_text("utf-8"))
    return [SearchQuestion(each["asked"], each["parts"]) for each in content["question"]]


def write_documents(folder: Path) -> Path:
    copytree(DATA / "documents", folder)
    (folder / "insurance.pdf").write_bytes(make_pdf(INSURANCE, title="Insurance for members"))
    return folder
