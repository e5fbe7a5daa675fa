"""Recorded wires that are damaged, or other files: each command says in a sentence what is wrong, and where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.paths import ROOT

RECORDING = ROOT / "tests/attach/judge/recordings/hermes-telegram-lost.wire.jsonl"
WHOLE = RECORDING.read_bytes()
LINES = WHOLE.splitlines(keepends=True)


def after(number: int, line: str | bytes) -> bytes:
    """The first lines of a recording, and another line."""
    return b"".join(LINES[:number]) + (line.encode() if isinstance(line, str) else line) + b"\n"


def fact(**fields: object) -> str:
    return json.dumps({"seq": 20, "at": 20.0, **fields})


#: file -> where the error is, and what it says
BAD = {
    "torn": (WHOLE[:3000], ":21: not a line of a recorded wire (Input data was truncated)"),
    "bad UTF-8": (after(4, b'{"seq": 5, "at": 1, "kind": "peer.said", "text": "\xff"}'), ":5: not a line"),
    "half a character": (after(4, r'{"seq": 5, "at": 1, "kind": "peer.said", "text": "\ud800"}'), ":5: not a line"),
    "no object": (after(4, "[1]"), ":5: not a line of a recorded wire (it is no JSON object)"),
    "no time": (after(4, '{"seq": 5, "kind": "poll"}'), ":5: not a line of a recorded wire (it has no `kind`, or no"),
    "a time of day": (after(4, fact(at="12:00", kind="poll")), ":5: not a line of a recorded wire (it has no `kind`"),
    "an endless time": (after(4, '{"seq": 5, "at": 1e999, "kind": "poll"}'), ":5: not a line of a recorded wire ("),
    "a long time": (after(4, fact(at=10**400, kind="poll")), ":5: "),
    "no number": (after(4, fact(seq="x", kind="poll")), ":5: not a line of a recorded wire (its number `seq` is none)"),
    "two recordings": (WHOLE + WHOLE, ":51: not a line of a recorded wire (its number 1 was there before: two"),
    "a field of another type": (after(4, fact(kind="poll", confirmed=5)), ":5: unusable line of the kind 'poll' ("),
    "no chat": (
        after(4, fact(kind="accepted", platform="telegram", message_id=4)),
        ":5: unusable line of the kind 'accepted' (it names no chat)",
    ),
    "no message": (
        after(4, fact(kind="accepted", platform="telegram", chat=7)),
        ":5: unusable line of the kind 'accepted' (it has no `message_id`)",
    ),
    "deep": (after(4, fact(kind="call", params=0)[:-2] + "[" * 100_000 + "]" * 100_000 + "}"), ":5: not a line"),
    "after an empty line": (LINES[0] + b"\n" + b"{}\n", ":3: not a line of a recorded wire"),
    "a sign of the terminal": (after(4, fact(kind="accepted", platform="\x1b[31m")), ":5: unusable line"),
    "empty": (b"", ":1: the file is empty"),
    "events of something else": (b'{"at": 1, "kind": "login", "user": "x"}\n' * 3, ":1: the first line has no"),
    "a log": (b'{"time": 1, "level": "info", "message": "up"}\n' * 3, ":1: the first line has no 'trunkline_trace'"),
    "gzip": (gzip.compress(WHOLE), "this is a gzip file: unpack it first"),
    "zeros": (b"\0" * 4096, "the file begins with zero bytes"),
}
COMMANDS = ("report", "replay", "diff")


def run(trunkline, command: str, path: Path, *more: str) -> tuple[int, str, str]:
    return trunkline(command, *([path, RECORDING] if command == "diff" else [path]), *more)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(trunkline, tmp_path, name: str, command: str):
    content, problem = BAD[name]
    path = tmp_path / "run.wire.jsonl"
    path.write_bytes(content)
    code, out, err = run(trunkline, command, path)
    assert (code, out) == (2, "")
    assert err.startswith(f"trunkline: Unreadable trace: {path}:") and problem in err
    assert len(err.splitlines()) == 1 and len(err) < 600 and "\x1b" not in err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_refused(trunkline, tmp_path, command: str):
    code, out, err = run(trunkline, command, tmp_path)
    assert (code, out, err) == (2, "", f"trunkline: Unreadable trace: {tmp_path}: Is a directory\n")


@pytest.mark.parametrize("name", [name for name, (_, where) in BAD.items() if where.startswith((":5", ":21", ":51"))])
def test_it_is_opened_as_far_as_it_goes_when_asked(trunkline, tmp_path, name: str):
    content, where = BAD[name]
    path = tmp_path / "run.wire.jsonl"
    path.write_bytes(content)
    assert "With --cut it is opened as far as it goes" in run(trunkline, "report", path)[2]
    code, out, err = run(trunkline, "report", path, "--cut")
    assert (code, err) == (0, "")
    assert f"cut        {path}:{where.split(':')[1]}: " in out


def test_a_line_of_megabytes_is_a_line(trunkline, tmp_path):
    path = tmp_path / "run.wire.jsonl"
    long = fact(kind="call", platform="telegram", method="sendMessage", params={"chat_id": 7, "text": "x" * 3_000_000})
    path.write_bytes(after(9, long))
    assert run(trunkline, "replay", path)[0] == 0
    assert run(trunkline, "diff", path)[0] == 1
