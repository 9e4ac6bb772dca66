"""What holds for a whole command: its workspace, whether a program reads what it prints, its language."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contend.settings import Settings


@dataclass
class Invocation:
    """The command that this process runs. `workspace`: the one that it was given."""

    workspace: Path | None = None
    as_json: bool = False
    is_japanese: bool = False

    def settings(self, **values: Any) -> "Settings":  # noqa: ANN401 - as `load_settings` takes them
        """Of the command's workspace. Raises: InputError."""
        from contend.settings import load_settings

        return load_settings(workspace=self.workspace, **values)


COMMAND = Invocation()
