"""Every command and query of the port has a handler."""

import inspect
import sqlite3

import pytest

from tests.support.for_each import for_each
from trunkline.core.store import commands, cursors, delegations, mailbox, queries, schedule
from trunkline.core.store.commands import Write
from trunkline.core.store.operators import bindings, erasure, hands, present, queue, sessions
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.handlers import BULK, HANDLERS, QUERIES, _handlers_of
from trunkline.core.store.sqlite.sql import schedule as schedule_sql


def declared(module, base):
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        # Not the base of other commands.
        if issubclass(kind, base)
        and kind is not base
        and kind.__module__ == module.__name__
        and not kind.__subclasses__()
    ]


MODULES = (
    *(commands, queries, cursors, delegations, mailbox, schedule),
    *(bindings, erasure, hands, present, queue, sessions),
)


@for_each("command", [kind for module in MODULES for kind in declared(module, Write)])
def test_a_command_has_a_handler(command):
    assert callable(HANDLERS[command])


@for_each("query", [kind for module in MODULES for kind in declared(module, Read)])
def test_a_query_has_a_handler(query):
    assert callable(QUERIES[query])


def test_bulk_handlers_are_for_commands_that_have_a_single_one():
    assert set(BULK) <= set(HANDLERS)


def test_a_command_with_two_handlers_is_refused(monkeypatch: pytest.MonkeyPatch):
    def again(c: sqlite3.Connection, command: schedule.SetTimer) -> None:
        raise NotImplementedError

    monkeypatch.setattr(schedule_sql, "_again", again, raising=False)
    again.__name__ = "_again"
    assert _handlers_of(Write)[schedule.SetTimer] is schedule_sql.set_timer, "a helper"
    again.__name__ = "again"
    with pytest.raises(TypeError, match="SetTimer has two handlers"):
        _handlers_of(Write)
