"""Rows of long texts, which keep their size from chunk to chunk.

SQLite writes a row that changes its size as a whole, and of one that keeps it only the pages that differ. So the
receipts of a long text are followed by blanks, which are no part of their JSON: room for the next ones. Without that, a
text of some hundred chunks is written some hundred times.
"""

from __future__ import annotations

from trunkline.core.store.records import IntentRow
from trunkline.core.values import IntentState

#: characters from which on a text is long
_LONG = 32_768
_LEAST = 4096
#: makes up for the shorter name of the state while it is sent, before the text, so that the text stays where it is
_BLANKS = " " * (len(IntentState.PREPARED.value) - len(IntentState.SENDING.value))
WHILE_SENT = f", address = rtrim(address) || '{_BLANKS}'"
#: the receipts with one more; and the same with room after them
PLAIN = "json_insert(receipts, '$[#]', json(?))"
ROOMY = f"printf('%-*s', ?, {PLAIN}), address = rtrim(address)"


def is_long(intent: IntentRow) -> bool:
    """Whether the row of an intent is to keep its size."""
    return len(intent.chunks) > 1 and sum(map(len, intent.chunks)) >= _LONG


def room_for(receipt: str, count: int) -> int:
    """Bytes for so many receipts like this one, and for some more."""
    wanted = count * (len(receipt.encode()) + 1) + 2
    return max(_LEAST, 1 << wanted.bit_length())
