"""Traces recorded before the modules moved still open, byte for byte, and are judged as they were then."""

import pytest

from tests.support.for_each import for_each
from tests.support.paths import FIXTURES
from trunkline.app.cli import main
from trunkline.core.events import encode_trace, read_trace
from trunkline.sim import Status, judge

FOLDER = FIXTURES / "traces"
#: file -> the invariants that were violated when it was recorded
VIOLATED = {
    "B105-bad-address-at-every-boot.1.own": ("L1", "L4", "L5", "L6", "R4"),
    "B134-webhook-is-gone.1": (),
    "B139-reopened-thread.1.own": ("L1", "V1"),
    "frozen-holder.1": (),
    "sent-by-clients.1": (),
    "told-twice.1.own": ("D2", "R1"),
    "two-bound-sessions.1": (),
    "worked-by-operators.1": (),
}


def test_each_old_trace_is_listed():
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(VIOLATED)


@for_each("name", VIOLATED)
def test_an_old_trace_is_read_and_judged_as_then(name):
    path = FOLDER / f"{name}.jsonl"
    trace = read_trace(path)
    assert encode_trace(trace) == path.read_bytes()
    violated = tuple(verdict.id for verdict in judge(trace.events) if verdict.status is Status.VIOLATED)
    assert violated == VIOLATED[name]


@pytest.mark.parametrize("name", VIOLATED)
def test_an_old_trace_is_reported(name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["trunkline", "report", str(FOLDER / f"{name}.jsonl"), "--plain"])
    assert main() == (1 if VIOLATED[name] else 0)
    assert name.split(".")[0] in capsys.readouterr().out
