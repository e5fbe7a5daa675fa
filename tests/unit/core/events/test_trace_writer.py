"""A trace that is written while it happens: whole lines, what it ends with, and that its file hurts nobody."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from trunkline.core.events import EventLog, Recording, TraceError, TraceHeader, read_trace
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState
from trunkline.sim.events.processes import ProcessStopped

HEADER = TraceHeader(scenario="mine", title="a gateway of mine")
PLACE = Address(channel="discord", account="main", kind=ChatKind.CHANNEL, conversation="1")


def until(met: Callable[[], bool]) -> None:
    """Another thread writes: its work is waited for, and not for long."""
    late = time.monotonic() + 10
    while not met():
        assert time.monotonic() < late
        time.sleep(0.005)


def prepared() -> IntentPrepared:
    return IntentPrepared(
        intent_kind=IntentKind.REPLY,
        address=PLACE,
        text="hello",
        chunks=1,
        reason=Reason.REPLY_TO_ORIGIN,
        key="k",
        targeted=False,
        mirror_key=None,
    )


def test_events_are_read_back_and_end_with_what_is_open(tmp_path: Path):
    log = EventLog(lambda: 1.5)
    with Recording(tmp_path / "run.jsonl", HEADER) as recording:
        recording.follow(log)
        sink = log.recorder("gateway", 1)
        sink.record(ProcessStarted())
        sink.record(prepared(), intent="i1")
        sink.record(prepared(), intent="i2")
        sink.record(IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1), 2, intent="i1")
    trace = read_trace(tmp_path / "run.jsonl")
    assert trace.header == HEADER
    assert trace.events == tuple(log.events)
    assert trace.events[-1].body == RunEnded(at_rest=False, open=("i2",))


def test_it_is_in_the_file_while_the_run_goes_on(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    log = EventLog(lambda: 0.0, keep=False)
    recording = Recording(path, HEADER)
    recording.follow(log)
    assert path.read_bytes().count(b"\n") == 1
    log.recorder("gateway", 1).record(ProcessStarted())
    until(lambda: path.read_bytes().count(b"\n") == 2)
    recording.close()
    recording.close()
    assert [event.kind for event in read_trace(path).events] == ["process.started", "run.ended"]


def test_a_file_that_cannot_be_made_is_reported_at_once(tmp_path: Path):
    with pytest.raises(TraceError, match=r"nowhere/run\.jsonl: No such file or directory"):
        Recording(tmp_path / "nowhere" / "run.jsonl", HEADER)


def test_a_full_disk_is_reported_once_and_the_log_goes_on():
    reported: list[str] = []
    log = EventLog(lambda: 0.0)
    path = Path("/dev/full")
    with pytest.raises(TraceError, match="/dev/full: No space left on device"):
        Recording(path, HEADER)
    reader, writer = os.pipe()
    recording = Recording(Path(f"/dev/fd/{writer}"), HEADER, report=reported.append)
    os.close(writer)
    recording.follow(log)
    os.close(reader)
    for _ in range(3):
        log.recorder("gateway", 1).record(ProcessStarted())
        until(lambda: bool(reported))
    recording.close()
    assert len(reported) == 1
    assert "Broken pipe; the trace ends there, the gateway goes on" in reported[0]
    assert [event.kind for event in log.events] == ["process.started"] * 3 + ["run.ended"]


def test_a_log_that_had_begun_is_no_trace(tmp_path: Path):
    reported: list[str] = []
    log = EventLog(lambda: 0.0, start=7)
    with Recording(tmp_path / "run.jsonl", HEADER, report=reported.append) as recording:
        recording.follow(log)
        log.recorder("gateway", 1).record(ProcessStarted())
    assert reported == [
        f"{tmp_path}/run.jsonl: event 8 follows event 0: the log had begun before it was followed; "
        "the trace ends there, the gateway goes on"
    ]


def test_a_reader_that_stops_reading_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.core.events.trace_writer.PATIENCE", 0.2)
    monkeypatch.setattr("trunkline.core.events.trace_writer.MOST_WAITING", 2000)
    reported: list[str] = []
    reader, writer = os.pipe()
    recording = Recording(Path(f"/dev/fd/{writer}"), HEADER, report=reported.append)
    os.close(writer)
    log = EventLog(lambda: 0.0, keep=False)
    recording.follow(log)
    sink = log.recorder("gateway", 1)
    for _ in range(20_000):
        sink.record(ProcessStarted())
        if reported:
            break
    recording.close()
    os.close(reader)
    assert len(reported) == 1
    assert "too slow" in reported[0] or "in time" in reported[0]


def test_only_its_owner_can_read_it(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    before = os.umask(0)
    try:
        Recording(path, HEADER).close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_recordings_do_not_share_a_file(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    log = EventLog(lambda: 0.0)
    with Recording(path, HEADER) as recording:
        recording.follow(log)
        log.recorder("gateway", 1).record(ProcessStarted())
        with pytest.raises(TraceError, match=r"run\.jsonl: another recording is writing it"):
            Recording(path, HEADER)
    assert [event.kind for event in read_trace(path).events] == ["process.started", "run.ended"]
    # Its end frees the file, and the next run takes its place.
    Recording(path, HEADER).close()
    assert path.read_bytes().count(b"\n") == 1


def test_events_after_the_end_are_not_written(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    log = EventLog(lambda: 0.0)
    with Recording(path, HEADER) as recording:
        recording.follow(log)
        sink = log.recorder("gateway", 1)
        sink.record(RunEnded(at_rest=True))
        sink.record(ProcessStopped(why="end"))
    log.recorder("gateway", 1).record(ProcessStarted())
    assert [event.kind for event in read_trace(path).events] == ["run.ended"]
    assert not recording.problem


def test_a_text_that_cannot_be_written_is_reported(tmp_path: Path):
    reported: list[str] = []
    log = EventLog(lambda: 0.0)
    with Recording(tmp_path / "run.jsonl", HEADER, report=reported.append) as recording:
        recording.follow(log)
        log.recorder("gateway", 1).record(ProcessStopped(why="half a pair: \ud83d"))
        until(lambda: bool(reported))
    assert len(reported) == 1
    assert "an event cannot be written" in reported[0]


FORKS = """
import os, sys
from pathlib import Path
from trunkline.core.events import EventLog, Recording, TraceHeader
from trunkline.core.events.gateway import ProcessStarted
from trunkline.sim.events.processes import ProcessStopped
log = EventLog(lambda: 0.0)
recording = Recording(Path(sys.argv[1]), TraceHeader(scenario="mine"))
recording.follow(log)
log.recorder("gateway", 1).record(ProcessStarted())
child = os.fork()
if not child:
    log.recorder("child", 1).record(ProcessStopped(why="end"))
    recording.close()
    os._exit(0)
os.waitpid(child, 0)
log.recorder("gateway", 1).record(ProcessStarted())
recording.close()
"""


def test_a_process_that_is_forked_off_does_not_write(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, str(path)], check=True, timeout=60, cwd=ROOT)
    found = [(event.node, event.kind) for event in read_trace(path).events]
    assert found == [("gateway", "process.started")] * 2 + [("recording", "run.ended")]


KILLED = (
    FORKS.partition("child =")[0]
    + """
import time
while b"process.started" not in Path(sys.argv[1]).read_bytes():
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""
)


def test_a_process_that_is_killed_leaves_what_was_written(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60, cwd=ROOT, check=False)
    assert done.returncode == -9
    trace = read_trace(path, whole=False)
    assert [event.kind for event in trace.events] == ["process.started"]
    assert "the trace ends before 'run.ended'" in trace.cut
