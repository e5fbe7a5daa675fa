"""Which token of a sync may be saved: the newest one before which every message is durable in the gateway. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class SyncProgress:
    """The answers of syncs since the saved token, and which of their messages are acknowledged."""

    def __init__(self) -> None:
        #: token after an answer, and its messages that are not acknowledged, in the order of the answers
        self._waiting: deque[tuple[str, set[str]]] = deque()
        #: messages that were acknowledged although an earlier one still waits: they come again after a reconnect
        self._ahead: set[str] = set()
        #: the newest token that may be saved; None: nothing has changed yet
        self.safe: str | None = None

    def begin(self) -> None:
        """The stream begins again from the saved token."""
        self._waiting.clear()

    def is_done(self, message_id: str) -> bool:
        """Whether a message that comes again was acknowledged."""
        return message_id in self._ahead

    def took(self, token: str, message_ids: Iterable[str]) -> None:
        """Note an answer, with the token after it and the messages in it that were handed over."""
        self._waiting.append((token, set(message_ids)))
        self._advance()

    def done(self, message_id: str) -> None:
        """Note that a message is durable."""
        for _, waiting in self._waiting:
            if message_id in waiting:
                waiting.discard(message_id)
                self._ahead.add(message_id)
        self._advance()

    def _advance(self) -> None:
        while self._waiting and not self._waiting[0][1]:
            self.safe = self._waiting.popleft()[0]
        if not self._waiting:
            self._ahead.clear()
