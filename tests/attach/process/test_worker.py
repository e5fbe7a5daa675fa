"""A try in a process of its own: its outcome, its trace while it is written, and its end, whatever ends it."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.attach.process.programs import lives, program
from trunkline.core.events import read_trace
from trunkline.core.events.base import RunEnded
from trunkline.sim.attach.job import AttachJob, AttachOutcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="closes off networks, which is Linux")

SCENARIO = """
scenario: 1
title: A question
world:
  people: [ana]
  telegram: {}
cast: {agents: {main: [{do: [{reply: "Done."}]}]}}
script:
  - {at: 0s, as: ana, in: "telegram/@ana", say: "hello"}
"""
#: connects, and never answers
POLLS = """
import urllib.request, json
api = os.environ["API"]
def call(method, **fields):
    url = f"{api}/bot{os.environ['TOKEN']}/{method}"
    data = json.dumps(fields).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json"})).read()
here("main")
forked("child")
call("getMe")
"""
FOREVER = "\nwhile True: call('getUpdates', timeout=10)\n"


class Try:
    """A worker with a gateway of a few lines."""

    def __init__(self, folder: Path, body: str, *, scenario: str = SCENARIO, **profile: Any) -> None:
        self.folder, self.home = folder, folder / "try" / "home"
        command = list(program(folder, body))
        (folder / "profile.yaml").write_text(
            json.dumps(
                {
                    "profile": 1,
                    "name": "small",
                    "command": command,
                    "platforms": {
                        "telegram": {"environment": {"API": "${telegram.url}", "TOKEN": "${telegram.token}"}}
                    },
                    "environment": {"TZ": "UTC"},
                    "start_within": "15s",
                    "settle": "200ms",
                    "patience": "1s",
                    **profile,
                }
            )
        )
        (folder / "one.yaml").write_text(scenario)
        self.job = AttachJob(
            scenario=str(folder / "one.yaml"),
            profile=str(folder / "profile.yaml"),
            install=str(folder),
            folder=str(folder / "try"),
            trace=str(folder / "trace.jsonl"),
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        with (self.folder / "errors").open("wb") as errors:
            self.process = process = subprocess.Popen(
                command or [sys.executable, "-m", "trunkline.sim.attach.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                **options,
            )
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(self.job))
        process.stdin.close()
        return process

    def end(self) -> AttachOutcome:
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout as out:
            printed = out.read()
        assert self.process.wait(30) == 0, (self.folder / "errors").read_text()
        return msgspec.json.decode(printed, type=AttachOutcome)

    def play(self, **options: Any) -> AttachOutcome:
        self.start(**options)
        return self.end()

    def events(self, kind: str) -> list[Any]:
        return [event.body for event in read_trace(self.folder / "trace.jsonl").events if event.kind == kind]

    def ended(self) -> RunEnded:
        (body,) = self.events("run.ended")
        return body

    def until_up(self, *names: str) -> None:
        deadline = time.monotonic() + 30
        while not all((self.home / f"{name}.up").exists() for name in names):
            assert time.monotonic() < deadline, (self.folder / "errors").read_text()
            time.sleep(0.02)

    def until_dead(self, *names: str) -> None:
        deadline = time.monotonic() + 10
        while any(lives(self.home, name) for name in names):
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture(autouse=True)
def _no_process_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    home = tmp_path / "try" / "home"
    assert not [one for one in home.glob("*.lock") if lives(home, one.stem)]


def test_a_try_leaves_a_whole_trace_and_no_process(tmp_path: Path) -> None:
    one = Try(tmp_path, POLLS + FOREVER)
    outcome = one.play()
    assert outcome.problem == ""
    assert one.ended() == RunEnded(at_rest=True)
    assert [body.number for body in one.events("gateway.ready")] == [1]


def test_the_trace_can_be_followed(tmp_path: Path) -> None:
    one = Try(tmp_path, POLLS + FOREVER, patience="3s")
    process = one.start()
    trace = tmp_path / "trace.jsonl"
    deadline = time.monotonic() + 30
    while not trace.exists() or b"peer.said" not in trace.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert process.poll() is None
    assert trace.read_bytes().endswith(b"\n")
    assert one.end().problem == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_an_interrupted_try_ends_its_gateway_and_its_trace(tmp_path: Path, how: signal.Signals) -> None:
    one = Try(tmp_path, POLLS + FOREVER, patience="60s")
    process = one.start()
    one.until_up("main", "child")
    process.send_signal(how)
    assert one.end().problem == "it was interrupted"
    assert one.ended() == RunEnded(at_rest=False, cut="since it was interrupted")
    assert not lives(one.home, "main")
    assert not lives(one.home, "child")


def test_a_worker_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    one = Try(tmp_path, POLLS + FOREVER, patience="60s")
    process = one.start()
    one.until_up("main", "child")
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    one.until_dead("main", "child")


def test_the_end_of_who_waits_for_it_ends_a_try(tmp_path: Path) -> None:
    one = Try(tmp_path, POLLS + FOREVER, patience="60s")
    code = f"""
