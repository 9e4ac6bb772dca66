"""A small real MCP server that searches a library of two books; started as `python mcp_library.py FOLDER [http PORT]`.

It leaves its process id in the folder, and what it was asked.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

BOOKS = [
    {
        "name": "Resuming of runs",
        "snippet": "A run that was killed is resumed from its last checkpoint, and finished calls are not repeated.",
        "link": "https://library.example/resume",
    },
    {
        "name": "Checkpoints",
        "snippet": "A checkpoint is saved after every step.",
        "link": "https://library.example/step",
    },
]


def library_in(folder: Path) -> "MCPServer":
    # The tests' own processes name the books, and need not load a server.
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - see above
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - the same
    from mcp.types import EmbeddedResource, TextResourceContents  # noqa: PLC0415 - the same

    library = MCPServer("library")

    @library.tool()
    def search(words: str, most: int = 5) -> list[dict[str, str]]:
        """Books by words."""
        with (folder / "asked").open("a", encoding="utf-8") as log:
            log.write(json.dumps([words, most, sorted(os.environ)]) + "\n")
        return BOOKS[:most]

    @library.tool(structured_output=False)
    def as_resources(words: str) -> Any:  # noqa: ANN401, ARG001 - content blocks
        """Books as embedded resources."""
        return [
            EmbeddedResource(type="resource", resource=TextResourceContents(uri=book["link"], text=book["snippet"]))
            for book in BOOKS
        ]

    @library.tool(structured_output=False)
    def prose(words: str) -> str:  # noqa: ARG001 - what tools are asked
        """An answer that is no list."""
        return "There are two books."

    @library.tool()
    def hang(words: str) -> list[str]:  # noqa: ARG001 - what tools are asked
        """Never done."""
        time.sleep(60)
        return []

    @library.tool()
    def flood(words: str) -> list[dict[str, str]]:  # noqa: ARG001 - what tools are asked
        """Far too much."""
        return [{"name": "x", "snippet": "x" * 5_000_000, "link": "https://library.example/x"}]

    @library.tool()
    def refuse(words: str) -> list[str]:
        """Fails."""
        raise ToolError(f"no shelf for {words}")

    @library.tool()
    def betray(words: str) -> list[str]:  # noqa: ARG001 - what tools are asked
        """Fails, and repeats the key that it was given."""
        raise ToolError(f"the key {os.environ['LIBRARY_TOKEN']} has run out")

    return library


if __name__ == "__main__":
    started_in = Path(sys.argv[1])
    (started_in / "pid").write_text(str(os.getpid()), "utf-8")
    library = library_in(started_in)
    if sys.argv[2:3] == ["http"]:
        library.run("streamable-http", port=int(sys.argv[3]))
    else:
        library.run("stdio")
