"""`python -SE fork_client.py SOCKET ARGUMENT…` is `contend ARGUMENT…`, by `fork_server.py`. Loads next to nothing."""

import json
import os
import socket
import sys

LENGTH_BYTES = 8


def ask(
    path: str, arguments: list[str], *, folder: str, environment: dict[str, str], pipes: list[int]
) -> socket.socket:
    """A line on which the command's process id comes, and its exit code when it has ended."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    request = json.dumps([arguments, folder, environment]).encode()
    socket.send_fds(line, [len(request).to_bytes(LENGTH_BYTES, "big")], pipes)
    line.sendall(request)
    return line


if __name__ == "__main__":
    here, shell = os.getcwd(), dict(os.environ)  # noqa: PTH109 - pathlib takes as long to load as all the rest
    with ask(sys.argv[1], sys.argv[2:], folder=here, environment=shell, pipes=[0, 1, 2]) as line:
        _, code = line.makefile()
    sys.exit(int(code))