import subprocess, sys, time
from tests.attach.process.test_worker import Try
from pathlib import Path
subprocess.Popen([sys.executable, "-m", "trunkline.sim.attach.worker"], stdin=open({str(tmp_path / "job")!r}),
                 stdout=subprocess.DEVNULL, start_new_session=True)
time.sleep(100)
"""
    (tmp_path / "job").write_bytes(msgspec.json.encode(one.job))
    parent = subprocess.Popen([sys.executable, "-c", code])
    one.until_up("main", "child")
    parent.kill()
    parent.wait()
    one.until_dead("main", "child")
    deadline = time.monotonic() + 10
    while b"run.ended" not in (tmp_path / "trace.jsonl").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert one.ended().cut == "since the process that waited for it has ended"


# ---------------------------------------------------------------- troubles


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    one = Try(tmp_path, "", command=["no-such-gateway", "run"])
    assert one.play().problem == "small did not start: command not found: no-such-gateway"
    assert one.ended().at_rest is False


def test_one_that_dies_at_its_start_is_quoted(tmp_path: Path) -> None:
    outcome = Try(tmp_path, "print('\\x1b[31mno such key\\x1b[0m'); sys.exit(4)").play()
    assert outcome.problem == "small ended with the code 4 before it was ready"
    assert outcome.log == ("no such key",)


def test_one_that_never_connects(tmp_path: Path) -> None:
    outcome = Try(tmp_path, "here('main'); print('waiting', flush=True); time.sleep(100)", start_within="1s").play()
    assert outcome.problem == "small was not ready within 1 s: it lacks a connection to telegram"
    assert outcome.log == ("waiting",)


def test_one_that_ends_later_is_recorded_and_not_started_again(tmp_path: Path) -> None:
    one = Try(tmp_path, POLLS + "call('getUpdates', timeout=0); time.sleep(0.3); print('bye', flush=True); os._exit(6)")
    assert one.play().problem == ""
    (exited,) = one.events("gateway.exited")
    assert (exited.number, exited.code, exited.log) == (1, 6, ("bye",))
    assert len(one.events("gateway.launched")) == 1


def test_one_that_floods_its_log(tmp_path: Path) -> None:
    body = POLLS + "forked('flood', lambda: [os.write(1, b'z' * 4095 + b'\\n') for _ in range(8000)])" + FOREVER
    outcome = Try(tmp_path, body, settle="2s").play()
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
    one = Try(tmp_path, body, start_within="60s")
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
    outcome = Try(tmp_path, body, command=[*program(tmp_path, body), "${port}"]).play()
    assert outcome.problem == "small ended with the code 1 before it was ready"
    assert outcome.log[-1].startswith("OSError: [Errno 98] Address already in use")


def test_a_preparation_that_fails(tmp_path: Path) -> None:
    outcome = Try(tmp_path, "", prepare=[[sys.executable, "-c", "print('no disk'); raise SystemExit(3)"]]).play()
    assert outcome.problem.startswith("small could not be prepared: `")
    assert outcome.problem.endswith("` ended with the code 3")
    assert outcome.log == ("no disk",)


def test_a_version_that_nobody_can_name_is_a_note(tmp_path: Path) -> None:
    outcome = Try(tmp_path, POLLS + FOREVER, version=["no-such-gateway", "--version"]).play()
    assert outcome.problem == ""
    assert outcome.notes == ("its version is not known: there is no no-such-gateway",)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    one = Try(tmp_path, "")
    (tmp_path / "try").write_text("a file")
    assert one.play().problem == f"{tmp_path / 'try'}: File exists: the gateway cannot have its folder there"


def test_a_full_disk_ends_the_try_with_a_message(tmp_path: Path) -> None:
    def small_files() -> None:
        # As with a full disk, a write fails; that one sends no signal is for Python to see to.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    outcome = Try(tmp_path, POLLS + FOREVER, patience="60s").play(preexec_fn=small_files)
    assert outcome.problem == f"{tmp_path / 'trace.jsonl'}: File too large: the trace ends there"


def test_a_scenario_that_is_none(tmp_path: Path) -> None:
    assert "one.yaml" in Try(tmp_path, "", scenario="scenario: 1\n").play().problem


# ---------------------------------------------------------------- the network


def test_whom_the_gateway_wants_to_reach_is_named_and_not_reached(tmp_path: Path) -> None:
    body = """
