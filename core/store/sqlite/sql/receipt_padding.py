"""Pads the receipts column of long texts, so that an update rewrites only the pages that changed.

SQLite rewrites a row that changes its size as a whole. Without padding, a text of some hundred chunks would be written
some hundred times. The padding is blanks behind the JSON of the receipts: room for the next ones.
"""

from __future__ import annotations

from trunkline.core.records.rows import IntentRow
from trunkline.core.values import IntentState

#: characters from which on a text is long
_LONG = 32_768
_LEAST = 4096
#: pads the row while its state is the shorter "sending", in front of the text, so that the text does not move
_BLANKS = " " * (len(IntentState.PREPARED.value) - len(IntentState.SENDING.value))
WHILE_SENT = f", address = rtrim(address) || '{_BLANKS}'"
#: the receipts with one more; and the same, padded
PLAIN = "json_insert(receipts, '$[#]', json(?))"
PADDED = f"printf('%-*s', ?, {PLAIN}), address = rtrim(address)"


def is_long(intent: IntentRow) -> bool:
    """Whether the row of an intent is padded."""
    return len(intent.content.chunks) > 1 and sum(map(len, intent.content.chunks)) >= _LONG


def padded_size(receipt: str, count: int) -> int:
    """Bytes for `count` receipts like this one, and for some more."""
    wanted = count * (len(receipt.encode()) + 1) + 2
    return max(_LEAST, 1 << wanted.bit_length())
