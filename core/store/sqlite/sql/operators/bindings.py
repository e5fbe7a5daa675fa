"""The SQL of session bindings for operators."""

from __future__ import annotations

import sqlite3

from trunkline.core.store.operators.bindings import BindingsOverview, ReadBindingsOverview
from trunkline.core.store.queries import ListBindings
from trunkline.core.store.sqlite.sql import bindings
from trunkline.core.store.sqlite.sql.operators.holder import holder_of


def read_overview(c: sqlite3.Connection, query: ReadBindingsOverview) -> BindingsOverview:
    """Handle `ReadBindingsOverview`."""
    found = bindings.list_bindings(c, ListBindings(ended=query.ended))
    return BindingsOverview(rows=found.rows, broken=found.broken, holder=holder_of(c, query.now), at=query.now)
