"""Messages of people that OpenClaw has taken from a platform and not dealt with: a restart takes them up again."""

from __future__ import annotations

import sqlite3
from typing import Any, cast

from trunkline.app.imports.openclaw.fields import parsed, time_of, word
from trunkline.app.imports.openclaw.values import UnreadableEntry, WaitingMessage

TABLE = "channel_ingress_events"
_NEEDED = frozenset({"event_id", "channel_id", "account_id", "status", "payload_json"})
_DEEPEST = 12


def waiting_rows(
    connection: sqlite3.Connection, columns: frozenset[str]
) -> tuple[tuple[WaitingMessage, ...], tuple[UnreadableEntry, ...]]:
    """Everything that is neither completed nor deleted. Raises `sqlite3.Error`."""
    if not columns >= _NEEDED:
        return (), ()
    found, unreadable = list[WaitingMessage](), list[UnreadableEntry]()
    for row in connection.execute(f"SELECT * FROM {TABLE} WHERE status != 'completed' ORDER BY rowid"):  # noqa: S608
        values = {str(name): row[name] for name in row.keys()}  # noqa: SIM118 -- a row has no other way
        text = ""
        try:
            payload = word(values["payload_json"])
            text = "" if payload in ("", "null") else text_in(parsed(payload))
        except ValueError as error:
            unreadable.append(UnreadableEntry(where=f"{TABLE} {values['event_id']}", why=str(error)))
        found.append(
            WaitingMessage(
                id=word(values["event_id"]),
                channel=word(values["channel_id"]),
                account=word(values["account_id"]),
                lane=word(values.get("lane_key")),
                status=word(values["status"]),
                attempts=values.get("attempts") or 0,
                text=text,
                last_error=word(values.get("last_error")) or word(values.get("failed_reason")),
                received=time_of(values.get("received_at")),
            )
        )
    return tuple(found), tuple(unreadable)


def text_in(tree: object, depth: int = 0) -> str:
    """The text of a platform's message: the first `text`, `content`, `body` or `caption`, outermost first."""
    if depth > _DEEPEST:
        return ""
    if isinstance(tree, dict):
        mapping = cast("dict[str, Any]", tree)
        for name in ("text", "content", "body", "caption"):
            if isinstance(mapping.get(name), str) and mapping[name]:
                return str(mapping[name])
        inner = list(mapping.values())
    elif isinstance(tree, list):
        inner = cast("list[Any]", tree)
    else:
        return ""
    return next((text for value in inner if (text := text_in(value, depth + 1))), "")
