"""Lives of messages, the queue and its sum, and the runs of hands, as they are shown: from runs made by hand."""

from __future__ import annotations

import pytest

from tests.support.app.bound_runs import CHILD, bound_threads
from tests.support.app.queued_runs import helpers, queued, silence
from tests.support.app.traces import ANA, DM, OPS, PLACES, Author, bound_completion, foreign_mirror, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.hands.facts import hand_facts, spoken
from trunkline.app.view.hands.runs import HandRuns, HandState
from trunkline.app.view.index.message import AttemptKind, MessageHistory, QueueState
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import place_cell, process, says, where
from trunkline.app.view.messages.attempts_and_chunks import attempt_spans, chunks, span_facts
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.balance import QueueBalance
from trunkline.app.view.queue.rows import FoldedMarks, QueueRows
from trunkline.app.view.text.fact import Tone
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    HookSending,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    OperatorActed,
    RecoveryDecided,
    SendPreviewed,
    SendRefused,
)
from trunkline.core.events.gateway import (
    CompletionPlanned,
    DelegationAccepted,
    DelegationFinished,
    DelegationStarted,
    ProcessStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import HandOutcome, IntentKind, IntentState
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted

REASON = Reason.REPLY_TO_ORIGIN


class Shown:
    """A run with everything that is asked of it here."""

    def __init__(self, run: Run) -> None:
        self.view = RunView(run)
        self.lives = MessageHistories(self.view.events)
        self.messages = MessageRows(self.view, self.lives)
        self.queue = QueueRows(self.view, self.lives)
        self.last = self.view.last

    def life(self, name: str) -> MessageHistory:
        life = self.lives.of(name)
        assert life is not None
        return life

    def cells(self, name: str, seq: int | None = None) -> dict[str, str]:
        line = self.messages.head(self.life(name), self.last if seq is None else seq)
        return {key: cell.text for key, cell in line.cells.items()}

    def row(self, name: str, seq: int | None = None) -> dict[str, str]:
        line = self.queue.line(self.life(name), self.last if seq is None else seq)
        return {key: cell.text for key, cell in line.cells.items()}

    def seq(self, kind: str, number: int = 0) -> int:
        return [event.seq for event in self.view.events if event.kind == kind][number]


def small(*acts) -> Shown:
    """A run in which `acts` happen, a second each."""
    author = Author()
    author.world(PLACES)
    for act in acts:
        author.wait(1.0)
        act(author)
    return Shown(Run(trace=author.trace("small", title=""), verdicts=verdicts()))


def sending(author: Author, text: str = "hello") -> str:
    """A message that is on its way."""
    admitted, _ = author.say(OPS, ANA, "hi")
    intent = author.prepare(OPS, text, admitted, kind=IntentKind.REPLY, reason=REASON)
    author.attempt(OPS, intent)
    return intent


@pytest.fixture(scope="module")
def shown() -> Shown:
    return Shown(queued())


@pytest.fixture(scope="module")
def twice() -> Shown:
    return Shown(bound_completion())


# ---------------------------------------------------------------- lives


def test_states_in_the_end(shown):
    states = [life.step(shown.last).state for life in shown.lives]
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
    life = shown.life("i5")
    states = [life.step(seq).state for seq in range(life.seq - 1, shown.last + 1)]
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
    first, second = shown.life("i5").tries
    assert (first.number, second.number) == (1, 2)
    assert [event.kind for event in first.wire] == ["wire.accepted"]
    assert [event.kind for event in second.wire] == ["wire.deduplicated"]
    assert first.acked is None
    assert second.acked is not None
    assert second.settled is not None
    assert [event.kind for event in second.mirrored] == ["mirror.appended"]


def test_a_crash_leaves_only_what_the_process_had_in_its_hands(shown):
    crash = shown.seq("process.crashed")
    orphans = [life.id for life in shown.lives if life.step(crash).state is QueueState.ORPHANED]
    assert orphans == ["i5"]


def test_two_processes_with_one_message():
    def another(author: Author) -> None:
        author.generation = 2
        author.attempt(OPS, "i1", number=2)

    run = small(sending, another)
    assert run.life("i1").step(run.last).owners == (1, 2)
    assert run.row("i1")["owner"] == "p1+p2"
    assert run.queue.wrong(run.last) == [0]


def test_what_is_not_said_is_a_life_with_a_reason(shown):
    last = shown.lives[len(shown.lives) - 1]
    assert not last.queued
    line = shown.messages.head(last, shown.last)
    assert line.cells["terminal"].text == "– NOT SAID"
    assert line.cells["terminal"].more == "– NOT SAID  no-reply"
    assert last.id not in [row.id for row in shown.queue.rows if isinstance(row, MessageHistory)]


def test_events_belong_to_lives(shown):
    for event in shown.view.events:
        life = shown.lives.of_event(event)
        assert (life.id if life else None) == (event.intent or (life.id if life else None))


def test_what_an_earlier_run_left():
    def found(author: Author) -> None:
        start = author.gateway.record(ProcessStarted())
        decided = RecoveryDecided(decision="lookup", reason=Reason.CRASH_AMBIGUOUS, attempts=1)
        author.gateway.record(decided, start, intent="old")

    run = small(found)
    life = run.life("old")
    assert life.queued
    assert says(life) == "prepared by an earlier run"
    assert where(run.view, life) == "·"
    assert [one.part for one in life.tries] == [AttemptKind.RECOVERY]
    assert run.queue.ledger(run.last).found == 1


def test_what_a_hook_took_back_was_never_queued():
    def cancelled(author: Author) -> None:
        body = HookSending(verdict="cancelled", by=("no-secrets",), reason=Reason.CANCELLED_BY_HOOK)
        seen = author.gateway.record(body, intent="gone")
        settled = IntentSettled(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, attempts=0)
        author.gateway.record(settled, seen, intent="gone")

    run = small(cancelled)
    assert run.cells("gone")["terminal"] == "– CANCELLED"
    assert says(run.life("gone")) == "taken back by a hook, its text is not kept"
    assert run.queue.empty
    assert run.queue.ledger(run.last).holds


# ---------------------------------------------------------------- messages


def test_stages_of_a_delivered_message(shown):
    cells = shown.cells("i1")
    assert list(cells) == ["admitted", "routed", "prepared", "tried", "wire", "acked", "mirrored", "terminal"]
    assert (cells["routed"], cells["tried"], cells["wire"]) == ("#ops", "1", "✓")
    assert (cells["acked"], cells["mirrored"], cells["terminal"]) == ("1/1", "✓", "✓ DELIVERED")


def test_stages_of_what_did_not_arrive(shown):
    assert shown.cells("i2")["terminal"] == "✗ DEAD"
    assert shown.cells("i2")["tried"] == "2"
    assert shown.cells("i3")["wire"].startswith("?")
    assert shown.cells("i7")["terminal"] == "✗ NO END"


def test_what_comes_later_is_marked(shown):
    life = shown.life("i1")
    started = life.tries[0].event.seq
    line = shown.messages.head(life, started)
    assert not line.later
    assert line.cells["acked"].later
    assert line.cells["acked"].text == "1/1"
    assert not line.cells["tried"].later
    assert line.cells["terminal"].text == "◐ LEASED"
    before = shown.messages.head(life, life.seq - 1)
    assert before.later
    assert before.cells["terminal"].text == "· later"


def test_how_many_have_begun(shown):
    begun = [shown.messages.begun(seq) for seq in range(shown.last + 1)]
    assert begun[0] == 0
    assert begun[-1] == len(shown.messages)
    assert begun == sorted(begun)
    assert all(begun[life.seq] == begun[life.seq - 1] + 1 for life in shown.lives)


def test_the_duplicate_is_an_extra_row(twice):
    copies = [life for life in twice.lives if twice.messages.head(life, twice.last).tag in ("1×", "2×")]
    first, second = copies
    parts = twice.messages.parts(second)
    lines = [twice.messages.part(second, part, twice.last) for part in parts]
    assert [line.tag for line in lines] == ["2×", "1×"]
    assert isinstance(parts[1], Event)
    assert lines[1].seq == first.accepted[0].seq
    assert lines[1].cells["wire"].text == f"✓ #{first.accepted[0].seq}"
    assert twice.messages.head(second, twice.last).cells["wire"].text == "!!"
    assert list(twice.messages.wrong(twice.last)) == [twice.lives.place(first), twice.lives.place(second)]


def test_nothing_is_wrong_before_it_happened(twice):
    before = min(twice.view.marks.stops) - 1
    assert list(twice.messages.wrong(before)) == []
    assert {twice.messages.head(life, before).tag for life in twice.lives} == {""}


def test_a_second_attempt_that_people_saw_and_a_foreign_mirror():
    run = Shown(foreign_mirror())
    assert run.cells("i1")["mirrored"] == "m!"
    life = run.life("i2")
    lines = [run.messages.part(life, part, run.last) for part in run.messages.parts(life)]
    assert [line.tag for line in lines] == ["1×", "2×"]
    assert lines[0].cells["wire"].text.endswith("?")
    assert lines[0].cells["terminal"].text.startswith("retry")
    assert lines[1].cells["wire"].tone is Tone.BAD
    assert "D1" in run.messages.broken(life, run.last)


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
    life = run.life("i1")
    cells = [run.messages.part(life, part, run.last).what for part in run.messages.parts(life)]
    words = [cell.more or cell.text for cell in cells]
    assert words == ["└ try 1 p1", "└ operator: unsent", "└ try 1 p1"]
    assert run.queue.ledger(run.last).text.startswith("✓ prepared 1 = delivered 1 + open 0")
    assert run.queue.ledger(run.last).holds


# ---------------------------------------------------------------- queue


def again_by_another(author: Author) -> None:
    """A process that stood still since before the message was taken over sends it again: nobody told it."""
    author.wait(30.0)
    started = author.log.recorder("gateway", 1).record(
        AttemptStarted(chunk=0, attempt=1, address=OPS), author.prepared, intent="i1"
    )
    author.wait(0.1)
    author.log.recorder("gateway", 1).record(
        AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle"), started, intent="i1"
    )
    waits = LaneWaiting(address=OPS, reason=Reason.CHANGED_ELSEWHERE, until=author.now)
    author.log.recorder("gateway", 1).record(waits, intent="i1")


def taken_over(author: Author) -> None:
    sending(author)
    author.generation = 2
    author.attempt(OPS, "i1", number=2)
    author.settle(OPS, "hello", "i1", author.accept(OPS, "hello", "i1", number=2))


def test_what_is_sent_again_after_its_end_is_delivered_as_before_and_no_second_ending():
    run = small(taken_over, again_by_another)
    row = run.row("i1")
    assert row["state"] == "✓ DELIVERED"
    # The overview reads the fold of the run.
    assert run.view.at(run.last).intents["i1"].state is IntentState.DELIVERED
    assert row["why"].startswith("sent again after its end, by process 1")
    assert float(row["age"]) < 1.0
    assert run.queue.ledger(run.last).holds
    assert dict(run.queue.ledger(run.last).terms)["delivered"] == 1


def test_claims_of_two_processes_on_one_message_overlap_in_sight():
    run = small(taken_over, again_by_another)
    found = attempt_spans(run.view, run.lives, run.life("i1"), run.last)
    assert [(one.owner, one.overlaps) for one in found] == [(1, True), (2, True), (1, False)]
    lines = [fact.text for fact in span_facts(run.view, run.lives, run.life("i1"), run.last)]
    assert lines[0].startswith("p1 ├")
    assert "while another process had it too" in lines[1]
    assert run.row("i1")["owner"] == "✗p1+p2"
    one = small(sending)
    assert list(span_facts(one.view, one.lives, one.life("i1"), one.last)) == []


def in_parts(*accepted: int, acked: tuple[int, ...] = ()):
    """A message in four parts, of which these were seen, and these have a receipt."""

    def story(author: Author) -> None:
        body = IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=OPS,
            targeted=False,
            text="a b c d",
            chunks=4,
            key="k",
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key="k",
        )
        author.prepared = author.gateway.record(body, intent="i1")
        for chunk in accepted:
            started = AttemptStarted(chunk=chunk, attempt=1, address=OPS)
            cause = author.gateway.record(started, author.prepared, intent="i1")
            wire = WireAccepted(
                address=OPS, requested=OPS, text="x", provider_id=f"p{chunk}", key="k", chunk=chunk, attempt=1
            )
            author.platform(OPS).record(wire, cause, intent="i1")
        for chunk in acked:
            receipt = ChunkAcked(chunk=chunk, provider_id="p", address=OPS, reason=Reason.ACCEPTED)
            author.gateway.record(receipt, author.prepared, intent="i1")

    return small(story)


