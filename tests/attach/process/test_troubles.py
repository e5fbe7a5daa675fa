"""Each trouble with a gateway ends its try with a message, and its processes with it."""

import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attach.process.programs import program
from tests.attach.process.worker_try import FOREVER, POLLS, SCENARIO, WorkerTry, left_alive
from trunkline.core.events import read_trace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="closes off networks, which is Linux")


@pytest.fixture(autouse=True)
def _no_process_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert left_alive(tmp_path) == []


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, "", command=["no-such-gateway", "run"])
    assert one.play().problem == "small did not start: command not found: no-such-gateway"
    assert one.ended().at_rest is False


def test_one_that_dies_at_its_start_is_quoted(tmp_path: Path) -> None:
    outcome = WorkerTry(tmp_path, "print('\\x1b[31mno such key\\x1b[0m'); sys.exit(4)").play()
    assert outcome.problem == "small ended with the code 4 before it was ready"
    assert outcome.log == ("no such key",)


def test_one_that_goes_into_the_background(tmp_path: Path) -> None:
    body = "forked('first', lambda: (os.setsid(), forked('second'), time.sleep(1000)))\n"
    wait = "while not os.path.exists('second.up'): time.sleep(0.01)\n"
    problem = WorkerTry(tmp_path, f"{body}{wait}os._exit(0)").play().problem
    assert problem == (
        "small ended with the code 0 before it was ready, and left 2 processes, which were ended with it: "
        "a gateway has to stay in the foreground"
    )


def test_one_that_goes_into_the_background_later(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, POLLS + "call('getUpdates', timeout=0); time.sleep(0.3); os._exit(0)")
    assert one.play().problem == ""
    (exited,) = one.events("gateway.exited")
    assert (exited.code, exited.left) == (0, 1)


def test_a_program_is_found_where_its_user_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "my-gateway").write_text("#!/bin/sh\necho mine\nexit 6\n")
    (own / "my-gateway").chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:3128")
    outcome = WorkerTry(tmp_path, "", command=["my-gateway"]).play()
    assert outcome.problem == "small ended with the code 6 before it was ready"
    outcome = WorkerTry(tmp_path, "print(os.environ); sys.exit(6)").play()
    assert str(own) in outcome.log[-1]
    assert "PROXY" not in outcome.log[-1]


def test_one_that_never_connects(tmp_path: Path) -> None:
    outcome = WorkerTry(
        tmp_path, "here('main'); print('waiting', flush=True); time.sleep(100)", start_within="1s"
    ).play()
    assert outcome.problem == "small was not ready within 1 s: it lacks a connection to telegram"
    assert outcome.log == ("waiting",)


def test_one_that_ends_later_is_recorded_and_not_started_again(tmp_path: Path) -> None:
    one = WorkerTry(
        tmp_path, POLLS + "call('getUpdates', timeout=0); time.sleep(0.3); print('bye', flush=True); os._exit(6)"
    )
    assert one.play().problem == ""
    (exited,) = one.events("gateway.exited")
    assert (exited.number, exited.code, exited.log) == (1, 6, ("bye",))
    assert len(one.events("gateway.launched")) == 1


def test_one_that_floods_its_log(tmp_path: Path) -> None:
    body = POLLS + "forked('flood', lambda: [os.write(1, b'z' * 4095 + b'\\n') for _ in range(8000)])" + FOREVER
    outcome = WorkerTry(tmp_path, body, settle="2s").play()
    assert outcome.problem == ""
    assert outcome.notes == ("the gateway wrote more than 16,000,000 bytes to its log; gateway.log ends there",)
    assert (tmp_path / "try" / "gateway.log").stat().st_size < 16_001_000


