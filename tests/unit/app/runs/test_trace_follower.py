"""A trace that is still being written: what is taken of it, what is left to wait, and what is said when it breaks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app.traces import bound_completion
from trunkline.app.runs.live_run import Budget, Feed, FeedState, LiveRun
from trunkline.core.events import Event, TraceHeader, encode_event
from trunkline.core.events.trace import encode_header
from trunkline.sim.invariants import Judge

TRACE = bound_completion(bug=True, seed=7).trace
HEADER = encode_header(TRACE.header) + b"\n"
LINES = [encode_event(event) + b"\n" for event in TRACE.events]
ALL = Budget(10_000, 60.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for one in (reader, writer):
        try:
            os.close(one)
        except OSError:
            continue


def append(path: Path, *parts: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(parts))


def seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


def test_a_file_that_is_not_there_yet_is_waited_for(path: Path):
    feed = Feed(path)
    assert (feed.pull(ALL), feed.flow, feed.header, feed.over) == ([], FeedState.WAITING, None, False)
    path.touch()
    assert (feed.pull(ALL), feed.flow) == ([], FeedState.WAITING)
    append(path, HEADER)
    assert (feed.pull(ALL), feed.flow, feed.header) == ([], FeedState.OPEN, TRACE.header)


def test_new_lines_come_as_events_and_run_ended_ends_it(path: Path):
    feed = Feed(path)
    append(path, HEADER, *LINES[:3])
    assert feed.pull(ALL) == list(TRACE.events[:3])
    assert feed.pull(ALL) == []
    append(path, *LINES[3:])
    assert feed.pull(ALL) == list(TRACE.events[3:])
    assert (feed.flow, feed.over, feed.problem) == (FeedState.ENDED, True, "")
    append(path, b"rubbish\n")
    assert feed.pull(ALL) == []


def test_a_line_that_is_half_written_waits(path: Path):
    feed = Feed(path)
    append(path, HEADER, LINES[0], LINES[1][:17])
    assert seqs(feed.pull(ALL)) == [1]
    append(path, LINES[1][17:-1])
    assert feed.pull(ALL) == []
    append(path, b"\n")
    assert seqs(feed.pull(ALL)) == [2]


def test_no_more_than_the_budget_of_events(path: Path):
    append(path, HEADER, *LINES)
    feed = Feed(path)
    assert seqs(feed.pull(Budget(4, 60.0))) == [1, 2, 3, 4]
    assert seqs(feed.pull(Budget(2, 60.0))) == [5, 6]
    assert feed.unread() == sum(map(len, LINES[6:]))


def test_no_more_than_the_budget_of_time(path: Path):
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    append(path, HEADER, *LINES)
    feed = Feed(path, clock=clock)
    first = feed.pull(Budget(10_000, 0.0025))
    assert 0 < len(first) < len(LINES)
    rest: list[Event] = []
    while not feed.over:
        rest += feed.pull(Budget(10_000, 0.0025))
    assert [*first, *rest] == list(TRACE.events)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"no trace\n", ":1: the first line is not JSON"),
        (b"{}\n", ":1: the first line has no 'trunkline_trace'"),
        (b'{"trunkline_trace":99,"scenario":"x"}\n', ":1: version 99 is newer than 1"),
        (HEADER + LINES[0] + b"{half\n" + LINES[1], ":3: not an event line"),
        (HEADER + LINES[0] + LINES[2], ":3: event 3 follows event 1: lines are missing"),
        (HEADER + LINES[0] + LINES[0], ":3: event 1 follows event 1: lines are missing"),
        (HEADER + LINES[0] + b'{"seq":2,"at":0,"node":"x","kind":"new.kind","body":{}}\n', ":3: unknown event kind"),
        (HEADER + b'{"seq":1,"at":0,"node":"x","kind":"bug.enabled","body":{"bug":"\xff"}}\n', ":2: "),
        (HEADER + b"[" * 100_000 + b"\n", ":2: "),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_earlier_events_stay(path: Path, written: bytes, said: str):
    append(path, written)
    feed = Feed(path)
    before = feed.pull(ALL)
    assert len(before) == max(written.count(LINES[0][:-1]) and 1, 0)
    assert feed.problem.startswith(f"{path}{said}")
    assert (feed.flow, feed.over, feed.pull(ALL)) == (FeedState.BROKEN, True, [])


def test_a_truncated_file(path: Path):
    append(path, HEADER, *LINES[:5])
    feed = Feed(path)
    assert len(feed.pull(ALL)) == 5
    os.truncate(path, 10)
    assert feed.pull(ALL) == []
    assert feed.problem == f"{path}:7: the file was truncated while it was read"


def test_a_file_that_was_replaced_is_a_problem(path: Path):
    append(path, HEADER, *LINES[:5])
    feed = Feed(path)
    assert len(feed.pull(ALL)) == 5
    other = path.with_name("other")
    append(other, HEADER, *LINES)
    other.replace(path)
    assert feed.pull(ALL) == []
    assert feed.problem == f"{path}:7: the file was replaced: watch it again to see the new one"


def test_a_file_that_was_removed_and_one_that_was_replaced_before_anything_was_read(path: Path):
    path.touch()
    feed = Feed(path)
    assert feed.pull(ALL) == []
    path.unlink()
    assert (feed.pull(ALL), feed.over) == ([], False)
    append(path, HEADER, LINES[0])
    assert seqs(feed.pull(ALL)) == [1]
    path.unlink()
    assert feed.pull(ALL) == []
    assert feed.problem == f"{path}:3: the file was removed while it was read"


def test_a_trace_above_the_limit_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.app.runs.live_run.CHUNK", 1 << 16)
    text = LINES[0][:-1]
    append(path, HEADER, text + b" " * (1 << 20) + b"\n")
    feed = Feed(path, limit=1)
    assert feed.pull(ALL) == []
    assert feed.problem.startswith(f"{path}:2: more than 1 MiB: use a larger --limit")


def test_a_folder_and_a_place_that_cannot_be_read(tmp_path: Path):
    folder, below = Feed(tmp_path), Feed(tmp_path / "a" / "b")
    assert folder.pull(ALL) == below.pull(ALL) == []
    assert folder.problem == f"{tmp_path}: Is a directory"
    (tmp_path / "a").touch()
    assert below.pull(ALL) == []
    assert below.problem == f"{tmp_path}/a/b: Not a directory"


def test_a_pipe_is_never_waited_for(pipe: tuple[int, int]):
    feed = Feed(None, fd=pipe[0])
    assert (feed.pull(ALL), feed.flow) == ([], FeedState.WAITING)
    os.write(pipe[1], HEADER + LINES[0] + LINES[1][:9])
    assert seqs(feed.pull(ALL)) == [1]
    assert feed.pull(ALL) == []
    os.close(pipe[1])
    assert feed.pull(ALL) == []
    assert feed.problem == "standard input:3: the writer is gone before 'run.ended', with 9 bytes of an unfinished line"


def test_a_pipe_whose_writer_said_nothing_is_a_problem(pipe: tuple[int, int]):
    feed = Feed(None, fd=pipe[0])
    os.close(pipe[1])
    assert feed.pull(ALL) == []
    assert feed.problem == "standard input:1: the writer is gone and wrote nothing"


def test_a_named_pipe_waits_for_its_writer(tmp_path: Path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    feed = Feed(path)
    assert (feed.pull(ALL), feed.over) == ([], False)
    with path.open("wb", buffering=0) as writer:
        writer.write(HEADER + LINES[0])
        assert seqs(feed.pull(ALL)) == [1]
    assert feed.pull(ALL) == []
    assert "the writer is gone before 'run.ended'" in feed.problem


# ---------------------------------------------------------------- judged


def test_a_live_run_is_judged_as_it_goes_and_at_its_end(path: Path):
    live = LiveRun(Feed(path))
    assert live.begin().trace.header == TraceHeader(scenario="run")
    assert live.status() == f"{path}: waiting for the first line; nothing is written yet"
    append(path, HEADER, *LINES)
    taken: list[tuple[int, int]] = []
    done = live.pull(
        lambda events, verdicts: taken.append((len(events), sum(bool(v.violations) for v in verdicts))), ALL
    )
    assert done == len(LINES) == sum(number for number, _ in taken)
    assert taken[-1][1] > 0
    assert (live.over, live.pulling, live.status()) == (True, False, "")


def test_a_paused_one_reads_nothing(path: Path):
    append(path, HEADER, *LINES)
    live = LiveRun(Feed(path))
    live.paused = True
    assert live.pull(lambda *_: pytest.fail("asked for nothing"), ALL) == 0
    assert live.feed.lines == 0


def test_inconsistent_lines_are_reported(path: Path, monkeypatch: pytest.MonkeyPatch):
    def confused(_judge: Judge, event: Event) -> None:
        if event.seq == 3:
            raise KeyError("discord")

    monkeypatch.setattr(Judge, "see", confused)
    append(path, HEADER, *LINES[:5])
    live = LiveRun(Feed(path))
    assert live.pull(lambda *_: None, ALL) == 5
    assert live.status().startswith(f"{path}:6: its lines are valid, but its events make no sense together (KeyError")
    assert live.over
