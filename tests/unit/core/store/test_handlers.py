"""Every command and query of the port has a handler."""

import inspect

from tests.support.for_each import for_each
from trunkline.core.store import commands, delegations, queries, schedule
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.handlers import BULK, HANDLERS, QUERIES


def declared(module, base):
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, base) and kind is not base and kind.__module__ == module.__name__
    ]


MODULES = (commands, queries, delegations, schedule)


@for_each("command", [kind for module in MODULES for kind in declared(module, Write)])
def test_a_command_has_a_handler(command):
    assert callable(HANDLERS[command])


@for_each("query", [kind for module in MODULES for kind in declared(module, Read)])
def test_a_query_has_a_handler(query):
    assert callable(QUERIES[query])


def test_bulk_handlers_are_for_commands_that_have_a_single_one():
    assert set(BULK) <= set(HANDLERS)
