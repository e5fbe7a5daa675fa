"""Rows of changes on the timeline: an edit points at what it edits."""

import pytest

from tests.support.factories import direct
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.rows.lanes import Look, TimelineLanes, TimelineRow
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.action_catalogue import Action
from trunkline.core.events import Event, Trace, TraceHeader
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, Peer
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

PLACE = direct("100", channel="telegram")
SAID = PeerSaid(address=PLACE, peer=Peer(id="p", name="ana"), message_id="2", text="go")
ACCEPTED = WireAccepted(address=PLACE, requested=PLACE, text="draft", provider_id="5", key="i1/0", chunk=0, attempt=1)
EDIT = IntentPrepared(
    intent_kind=IntentKind.TOOL,
    address=PLACE,
    targeted=True,
    text="final",
    chunks=1,
    key="i2",
    reason=Reason.EXPLICIT_TARGET,
    mirror_key=None,
    action=Action.EDIT,
    of="i1",
)


def acted(**fields) -> WireActed:
    usual = {"action": Action.EDIT, "address": PLACE, "requested": PLACE, "key": "i2/0", "attempt": 1}
    return WireActed(**{**usual, **fields})


def story(body: WireActed) -> RunView:
    bodies = ((SAID, None), (ACCEPTED, "i1"), (EDIT, "i2"), (body, "i2"))
    events = tuple(
        Event(seq=n, at=float(n), node="telegram", intent=intent, body=one) for n, (one, intent) in enumerate(bodies, 1)
    )
    return RunView(Run(trace=Trace(header=TraceHeader(scenario="none"), events=events), verdicts=()))


def last_row(view: RunView) -> TimelineRow:
    return Timeline(view, TimelineLanes(view)).rows[-1]


def test_an_edit_points_at_the_message_that_it_edits() -> None:
    view = story(acted(message_id="5", text="final", before="draft"))
    row = last_row(view)
    assert (row.text, row.look) == ("edit “final” of #2", Look.DELIVERED)
    assert describe(view, view.event(4)) == "telegram carries out edit “final” of #2, “draft” until now"


def test_a_reaction_points_at_the_persons_message() -> None:
    view = story(acted(action=Action.REACT, message_id="2", text="👍"))
    assert last_row(view).text == "react “👍” of #1"


def test_a_repeat_that_changes_nothing_looks_like_one() -> None:
    row = last_row(story(acted(message_id="5", text="final", repeated=True)))
    assert (row.text, row.look) == ("edit “final” of #2: so already", Look.SUPPRESSED)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"message_id": "77", "text": "x"}, "edit “x” of message 77"),
        ({"action": Action.KICK}, "kick"),
        ({"action": Action.THREAD_CREATE, "text": "incident"}, "thread-create “incident”"),
    ],
)
def test_what_is_not_known_is_named_by_its_id(fields, text) -> None:
    assert last_row(story(acted(**fields))).text == text
