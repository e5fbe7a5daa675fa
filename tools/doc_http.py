"""Generated from the HTTP API: its endpoints, problems, metrics and limits."""

from __future__ import annotations

import ast
import inspect
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from tools.doc_text import codes, first_paragraph, table
from trunkline.core.events import EventLog
from trunkline.core.http import settings
from trunkline.core.http.api import ENDPOINTS
from trunkline.core.http.metrics.metrics import Metrics
from trunkline.core.http.openapi import document_endpoint
from trunkline.core.http.problems import BY_REASON, HTTP_TABLE, TABLE
from trunkline.core.http.settings import HttpLimits


def endpoints_table() -> str:
    """Every endpoint with the scope that it needs."""
    every = (*ENDPOINTS, document_endpoint(ENDPOINTS))
    return table(
        ("endpoint", "scope", "what it does"),
        ((f"`{one.method} {one.path}`", one.scope or "open", one.summary.rstrip(".")) for one in every),
    )


def problems_table() -> str:
    """Every type of problem with its status."""
    rows: dict[str, tuple[int, str]] = dict(HTTP_TABLE)
    for error, (status, slug) in TABLE.items():
        rows.setdefault(slug, (status, first_paragraph(error.__doc__)))
    for reason, (status, slug) in BY_REASON.items():
        rows.setdefault(slug, (status, f"The reason is `{reason}`."))
    ordered = sorted(rows.items(), key=lambda row: (row[1][0], row[0]))
    return table(("type", "status", "meaning"), ((f"`{slug}`", str(status), text) for slug, (status, text) in ordered))


def metrics_table() -> str:
    """Every metric with its type and labels."""
    gateway = SimpleNamespace(serving=True, load=(0, 0))
    metrics = Metrics(EventLog(lambda: 0.0), cast("Any", gateway), cast("Any", None), started=0.0)
    return table(
        ("metric", "type", "labels", "counts"),
        (
            (f"`{one.name}`", one.kind, codes(getattr(one, "labels", ())) or "-", one.help_text)
            for one in metrics.families()
        ),
    )


def limits_table() -> str:
    """Every limit with its default, and the comment above it."""
    texts = _comments(HttpLimits)
    defaults = HttpLimits()
    values = {field.name: getattr(defaults, field.name) for field in msgspec.structs.fields(HttpLimits)}
    return table(
        ("limit", "default"),
        ((texts[name], _shown(name, value)) for name, value in values.items()),
    )


def _shown(name: str, value: object) -> str:
    if isinstance(value, settings.Rate):
        return f"{value.per_second:g} per second, {value.burst} at once"
    if isinstance(value, float):
        return f"{value:g} s"
    return f"{value:,}" if name in ("connections", "requests") else f"{value:,} bytes"


def _comments(owner: type) -> dict[str, str]:
    """The comment above each field."""
    source = inspect.getsource(owner)
    lines = source.splitlines()
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = lines[node.lineno - 2].strip().removeprefix("#: ")
    return found
