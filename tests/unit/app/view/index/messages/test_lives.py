"""The life of each message, and the stages that the messages screen shows."""

from tests.support.app.author import OPS, Author
from tests.support.app.message_views import Shown, sending, small
from tests.support.app.traces import foreign_mirror
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.messages import AttemptKind, MessageHistory, QueueState
from trunkline.app.view.labels.messages import says, where
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    HookSending,
    IntentReopened,
    IntentSettled,
    OperatorActed,
    RecoveryDecided,
)
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

# ---------------------------------------------------------------- lives


def test_states_in_the_end(shown):
    states = [history.step(shown.last).state for history in shown.histories]
    assert states == [
        QueueState.DELIVERED,
        QueueState.DEAD,
        QueueState.UNKNOWN,
        QueueState.DELIVERED,
        QueueState.DELIVERED,
        QueueState.RETRY,
        QueueState.PENDING,
        QueueState.UNSAID,
    ]


def test_a_life_at_every_moment(shown):
    history = shown.history("i5")
    states = [history.step(seq).state for seq in range(history.seq - 1, shown.last + 1)]
    seen = [state for at, state in enumerate(states) if not at or states[at - 1] is not state]
    assert seen == [
        QueueState.LATER,
        QueueState.PENDING,
        QueueState.LEASED,
        QueueState.ORPHANED,
        QueueState.PENDING,
        QueueState.LEASED,
        QueueState.DELIVERED,
    ]


def test_attempts_hold_what_came_of_them(shown):
    first, second = shown.history("i5").tries
    assert (first.number, second.number) == (1, 2)
    assert [event.kind for event in first.wire] == ["wire.accepted"]
    assert [event.kind for event in second.wire] == ["wire.deduplicated"]
    assert first.acked is None
    assert second.acked is not None
    assert second.settled is not None
    assert [event.kind for event in second.mirrored] == ["mirror.appended"]


def test_a_crash_leaves_only_what_the_process_had_in_its_hands(shown):
    crash = shown.seq("process.crashed")
    orphans = [history.id for history in shown.histories if history.step(crash).state is QueueState.ORPHANED]
    assert orphans == ["i5"]


def test_two_processes_with_one_message():
    def another(author: Author) -> None:
        author.generation = 2
        author.attempt(OPS, "i1", number=2)

    run = small(sending, another)
    assert run.history("i1").step(run.last).owners == (1, 2)
    assert run.row("i1")["owner"] == "p1+p2"
    assert run.queue.wrong(run.last) == [0]


def test_what_is_not_said_is_a_life_with_a_reason(shown):
    last = shown.histories[len(shown.histories) - 1]
    assert not last.queued
    line = shown.messages.head(last, shown.last)
    assert line.cells["terminal"].text == "– NOT SAID"
    assert line.cells["terminal"].more == "– NOT SAID  no-reply"
    assert last.id not in [row.id for row in shown.queue.rows if isinstance(row, MessageHistory)]


def test_events_belong_to_lives(shown):
    for event in shown.view.events:
        history = shown.histories.of_event(event)
        assert (history.id if history else None) == (event.intent or (history.id if history else None))


def test_what_an_earlier_run_left():
    def found(author: Author) -> None:
        start = author.gateway.record(ProcessStarted())
        decided = RecoveryDecided(decision="lookup", reason=Reason.CRASH_AMBIGUOUS, attempts=1)
        author.gateway.record(decided, start, intent="old")

    run = small(found)
    history = run.history("old")
    assert history.queued
    assert says(history) == "prepared by an earlier run"
    assert where(run.view, history) == "·"
    assert [one.part for one in history.tries] == [AttemptKind.RECOVERY]
    assert run.queue.ledger(run.last).found == 1


def test_what_a_hook_took_back_was_never_queued():
    def cancelled(author: Author) -> None:
        body = HookSending(verdict="cancelled", by=("no-secrets",), reason=Reason.CANCELLED_BY_HOOK)
        seen = author.gateway.record(body, intent="gone")
        settled = IntentSettled(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, attempts=0)
        author.gateway.record(settled, seen, intent="gone")

    run = small(cancelled)
    assert run.cells("gone")["terminal"] == "– CANCELLED"
    assert says(run.history("gone")) == "cancelled by a hook, its text is not kept"
    assert run.queue.empty
    assert run.queue.ledger(run.last).holds


# ---------------------------------------------------------------- messages


