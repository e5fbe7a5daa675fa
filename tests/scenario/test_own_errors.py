"""A gateway that dies of an error of its own: an event that tells where, in a run that goes on and can be looked at."""

import pytest

from tests.support.paths import SCENARIOS
from trunkline.app.runs.model import Run
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events.base import RunEnded
from trunkline.core.events.gateway import ProcessStarted
from trunkline.sim import BUGS, load_scenario, run_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.bugs.base import deciding
from trunkline.sim.events.processes import ProcessCrashed

TOUR = SCENARIOS / "tour" / "told-twice.yaml"


def no_lane(*_: object, **__: object) -> None:
    raise KeyError("no such lane")


@pytest.fixture
def run(monkeypatch) -> Run:
    bug = Bug(name="mine", sentence="It raises.", caught_by=(), install=deciding("after_attempt")(no_lane))
    monkeypatch.setitem(BUGS, "mine", bug)
    return run_scenario(load_scenario(TOUR), bugs=("mine",))


def crashes(run: Run) -> list[tuple[int, ProcessCrashed]]:
    return [(event.seq, event.body) for event in run.trace.events if isinstance(event.body, ProcessCrashed)]


def test_the_event_holds_the_error_and_the_calls_that_led_to_it(run):
    _, body = crashes(run)[0]
    assert body.why == "KeyError: 'no such lane'"
    assert body.frames[-1].startswith("test_own_errors.py:") and body.frames[-1].endswith(" in no_lane")
    assert any(frame.startswith("delivery_loop.py:") for frame in body.frames)
    assert not any("/" in frame for frame in body.frames), "the same on any machine"


def test_the_run_goes_on_and_comes_to_its_end(run):
    starts = [event.seq for event in run.trace.events if isinstance(event.body, ProcessStarted)]
    assert len(starts) >= len(crashes(run)) > 1
    assert isinstance(run.trace.events[-1].body, RunEnded)


def test_the_why_pane_shows_where_it_was_raised_first(run):
    seq, body = crashes(run)[0]
    lines = [(fact.label, fact.text) for fact in explain(RunView(run), seq).lines if fact.seq == seq]
    # What E1 says of it comes first.
    lines = [line for line in lines if line[0] not in ("path", "broken")]
    assert lines[:2] == [("died", body.why), ("raised", body.frames[-1])]
    assert [text for _, text in lines[2 : 1 + len(body.frames)]] == list(body.frames[-2::-1])