def test_one_that_floods_the_platform_comes_to_an_end(tmp_path: Path) -> None:
    body = """
from http.client import HTTPConnection
url = os.environ["API"].removeprefix("http://")
here("main")
def flood():
    one = HTTPConnection(url)
    while True:
        one.request("GET", f"/bot{os.environ['TOKEN']}/getMe")
        one.getresponse().read()
forked("one", flood)
forked("two", flood)
flood()
"""
    one = WorkerTry(tmp_path, body, start_within="60s")
    began = time.monotonic()
    assert "requests" in one.play().problem
    assert time.monotonic() - began < 50
    assert len(read_trace(tmp_path / "trace.jsonl").events) < 20_000


def test_one_whose_port_is_in_use(tmp_path: Path) -> None:
    body = """
import socket
forked("other", lambda: (kept.append(socket.create_server(("127.0.0.1", int(sys.argv[1])))), time.sleep(1000)))
time.sleep(0.5)
socket.create_server(("127.0.0.1", int(sys.argv[1])))
"""
    outcome = WorkerTry(tmp_path, body, command=[*program(tmp_path, body), "${port}"]).play()
    assert outcome.problem == "small ended with the code 1 before it was ready"
    assert outcome.log[-1].startswith("OSError: [Errno 98] Address already in use")


def test_a_preparation_that_fails_is_quoted(tmp_path: Path) -> None:
    outcome = WorkerTry(tmp_path, "", prepare=[[sys.executable, "-c", "print('no disk'); raise SystemExit(3)"]]).play()
    assert outcome.problem.startswith("small could not be prepared: `")
    assert outcome.problem.endswith("` ended with the code 3")
    assert outcome.log == ("no disk",)


def test_a_version_that_nobody_can_name_is_a_note(tmp_path: Path) -> None:
    outcome = WorkerTry(tmp_path, POLLS + FOREVER, version=["no-such-gateway", "--version"]).play()
    assert outcome.problem == ""
    assert outcome.notes == ("its version is not known: there is no no-such-gateway",)


def test_one_that_takes_the_place_of_its_files_is_not_started_again(tmp_path: Path) -> None:
    polls = "\nwhile True:\n  try: call('getUpdates', timeout=10)\n  except OSError: pass\n  time.sleep(0.05)"
    body = POLLS + "os.remove('token'); os.mkdir('token')" + polls
    rotate = "  - {at: 100ms, rotate: {platform: telegram}}\n  - {at: 200ms, crash: {restart_after: 10ms}}\n"
    environment = {"API": "${telegram.url}", "TOKEN": "${telegram.token}"}
    given = {"environment": environment, "files": {"token": "${telegram.token}"}}
    one = WorkerTry(tmp_path, body, scenario=SCENARIO + rotate, platforms={"telegram": given}, patience="20s")
    assert one.play().problem == f"small cannot be given its files: {one.home / 'token'}: Is a directory"


def test_a_line_that_comes_after_the_end_of_the_log_says_that_it_is_ready(tmp_path: Path) -> None:
    body = "for _ in range(17): os.write(1, b'z' * 999_999 + b'\\n')\nprint('all set', flush=True)\n" + POLLS + FOREVER
    one = WorkerTry(tmp_path, body, ready={"log": "^all set$"})
    assert one.play().problem == ""


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, "")
    (tmp_path / "try").write_text("a file")
    assert one.play().problem == f"{tmp_path / 'try'}: File exists: the gateway cannot have its folder there"


def test_a_full_disk_ends_the_try_with_a_message(tmp_path: Path) -> None:
    def small_files() -> None:
        # As with a full disk, a write fails; that one sends no signal is for Python to see to.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    outcome = WorkerTry(tmp_path, POLLS + FOREVER, patience="60s").play(preexec_fn=small_files)
    assert outcome.problem == f"{tmp_path / 'trace.jsonl'}: File too large: the trace ends there"


def test_a_scenario_that_is_none_is_named(tmp_path: Path) -> None:
    assert "one.yaml" in WorkerTry(tmp_path, "", scenario="scenario: 1\n").play().problem