@pytest.mark.parametrize(
    ("accepted", "acked", "strip", "tone", "words"),
    [
        ((0, 1), (0,), "■?□□", Tone.WARN, "1 seen by people, without a receipt"),
        ((0, 1, 1), (0, 1), "■2□□", Tone.BAD, "✗ part 2 seen more than once"),
        ((0, 2, 3), (0, 2, 3), "■□■■", Tone.BAD, "✗ part 2 is left out"),
        ((0, 1, 2, 3), (0, 1, 2, 3), "■■■■", Tone.PLAIN, "4 of 4 delivered with a receipt"),
    ],
)
def test_parts_of_a_message_as_a_strip(accepted, acked, strip, tone, words):
    run = in_parts(*accepted, acked=acked)
    parts = chunks(run.life("i1"), run.last)
    assert parts is not None
    assert (parts.signs, parts.tone) == (strip, tone)
    assert words in parts.words
    assert run.row("i1")["tries"] == strip
    assert parts.strip(3) == f"■{len(acked)}/4"
    assert [fact.label for fact in run.queue.facts(run.life("i1"), run.last)][-1] == "parts"


def test_the_sum_holds_at_every_moment_and_breaks_in_the_end(shown):
    sums = [shown.queue.ledger(seq) for seq in range(shown.last + 1)]
    assert all(one.holds for one in sums[:-1])
    assert sums[0].text == "✓ prepared 0 = delivered 0 + open 0 + retry 0 + dead 0, adds up"
    assert not sums[-1].holds
    assert sums[-1].missing == ("i6", "i7")
    assert sums[-1].text.endswith("unknown 1, does not add up")
    assert sums[-1].names == "2 without an ending: i6 i7"


