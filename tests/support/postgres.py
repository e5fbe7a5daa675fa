"""A private PostgreSQL server for tests: in a folder of its own, on a port of its own, stopped at the end."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

_MISSING = "PostgreSQL 15 or later is not installed: tools/postgres.sh installs Debian's"
#: of the user in the database
PASSWORD = "a pass/word"
URL_PASSWORD = "a%20pass%2Fword"


@cache
def programs() -> Path | None:
    """The folder of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found and int(found[-1].parts[-3]) >= 15:
        return found[-1].parent
    elsewhere = shutil.which("postgres")
    return None if elsewhere is None else Path(elsewhere).resolve().parent


def need_server() -> Path:
    """The programs; without them the test is skipped, and fails in CI."""
    found = programs()
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail(_MISSING)
    pytest.skip(_MISSING)


def _as_user() -> list[str]:
    """What lets a program run as a user that may start a server: root may not."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []


class Server:
    """A server with one database, in which each store has a schema of its own."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.bin = need_server()
        self.folder = folder
        self._data = folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._options = f"-p {self.port} -k {folder} -c listen_addresses=127.0.0.1 -c shared_buffers=32MB"
        if not durable:
            self._options += " -c fsync=off -c full_page_writes=off"
        self._schemas = 0

    def make(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        secret = self.folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        self._run("initdb", "-D", self._data, "-U", "trunkline", "-E", "UTF8", "--no-locale", "-A", "scram-sha-256",
                  "--no-sync", f"--pwfile={secret}")  # fmt: skip
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = [*_as_user(), self.bin / program, *map(str, arguments)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def start(self) -> None:
        log = self.folder / "log"
        # Else the server would inherit the pipes, and the call would wait for its end.
        command = [*_as_user(), self.bin / "pg_ctl", "-D", self._data, "-w", "-l", log, "-o", self._options, "start"]
        done = subprocess.run(
            list(map(str, command)),
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, log.read_text("utf-8", "replace")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """End the server at once, as a crash of its machine does."""
        os.kill(self.pid, signal.SIGQUIT)

    @property
    def pid(self) -> int:
        """The first process, whose children are all others."""
        return int((self._data / "postmaster.pid").read_text("ascii").split()[0])

    def url(self, schema: str | None = None, *, port: int | None = None) -> str:
        """The address of a store; without a schema, of a new one."""
        if schema is None:
            self._schemas += 1
            schema = f"s{self._schemas}"
        return f"postgresql://trunkline:{URL_PASSWORD}@127.0.0.1:{port or self.port}/postgres?schema={schema}"


@contextlib.contextmanager
def running(*, durable: bool = False) -> Generator[Server]:
    """A new server. `durable`: with fsync, for tests that judge what outlives a crash of the server."""
    # Not a folder of pytest's: a socket's path is short, and the server's user could not reach it.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    server = Server(folder, durable=durable)
    try:
        server.make()
        yield server
    finally:
        with contextlib.suppress(AssertionError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
