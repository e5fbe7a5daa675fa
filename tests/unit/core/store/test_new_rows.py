"""What a command says of the intent after it is what the store has after it, written singly and in bulk."""

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.support.factories import PART_OF, changed, intent, receipt, room
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionPart
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, Defer, EndIntent, Enqueue, MarkSending, Misplace, Write
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadIntents
from trunkline.core.store.queue_admin import reopened, resolved
from trunkline.core.store.sqlite.connection import _transact, pending  # pyright: ignore[reportPrivateUsage]
from trunkline.core.store.sqlite.handlers import HANDLERS, ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.sql.intent_columns import INTENT_COLUMNS, values_of
from trunkline.core.values import Identity, IntentId, IntentKind, Peer, Piece, Poll, SessionId, Transport, TurnId

NOW = 9.0
E = DeliveryEvent


@contextlib.contextmanager
def database() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        migrate(c)
        yield c


def stored(c: sqlite3.Connection, row: IntentRow) -> IntentRow:
    [found] = ask(c, LoadIntents(ids=[row.id])).rows
    return found


def attempted(row: IntentRow) -> IntentRow:
    """The intent as attempts leave it: every field that changes has a value."""
    return changed(
        row,
        attempts=3,
        next_at=4.0,
        reason=Reason.RATE_LIMITED,
        transport=Transport.GATEWAY,
        marked=True,
        doubt_at=2.5,
        open_on="m7",
        binding="b1",
        identity=Identity(id="w", name="n"),
        notice_to=room("5"),
    )


def ends(event: DeliveryEvent) -> Any:
    return lambda row: EndIntent(
        intent=row,
        event=event,
        reason=Reason.REFUSED,
        mirror=None,
        note=None,
        wake=None,
        mirror_due=False,
        notice=None,
        now=NOW,
    )


def ack(row: IntentRow) -> AckChunk:
    return AckChunk(intent=row, receipt=receipt("r"), mirror=None, mirror_due=False, now=NOW)


def misplace(row: IntentRow) -> Misplace:
    return Misplace(intent=row, receipt=receipt("r"), mirror=None, note=None, wake=None, mirror_due=False, now=NOW)


COMMANDS: dict[str, Any] = {
    "mark": lambda row: MarkSending(intent=row, now=NOW),
    "defer": lambda row: Defer(intent=row, next_at=77.0, reason=Reason.RATE_LIMITED, now=NOW),
    "ack": ack,
    "misplace": misplace,
    **{event.value: ends(event) for event in (E.REFUSE, E.EXHAUST, E.EXPIRE, E.PARK, E.CANCEL)},
}


def test_every_command_that_says_what_comes_after_it_is_tried() -> None:
    tried = {type(make(intent("i"))) for make in COMMANDS.values()}
    assert tried == {kind for kind in HANDLERS if hasattr(kind, "after")}


@for_each("name", COMMANDS)
@for_each("chunks", [("one",), ("one", "two")], ids=["last", "first"])
@for_each("touched", [False, True])
def test_the_store_has_the_row_that_the_command_says(name: str, chunks: tuple[str, ...], touched: bool) -> None:
    with database() as c:
        row = intent("i1", *chunks)
        execute(c, Enqueue(intent=row, now=1.0))
        # In memory an attempt has changed the intent already; the command is what makes that durable.
        command: Write[Any] = COMMANDS[name](attempted(row) if touched else row)
        if touched and name == "ack":
            # A receipt changes nothing of the binding, which is stored before.
            execute(c, Defer(intent=attempted(row), next_at=4.0, reason=Reason.RATE_LIMITED, now=2.0))
        execute(c, command)
        assert stored(c, row) == msgspec.structs.replace(command.after, updated_at=NOW)  # pyright: ignore[reportAttributeAccessIssue]


def test_last_receipts_in_bulk_leave_the_rows_that_they_say() -> None:
    with database() as c:
        acks = list[AckChunk]()
        for n in range(20):
            row = changed(attempted(intent(f"i{n}")), binding=None, identity=None, notice_to=None)
            execute(c, Enqueue(intent=intent(row.id), now=1.0))
            execute(c, Defer(intent=row, next_at=4.0, reason=Reason.RATE_LIMITED, now=2.0))
            acks.append(ack(row))
        writes = [pending(one, answer) for one in acks]
        assert all(write.bulk is not None for write in writes)
        _transact(c, writes, None)
        assert [stored(c, one.intent) for one in acks] == [
            msgspec.structs.replace(one.after, updated_at=NOW) for one in acks
        ]


@pytest.mark.parametrize("acked", [0, 1])
def test_what_operators_do_leaves_the_row_that_is_said(acked: int) -> None:
    parked = changed(attempted(intent("i")), acked=acked)
    again = reopened(changed(parked, state=E_UNKNOWN), E.RESOLVE_UNSENT, Reason.OPERATOR_UNSENT, NOW)
    assert (
        again.progress.attempts,
        again.progress.next_at,
        again.progress.doubt_at,
        again.progress.marked,
        again.progress.transport,
    ) == (0, None, None, False, None)
    assert (again.created_at, again.progress.acked) == (NOW, acked)
    over = resolved(changed(parked, state=E_UNKNOWN), E.ABANDON, Reason.ABANDONED)
    assert (over.progress.doubt_at, over.progress.reason) == (None, Reason.ABANDONED)


E_UNKNOWN = next(iter({COMMANDS["park"](intent("x")).after.progress.state}))
#: another value than the default for each field of a new intent; the others change later
NEW: dict[str, Any] = {
    "kind": IntentKind.SEND,
    "agent": "scout",
    "mirror_key": "k",
    "turn": TurnId("t-m1"),
    "inbound": "m1",
    "delegation": "m1.hand1",
    "reply_to": "r",
    "open_on": "m1",
    "session": SessionId("s"),
    "named_session": True,
    "media": ("a.pdf",),
    "reason": Reason.RECOVERED,
    "forms": (Piece(text="one", html="<b>one</b>"),),
    "poll": Poll(question="one", options=("a", "b")),
    "payload": "{}",
    "parts": MessageParts(silent=True, buttons=((Button(text="Yes", value="y"),),)),
    "action": ActionPart(action=Action.EDIT, message_id="5"),
    "recipient": Peer(id="u1", name="Ana"),
    "best_effort": True,
    "unless": (IntentId("i7"),),
    "hooks_pending": True,
    "binding": "b1",
    "identity": Identity(id="w", name="n"),
    "notice_to": room("5"),
}
#: fields that a new intent does not have yet, and those that every intent of the tests has
LATER = {"acked", "attempts", "interrupted", "next_at", "transport", "marked", "doubt_at", "updated_at"}
GIVEN = {"id", "state", "address", "chunks", "created_at", "notice_open_on"}


@for_each("name", NEW)
def test_each_field_of_a_new_intent_is_stored_and_read(name: str) -> None:
    with database() as c:
        row = changed(intent("i1", "one"), **{name: NEW[name]})
        execute(c, Enqueue(intent=row, now=NOW))
        assert stored(c, row) == msgspec.structs.replace(row, updated_at=NOW)


def test_no_field_is_forgotten() -> None:
    fields = {field.name for field in msgspec.structs.fields(IntentRow)} - set(PART_OF.values()) | set(PART_OF)
    assert fields == set(NEW) | LATER | GIVEN
    assert len(values_of(intent("i"), NOW)) == len(INTENT_COLUMNS.split(","))
    assert not any(a & b for a, b in itertools.combinations((set(NEW), LATER, GIVEN), 2))