def test_the_sum_counts_what_the_rows_show(shown):
    for seq in range(shown.last):
        ledger = shown.queue.ledger(seq)
        steps = [life.step(seq).state for life in shown.lives if life.queued and life.seq <= seq]
        assert ledger.prepared == len(steps)
        assert dict(ledger.terms)["delivered"] == steps.count(QueueState.DELIVERED)
        assert dict(ledger.terms)["retry"] == steps.count(QueueState.RETRY)


def test_what_ended_twice_breaks_the_sum():
    def again(author: Author) -> None:
        author.settle(OPS, "hello", "i1", author.accept(OPS, "hello", "i1"))

    run = small(sending, again, again)
    ledger = run.queue.ledger(run.last)
    assert not ledger.holds
    assert ledger.twice == ("i1",)
    assert ledger.names == "1 ended twice: i1"
    assert run.row("i1")["state"] == "✗ ENDED 2×"


def test_an_operators_word_takes_the_place_of_the_end_before():
    def parked(author: Author) -> None:
        sending(author)
        settled = IntentSettled(state=IntentState.UNKNOWN, reason=Reason.PARKED, attempts=1)
        author.gateway.record(settled, author.started, intent="i1")

    def sent(author: Author) -> None:
        acted = author.gateway.record(OperatorActed(verb="sent", detail=""), intent="i1")
        settled = IntentSettled(state=IntentState.DELIVERED, reason=Reason.OPERATOR_SENT, attempts=1)
        author.gateway.record(settled, acted, intent="i1")

    run = small(parked, sent)
    assert run.queue.ledger(run.last).text == "✓ prepared 1 = delivered 1 + open 0 + retry 0 + dead 0, adds up"
    assert run.row("i1")["state"] == "✓ DELIVERED"


