"""`contend serve`."""

from typing import Annotated

import typer

from contend.cli.options import WORKSPACE


def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, metavar="N", help="The port to listen on.")] = 2024,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    expose: Annotated[
        bool, typer.Option("--expose", help="Listen beyond this machine; needs CONTEND_SERVER_TOKEN.")
    ] = False,
    workspace: WORKSPACE = None,
) -> None:
    """Open the graphs in LangGraph's development server, for Studio, the SDK and agent-chat-ui."""
    from contend.cli.serving import serve_graphs

    serve_graphs(host, port, expose=expose, workspace=workspace)
