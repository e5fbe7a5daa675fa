"""Tickets of workers are secrets: what is printed for people, in logs and tracebacks, does not show them."""

from __future__ import annotations

import msgspec


def repr_without_ticket(value: msgspec.Struct, ticket: str | None) -> str:
    """The `repr` of a value that has this ticket, without it."""
    shown = value if ticket is None else msgspec.structs.replace(value, ticket="…")
    return msgspec.Struct.__repr__(shown)
