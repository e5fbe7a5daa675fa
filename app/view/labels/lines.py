"""Rows of lists of messages and requests, as they were after an event, with marks between them."""

from __future__ import annotations

import msgspec

from trunkline.app.text.fact import Tone
from trunkline.app.view.labels.messages import LabelCell


class ListLine(msgspec.Struct, frozen=True, kw_only=True):
    """A drawn row: a thing with its cells, or a mark between the things."""

    #: the event that Enter leads to
    seq: int
    cells: dict[str, LabelCell] = {}
    #: of a copy or of something wrong, in the first column: ``2×``, ``!!``, ``✗``
    tag: str = ""
    #: the text of a mark
    mark: str = ""
    tone: Tone = Tone.PLAIN
    later: bool = False
