"""Both columns of a delegation at every event, its place in the list, and the counts."""

from collections import Counter

from tests.support.app.author import Author
from tests.support.app.hand_runs import many_hands, side_by_side
from tests.support.app.message_views import small
from trunkline.app.runs.model import Run
from trunkline.app.view.hands.columns import ENDED_AS, OPEN_WORK, WORK_LOOKS, WorkPhase
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.gateway import CALLBACK_LOOKS
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState


def test_every_state_has_a_look_and_words():
    assert set(CALLBACK_LOOKS) == set(CallbackState)
    assert set(WORK_LOOKS) == set(WorkPhase)
    assert set(ENDED_AS) == set(HandOutcome)
    assert len(WorkState) == len(WorkPhase) - len((WorkPhase.LATER, WorkPhase.ORPHANED))


def test_no_two_states_of_a_column_look_the_same():
    shapes = [shape for shape, *_ in CALLBACK_LOOKS.values()]
    assert len(set(shapes)) == len(shapes)


def test_the_columns_in_the_end(hands):
    ends = {row.name: (row.work, row.callback, row.callback_reason) for row in hands.rows(hands.view.last)}
    assert ends == {
        "h1": (WorkPhase.SUCCEEDED, CallbackState.DELIVERED, None),
        "h2": (WorkPhase.SUCCEEDED, CallbackState.DELIVERED, None),
        "h3": (WorkPhase.RUNNING, CallbackState.WAITING, None),
        "h4": (WorkPhase.SUCCEEDED, CallbackState.SUPPRESSED, Reason.NO_REPLY),
        "h5": (WorkPhase.FAILED, CallbackState.UNDELIVERABLE, Reason.PLACE_GONE),
        "h6": (WorkPhase.SUCCEEDED, CallbackState.PARKED, Reason.NOT_READY),
        "h7": (WorkPhase.SUCCEEDED, CallbackState.SUPPRESSED, Reason.PASSED_ON),
        "h8": (WorkPhase.CANCELLED, CallbackState.SUPPRESSED, Reason.CANCELLED_BY_AGENT),
    }


def test_the_callback_follows_its_recorded_changes_at_every_event(view, hands):
    """The column after each event is the last recorded change, whatever can be derived from other events."""
    state = dict.fromkeys(hands, CallbackState.WAITING)
    for seq in range(view.last + 1):
        event = view.event(seq) if seq else None
        if event is not None and isinstance(event.body, CallbackChanged):
            state[event.delegation] = event.body.state
        assert {row.id: row.callback for row in hands.rows(seq)} == state


def test_the_counts_are_those_of_the_rows_at_every_event(view, hands):
    for seq in range(view.last + 1):
        rows = [row for row in hands.rows(seq) if not row.later]
        counts, ends = hands.counts(seq), Counter(row.callback for row in rows)
        assert counts.accepted == len(rows)
        assert counts.by_state["open"] == sum(row.work in OPEN_WORK for row in rows)
        for state in ("delivered", "suppressed", "parked", "undeliverable"):
            assert counts.by_state[state] == ends[CallbackState(state)]
        assert counts.by_state["on their way"] >= 0


def test_wrong_rows_are_those_that_are_wrong(view, hands):
    for seq in range(view.last + 1):
        assert hands.wrong(seq) == [at for at, row in enumerate(hands.rows(seq)) if row.wrong]


def test_what_a_hand_delegates_is_below_it(view, hands):
    rows = list(hands.rows(view.last))
    assert [row.name for row in rows] == ["h1", "h2", "h7", "h3", "h4", "h5", "h6", "h8"]
    assert [row.depth for row in rows] == [0, 0, 1, 0, 0, 0, 0, 0]
    assert rows[2].parent == rows[1].id


def test_a_run_that_grows_is_the_same_as_one_that_is_opened_whole():
    run = many_hands()
    view = RunView(Run(trace=run.trace.__class__(header=run.trace.header, events=()), verdicts=()))
    histories = view.register(MessageHistories(view))
    hands = view.register(HandRuns(view, histories))
    for event in run.trace.events:
        view.grow([event], ())
    whole = RunView(run)
    other = HandRuns(whole, MessageHistories(whole))
    assert list(hands.rows(view.last)) == list(other.rows(whole.last))
    assert hands.counts(view.last) == other.counts(whole.last)


def test_a_child_that_comes_before_its_parent_is_listed_too():
    """An altered trace may say anything, also that two delegations are above each other."""

    def story(author: Author) -> None:
        for one, above in (("d1", "d2"), ("d2", "d1"), ("d3", "d3")):
            body = DelegationAccepted(hand="codex", task="it", origin=None, session_key="k", parent=above)
            author.gateway.record(body, delegation=one)

    run = small(story)
    hands = HandRuns(run.view, run.histories)
    assert [(row.id, row.depth) for row in hands.rows(run.last)] == [("d1", 0), ("d2", 1), ("d3", 0)]


def test_rows_are_computed_when_they_are_looked_at():
    view = RunView(side_by_side(1000))
    hands = HandRuns(view, MessageHistories(view))
    looked = []
    row = hands.row
    hands.row = lambda run, seq: looked.append(run) or row(run, seq)  # pyright: ignore[reportAttributeAccessIssue]
    rows = hands.rows(view.last // 2)
    assert len(rows) == 1000
    assert rows[999].name == "h1000"
    assert len(looked) == 1
