"""Signals of ``trunkline serve`` in each phase of its life, and a store that it cannot write."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.processes.test_serve import SLOW, refused
from tests.support.serve.held import PHASES
from tests.support.serve.processes import ServeProcess, ask, say, serve, token_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX; attributes of files of Linux")

#: an agent that never says that it is ready
SILENT = "import time; time.sleep(600)\n"
ARGUMENTS = ("--config", "g.yaml", "--port", "0", "--state", "state")


@contextmanager
def in_phase(folder: Path, phase: str) -> Generator[ServeProcess]:
    """A server that is in a phase, and does not leave it by itself."""
    (folder / "agent.py").write_text(SILENT if phase == "agents starting" else SLOW)
    program = f"{{command: [{sys.executable}, agent.py], start_timeout: 10m}}"
    (folder / "g.yaml").write_text(f"agents: {{main: {{program: {program}}}}}\nfinish_within: 10m\n")
    if phase in PHASES:
        held = (sys.executable, "-m", "tests.support.serve.held", phase)
        with serve(folder, *ARGUMENTS, command=held) as server:
            if phase == "stopping":
                server.ready()
            else:
                server.logged(f"held: {phase}")
            yield server
    elif phase == "waiting for the lease":
        with serve(folder, *ARGUMENTS) as holder:
            holder.ready()
            with serve(folder, *ARGUMENTS) as server:
                server.logged("holds the store")
                yield server
    else:
        with serve(folder, *ARGUMENTS) as server:
            url = server.ready().url
            if phase != "serving":
                say(url, token_of(folder), "500", "1", wait=False)
                server.logged("its program is started")
            yield server


#: phases that the first signal ends by itself, with code 0
ENDED_BY_ONE = ("connecting accounts", "waiting for the lease", "serving")


@pytest.mark.parametrize("phase", ENDED_BY_ONE)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_ends_it_in_order(tmp_path: Path, phase: str, number: signal.Signals) -> None:
    with in_phase(tmp_path, phase) as server:
        server.signal(number)
        assert server.ended() == 0, server.log
        assert f"{number.name}: stopping" in server.log


@pytest.mark.parametrize("phase", ["before the store", "migrating"])
def test_the_first_signal_ends_a_start_after_the_step_that_holds_it_up(tmp_path: Path, phase: str) -> None:
    held = (sys.executable, "-m", "tests.support.serve.held", phase)
    with serve(tmp_path, "--port", "0", "--state", "state", environ={"HELD": "2"}, command=held) as server:
        server.logged(f"held: {phase}")
        server.signal(signal.SIGTERM)
        assert server.ended() == 0, server.log
        assert "SIGTERM: stopping" in server.log
        assert server.output == "", "it has not served"
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        assert say(server.ready().url, token_of(tmp_path), "hello", "1")[0] == 200


@pytest.mark.parametrize("phase", [*PHASES, "waiting for the lease", "agents starting", "serving", "a turn in work"])
def test_the_second_signal_ends_it_in_every_phase(tmp_path: Path, phase: str) -> None:
    with in_phase(tmp_path, phase) as server:
        server.signal(signal.SIGTERM)
        if phase != "before the store" and phase not in ENDED_BY_ONE:
            server.logged("SIGTERM: stopping")
        if phase == "stopping":
            server.logged("held: stopping")
        # Two that arrive at one moment are one for the system.
        time.sleep(0.5)
        assert phase in ENDED_BY_ONE or server.process.poll() is None
        server.signal(signal.SIGTERM)
        # In order within a moment, or else by the alarm that was set for it.
        assert server.ended() in (0, -signal.SIGALRM), server.log


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        server.ready()
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    for path in (tmp_path / "state" / "gateway.db", tmp_path / "state"):
        with read_only(path):
            said = refused(tmp_path, "--port", "0", "--state", "state")
            assert f"the store state/gateway.db cannot be written: {path.resolve()} is read-only" in said
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        server.ready()


@pytest.mark.skipif(
    getattr(os, "geteuid", int)() != 0, reason="modes do not hold for files that are open, and attributes need root"
)
def test_a_store_that_becomes_read_only_is_said_and_goes_on_when_it_is_writable(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url, token = server.ready().url, token_of(tmp_path)
        with read_only(state / "gateway.db"), read_only(state / "gateway.db-wal"):
            assert say(url, token, "hello", "1")[0] == 503
            status, problem = ask(f"{url}/v1/health/ready")
            assert (status, problem["type"]) == (503, "urn:trunkline:problem:store-unavailable")
            server.logged("the store refused a write")
        status, answer = say(server.ready().url, token, "hello", "1")
        assert (status, answer["duplicate"]) == (200, True), "what had come is stored, once"
        with read_only(state / "gateway.db"), read_only(state / "gateway.db-wal"):
            server.signal(signal.SIGTERM)
            assert server.ended() == 0, server.log


@contextmanager
def read_only(path: Path) -> Generator[None]:
    """A file or folder that nobody can write: by its mode, or for root, whom no mode stops, by its attribute."""
    mode = path.stat().st_mode
    if os.geteuid():
        path.chmod(mode & ~0o222)
    elif subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("root on a file system without attributes writes everything")
    try:
        yield
    finally:
        if os.geteuid():
            path.chmod(mode)
        else:
            subprocess.run(["chattr", "-i", path], check=True)
