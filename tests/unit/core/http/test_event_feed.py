"""The feed of events: bounds, many readers, threads, and what cannot be encoded."""

import threading

import anyio
import anyio.lowlevel
import pytest

from tests.support.factories import direct
from trunkline.core.events import Event, EventLog, decode_event
from trunkline.core.events.gateway import InboundAckFailed, InboundReceived
from trunkline.core.http.event_stream import BATCH, UNREAD, Lagged, RecentEvents
from trunkline.core.values import Peer

pytestmark = pytest.mark.anyio


def body(text: str = "x") -> InboundAckFailed:
    return InboundAckFailed(detail=text)


async def taken(feed: RecentEvents, seq: int) -> None:
    with anyio.fail_after(10):
        await feed.wait(seq - 1)


async def test_events_from_before_it_is_opened_and_later_ones_come_in_order() -> None:
    log = EventLog(lambda: 1.0)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    for n in range(3):
        sink.record(body(str(n)))
    feed.open()
    sink.record(body("3"))
    await taken(feed, 4)
    assert [decode_event(kept.line) for kept in feed.read(0)] == log.events
    assert [kept.seq for kept in feed.read(2)] == [3, 4]
    assert feed.read(4) == []


async def test_before_its_first_reader_it_keeps_a_few_events_only() -> None:
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    for n in range(UNREAD * 3):
        sink.record(body(str(n)))
    feed.open()
    assert (feed.oldest, feed.newest) == (UNREAD * 2 + 1, UNREAD * 3)


async def test_while_nobody_reads_an_event_is_neither_encoded_nor_handed_to_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[Event] = []
    monkeypatch.setattr("trunkline.core.http.event_stream.line_of", lambda event: encoded.append(event) or b"{}")
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    sink.record(body())
    await anyio.lowlevel.checkpoint()
    assert encoded == []
    feed.open()
    assert len(encoded) == 1


async def test_what_nobody_has_read_for_a_while_is_no_longer_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline.core.http.event_stream.UNUSED", 0.05)
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    with feed.reading():
        for _ in range(UNREAD * 2):
            sink.record(body())
        await taken(feed, UNREAD * 2)
        await anyio.sleep(0.2)
        assert feed.oldest == 1, "there is a reader"
    while feed.size:  # noqa: ASYNC110 (nothing tells)
        await anyio.sleep(0.01)
    for _ in range(UNREAD + 5):
        sink.record(body())
    await anyio.lowlevel.checkpoint()
    assert feed.size == 0
    feed.open()
    sink.record(body())
    await taken(feed, UNREAD * 3 + 6)
    assert feed.oldest == UNREAD * 2 + 6
    with pytest.raises(Lagged):
        feed.read(UNREAD * 2)
    assert feed.read(UNREAD * 2 + 5)[0].seq == UNREAD * 2 + 6


class _ClosingLoop:
    """A loop that is closed between the look at it and the call."""

    def is_closed(self) -> bool:
        return False

    def call_soon_threadsafe(self, call: object) -> None:
        raise RuntimeError("Event loop is closed")


async def test_whoever_records_does_not_fail_when_the_loop_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(lambda: 1.0)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    monkeypatch.setattr(feed, "_loop", _ClosingLoop())
    assert sink.record(body()) == 1


async def test_it_keeps_no_more_than_its_bounds_and_tells_who_comes_late() -> None:
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p", events=10, most_bytes=2_000), log.recorder("gateway")
    feed.open()
    for _ in range(25):
        sink.record(body())
    await taken(feed, 25)
    assert (feed.oldest, feed.newest) == (16, 25)
    with pytest.raises(Lagged):
        feed.read(14)
    assert [kept.seq for kept in feed.read(15)] == list(range(16, 26))
    sink.record(body("y" * 1_500))
    await taken(feed, 26)
    assert feed.size <= 2_000
    sink.record(body("y" * 5_000))
    await taken(feed, 27)
    assert [kept.seq for kept in feed.read(26)] == [27], "the newest event is always kept"


async def test_a_batch_is_bounded_and_holds_a_long_line() -> None:
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    for _ in range(5):
        sink.record(body("z" * (BATCH // 2)))
    sink.record(body("z" * (BATCH * 2)))
    await taken(feed, 6)
    seq, batches = 0, list[int]()
    while batch := feed.read(seq):
        batches.append(len(batch))
        seq = batch[-1].seq
    assert (seq, sum(batches)) == (6, 6)
    assert batches == [1, 1, 1, 1, 1, 1]


async def test_readers_share_the_lines_and_are_woken_by_events_of_threads() -> None:
    log = EventLog(lambda: 1.0)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    each, threads, readers = 500, 4, 20
    found: list[list[bytes]] = [[] for _ in range(readers)]

    async def read(into: list[bytes]) -> None:
        seq = 0
        while seq < each * threads:
            await feed.wait(seq)
            batch = feed.read(seq)
            into += [kept.line for kept in batch]
            seq = batch[-1].seq

    def record() -> None:
        for n in range(each):
            sink.record(body(str(n)))

    workers = [threading.Thread(target=record) for _ in range(threads)]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for into in found:
                group.start_soon(read, into)
            for worker in workers:
                worker.start()
    for worker in workers:
        worker.join()
    assert [decode_event(line) for line in found[0]] == log.events
    assert all(all(one is other for one, other in zip(into, found[0], strict=True)) for into in found), "copies"


async def test_a_loop_that_is_blocked_for_long_loses_the_oldest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline.core.http.event_stream.WAITING", 10)
    log = EventLog(lambda: 1.0, keep=False)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    sink.record(body())
    await taken(feed, 1)
    # Without an await, the loop takes nothing.
    for _ in range(30):
        sink.record(body())
    await taken(feed, 31)
    with pytest.raises(Lagged):
        feed.read(1)
    assert [kept.seq for kept in feed.read(21)] == list(range(22, 32))


async def test_a_text_that_is_no_utf_8_is_replaced_and_the_rest_goes_on() -> None:
    log = EventLog(lambda: 1.0)
    feed, sink = RecentEvents(log, "p"), log.recorder("gateway")
    feed.open()
    received = InboundReceived(
        address=direct("1"), peer=Peer(id="1", name="a\ud800b"), message_id="m\udfff", text="\ud83d"
    )
    sink.record(received, inbound="in\ud800")
    sink.record(body("after"))
    await taken(feed, 2)
    first, second = (decode_event(kept.line) for kept in feed.read(0))
    assert isinstance(first.body, InboundReceived)
    assert (first.body.peer.name, first.body.text, first.inbound) == ("a?b", "?", "in?")
    assert second == log.events[1]
