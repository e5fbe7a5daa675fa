"""A real ``trunkline serve`` in a process of its own."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: seconds that anything here may take
PATIENCE = 30.0
COMMAND = (sys.executable, "-m", "trunkline", "serve")


class ServeProcess:
    """One process, from its start until it has ended."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
        descriptors: int | tuple[int, int] | None = None,
    ) -> None:
        def limit() -> None:
            if descriptors is not None:
                both = descriptors if isinstance(descriptors, tuple) else (descriptors, descriptors)
                resource.setrlimit(resource.RLIMIT_NOFILE, both)

        self._out, self._err = folder / f"out-{time.monotonic_ns()}", folder / f"err-{time.monotonic_ns()}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, *arguments],
                cwd=folder,
                stdout=out,
                stderr=err,
                env={"PYTHONPATH": os.getcwd(), **os.environ, **(environ or {})},  # noqa: PTH109
                preexec_fn=limit,  # noqa: PLW1509 -- it makes a call of the system, and nothing else
            )

    @property
    def output(self) -> str:
        """Standard output so far."""
        return self._out.read_text()

    @property
    def log(self) -> str:
        """Standard error so far."""
        return self._err.read_text()

    @property
    def url(self) -> str:
        """Its address, once it is printed."""
        wait_for(lambda: "Trunkline serves" in self.output, lambda: self.log)
        found = re.search(r"Trunkline serves (\S+)", self.output)
        assert found is not None
        return found[1]

    def ready(self) -> "ServeProcess":
        """Wait until it takes work."""
        url = self.url
        wait_for(lambda: ask(f"{url}/v1/health/ready")[0] == 200, lambda: self.log)
        return self

    def logged(self, text: str) -> None:
        """Wait for a line in its log."""
        wait_for(lambda: text in self.log, lambda: self.log)

    def signal(self, number: "signal.Signals") -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.ended()


@contextmanager
def serve(
    folder: Path,
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] = COMMAND,
    descriptors: int | tuple[int, int] | None = None,
) -> Generator[ServeProcess]:
    """A server in a process, which is killed in the end if it still runs. `descriptors`: how many it may have, or
    its soft and its hard limit."""
    made = ServeProcess(folder, *arguments, environ=environ, command=command, descriptors=descriptors)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()


def wait_for(holds: Any, why: Any) -> None:
    """Wait until something holds. Raises `AssertionError` with what `why` says."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, why()
        time.sleep(0.02)


def ask(url: str, token: str = "", body: object = None, method: str | None = None) -> tuple[int, Any]:
    """Status and answer of a request; status 0 where nobody answers."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as found:
            return found.status, json.load(found)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return 0, None


def say(url: str, token: str, text: str, message_id: str, wait: float | bool = True) -> tuple[int, Any]:
    """Post a message of Ana in the web chat."""
    peer = {"kind": "direct", "id": "ana", "name": "Ana"}
    body = {"channel": "webchat", "account": "default", "peer": peer, "message_id": message_id, "text": text}
    return ask(f"{url}/v1/chat/inbound", token, {**body, "wait": wait})


def token_of(folder: Path, name: str = "state/token") -> str:
    """The token in the token file of a server."""
    return (folder / name).read_text().strip()