import socket
for _ in range(2):
    for host in ("192.88.99.7", "api.telegram.org"):
        try:
            socket.create_connection((host, 443), timeout=20)
        except OSError as error:
            print(type(error).__name__, error.errno, flush=True)
"""
    one = Try(tmp_path, POLLS.replace('call("getMe")', body + 'call("getMe")') + FOREVER)
    outcome = one.play()
    assert outcome.problem == ""
    if outcome.notes:
        pytest.skip(f"the network cannot be closed off here: {outcome.notes}")
    found = [(one.protocol, one.address, one.port, one.name, one.stopped) for one in one.events("gateway.reached_out")]
    named = [("udp", "", 0, "api.telegram.org", True)] if Path("/etc/resolv.conf").stat().st_size else []
    assert found == [("tcp", "192.88.99.7", 443, "", True), *named]
    log = (tmp_path / "try" / "gateway.log").read_text().splitlines()
    # What a machine says that has no way to that network, and no name server.
    assert log == ["OSError 101", "gaierror -3"] * 2


#: denies namespaces to everything that follows, as hardened machines do
DENIED = """
import runpy
from pathlib import Path
from trunkline.sim.attach.process.guard import unshare
unshare(0)
Path("/proc/sys/user/max_user_namespaces").write_text("0")
runpy.run_module("trunkline.sim.attach.worker", run_name="__main__")
"""


def test_where_namespaces_are_denied_a_try_says_so_and_goes_on(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = probe.getsockname()[0]
    with socket.create_server((address, 0)) as server:
        port = server.getsockname()[1]
        speaks = f"import socket; kept.append(socket.create_connection(({address!r}, {port})))\n"
        one = Try(tmp_path, POLLS.replace('call("getMe")', speaks + 'call("getMe")') + FOREVER, settle="1s")
        one.start(command=[sys.executable, "-c", DENIED])
        outcome = one.end()
    assert outcome.problem == ""
    network, processes = outcome.notes
    assert network.startswith("the network could not be closed off (")
    assert network.endswith("): a gateway that is set up wrongly can reach real platforms")
    assert processes.startswith("the processes of the gateway had no namespace of their own (")
    found = [(one.protocol, one.address, one.port, one.stopped) for one in one.events("gateway.reached_out")]
    assert found == [("tcp", address, port, False)]
    assert not lives(one.home, "main")
    assert not lives(one.home, "child")


# ---------------------------------------------------------------- warm states


def test_a_state_is_made_once_and_copied_for_each_try(tmp_path: Path) -> None:
    body = POLLS + "open('starts', 'a').write('x')\nopen('seen', 'a').write(os.environ['API'])\n" + FOREVER
    one = Try(tmp_path, body, warm_up=True, patience="300ms")
    one.job = msgspec.structs.replace(one.job, states=str(tmp_path / "states"))
    for number in range(2):
        one.job = msgspec.structs.replace(one.job, folder=str(tmp_path / f"try-{number}"))
        assert one.play().problem == ""
        assert (tmp_path / f"try-{number}" / "home" / "starts").read_text() == "xx"
        # The time of a trace begins with its try.
        assert read_trace(tmp_path / "trace.jsonl").events[0].at < 5.0
    (state,) = [one for one in (tmp_path / "states").iterdir() if one.is_dir()]
    assert state.name.startswith("small-")
    assert (state / "starts").read_text() == "x"


def test_a_first_conversation_that_fails_leaves_no_state(tmp_path: Path) -> None:
    one = Try(tmp_path, "sys.exit(2)", warm_up=True)
    one.job = msgspec.structs.replace(one.job, states=str(tmp_path / "states"))
    assert "in its first conversation" in one.play().problem
    assert not [one for one in (tmp_path / "states").iterdir() if one.suffix not in (".lock", ".making")]


def test_numbers_of_updates_and_messages_go_on_from_try_to_try(tmp_path: Path) -> None:
    body = (
        POLLS
        + """
offset = 0
while True:
    for one in json.loads(call("getUpdates", timeout=10, offset=offset))["result"]:
        offset = one["update_id"] + 1
        with open("seen", "a") as file: file.write(f"{one['update_id']} {one['message']['message_id']}\\n")
"""
    )
    one = Try(tmp_path, body, warm_up=True)
    one.job = msgspec.structs.replace(one.job, states=str(tmp_path / "states"))
    assert one.play().problem == ""
    first, second = [list(map(int, line.split())) for line in (one.home / "seen").read_text().splitlines()]
    # A gateway that remembers what its first conversation was must not take the try for a repetition.
    assert all(later > earlier for earlier, later in zip(first, second, strict=True))
    assert second[1] < 2**31
