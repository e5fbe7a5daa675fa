"""The updates that were handed to the gateway and not acknowledged yet, and how Slack learns that they are safe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, Envelope

Done = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Update:
    """One update of Slack; an interaction may press several buttons at once."""

    left: int
    done: Done


class UnackedUpdates:
    """Acknowledges an update to Slack when every message in it is durable in the gateway."""

    def __init__(self) -> None:
        #: of the same message there are several, if Slack delivers it again before it is acknowledged
        self._waiting: dict[tuple[Address, str], list[_Update]] = {}

    def add(self, envelopes: Sequence[Envelope], done: Done) -> None:
        """Call `done` when all of these are acknowledged."""
        update = _Update(len(envelopes), done)
        for envelope in envelopes:
            self._waiting.setdefault(_key(envelope), []).append(update)

    async def ack(self, envelope: Envelope) -> None:
        """Note that a message is durable. Raises `PlatformError` if Slack cannot learn it: it delivers again."""
        failed: PlatformError | None = None
        safe = False
        for update in self._waiting.pop(_key(envelope), ()):
            update.left -= 1
            if update.left:
                continue
            try:
                await update.done()
                safe = True
            except PlatformError as error:
                # Of two deliveries, one may have come by a socket that is gone.
                failed = error
        if failed is not None and not safe:
            raise failed

    def clear(self) -> None:
        """Forget what an earlier connection brought: it comes again."""
        self._waiting.clear()


def _key(envelope: Envelope) -> tuple[Address, str]:
    return envelope.address, envelope.message_id
