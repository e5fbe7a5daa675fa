"""Rows of delegations in traces that do not record the callback: what can be derived of it."""

import pytest

from tests.support.app.author import ANA, OPS, Author
from tests.support.app.bound_runs import CHILD, bound_threads
from tests.support.app.message_views import Shown, small
from tests.support.app.queued_runs import helpers, silence
from tests.support.app.traces import bound_completion
from tests.support.for_each import for_each
from trunkline.app.text.fact import Tone
from trunkline.app.view.hands.columns import WorkPhase
from trunkline.app.view.hands.facts import hand_facts, spoken
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import CompletionPlanned, DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import IntentState


@pytest.fixture(scope="module")
def hands() -> HandRuns:
    view = RunView(helpers())
    return HandRuns(view, MessageHistories(view))


def test_states_of_hands_in_the_end(hands):
    last = hands.view.last
    rows = {row.body.hand: row for row in hands.rows(last)}
    assert {name: (row.work, row.callback) for name, row in rows.items()} == {
        "mail": (WorkPhase.SUCCEEDED, CallbackState.DELIVERED),
        "scout": (WorkPhase.TIMED_OUT, CallbackState.DELIVERED),
        "codex": (WorkPhase.LOST, CallbackState.WAITING),
        "cook": (WorkPhase.ORPHANED, CallbackState.WAITING),
    }
    assert hands.wrong(last) == [2, 3]
    assert rows["scout"].overran
    assert (rows["codex"].waits, rows["codex"].broken, rows["codex"].over) == (70.0, ("L2",), True)
    assert rows["cook"].over
    assert rows["mail"].age == pytest.approx(1.04)
    assert [one.address.conversation for one in rows["mail"].said] == ["601"]
    assert rows["mail"].turn > rows["mail"].finished


def test_a_hand_at_every_moment(hands):
    last = hands.view.last
    rows = [hands.rows(seq)[0] for seq in range(last + 1)]
    work, callback = [row.work for row in rows], [row.callback for row in rows]
    seen = [state for at, state in enumerate(work) if not at or work[at - 1] is not state]
    assert seen == [WorkPhase.LATER, WorkPhase.ACCEPTED, WorkPhase.RUNNING, WorkPhase.SUCCEEDED]
    reported = [state for at, state in enumerate(callback) if not at or callback[at - 1] is not state]
    turn = [CallbackState.PENDING_TURN, CallbackState.IN_TURN]
    assert reported == [CallbackState.WAITING, *turn, CallbackState.QUEUED, CallbackState.DELIVERED]


def test_facts_of_a_hand(hands):
    view = hands.view
    rows = {row.body.hand: row for row in hands.rows(view.last)}
    lines = {fact.label: fact.text for fact in hand_facts(view, hands, rows["scout"], view.last)}
    assert lines["deadline"] == "passed: it was ended after 10.050 s"
    assert lines["session"] == "none of its own"
    assert lines["origin"].startswith("discord/#ops/deploy, frozen at #")
    assert "callback" in lines
    lost = [fact for fact in hand_facts(view, hands, rows["codex"], view.last) if fact.tone is Tone.BAD]
    assert [fact.label for fact in lost] == ["callback", "broken"]
    assert "never reported" in lost[0].text
    found = next(one for one in view.marks.found if one.invariant == "L2")
    assert (lost[1].text, lost[1].seq) == (
        f"✗ L2 {next(one.title for one in view.verdicts if one.id == 'L2')}: {found.summary}",
        found.at,
    )


def test_events_that_are_about_a_hand(hands):
    view = hands.view
    found = {hands.concerned(event) for event in view.events}
    assert found == {None, "d1", "d2", "d3", "d4"}
    assert (len(hands), hands[0], hands.name("d2"), hands.name("x")) == (4, "d1", "h2", "x")


def test_a_hand_that_was_reported_twice_has_both_reports_and_breaks_d2():
    twice = Shown(bound_completion())
    hands = HandRuns(twice.view, twice.histories)
    (row,) = hands.rows(twice.last)
    assert len(row.said) == 2
    assert "D2" in row.broken
    assert spoken(twice.view, row) == "#ops ▸ deploy, #ops"


