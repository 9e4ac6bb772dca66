"""The recorded demo: question, documents and options of `make demo`, played from the replies beside them."""

from contend.models.options import RunOptions
from contend.settings import Settings
from contend.settings.files import resource


def demo_settings(settings: Settings) -> Settings:
    """The same workspace, in which no model and no service is asked: replies come from the demo's recording.

    Raises:
        FileNotFoundError: this install has no demo.
    """
    documents = str(resource("demo/documents"))
    return settings.model_copy(
        update={
            "replay": resource("demo/recording.jsonl"),
            "record": None,
            "tavily_api_key": None,
            "served_folders": [*settings.served_folders, documents],
        }
    )


def demo_question() -> str:
    """Blocking. Raises: FileNotFoundError, where this install has no demo."""
    return resource("demo/question.txt").read_text("utf-8").strip()


def demo_options() -> RunOptions:
    """Those under which the replies were recorded. Raises: as `demo_question`."""
    return RunOptions(
        documents=[str(resource("demo/documents"))],
        sources=["local"],
        teams=["archivist", "skeptic", "scout"],
        depth="standard",
        min_rounds=1,
        max_rounds=2,
        length="brief",
        language="en",
        dataset="demo",
    )


def has_demo() -> bool:
    """Whether this install has the demo's files."""
    try:
        return resource("demo/recording.jsonl").is_file()
    except FileNotFoundError:
        return False