def test_what_has_ended_is_not_missing_when_it_is_sent_again():
    def ended(author: Author) -> None:
        author.settle(OPS, "hello", "i1", author.accept(OPS, "hello", "i1"))

    def over(author: Author) -> None:
        author.attempt(OPS, "i1", number=2)
        author.rest()

    run = small(sending, ended, over)
    assert run.queue.ledger(run.last).holds
    assert run.row("i1")["state"] == "◐ LEASED"


def test_what_is_sent_after_its_end_is_told():
    def ended(author: Author) -> None:
        author.settle(OPS, "hello", "i1", author.accept(OPS, "hello", "i1"))

    run = small(sending, ended, lambda author: author.attempt(OPS, "i1", number=2))
    assert run.row("i1")["why"] == "after its end: try 2 is on its way"


def test_rows_of_the_queue(shown):
    dead, retry = shown.row("i2"), shown.row("i6", shown.last - 1)
    assert (dead["state"], dead["tries"], dead["why"]) == ("✗ DEAD", "1✗ 2✗", "attempts-exhausted")
    assert (retry["state"], retry["due"]) == ("↻ RETRY 1", "34.980")
    assert retry["until, why"] == "34.980 retry: rate-limited"
    assert shown.row("i5")["tries"] == "1╳ 2="
    assert shown.row("i4", shown.seq("lane.waiting"))["why"] == "waits: not-ready"
    assert shown.row("i1", 1)["state"] == "· later"


