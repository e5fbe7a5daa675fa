"""A try in a process of its own: its outcome, its trace while it is written, and its end, whatever ends it."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.attach.process.programs import lives
from tests.attach.process.worker_try import FOREVER, POLLS, WorkerTry, left_alive
from trunkline.core.events import read_trace
from trunkline.core.events.base import RunEnded

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="closes off networks, which is Linux")


@pytest.fixture(autouse=True)
def _no_process_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert left_alive(tmp_path) == []


def test_a_try_leaves_a_whole_trace_and_no_process(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, POLLS + FOREVER)
    outcome = one.play()
    assert outcome.problem == ""
    assert one.ended() == RunEnded(at_rest=True)
    assert [body.number for body in one.events("gateway.ready")] == [1]


def test_the_trace_can_be_followed(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, POLLS + FOREVER, patience="3s")
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
    one = WorkerTry(tmp_path, POLLS + FOREVER, patience="60s")
    process = one.start()
    one.until_up("main", "child")
    process.send_signal(how)
    assert one.end().problem == "it was interrupted"
    assert one.ended() == RunEnded(at_rest=False, cut="since it was interrupted")
    assert not lives(one.home, "main")
    assert not lives(one.home, "child")


def test_a_worker_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, POLLS + FOREVER, patience="60s")
    process = one.start()
    one.until_up("main", "child")
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    one.until_dead("main", "child")


def test_the_end_of_who_waits_for_it_ends_a_try(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, POLLS + FOREVER, patience="60s")
    code = f"""
import subprocess, sys, time
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


# ---------------------------------------------------------------- the network


#: speaks to strangers by IPv6 too if `BY_IP6`
REACHES_OUT = """
import socket
for _ in range(2):
    for host in ("192.88.99.7", *(["2606:4700::6812:2a"] if BY_IP6 else []), "api.telegram.org"):
        began = time.monotonic()
        try:
            socket.create_connection((host, 443), timeout=20)
        except OSError as error:
            # A kernel would send the first packet again after a second.
            late = "late" if ":" in host and time.monotonic() - began > 0.7 else "in time"
            print(type(error).__name__, error.errno, late, flush=True)
if BY_IP6:
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"hello", ("2606:4700::6812:2b", 123))
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"nobody is here", ("::1", 9))
"""


def test_whom_the_gateway_wants_to_reach_is_named_and_not_reached(tmp_path: Path) -> None:
    by_ip6 = Path("/proc/net/if_inet6").exists()
    body = f"BY_IP6 = {by_ip6}\n{REACHES_OUT}"
    one = WorkerTry(tmp_path, POLLS.replace('call("getMe")', body + 'call("getMe")') + FOREVER)
    outcome = one.play()
    assert outcome.problem == ""
    if outcome.notes:
        pytest.skip(f"the network cannot be closed off here: {outcome.notes}")
    found = [(one.protocol, one.address, one.port, one.name, one.stopped) for one in one.events("gateway.reached_out")]
    named = [("udp", "", 0, "api.telegram.org", True)] if Path("/etc/resolv.conf").stat().st_size else []
    ip6 = [("tcp", "2606:4700::6812:2a", 443, "", True), ("udp", "2606:4700::6812:2b", 123, "", True)]
    expected = [("tcp", "192.88.99.7", 443, "", True), *named, *(ip6 if by_ip6 else [])]
    assert sorted(found) == sorted(expected)
    log = (tmp_path / "try" / "gateway.log").read_text().splitlines()
    # What a machine says that has no way to that network, and no name server.
    assert log == ["OSError 101 in time", *(["OSError 101 in time"] if by_ip6 else []), "gaierror -3 in time"] * 2


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
        one = WorkerTry(tmp_path, POLLS.replace('call("getMe")', speaks + 'call("getMe")') + FOREVER, settle="1s")
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
    one = WorkerTry(tmp_path, body, warm_up=True, patience="300ms")
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


def test_a_try_begins_without_the_first_conversation(tmp_path: Path) -> None:
    body = POLLS + "open('starts', 'a').write('x')\nopen('sessions.db', 'a').write('x')\n" + FOREVER
    one = WorkerTry(tmp_path, body, warm_up=True, patience="300ms", conversation_files=["*.db"])
    one.job = msgspec.structs.replace(one.job, states=str(tmp_path / "states"))
    assert one.play().problem == ""
    assert ((one.home / "starts").read_text(), (one.home / "sessions.db").read_text()) == ("xx", "x")


def test_a_first_conversation_that_fails_leaves_no_state(tmp_path: Path) -> None:
    one = WorkerTry(tmp_path, "sys.exit(2)", warm_up=True)
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
    one = WorkerTry(tmp_path, body, warm_up=True)
    one.job = msgspec.structs.replace(one.job, states=str(tmp_path / "states"))
    assert one.play().problem == ""
    first, second, *_ = [list(map(int, line.split())) for line in (one.home / "seen").read_text().splitlines()]
    # A gateway that remembers what its first conversation was must not take the try for a repetition.
    assert all(later > earlier for earlier, later in zip(first, second, strict=True))
    assert second[1] < 2**31