def test_a_hand_with_a_session_of_its_own():
    view = RunView(bound_threads())
    (row, *_) = HandRuns(view, MessageHistories(view)).rows(view.last)
    assert row.session == CHILD


def test_a_result_that_a_hook_took_back_is_kept():
    def kept(author: Author) -> None:
        admitted, _ = author.say(OPS, ANA, "do it")
        running, delegation = author.delegate(OPS, "codex", "it", admitted, "t1")
        done = DelegationFinished(hand="codex", outcome=HandOutcome.OK, text="a secret")
        finished = author.gateway.record(done, running, delegation=delegation)
        settled = IntentSettled(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, attempts=0)
        author.gateway.record(settled, finished, intent="post", delegation=delegation)
        author.rest()

    run = small(kept)
    (row,) = HandRuns(run.view, run.histories).rows(run.last)
    assert (row.callback, row.callback_reason) == (CallbackState.SUPPRESSED, Reason.CANCELLED_BY_HOOK)
    assert not row.over


def dispatched(*, deadline: float | None, until: float, busy: bool = False, ended: float | None = None):
    """A hand that is given a task at 0.1 s, with a deadline; the run goes on until then."""

    def story(author: Author) -> None:
        author.wait(0.1)
        body = DelegationAccepted(hand="codex", task="it", origin=OPS, session_key="k", deadline=deadline)
        accepted = author.gateway.record(body, delegation="d1")
        running = author.gateway.record(DelegationStarted(hand="codex"), accepted, delegation="d1")
        if ended is not None:
            author.wait(ended)
            done = DelegationFinished(hand="codex", outcome=HandOutcome.OK, text="done")
            finished = author.gateway.record(done, running, delegation="d1")
            plan = CompletionPlanned(steps=(), requester_busy=busy)
            author.gateway.record(plan, finished, delegation="d1")
        author.wait(until)
        author.say(OPS, ANA, "still there?")

    run = small(story)
    (row,) = HandRuns(run.view, run.histories).rows(run.last)
    return run, row


@for_each(
    ("deadline", "until", "busy", "ended", "overdue"),
    [
        (10.0, 9.0, False, None, False),
        (10.0, 12.0, False, None, True),
        # No field in an old trace: nothing is guessed.
        (None, 5000.0, False, None, False),
        # It has ended: callers have a minute, and as long as it takes while busy.
        (10.0, 30.0, False, 2.0, False),
        (10.0, 80.0, False, 2.0, True),
        (10.0, 80.0, True, 2.0, False),
    ],
)
def test_a_hand_past_its_deadline_is_wrong_by_itself(deadline, until, busy, ended, overdue):
    run, row = dispatched(deadline=deadline, until=until, busy=busy, ended=ended)
    assert (row.overdue, row.wrong, row.broken) == (overdue, overdue, ())
    work = next(hand_facts(run.view, HandRuns(run.view, run.histories), row, run.last))
    assert ("✗ L2" in work.text) is overdue


def test_a_hand_that_is_started_again_has_as_long_once_more():
    def story(author: Author) -> None:
        body = DelegationAccepted(hand="codex", task="it", origin=OPS, session_key="k", deadline=10.0)
        accepted = author.gateway.record(body, delegation="d1")
        for _ in range(2):
            author.gateway.record(DelegationStarted(hand="codex"), accepted, delegation="d1")
            author.wait(8.0)
        author.say(OPS, ANA, "still there?")

    run = small(story)
    hands = HandRuns(run.view, run.histories)
    (row,) = hands.rows(run.last)
    assert (row.deadline, row.overdue) == (18.0, False)
    lines = {fact.label: fact.text for fact in hand_facts(run.view, hands, row, run.last)}
    assert lines["deadline"].startswith("18.000 s, in 0.980 s")
    assert "started 2 times" in lines["deadline"]


def test_no_hand():
    view = RunView(silence())
    assert len(HandRuns(view, MessageHistories(view))) == 0