def test_claims_and_ages_are_in_virtual_time(shown):
    crash = shown.seq("process.crashed")
    line = shown.queue.line(shown.life("i5"), crash)
    assert line.cells["owner"].text == "p1 ╳"
    assert line.cells["age"].text == "0.010"
    assert shown.view.event(line.seq).kind == "attempt.started"
    leased = shown.queue.line(shown.life("i5"), crash - 1)
    assert (leased.cells["owner"].text, leased.cells["owner"].more) == ("p1", "p1 0.010 s")


def test_marks_stand_between_the_messages(shown):
    lines = [shown.queue.line(row, shown.last) for row in shown.queue.rows]
    marks = [line.mark for line in lines if line.mark]
    texts = [mark.split("  ")[1] for mark in marks]
    assert [text.split(" ")[0] for text in texts] == ["the", "process", "recovered:"]
    assert texts[1].startswith("process 1: CRASH")
    assert [line.seq for line in lines if line.mark] == sorted(line.seq for line in lines if line.mark)


def test_many_marks_are_folded():
    def died(author: Author) -> None:
        author.log.recorder("sim", author.generation).record(ProcessCrashed(why="again"))
        author.generation += 1

    run = small(sending, *[died] * 12)
    many = [row for row in run.queue.rows if isinstance(row, FoldedMarks)]
    assert [(row.number, row.crashes) for row in many] == [(7, 7)]
    assert run.queue.line(many[0], run.last).mark == "… 7 more marks, crashes among them: 7"


def test_long_lists_of_attempts_keep_the_last():
    def more(author: Author) -> None:
        for number in range(2, 9):
            author.attempt(OPS, "i1", number=number)

    run = small(sending, more)
    line = run.queue.line(run.life("i1"), run.last)
    assert line.cells["tries"].text.startswith("…")
    assert line.cells["tries"].text.endswith("8…")
    assert line.cells["tries"].more.startswith("1… 2…")


def test_nothing_was_ever_queued():
    run = Shown(silence())
    assert run.queue.empty
    assert run.queue.ledger(run.last).holds
    assert list(run.messages.lives) == []


def test_a_ledger_that_does_not_add_up_says_so():
    ledger = QueueBalance(prepared=2, found=1, terms=(("delivered", 2),))
    assert ledger.text == "✗ prepared 2 + found 1 ≠ delivered 2, does not add up"


def test_words():
    assert process(0) == "·"
    assert place_cell("#ops ▸ deploy").text == "#ops▸deploy"
    run = small(lambda author: author.gateway.record(IntentSuppressed(reason=Reason.NO_REPLY, text="")))
    assert says(run.lives[0]) == "nothing"


def test_refused_sends_and_dry_runs_have_lives():
    def refused(author: Author) -> None:
        author.gateway.record(SendRefused(key="k", reason=Reason.AMBIGUOUS_TARGET, detail="which one?"))

    def tried(author: Author) -> None:
        body = SendPreviewed(key="k", address=DM, session_key=None, chunks=("one",), reason=Reason.DRY_RUN)
        author.gateway.record(body)

    run = small(refused, tried)
    assert [says(life) for life in run.lives] == ["refused: which one?", "dry run “one”"]
    assert where(run.view, run.lives[1]) == "@bo"


# ---------------------------------------------------------------- hands


@pytest.fixture(scope="module")
def hands() -> HandRuns:
    view = RunView(helpers())
    return HandRuns(view, MessageHistories(view.events))


def test_states_of_hands_in_the_end(hands):
    last = hands._view.last
    rows = {row.hand: row for row in hands.rows(last)}
    assert {name: row.state for name, row in rows.items()} == {
        "mail": HandState.TOLD,
        "scout": HandState.TOLD,
        "codex": HandState.LOST,
        "cook": HandState.ORPHANED,
    }
    assert rows["scout"].overran
    assert (rows["codex"].waits, rows["codex"].broken, rows["codex"].over) == (70.0, ("L2",), True)
    assert rows["cook"].over
    assert rows["mail"].age == pytest.approx(1.04)
    assert [one.address.conversation for one in rows["mail"].said] == ["601"]
    assert rows["mail"].callback > rows["mail"].finished


