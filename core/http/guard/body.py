"""The body of a request, counted and timed while it is read."""

from __future__ import annotations

import anyio
from starlette.types import Message, Receive

from trunkline.core.http.guard.origins import Headers, values
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import HttpLimits

#: what is read and thrown away after an early answer, so that its sender comes to read the answer
_LINGER_TIME, _LINGER_SIZE = 2.0, 67_108_864


class BodyReader:
    """Receives for the application. Raises `Problem` 413 for a body over the limit, 408 for one that is too slow."""

    def __init__(self, headers: Headers, receive: Receive, limits: HttpLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._read = 0
        self._until: float | None = None
        #: the body has come to its end, or its sender has gone
        self.ended = not (values(headers, b"content-length") or values(headers, b"transfer-encoding"))
        self._declared = _declared(headers)
        #: the body is too large or too slow: its connection cannot be used again
        self.refused = False

    def check(self) -> None:
        """Raise `Problem` 413 if the declared length is over the limit, before any of it is read."""
        if self._declared > self._limits.body:
            raise self._too_large()

    async def receive(self) -> Message:
        """The next message of the connection."""
        if self.ended:
            return await self._receive()
        self.check()
        if self._until is None:
            self._until = anyio.current_time() + self._limits.body_time
        message: Message | None = None
        with anyio.move_on_at(self._until):
            message = await self._receive()
        if message is None:
            self.refused = True
            raise Problem(408, "request-timeout", f"The body did not come within {self._limits.body_time:g} s.")
        self._note(message)
        if self._read > self._limits.body:
            raise self._too_large()
        return message

    async def drain(self) -> None:
        """Throw away what is still to come, for a moment: a sender that writes everything first would see no answer."""
        left = _LINGER_SIZE
        with anyio.move_on_after(_LINGER_TIME):
            while not self.ended and left > 0:
                message = await self._receive()
                left -= len(message.get("body", b""))
                self._note(message)

    def _note(self, message: Message) -> None:
        self._read += len(message.get("body", b""))
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)

    def _too_large(self) -> Problem:
        self.refused = True
        return Problem(413, "body-too-large", f"The body is larger than {self._limits.body} bytes.")


def _declared(headers: Headers) -> int:
    lengths = values(headers, b"content-length")
    return int(lengths[0]) if lengths and lengths[0].isdecimal() else 0
