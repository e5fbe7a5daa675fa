"""Recordings of a server: parts that can be read, within a size and a number."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from trunkline.app.serve.config import RecordConfig
from trunkline.app.serve.record import RotatingRecording
from trunkline.core.errors import ConfigError
from trunkline.core.events import EventLog, Trace, read_trace
from trunkline.core.events.gateway import ToolCalled

Sized = Callable[[int], int]


def record(folder: Path, events: int, *, size: int = 10**6, files: int = 100) -> None:
    """One process that records so many events, each but the first with the one before it as its cause."""
    log = EventLog(lambda: 1.0, keep=False)
    recording = RotatingRecording(RecordConfig(folder=str(folder), file_size=size, files=files), log)
    gateway = log.recorder("gateway")
    for n in range(events):
        gateway.record(ToolCalled(tool="echo", detail=str(n)), n or None)
    recording.close()


def parts(folder: Path) -> list[Trace]:
    return [read_trace(path, whole=False) for path in sorted(folder.iterdir())]


def details(traces: list[Trace]) -> list[str]:
    return [event.body.detail for trace in traces for event in trace.events if isinstance(event.body, ToolCalled)]


def test_every_event_is_in_exactly_one_file(tmp_path: Path) -> None:
    record(tmp_path, 1000, size=10_000)
    traces = parts(tmp_path)
    assert len(traces) > 5
    assert details(traces) == [str(n) for n in range(1000)]
    assert all(path.stat().st_size < 10_400 for path in tmp_path.iterdir())


def test_each_part_is_a_trace_of_its_own(tmp_path: Path) -> None:
    record(tmp_path, 300, size=5_000)
    for trace in parts(tmp_path):
        assert [event.seq for event in trace.events] == list(range(1, len(trace.events) + 1))
        assert [event.cause for event in trace.events] == [None, *range(1, len(trace.events))]
        assert "ends before 'run.ended'" in trace.cut
    first = len(parts(tmp_path)[0].events) + 1
    assert parts(tmp_path)[1].header.title.endswith(f"part 2, from event {first}")
    assert parts(tmp_path)[1].header.of_gateway


def test_the_oldest_files_are_deleted(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("mine")
    record(tmp_path, 1000, size=5_000, files=3)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 4
    assert (tmp_path / "notes.jsonl").read_text() == "mine"
    assert details([read_trace(tmp_path / name, whole=False) for name in names[:3]])[-1] == "999"


def test_another_process_writes_files_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, 5)
    monkeypatch.setattr(os, "getpid", lambda: 99_999)
    record(tmp_path, 7)
    assert sorted(len(trace.events) for trace in parts(tmp_path)) == [5, 7]


def test_only_the_owner_reads_them(tmp_path: Path) -> None:
    record(tmp_path / "new" / "folder", 1)
    (path,) = (tmp_path / "new" / "folder").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_text_that_cannot_be_written_leaves_a_gap(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(lambda: 1.0, keep=False)
    recording = RotatingRecording(RecordConfig(folder=str(tmp_path)), log)
    gateway = log.recorder("gateway")
    for text in ("1", "half \ud800", "2", "3"):
        gateway.record(ToolCalled(tool="echo", detail=text))
    recording.close()
    assert "has a gap: event 2 cannot be written" in caplog.text
    assert [details([trace]) for trace in parts(tmp_path)] == [["1"], ["2", "3"]]


def test_a_recording_is_refused_where_its_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"record: .* cannot be written: (File exists|Not a directory)"):
        record(tmp_path / "file", 1)


def test_deleted_files_take_what_waits_with_them_and_a_new_one_begins(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("mine")
    log = EventLog(lambda: 1.0, keep=False)
    recording = RotatingRecording(RecordConfig(folder=str(tmp_path), file_size=2_000, files=100), log)
    gateway = log.recorder("gateway")
    for n in range(100):
        gateway.record(ToolCalled(tool="echo", detail=f"before {n}"))
    assert recording.delete() >= 1
    gateway.record(ToolCalled(tool="echo", detail="after"))
    recording.close()
    (tmp_path / "notes.jsonl").unlink()
    assert details(parts(tmp_path)) == ["after"]