def test_a_hand_at_every_moment(hands):
    last = hands._view.last
    states = [hands.rows(seq)[0].state for seq in range(last + 1)]
    seen = [state for at, state in enumerate(states) if not at or states[at - 1] is not state]
    ends = [HandState.FINISHED, HandState.CALLBACK, HandState.HEARD, HandState.TOLD]
    assert seen == [HandState.LATER, HandState.ACCEPTED, HandState.RUNNING, *ends]


def test_facts_of_a_hand(hands):
    view = hands._view
    rows = {row.hand: row for row in hands.rows(view.last)}
    lines = {fact.label: fact.text for fact in hand_facts(view, hands, rows["scout"], view.last)}
    assert lines["deadline"] == "passed: it was ended after 10.050 s"
    assert lines["session"] == "none of its own"
    assert lines["origin"].startswith("discord/#ops/deploy, frozen at #")
    assert "callback" in lines
    lost = [fact for fact in hand_facts(view, hands, rows["codex"], view.last) if fact.tone is Tone.BAD]
    assert [fact.label for fact in lost] == ["state", "broken"]
    assert "nobody was told" in lost[0].text


def test_events_that_are_about_a_hand(hands):
    view = hands._view
    found = {hands.concerned(event) for event in view.events}
    assert found == {None, "d1", "d2", "d3", "d4"}
    assert (len(hands), hands[0], hands.name("d2"), hands.name("x")) == (4, "d1", "h2", "x")


def test_a_hand_that_was_told_of_twice(twice):
    hands = HandRuns(twice.view, twice.lives)
    (row,) = hands.rows(twice.last)
    assert len(row.said) == 2
    assert "D2" in row.broken
    assert spoken(twice.view, row) == "#ops ▸ deploy, #ops"


def test_a_hand_with_a_session_of_its_own():
    view = RunView(bound_threads())
    (row, *_) = HandRuns(view, MessageHistories(view.events)).rows(view.last)
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
    (row,) = HandRuns(run.view, run.lives).rows(run.last)
    assert (row.state, row.over) == (HandState.KEPT, False)


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
    (row,) = HandRuns(run.view, run.lives).rows(run.last)
    return run, row


@pytest.mark.parametrize(
    ("deadline", "until", "busy", "ended", "overdue"),
    [
        (10.0, 9.0, False, None, False),
        (10.0, 12.0, False, None, True),
        # No field in an old trace: nothing is guessed.
        (None, 5000.0, False, None, False),
        # It has ended: whoever asked has a minute, and as long as it takes while busy.
        (10.0, 30.0, False, 2.0, False),
        (10.0, 80.0, False, 2.0, True),
        (10.0, 80.0, True, 2.0, False),
    ],
)
def test_a_hand_past_its_deadline_is_wrong_by_itself(deadline, until, busy, ended, overdue):
    run, row = dispatched(deadline=deadline, until=until, busy=busy, ended=ended)
    assert (row.overdue, row.wrong, row.broken) == (overdue, overdue, ())
    state = next(hand_facts(run.view, HandRuns(run.view, run.lives), row, run.last))
    assert ("✗ L2" in state.text) is overdue


def test_a_hand_that_is_started_again_has_as_long_once_more():
    def story(author: Author) -> None:
        body = DelegationAccepted(hand="codex", task="it", origin=OPS, session_key="k", deadline=10.0)
        accepted = author.gateway.record(body, delegation="d1")
        for _ in range(2):
            author.gateway.record(DelegationStarted(hand="codex"), accepted, delegation="d1")
            author.wait(8.0)
        author.say(OPS, ANA, "still there?")

    run = small(story)
    hands = HandRuns(run.view, run.lives)
    (row,) = hands.rows(run.last)
    assert (row.deadline, row.overdue) == (18.0, False)
    lines = {fact.label: fact.text for fact in hand_facts(run.view, hands, row, run.last)}
    assert lines["deadline"].startswith("18.000 s, in 0.980 s")
    assert "started 2 times" in lines["deadline"]


def test_no_hand():
    view = RunView(silence())
    assert len(HandRuns(view, MessageHistories(view.events))) == 0
