"""Every run that ships can be shown: at any event, sound and with each defect that it declares."""

from pathlib import Path

import pytest

from tests.support.scale import run_nightly
from tests.support.scenario.shipped import played_here, shipped_scenario
from trunkline.app.runs.model import Run
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.alignment_index import AlignedPair, TranscriptDifference
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim import run_scenario

SCENARIOS = [pytest.param(path, id=path.stem) for path in played_here()]


def delivered(view: RunView, pair: AlignedPair) -> bool:
    """Whether a row is about an intent that ended well; what ended otherwise may be missing on a side."""
    intent = (pair.seen and pair.seen.intent) or (pair.line and pair.line.intent)
    ends = [event.body for event in view.of_intent(intent, IntentSettled)]
    return any(isinstance(end, IntentSettled) and end.state is IntentState.DELIVERED for end in ends)


def is_notice_again(view: RunView, pair: AlignedPair) -> bool:
    """Whether people saw a notice once more, which the gateway may send again if the answer to it was lost."""
    if pair.seen is None or pair.difference is not TranscriptDifference.COPY:
        return False
    [prepared] = view.of_intent(pair.seen.intent, IntentPrepared)
    return isinstance(prepared.body, IntentPrepared) and prepared.body.intent_kind is IntentKind.NOTICE


def show(run: Run) -> None:
    """Ask for everything that the screens ask for."""
    view = RunView(run)
    lanes = TimelineLanes(view)
    assert Timeline(view, lanes, unfolded=True).seqs == list(range(1, view.last + 1))
    assert set(Timeline(view, lanes).seqs) <= set(range(1, view.last + 1))
    sessions = Sessions(view)
    # At a third of the events of each run, another third for each length; by night at all of them.
    for seq in range(view.last + 1) if run_nightly() else range(view.last % 3, view.last + 1, 3):
        assert all(line.text.isprintable() and 0 <= line.seq <= view.last for line in explain(view, seq).lines)
        owner = sessions.owner_of(seq)
        assert owner is None or owner in [row.owner for row in sessions.rows(seq)]


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIOS)
def test_a_run_can_be_shown_at_any_event(path: Path) -> None:
    file = shipped_scenario(path)
    for bugs in ((), *((bug,) for bug in file.scenario.bugs)):
        show(run_scenario(file, bugs=bugs))


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIOS)
def test_transcripts_of_a_sound_run_hold_what_people_saw(path: Path) -> None:
    view = RunView(run_scenario(shipped_scenario(path)))
    sessions = Sessions(view)
    wrong = [pair for row in sessions.rows(view.last) for pair in sessions.pairs(row.owner) if pair.wrong]
    assert [pair for pair in wrong if delivered(view, pair) and not is_notice_again(view, pair)] == []
