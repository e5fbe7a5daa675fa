"""`trunkline report` and traces that may be anything."""

import io
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.app.cli.io.trace_input import open_trace
from trunkline.app.errors import inconsistent_as_error
from trunkline.core.errors import UsageError
from trunkline.core.events import read_trace

TOUR = "scenarios/tour/told-twice.yaml"


@pytest.fixture
def recorded(trunkline, tmp_path):
    path = tmp_path / "run.jsonl"
    trunkline("run", TOUR, "--bug", "own", "--trace", path)
    return path


def test_the_exit_code_is_that_of_the_run(trunkline, recorded, tmp_path):
    assert trunkline("report", recorded)[0] == trunkline("replay", recorded, "--plain")[0] == 1
    trunkline("run", TOUR, "--trace", tmp_path / "sound.jsonl")
    assert trunkline("report", tmp_path / "sound.jsonl", "--plain")[0] == 0


def test_the_same_from_standard_input(trunkline, recorded, monkeypatch):
    _, out, _ = trunkline("report", recorded, "--plain")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(recorded.read_bytes()), isatty=lambda: False))
    code, piped, err = trunkline("report", "-", "--plain")
    assert (code, piped, err) == (1, out, "")


def test_a_terminal_is_no_trace(trunkline, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(), isatty=lambda: True))
    code, out, err = trunkline("report", "-")
    assert (code, out) == (2, "") and "pipe one in" in err


def test_a_reader_that_has_seen_enough_ends_it_quietly(recorded):
    command = f"{sys.executable} -m trunkline report {recorded} --plain | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("# Run\n", "")


@pytest.mark.slow
def test_it_imports_no_screen(recorded):
    code = (
        "import sys\nfrom trunkline.app.cli import main\n"
        f"sys.argv = ['trunkline', 'report', {str(recorded)!r}, '--plain']\nassert main() == 1\n"
        "print([name for name in ('textual', 'aiohttp', 'faker') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


# ---------------------------------------------------------------- traces that cannot be opened


def cut(lines):
    return lines[:15]


def torn(lines):
    return [*lines[:15], lines[15][:40]]


def newer(lines):
    return [lines[0].replace(b'"trunkline_trace":1', b'"trunkline_trace":99'), *lines[1:]]


def empty(_lines):
    return []


def no_utf8(lines):
    return [line.replace(b"ship it", b"\xff\xfe") for line in lines]


def nested(lines):
    return [b"[" * 100_000, *lines[1:]]


def binary(_lines):
    return [bytes(range(256)) * 8]


SPOILT = {
    cut: "the file was cut",
    torn: "not an event line",
    newer: "upgrade Trunkline",
    empty: "the file is empty",
    no_utf8: "run.jsonl",
    nested: "not",
    binary: "not a trace",
}


@pytest.mark.parametrize("command", ["report", "replay"])
@pytest.mark.parametrize(("spoil", "message"), SPOILT.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_spoilt_trace_is_refused_in_a_sentence(trunkline, recorded, command, spoil, message):
    recorded.write_bytes(b"\n".join(spoil(recorded.read_bytes().splitlines())))
    code, out, err = trunkline(command, recorded)
    assert (code, out) == (2, "")
    assert message in err and str(recorded) in err and "Traceback" not in err


def test_a_folder_and_nothing_are_refused(trunkline, tmp_path):
    for path, message in ((tmp_path, "Is a directory"), (tmp_path / "none.jsonl", "No such file")):
        code, _, err = trunkline("report", path)
        assert code == 2 and f"{path}: {message}" in err


@pytest.mark.parametrize("command", ["report", "replay"])
def test_two_gigabytes_are_refused_before_they_are_read(trunkline, tmp_path, command):
    path = tmp_path / "big.jsonl"
    path.touch()
    os.truncate(path, 2 * 1024**3)
    code, out, err = trunkline(command, path)
    assert (code, out) == (2, "")
    assert "has 2,048 MiB" in err and "--limit 2048" in err and "GiB of memory" in err


def test_a_pipe_is_refused_when_it_is_above_the_limit(monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, room):
            self.given += len(room)
            assert self.given < 4 * 1024 * 1024
            room[:] = b"x" * len(room)
            return len(room)

    endless = io.BufferedReader(Endless())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless, isatty=lambda: False))
    with pytest.raises(UsageError, match="more than 1 MiB"):
        open_trace(Path("-"), limit=1)


def test_a_larger_limit_opens_it(trunkline, tmp_path, recorded):
    header, *events = recorded.read_bytes().splitlines()
    path = tmp_path / "long.jsonl"
    long = header.replace(b'"title":"', b'"title":"' + b"x" * 1024 * 1024)
    path.write_bytes(b"\n".join([long, *events]))
    assert trunkline("report", path, "--limit", "1")[0] == 2
    assert trunkline("report", path, "--limit", "2")[0] == 1
    code, _, err = trunkline("report", path, "--limit", "0")
    assert code == 2 and "--limit must be at least 1" in err


def test_an_inconsistent_trace_is_reported_as_such():
    with pytest.raises(UsageError) as refused, inconsistent_as_error("run.jsonl"):
        {}["no such intent"]
    assert "run.jsonl: its lines are valid" in refused.value.facts
    assert "KeyError: 'no such intent' at test_report.py:" in refused.value.facts


def changes(lines: list[bytes], seed: int) -> list[bytes]:
    """A trace in which a few things are others, each line by itself still readable JSON."""
    rng = random.Random(seed)
    lines = list(lines)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(1, len(lines))
        line = lines[at]
        match rng.randrange(6):
            case 0:
                line = re.sub(rb'"cause":\d+', b'"cause":%d' % rng.randint(-3, 200), line)
            case 1:
                line = re.sub(rb'"at":[\d.]+', b'"at":%d' % rng.randint(-9, 9**12), line)
            case 2:
                line = re.sub(rb'"intent":"[^"]+"', b'"intent":"another"', line)
            case 3:
                line = re.sub(rb'"(chunk|attempt|generation)":\d+', rb'"\1":%d' % rng.randint(-5, 10**9), line)
            case 4:
                line = re.sub(rb'"session_key":"[^"]+"', rb'"session_key":"\\u0000\\u001b[2J"', line)
            case _:
                other = rng.randrange(1, len(lines))
                seq = re.compile(rb'"seq":\d+')
                line = seq.sub(seq.search(line)[0], lines[other])  # pyright: ignore[reportOptionalSubscript]
        lines[at] = line
    return lines


@for_each("seed", range(scaled(40, 10)))
def test_every_readable_trace_gets_a_report_or_an_error(trunkline, recorded, seed):
    changed = recorded.with_name(f"{seed}.jsonl")
    changed.write_bytes(b"\n".join(changes(recorded.read_bytes().splitlines(), seed)) + b"\n")
    code, out, err = trunkline("report", changed, "--plain")
    assert code in (0, 1, 2) and "Traceback" not in err
    errors = [line for line in err.splitlines() if not line.startswith("trunkline: warning: ")]
    assert (code == 2) == bool(errors)
    assert "\x1b" not in out and "\x00" not in out


def test_a_trace_of_an_unfinished_run_is_what_read_trace_says_too(recorded):
    recorded.write_bytes(b"\n".join(recorded.read_bytes().splitlines()[:15]))
    with pytest.raises(UsageError) as ours:
        open_trace(recorded)
    with pytest.raises(UsageError) as theirs:
        read_trace(recorded)
    assert str(ours.value) == f"{theirs.value}. With --cut it is opened as far as it goes"
