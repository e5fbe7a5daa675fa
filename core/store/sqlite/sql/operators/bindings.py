"""The SQL of session bindings for operators."""

import sqlite3

from trunkline.core.store.operators.bindings import BindingsOverview, ReadBindingsOverview
from trunkline.core.store.queries import ListBindings
from trunkline.core.store.sqlite.lease import holder_of
from trunkline.core.store.sqlite.sql import bindings


def read_overview(c: sqlite3.Connection, query: ReadBindingsOverview) -> BindingsOverview:
    found = bindings.list_bindings(c, ListBindings(ended=query.ended))
    return BindingsOverview(rows=found.rows, broken=found.broken, holder=holder_of(c, query.now), at=query.now)
