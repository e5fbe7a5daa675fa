"""The base of event bodies."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all bodies."""

    #: the dotted name in the trace, e.g. ``wire.accepted``
    kind: ClassVar[str] = ""
