"""Which SQL function handles which command and query."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

import msgspec

from trunkline.core.declared import values_in
from trunkline.core.store import commands, delegations, queries
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite import sql
from trunkline.core.store.sqlite.operator_queries import OPERATOR_QUERIES, Handler
from trunkline.core.store.sqlite.sql import bindings, bulk_writes, intent_reads
from trunkline.core.store.sqlite.sql.callbacks import callback_states

A = TypeVar("A")


class BulkHandler(msgspec.Struct, frozen=True):
    """Handles many commands of one type at once; `takes` says of a command whether it can be among them."""

    handle: Callable[[sqlite3.Connection, Sequence[Any]], list[Any]]
    takes: Callable[[Any], bool]


class RunSql(Write[A], frozen=True, kw_only=True):
    """A write that only SQLite understands: the lease, and the defects of the simulator."""

    op: Callable[[sqlite3.Connection], A]


class ReadSql(Read[A], frozen=True, kw_only=True):
    """A query that only SQLite understands."""

    op: Callable[[sqlite3.Connection], A]


def _handlers_of(kind: type[Any]) -> dict[type[Any], Handler]:
    """The public functions of `sql` that take a connection and a command of a kind: each handles that command.

    Raises `TypeError` for a command that two of them take.
    """
    found: dict[type[Any], Handler] = {}
    for function in values_in(sql.__path__, sql.__name__, FunctionType):
        code = function.__code__
        required = code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())]
        match [function.__annotations__.get(name) for name in required]:
            case [sqlite3.Connection, type() as command] if (
                issubclass(command, kind)
                and not function.__name__.startswith("_")
                and found.setdefault(command, function) is not function
            ):
                raise TypeError(f"{command.__name__} has two handlers: begin the name of a helper with an underscore")
            case _:
                pass
    return found


HANDLERS: Mapping[type[Write[Any]], Handler] = {
    **_handlers_of(Write),
    commands.TouchBinding: lambda c, command: bindings.touch(c, command.binding, command.at),
    RunSql: lambda c, run: run.op(c),
}

#: the types that are done in bulk touch different rows, so their order among each other does not matter
BULK: Mapping[type[Write[Any]], BulkHandler] = {
    commands.BeginSend: BulkHandler(bulk_writes.begin_sends, bulk_writes.is_first_try),
    commands.AckChunk: BulkHandler(bulk_writes.ack_last_chunks, bulk_writes.is_plain_end),
    commands.MarkNotified: BulkHandler(bulk_writes.mark_notified, lambda _: True),
}

QUERIES: Mapping[type[Read[Any]], Handler] = {
    **OPERATOR_QUERIES,
    **_handlers_of(Read),
    queries.FindIntentFate: lambda c, query: intent_reads.fate_of(c, query.intent),
    queries.FindSend: lambda c, query: intent_reads.latest_send(c, query.key),
    queries.FindBinding: lambda c, query: bindings.find(c, "id = ?", query.binding),
    queries.FindBindingOfRequest: lambda c, query: bindings.find(c, "request = ?", query.request),
    delegations.IsDiscarded: lambda c, query: callback_states.is_discarded(c, query.delegation),
    ReadSql: lambda c, read: read.op(c),
}


def execute(c: sqlite3.Connection, command: Write[A]) -> A:
    """Run a command inside a transaction of the caller."""
    return HANDLERS[type(command)](c, command)


def ask(c: sqlite3.Connection, query: Read[A]) -> A:
    return QUERIES[type(query)](c, query)
