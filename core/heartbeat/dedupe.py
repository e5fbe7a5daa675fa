"""A heartbeat says the same text at most once in 24 hours."""

from __future__ import annotations

#: seconds
WINDOW = 86_400.0


def is_duplicate(
    text: str, previous: str | None, said_at: float | None, now: float, *, has_media: bool = False
) -> bool:
    """Whether a text was said less than 24 hours before the run began at `now`.

    `previous` and `said_at`: what was really delivered last, and when. A message with media is never a duplicate.
    """
    if has_media or previous is None or said_at is None:
        return False
    return bool(text.strip()) and previous.strip() == text.strip() and now - said_at < WINDOW
