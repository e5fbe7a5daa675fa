"""``trunkline watch`` in a pseudo-terminal, beside a process that writes the trace."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes.test_terminal import ROOT, TOUR, plain, restored, terminal, trunkline
from trunkline.app.runs.scenario_source import load
from trunkline.core.events import read_trace, write_trace
from trunkline.sim import run_scenario

#: writes the lines of a file one by one, each in two halves
WRITER = """
import sys, time
for line in open(sys.argv[1], "rb"):
    for part in (line[:30], line[30:]):
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        time.sleep(0.002)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tour with its defect."""
    file = load(ROOT / TOUR)
    path = tmp_path_factory.mktemp("watch") / "tour.jsonl"
    write_trace(path, run_scenario(file, bugs=file.scenario.bugs).trace)
    return path


def test_a_file_is_followed_from_before_it_exists_to_its_violation(trace: Path, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    with trunkline("watch", path) as shown:
        shown.until("waiting for the first line")
        with path.open("wb") as out:
            writer = subprocess.Popen([sys.executable, "-c", WRITER, str(trace)], stdout=out)
        try:
            shown.until("AUTO-PAUSED", "broken here")
        finally:
            assert writer.wait(60) == 0
        shown.type("q")
        assert shown.end() == 1
        restored(shown)
        assert shown.after.strip() == ""


def test_an_empty_file_is_waited_for(trace: Path, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    path.touch()
    with trunkline("watch", path) as shown:
        shown.until("waiting for the first line")
        path.write_bytes(trace.read_bytes())
        shown.until("AUTO-PAUSED", "broken here")
        shown.type("q")
        assert shown.end() == 1
        restored(shown)


def test_a_pipe_is_followed_and_the_keys_still_come_from_the_terminal(trace: Path):
    python = shlex.quote(sys.executable)
    writes = f"{python} -c {shlex.quote(WRITER)} {shlex.quote(str(trace))}"
    with terminal("sh", "-c", f"{writes} | {python} -m trunkline watch -") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("F")
        shown.until("101/101")
        shown.type("q")
        assert shown.end() == 1
        restored(shown)


def test_a_scenario_is_watched_and_its_report_comes_when_the_screen_is_free():
    python = shlex.quote(sys.executable)
    run = f"{python} -m trunkline run {TOUR} --bug own --trace -"
    with terminal("sh", "-c", f"{run} | {python} -m trunkline watch -") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("F")
        shown.until("101/101")
        shown.read(0.5)
        assert "1 run with" not in plain(shown.written)
        shown.type("q")
        # The shell answers with what the last of both says: watch.
        assert shown.end() == 1
        restored(shown)
        # The defect breaks what the scenario declares, and nothing else.
        assert "1 run with a declared defect: all show what is declared" in shown.after


def test_a_reader_that_has_seen_enough_ends_it():
    command = f"{shlex.quote(sys.executable)} -m trunkline run {TOUR} --trace - | head -c 100"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=60, check=True)
    assert done.stdout.startswith(b'{"trunkline_trace":1,"scenario":"told-twice"')
    assert done.stderr == b""


def test_on_a_terminal_the_trace_needs_a_reader():
    with trunkline("run", TOUR, "--trace", "-") as shown:
        assert shown.end() == 2
        assert "that is a terminal: pipe it on" in plain(shown.written)


def test_the_example_of_a_gateway_is_watched_from_another_process(tmp_path: Path):
    """As in docs/embedding.md."""
    path = tmp_path / "process-1.jsonl"
    with trunkline("watch", path) as shown:
        shown.until("waiting for the first line")
        gateway = [sys.executable, str(ROOT / "docs/examples/echo.py"), str(tmp_path)]
        done = subprocess.run(
            gateway, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60, check=True
        )
        assert done.stdout.decode().splitlines() == ["Ana said: hello", "Ana said: is anybody there?"]
        trace = read_trace(path)
        shown.until("echo", f"{len(trace.events)}/{len(trace.events)}")
        shown.type("q")
        # Nothing is called broken for want of a platform's own word.
        assert shown.end() == 0
        restored(shown)


def test_a_dead_writer_is_reported_and_what_was_read_stays(trace: Path):
    python = shlex.quote(sys.executable)
    with terminal("sh", "-c", f"head -c 5000 {shlex.quote(str(trace))} | {python} -m trunkline watch -") as shown:
        shown.until("the writer is gone before 'run.ended'", "CUT OFF", "told-twice")
        shown.type("q")
        assert shown.end() == 0
        restored(shown)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run.jsonl",), "no terminal to draw on: `trunkline report FILE --plain` prints the whole run"),
        (("run.jsonl", "--plain"), "it has no plain report: `trunkline report FILE --plain` prints the whole run"),
        (("-",), "no terminal to draw on"),
        (("run.jsonl", "--limit", "0"), "--limit must be at least 1"),
    ],
)
def test_without_a_terminal_it_says_what_to_use(arguments: tuple[str, ...], said: str):
    done = subprocess.run(
        [sys.executable, "-m", "trunkline", "watch", *arguments],
        cwd=ROOT,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
