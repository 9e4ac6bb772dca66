"""The command `contend` in processes of their own that need not import it: each is forked from one that has.

A start takes two seconds of imports, and tests of what a process leaves behind, or of what others do meanwhile, make a
hundred. All else is as in a shell: arguments, folder, environment, pipes, process id, signals, exit code.
Tests of the start itself (`terminal.started`) and of servers start the real command. So do all on macOS, whose own
libraries do not survive a fork. Arguments that begin with `-c` are a program and its arguments, as Python takes them.
"""

import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TextIO

from filelock import FileLock

from fakes.fork_client import LENGTH_BYTES, ask

CONTEND = Path(sys.executable).with_name("contend")
_TESTS = str(Path(__file__).parents[1])
_SERVE = f"""import sys
sys.path.insert(0, {_TESTS!r})
from fakes.fork_server import run, serve
serve(sys.argv[1])
run()
"""
_LOADED = (
    *(f"contend.{name}" for name in ("app", "cli.run", "cli.runs", "cli.batch", "cli.lessons", "stores.redis_saver")),
    *("langchain_openai", "langgraph.checkpoint.sqlite.aio", "openai.resources.chat", "safetensors.numpy"),
    *(
        "anyio._backends._asyncio",
        "bm25s",
        "contend.search",
        "httpcore2",
        "tokenizers",
        "truststore",
        "typer._adapters",
    ),
)
_EXIT_CODE = [1]
"""As of a command that ends with an exception."""
_STARTED: list["subprocess.Popen[bytes]"] = []
"""The server, where this process started it: other workers may need it longer."""
_MAY_FORK = sys.platform != "darwin"
_DEFAULTS = {"LANGSMITH_TRACING": "false", "LANGGRAPH_STRICT_MSGPACK": "true"}
"""As `contend.cli.main` has them: langgraph looks at them when it is imported."""


class Process:
    """A running command with pipes; of what `subprocess.Popen` offers, as much as tests need."""

    def __init__(self, *arguments: str, folder: Path, environment: dict[str, str]) -> None:
        out, err = os.pipe(), os.pipe()
        with Path(os.devnull).open("rb") as nothing:
            pipes = [nothing.fileno(), out[1], err[1]]
            self._line = ask(fork_server(), [*arguments], folder=str(folder), environment=environment, pipes=pipes)
        for end in (out[1], err[1]):
            os.close(end)
        self.stdout, self.stderr = (os.fdopen(end[0], encoding="utf-8") for end in (out, err))
        self._reports = self._line.makefile()
        self.pid = int(self._reports.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and not select.select([self._line], [], [], 0)[0]:
            return None
        return self.wait()

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._reports.readline())
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and the line that tells so is on its way
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ended, if it still runs, and its pipes closed."""
        self.kill()
        self.wait()
        for end in (self.stdout, self.stderr, self._reports, self._line):
            end.close()


@cache
def fork_server() -> str:
    """The socket of the process that commands are forked from, one for all of a run's workers, with whose last it ends.

    Whoever asks it holds the pipe that is its standard input.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    folder = Path(tempfile.gettempdir()) / f"contend-{run}" if run else Path(tempfile.mkdtemp(prefix="contend-"))
    folder.mkdir(exist_ok=True)
    line, pipe = folder / "line", folder / "held"
    with FileLock(folder / "lock"):
        is_first = not pipe.exists()
        if is_first:
            os.mkfifo(pipe)
        with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as held:
            # To this process's end, however early: the server would wait for ever for a pipe that nobody has held.
            os.open(pipe, os.O_WRONLY)
            if is_first:
                _start(line, held)
    return str(line)


def _start(line: Path, held: TextIO) -> None:
    command = [sys.executable, "-c", _SERVE, str(line)]
    loading = subprocess.Popen(command, stdin=held, stdout=subprocess.PIPE, env=os.environ | _DEFAULTS)  # noqa: S603 - ours
    _STARTED.append(loading)
    assert loading.stdout is not None
    assert loading.stdout.readline() == b"ready\n"


def serve(path: str) -> None:
    """Until standard input ends. Returns in each process that was forked, ready to be the command."""
    atexit.register(_end)  # the first of all, and so the last that is called
    if _MAY_FORK:
        _load()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        os.write(1, b"ready\n")
        while listener in select.select([listener, 0], [], [])[0]:
            line, _ = listener.accept()
            with line:
                if os.fork() == 0:
                    listener.close()
                    return _become_command(line)
    shutil.rmtree(Path(path).parent)
    os._exit(0)


def _load() -> None:
    """What a run imports, and what a process keeps of the first graph and the first prompts that it makes."""
    for name in _LOADED:
        import_module(name)
    from contend.contest.graph import build_contest_graph  # noqa: PLC0415 - not in the tests' own process
    from contend.prompts.values import samples_of  # noqa: PLC0415 - the same
    from contend.services import Services  # noqa: PLC0415 - the same
    from contend.settings import load_settings  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory() as folder:
        services = Services(load_settings(workspace=Path(folder)))
        build_contest_graph(services).compile()
        for name in services.library.names():
            services.library.render(name, samples_of(name)[0], language="en", mark="")


def _become_command(line: socket.socket) -> None:
    """One process is to be the command; the other waits, and tells of its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, pipes, _, _ = socket.recv_fds(line, LENGTH_BYTES, 3)
    with line.makefile("rb") as request:
        arguments, folder, environment = json.loads(request.read(int.from_bytes(length, "big")))
    if pid := os.fork():
        os.closerange(0, 3)
        for pipe in pipes:
            os.close(pipe)
        line.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
        os.close(pipe)
    os.chdir(folder)
    if not _MAY_FORK:
        program = Path(sys.executable) if arguments[:1] == ["-c"] else CONTEND
        os.execve(program, [str(program), *arguments], environment)  # noqa: S606 - contend itself, or a test's code
    sys.stdout, sys.stderr = (open(pipe, "w", buffering, closefd=False) for pipe, buffering in ((1, -1), (2, 1)))  # noqa: SIM115 - to the end
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(CONTEND), *arguments]
    sys.path[:2] = [str(CONTEND.parent)]


def run() -> None:
    """The command or the program, to its end."""
    if sys.argv[1:2] == ["-c"]:
        sys.argv[:3], program = ["-c"], sys.argv[2]
        exec(program, {"__name__": "__main__"})  # noqa: S102 - a test's own
        _EXIT_CODE[:] = [0]
        return
    from contend.cli.main import main  # noqa: PLC0415 - not before its environment is there

    try:
        main()
    except SystemExit as end:
        _EXIT_CODE[:] = [int(end.code or 0)]
        raise


def _end() -> None:
    """Threads have ended and other exit handlers have run: nothing is taken apart, which takes longer than most do."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(*_EXIT_CODE)
