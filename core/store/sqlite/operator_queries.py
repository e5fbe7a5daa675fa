"""The queries of operators. The SQL of each is imported when it is asked: a command of operators needs one of them."""

import sqlite3
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from trunkline.core.store.operators import bindings, erasure, hands, queue, sessions
from trunkline.core.store.queries import FindHolder, Read
from trunkline.core.store.sqlite import lease

Handler = Callable[[sqlite3.Connection, Any], Any]


def _lazy(module: str, function: str) -> Handler:
    """A function of a module beside `sql/operators`, imported at its first call."""

    def handle(c: sqlite3.Connection, query: Any) -> Any:
        return getattr(import_module(f"trunkline.core.store.sqlite.sql.operators.{module}"), function)(c, query)

    return handle


OPERATOR_QUERIES: Mapping[type[Read[Any]], Handler] = {
    queue.ReadQueueOverview: _lazy("queue", "read_overview"),
    queue.InspectIntent: _lazy("queue", "inspect"),
    FindHolder: lambda c, query: lease.holder_of(c, query.now),
    hands.ReadHandsOverview: _lazy("hands", "read_overview"),
    hands.InspectDelegation: _lazy("hands", "inspect"),
    bindings.ReadBindingsOverview: _lazy("bindings", "read_overview"),
    erasure.ListErasures: _lazy("erasure", "list_erasures"),
    sessions.ReadSessions: _lazy("sessions", "read_sessions"),
    sessions.DescribeSession: _lazy("sessions", "describe_session"),
    sessions.ReadTranscriptPage: _lazy("sessions", "read_transcript_page"),
}
