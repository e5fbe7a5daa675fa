"""Generated from the HTTP API: its endpoints, problems, metrics and limits."""

import ast
import inspect
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from tools.doc_text import codes, first_paragraph, table
from trunkline.core.events import EventLog
from trunkline.core.http import settings
from trunkline.core.http.app import ENDPOINTS, document_endpoint
from trunkline.core.http.metrics import Metrics
from trunkline.core.http.problems import BY_REASON, TABLE
from trunkline.core.http.settings import HttpLimits

#: status and meaning of what only HTTP knows, by type
HTTP_TABLE: dict[str, tuple[int, str]] = {
    "malformed-request": (400, "It is not HTTP/1.1, or a part of it is malformed."),
    "bad-host": (400, "It has no `Host`, two, or an unusable one."),
    "not-utf-8": (400, "Path or query are not UTF-8."),
    "invalid-json": (400, "The body is not JSON in UTF-8."),
    "unauthorized": (401, "There is no token, or an unknown one."),
    "missing-scope": (403, "The token lacks the scope that `scope` names."),
    "bound-token": (403, "The token is bound, and the request concerns other people, rooms or accounts."),
    "unbound-token": (403, "The web chat needs a token that is bound to the person, or has the scope `operate`."),
    "cross-site": (403, "A page of another site asks, which `http.origins` does not name."),
    "not-found": (404, "There is no such address."),
    "unknown-channel": (404, "No mailbox account is on this channel."),
    "unknown-account": (404, "No mailbox account has this channel and name."),
    "unknown-inbound": (404, "There is no such inbound message, or it is no longer kept."),
    "method-not-allowed": (405, "The address has other methods; `Allow` lists them."),
    "second-hello": (409, "A socket of the web chat has a person already."),
    "request-timeout": (408, "The request, or its body, came too slowly."),
    "message-id-reused": (409, "Another message has this id. Give each message an id of its own."),
    "key-reused": (409, "Another wake-up has this key. Give each one a key of its own."),
    "no-configuration": (409, "The gateway was not started from a configuration file."),
    "body-too-large": (413, "The body is over the limit."),
    "address-too-long": (414, "Path and query are over the limit."),
    "unsupported-media-type": (415, "The body is not `application/json` in UTF-8, or compressed."),
    "host-not-served": (421, "`Host` is neither an address nor one of `http.hosts`."),
    "invalid-body": (422, "A field of the body is missing, unknown or unusable; `field` is its path."),
    "invalid-frame": (422, "A frame of the web chat has an unknown type, or an unusable field."),
    "invalid-query": (422, "A parameter of the query is missing, unknown or unusable; `field` is its path."),
    "bad-message": (422, "The message cannot be stored."),
    "empty-message": (422, "The message has neither text nor media."),
    "too-many-requests": (429, "The token, or the address without one, asks too often."),
    "headers-too-large": (431, "Request line and headers are over the limit."),
    "undecidable": (500, "Deciding on the message failed; nothing was stored."),
    "busy": (503, "Too many requests or connections are open."),
    "standby": (503, "The gateway waits for its store, or recovers unfinished work."),
    "stopping": (503, "The gateway is stopping."),
}


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
    return table(("limit", "default"), ((texts[name], _shown(name, value)) for name, value in values.items()))


def _shown(name: str, value: object) -> str:
    if isinstance(value, settings.Rate):
        return f"{value.per_second:g} per second, {value.burst} at once"
    if isinstance(value, float):
        return f"{value:g} s"
    return f"{value:,} bytes" if name in ("body", "headers", "target", "frame") else f"{value:,}"


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
