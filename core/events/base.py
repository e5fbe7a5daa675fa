"""The base of event bodies."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all bodies. They hold plain values only, so the collector need not look at them."""

    #: the dotted name in the trace, e.g. ``wire.accepted``
    kind: ClassVar[str] = ""
