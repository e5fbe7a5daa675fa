"""A text of many chunks: what is written for each of them does not grow with the text."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.factories import receipt
from tests.support.sending import Platform, message, serving
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import ContentPart, IntentRow
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, EndIntent, Enqueue, MarkSending
from trunkline.core.store.queries import LoadIntents
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentId, IntentKind

CHUNKS = tuple(f"{n:04}" + "x" * 1996 for n in range(100))


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


def written(path: Path, do: object) -> int:
    """Bytes that a write puts into the journal."""
    journal = path.with_name(f"{path.name}-wal")
    before = journal.stat().st_size
    assert callable(do)
    do()
    return journal.stat().st_size - before


@pytest.mark.parametrize("marks", [False, True])
def test_a_receipt_of_a_long_text_does_not_write_the_text_again(tmp_path: Path, marks: bool) -> None:
    path = tmp_path / "store.db"
    row = IntentRow(
        id=IntentId("long"),
        kind=IntentKind.SEND,
        address=receipt("1").address,
        content=ContentPart(chunks=CHUNKS),
        agent="main",
        mirror_key=None,
        created_at=0.5,
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        migrate(db)
        whole = written(path, lambda: execute(db, Enqueue(intent=row, now=0.5)))
        each: list[int] = []
        for n in range(len(CHUNKS) - 1):
            mark = MarkSending(intent=row, now=n + 0.25)
            ack = AckChunk(
                intent=mark.after if marks else row,
                receipt=receipt(f"{n:04}"),
                mirror=None,
                mirror_due=False,
                now=n + 0.5,
            )

            def chunk(mark: MarkSending = mark, ack: AckChunk = ack) -> None:
                if marks:
                    execute(db, mark)
                execute(db, ack)

            each.append(written(path, chunk))
            row = ack.after
        [found] = ask(db, LoadIntents(ids=[row.id])).rows
        settled = execute(
            db,
            EndIntent(
                intent=found,
                event=DeliveryEvent.REFUSE,
                reason=Reason.REFUSED,
                mirror=None,
                now=999.5,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
        )
        receipts = db.execute("SELECT json_array_length(receipts) FROM intents").fetchone()[0]
    assert settled.mirror is None
    assert (found.progress.acked, found.content.chunks, receipts) == (99, CHUNKS, 99)
    # The row is written as a whole when its receipts outgrow their room, which doubles then, and when counters do.
    assert whole > 200_000
    assert sum(size > whole / 2 for size in each) < 12
    assert sorted(each)[len(each) // 2] < whole / 4


@pytest.mark.anyio
async def test_a_long_text_has_all_its_receipts_in_the_end(tmp_path: Path, platform: Platform) -> None:
    path, text = tmp_path / "store.db", " ".join(CHUNKS)
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(text=text))
        shown = await running.gateway.queue.show("send:k")
    assert outcome.message_id == str(len(platform.sent))
    assert [one.provider_id for one in shown.receipts] == [str(n + 1) for n in range(len(CHUNKS))]
    with closing(sqlite3.connect(path)) as db:
        # The room was for what was still to come.
        assert not db.execute("SELECT receipts FROM intents").fetchone()[0].endswith(" ")