def test_stages_of_a_delivered_message(shown):
    cells = shown.cells("i1")
    stages = ["admitted", "routed", "prepared", "tried", "wire", "acked", "mirrored", "terminal"]
    assert list(cells) == [*stages, "id", "message", "broken"]
    assert (cells["routed"], cells["tried"], cells["wire"]) == ("#ops", "1", "✓")
    assert (cells["acked"], cells["mirrored"], cells["terminal"]) == ("1/1", "✓", "✓ DELIVERED")


def test_stages_of_what_did_not_arrive(shown):
    assert shown.cells("i2")["terminal"] == "✗ DEAD"
    assert shown.cells("i2")["tried"] == "2"
    assert shown.cells("i3")["wire"].startswith("?")
    assert shown.cells("i7")["terminal"] == "✗ NO END"


def test_what_comes_later_is_marked(shown):
    history = shown.history("i1")
    started = history.tries[0].event.seq
    line = shown.messages.head(history, started)
    assert not line.later
    assert line.cells["acked"].later
    assert line.cells["acked"].text == "1/1"
    assert not line.cells["tried"].later
    assert line.cells["terminal"].text == "◐ LEASED"
    before = shown.messages.head(history, history.seq - 1)
    assert before.later
    assert before.cells["terminal"].text == "· later"


def test_how_many_have_begun(shown):
    begun = [shown.messages.begun(seq) for seq in range(shown.last + 1)]
    assert begun[0] == 0
    assert begun[-1] == len(shown.messages)
    assert begun == sorted(begun)
    assert all(begun[history.seq] == begun[history.seq - 1] + 1 for history in shown.histories)


def test_the_duplicate_is_an_extra_row(twice):
    copies = [history for history in twice.histories if twice.messages.head(history, twice.last).tag in ("1×", "2×")]
    first, second = copies
    parts = twice.messages.parts(second)
    lines = [twice.messages.part(second, part, twice.last) for part in parts]
    assert [line.tag for line in lines] == ["2×", "1×"]
    assert isinstance(parts[1], Event)
    assert lines[1].seq == first.accepted[0].seq
    assert lines[1].cells["wire"].text == f"✓ #{first.accepted[0].seq}"
    assert twice.messages.head(second, twice.last).cells["wire"].text == "!!"
    assert list(twice.messages.wrong(twice.last)) == [twice.histories.place(first), twice.histories.place(second)]


def test_nothing_is_wrong_before_it_happened(twice):
    before = min(twice.view.marks.stops) - 1
    assert list(twice.messages.wrong(before)) == []
    assert {twice.messages.head(history, before).tag for history in twice.histories} == {""}


def test_a_second_attempt_that_people_saw_and_a_foreign_mirror():
    run = Shown(foreign_mirror())
    assert run.cells("i1")["mirrored"] == "m!"
    history = run.history("i2")
    lines = [run.messages.part(history, part, run.last) for part in run.messages.parts(history)]
    assert [line.tag for line in lines] == ["1×", "2×"]
    assert lines[0].cells["wire"].text.endswith("?")
    assert lines[0].cells["terminal"].text.startswith("retry")
    assert lines[1].cells["wire"].tone is Tone.BAD
    assert "D1" in run.messages.broken(history, run.last)


def test_an_operator_and_a_recovery_are_rows_of_their_own():
    def parked(author: Author) -> None:
        sending(author)
        body = AttemptEnded(chunk=0, attempt=1, reason=Reason.RESPONSE_LOST, decision="park")
        ended = author.gateway.record(body, author.started, intent="i1")
        settled = IntentSettled(state=IntentState.UNKNOWN, reason=Reason.PARKED, attempts=1)
        author.gateway.record(settled, ended, intent="i1")

    def again(author: Author) -> None:
        acted = author.gateway.record(OperatorActed(verb="unsent", detail=""), intent="i1")
        body = IntentReopened(before=IntentState.UNKNOWN, reason=Reason.OPERATOR_UNSENT, chunk=0)
        author.prepared = author.gateway.record(body, acted, intent="i1")
        author.attempt(OPS, "i1")
        author.settle(OPS, "hello", "i1", author.accept(OPS, "hello", "i1"))

    run = small(parked, again)
    history = run.history("i1")
    cells = [run.messages.part(history, part, run.last).cells["message"] for part in run.messages.parts(history)]
    words = [cell.more or cell.text for cell in cells]
    assert words == ["└ try 1 p1", "└ operator: unsent", "└ try 1 p1"]
    assert run.queue.ledger(run.last).text.startswith("✓ prepared 1 = delivered 1 + open 0")
    assert run.queue.ledger(run.last).holds
