"""The body of a request, counted and timed while it is read."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from starlette.types import Message, Receive

from trunkline.core.http.guard.origins import ByName
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import HttpLimits

#: what is read and thrown away after an early answer, so that its sender comes to read the answer
_LINGER_TIME, _LINGER_SIZE = 2.0, 67_108_864


class BodyReader:
    """The body of a request. Raises `Problem` 413 for a body over the limit, 408 for a body that is too slow."""

    def __init__(
        self, given: ByName, receive: Receive, limits: HttpLimits, whole: Callable[[], bool] = lambda: False
    ) -> None:
        """`whole`: whether the rest of the body is here, so that receiving it waits for nobody."""
        self._whole = whole
        self._receive = receive
        self._limits = limits
        self._read = 0
        self._until: float | None = None
        #: the body has come to its end, or its sender has gone
        self.ended = not (b"content-length" in given or b"transfer-encoding" in given)
        self._declared = _declared(given)
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
        message = await (self._receive() if self._whole() else self._in_time())
        self._note(message)
        if self._read > self._limits.body:
            raise self._too_large()
        return message

    async def _in_time(self) -> Message:
        if self._until is None:
            self._until = anyio.current_time() + self._limits.body_time
        with anyio.move_on_at(self._until):
            return await self._receive()
        self.refused = True
        raise Problem(408, "request-timeout", f"The body did not come within {self._limits.body_time:g} s.")

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


def _declared(given: ByName) -> int:
    length = given.get(b"content-length", [""])[0]
    return int(length) if length.isdecimal() else 0
