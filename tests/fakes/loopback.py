"""A loopback HTTP server in threads that all end with it, and ports for servers that are processes."""

import random
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, SO_REUSEADDR, SOL_SOCKET, socket
from threading import Thread
from typing import Any

_POLL_SECONDS = 0.01
"""So long its end may take, in each of a thousand tests."""


_PORTS = range(12_000, 30_000)
"""Below those that the system gives to connections: between the look and the server's start none takes it away."""


def free_port() -> int:
    """For a server that starts soon, and maybe again after a kill."""
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with suppress(OSError), socket() as probe:
            probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


class LoopbackServer(ThreadingHTTPServer):
    """A thread that lived on to the end of the process would keep alive all that it knows: the tests' modules,
    contend's own and DuckDB's types, of which DuckDB complains on standard error.
    """

    request_queue_size = 256

    def start(self) -> None:
        self._lines: set[socket] = set()
        self._answering: list[Thread] = []
        self._serving = Thread(target=self.serve_forever, kwargs={"poll_interval": _POLL_SECONDS}, daemon=True)
        self._serving.start()

    def stop(self) -> None:
        """Whatever its handlers wait for must have come. Clients that keep their connections open are hung up on."""
        self.shutdown()
        self.server_close()
        for line in [*self._lines]:
            with suppress(OSError):  # gone meanwhile
                line.shutdown(SHUT_RDWR)
        for thread in (self._serving, *self._answering):
            thread.join()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the library's
        thread = Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._lines.add(request)
        self._answering.append(thread)
        thread.start()

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - the library's
        self._lines.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no error here."""
