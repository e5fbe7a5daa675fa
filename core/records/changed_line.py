"""The transcript line that an edit or a deletion changed."""

from __future__ import annotations

import msgspec

from trunkline.core.values import IntentId, SessionId


class ChangedLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line that was changed; its old text is kept with it."""

    session_id: SessionId
    session_key: str
    #: the intent that wrote it
    line: IntentId
    before: str
    #: the new text; empty for a deletion
    text: str = ""
    deleted: bool = False
