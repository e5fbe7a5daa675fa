"""The rows and the balance of the queue."""

import pytest

from tests.support.app.author import DM, OPS, Author
from tests.support.app.message_views import Shown, sending, small
from tests.support.app.queued_runs import silence
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.messages import QueueState
from trunkline.app.view.labels.messages import place_cell, process, says, where
from trunkline.app.view.messages.rows import attempt_spans, chunks, span_facts
from trunkline.app.view.overview.cards import queue_row
from trunkline.app.view.queue.rows import FoldedMarks, QueueBalance
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    OperatorActed,
    SendPreviewed,
    SendRefused,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted


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
    history = run.histories.of("i1")
    assert history is not None
    assert queue_row(run.view, history, run.last).cells["state"].text == "delivered"
    assert row["why"].startswith("sent again after its end, by process 1")
    assert float(row["age"]) < 1.0
    assert run.queue.ledger(run.last).holds
    assert dict(run.queue.ledger(run.last).terms)["delivered"] == 1


def test_claims_of_two_processes_on_one_message_overlap_in_sight():
    run = small(taken_over, again_by_another)
    found = attempt_spans(run.view, run.histories, run.history("i1"), run.last)
    assert [(one.owner, one.overlaps) for one in found] == [(1, True), (2, True), (1, False)]
    lines = [fact.text for fact in span_facts(run.view, run.histories, run.history("i1"), run.last)]
    assert lines[0].startswith("p1 ├")
    assert "while another process had it too" in lines[1]
    assert run.row("i1")["owner"] == "✗p1+p2"
    one = small(sending)
    assert list(span_facts(one.view, one.histories, one.history("i1"), one.last)) == []


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
    parts = chunks(run.history("i1"), run.last)
    assert parts is not None
    assert (parts.signs, parts.tone) == (strip, tone)
    assert words in parts.words
    assert run.row("i1")["tries"] == strip
    assert parts.strip(3) == f"■{len(acked)}/4"
    assert [fact.label for fact in run.queue.facts(run.history("i1"), run.last)][-1] == "parts"


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
        steps = [history.step(seq).state for history in shown.histories if history.queued and history.seq <= seq]
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


def test_what_is_sent_after_its_end_is_reported():
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
    line = shown.queue.line(shown.history("i5"), crash)
    assert line.cells["owner"].text == "p1 ╳"
    assert line.cells["age"].text == "0.010"
    assert shown.view.event(line.seq).kind == "attempt.started"
    leased = shown.queue.line(shown.history("i5"), crash - 1)
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
    line = run.queue.line(run.history("i1"), run.last)
    assert line.cells["tries"].text.startswith("…")
    assert line.cells["tries"].text.endswith("8…")
    assert line.cells["tries"].more.startswith("1… 2…")


def test_nothing_was_ever_queued():
    run = Shown(silence())
    assert run.queue.empty
    assert run.queue.ledger(run.last).holds
    assert list(run.messages.histories) == []


def test_a_ledger_that_does_not_add_up_says_so():
    ledger = QueueBalance(prepared=2, found=1, terms=(("delivered", 2),))
    assert ledger.text == "✗ prepared 2 + found 1 ≠ delivered 2, does not add up"


def test_words():
    assert process(0) == "·"
    assert place_cell("#ops ▸ deploy").text == "#ops▸deploy"
    run = small(lambda author: author.gateway.record(IntentSuppressed(reason=Reason.NO_REPLY, text="")))
    assert says(run.histories[0]) == "nothing"


def test_refused_sends_and_dry_runs_have_lives():
    def refused(author: Author) -> None:
        author.gateway.record(SendRefused(key="k", reason=Reason.AMBIGUOUS_TARGET, detail="which one?"))

    def tried(author: Author) -> None:
        body = SendPreviewed(key="k", address=DM, session_key=None, chunks=("one",), reason=Reason.DRY_RUN)
        author.gateway.record(body)

    run = small(refused, tried)
    assert [says(history) for history in run.histories] == ["refused: which one?", "dry run “one”"]
    assert where(run.view, run.histories[1]) == "@bo"
