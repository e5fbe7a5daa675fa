"""How a delegated run ended: its outcome and the text of its result."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class HandOutcome(StrEnum):
    """How a delegated run ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    #: an agent, a person or an operator ended it
    CANCELLED = "cancelled"
    #: the process that ran it died
    LOST = "lost"


class HandResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of a hand."""

    outcome: HandOutcome
    text: str
