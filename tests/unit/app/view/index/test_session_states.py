"""The sessions after any event: the same in whatever order they are asked for."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.app.author import DEPLOY, KEYS, OPS
from tests.support.app.changes import BOS, FIRST, OWN, SECOND, changed_sessions
from tests.support.app.traces import bound_completion
from trunkline.app.view.index.growing import FRAME_EVERY
from trunkline.app.view.index.transcripts import SessionStates
from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import ProcessStarted, SessionCreated, SessionMoved, SessionReset, TranscriptAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind
from trunkline.sim.events.world import WorldSession

PLACES = (OPS, DEPLOY)


def refold(events, seq):
    return SessionStates(events[:seq]).at(seq)


def body(kind: int, number: int) -> Body:
    """One of the bodies that change a session."""
    address = PLACES[number % 2]
    key = KEYS[address]
    return (
        SessionCreated(
            agent="a", session_key=key, session_id=f"s{number}", generation=number, address=address, by="inbound"
        ),
        TranscriptAppended(session_id="s", session_key=key, role="user", text="t"),
        MirrorAppended(session_id="s", session_key=key, text="t"),
        MirrorAppended(session_id="s", session_key=key, text="t", partial=True),
        IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=address,
            targeted=False,
            text="t",
            chunks=1,
            key="k",
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key=key,
        ),
        WorldSession(session_key=key, session_id="s", address=address),
        SessionReset(session_key=key, session_id=f"r{number}", generation=number, before="s"),
        SessionMoved(
            old_key=key, session_key=KEYS[PLACES[number // 2 % 2]], session_id="s", reason=Reason.SCOPE_CHANGED
        ),
        ProcessStarted(),
    )[kind]


CREATED, HEARD, WHOLE, PARTIAL, PREPARED = range(5)


def recorded(steps: list[tuple[int, int]]) -> tuple[Event, ...]:
    log = EventLog(lambda: float(len(log.events)))
    writer = log.recorder("gateway", 1)
    for kind, number in steps:
        writer.record(body(kind, number), intent=f"i{number % 3}")
    return tuple(log.events)


STEPS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 7)), min_size=1, max_size=40)


@given(STEPS, st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 30))
def test_any_order_of_seeks_gives_what_folding_from_zero_gives(steps, seeks, times):
    events = recorded(steps * times)
    states = SessionStates(events)
    for seek in seeks:
        seq = round(seek * len(events))
        assert list(states.at(seq).items()) == list(refold(events, seq).items())


def test_seeks_beyond_both_ends_stop_there():
    events = bound_completion().trace.events
    states = SessionStates(events)
    assert states.at(-5) == {}
    assert states.at(10_000) == refold(events, len(events))


def test_sessions_that_were_handed_out_do_not_change():
    events = recorded([(CREATED, 0), (HEARD, 0), (WHOLE, 0)] * FRAME_EVERY)
    states = SessionStates(events)
    early = states.at(2)
    assert early[KEYS[OPS]].heard == 1
    states.at(len(events))
    assert early == refold(events, 2)


def test_the_made_run_ends_as_it_was_written():
    run = bound_completion()
    end = SessionStates(run.trace.events).at(len(run.trace.events))
    assert (end[KEYS[DEPLOY]].heard, end[KEYS[DEPLOY]].said) == (1, 2)


def test_sessions_are_followed_to_their_keys_and_generations():
    run = changed_sessions()
    end = SessionStates(run.trace.events).at(len(run.trace.events))
    assert list(end) == [BOS, OWN, KEYS[OPS]]
    bos = end[BOS]
    assert (bos.key, bos.id, bos.generation, bos.before) == (BOS, SECOND, 2, (FIRST,))


def test_a_transcript_line_that_grows_counts_once():
    grown = SessionStates(recorded([(PREPARED, 0), (PARTIAL, 0), (PARTIAL, 0), (WHOLE, 0), (WHOLE, 0)]))
    assert [grown.at(seq)[KEYS[OPS]].said for seq in (2, 3, 4, 5)] == [1, 1, 1, 2]
    assert SessionStates(recorded([(PREPARED, 0), (WHOLE, 0), (WHOLE, 0)])).at(3)[KEYS[OPS]].said == 2
