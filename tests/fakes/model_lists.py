"""An endpoint that lists models and takes no chats."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Event

from fakes.loopback import LoopbackServer


@contextmanager
def endpoint(
    *models: str,
    status: int = 200,
    chat: int = 400,
    body: bytes | None = None,
    refusal: bytes = b"",
    hang: bool = False,
) -> Iterator[str]:
    """A server that answers `GET /v1/models`, and chats without a message by the status `chat` and by `refusal`."""
    sent = body if body is not None else json.dumps({"data": [{"id": name} for name in models]}).encode()
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hang:
                over.wait(30)
            self.send_response(status if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(chat)
            self.send_header("Content-Length", str(len(refusal)))
            self.end_headers()
            self.wfile.write(refusal)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Silent."""

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        over.set()
        server.stop()
