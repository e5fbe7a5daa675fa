"""Misbehaviour of agents, hands and hooks of a scenario."""

from __future__ import annotations

from typing import Literal

#: return bytes or a number; return a text with half a character; let out a `CancelledError` or `SystemExit`; take the
#: gateway down
Nonsense = Literal["bytes", "number", "half-character", "cancelled", "exits", "takes-gateway-down"]
