"""How long to wait between attempts, and which errors no retry can fix."""

from __future__ import annotations

import re
from collections.abc import Sequence


def wait_after(failures: int, waits: Sequence[float]) -> float:
    """The wait after a number of failures: none before the first; the last one repeats.

    >>> [wait_after(failures, (5, 25, 120)) for failures in (0, 1, 2, 3, 4)]
    [0, 5, 25, 120, 120]
    """
    return waits[min(failures, len(waits)) - 1] if failures > 0 else 0


#: parts that follow one another in one line of a permanent error, in lower case
_PERMANENT = (
    ("no conversation reference found",),
    ("chat not found",),
    ("user not found",),
    ("bot", "not", "member"),
    ("bot was blocked by the user",),
    ("forbidden: bot was kicked",),
    ("chat_id is empty",),
    ("recipient is not a valid",),
    ("ambiguous ", " recipient"),
    ("user ", " not in room"),
)
_LINE_END = re.compile("[\n\r\u2028\u2029]")


def is_permanent(text: str) -> bool:
    """Whether an error message, in any case, says that retrying is pointless.

    >>> is_permanent("Bad Request: chat not found"), is_permanent("rate limited")
    (True, False)
    """
    return any(_follow(line, parts) for line in _LINE_END.split(text.lower()) for parts in _PERMANENT)


def _follow(line: str, parts: Sequence[str]) -> bool:
    """Whether the parts occur in a line in this order. A regular expression backtracks for hours on some long lines."""
    at = 0
    for part in parts:
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
