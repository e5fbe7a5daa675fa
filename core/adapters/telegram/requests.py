"""Requests to the Bot API over python-telegram-bot, with the evidence of each failure."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx
import msgspec
import telegram
from telegram.error import TelegramError
from telegram.request import BaseRequest, HTTPXRequest, RequestData

from trunkline.core.adapters.evidence import of_httpx
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.telegram.errors import BotApiAnswer, read_answer
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, Refused

#: seconds to open a connection, and to wait for a free connection
_CONNECT, _POOL = 10.0, 5.0
#: connections of a bot in addition to that of the poll
_CONNECTIONS = 64
#: seconds that a poll may take longer than Telegram was asked to hold it
_POLL_MARGIN = 10.0
_CONFLICT = 409


#: receives the bodies of successful responses to the calls of a task
_BODIES: ContextVar[list[bytes] | None] = ContextVar("bodies", default=None)
_TOKEN = re.compile(r"/bot\d+:[\w-]+")


class _WithoutTokens(logging.Filter):
    """Takes the token out of the addresses in httpx's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            found = (str(argument) if isinstance(argument, httpx.URL) else argument for argument in record.args)
            record.args = tuple(
                _TOKEN.sub("/bot...", argument) if isinstance(argument, str) else argument for argument in found
            )
        return True


_WITHOUT_TOKENS = _WithoutTokens()


class BotCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a method of `telegram.Bot`: required arguments, and others by the names of the Bot API."""

    method: str
    arguments: Mapping[str, Any]
    more: Mapping[str, Any] = {}


class BotApiFailed(TelegramError):
    """A response without success, before the library reads the body."""

    def __init__(self, answer: BotApiAnswer) -> None:
        super().__init__(f"status {answer.status}")
        self.answer = answer


class CallRefused(Exception):
    """A call got an answer without success, which the caller may still interpret."""

    def __init__(self, answer: BotApiAnswer) -> None:
        super().__init__(answer.description)
        self.answer = answer


class TimedRequest(HTTPXRequest):
    """The library's requests with a bound for the whole response, and with the status of each failure.

    Each has a connection of its own: a connection kept open may be closed by the other side just when the next message
    is written to it, and that message would be in doubt.
    """

    def __init__(self, seconds: float, connections: int) -> None:
        super().__init__(
            connection_pool_size=connections,
            read_timeout=seconds,
            write_timeout=seconds,
            # Less than the whole time: what ends while a connection is opened was certainly not sent.
            connect_timeout=min(seconds / 3, _CONNECT),
            pool_timeout=min(seconds / 4, _POOL),
            media_write_timeout=seconds,
            httpx_kwargs={"limits": httpx.Limits(max_connections=connections, max_keepalive_connections=0)},
        )
        self._seconds = seconds

    async def do_request(  # noqa: PLR0917 -- the library's signature
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Make a request. A response in single bytes has no more time than a missing response."""
        limits = (read_timeout, write_timeout, connect_timeout, pool_timeout)
        with anyio.fail_after(self._seconds):
            status, body = await super().do_request(url, method, request_data, *limits)
        failed = read_answer(status, body)
        if failed is not None:
            raise BotApiFailed(failed)
        bodies = _BODIES.get()
        if bodies is not None:
            bodies.append(body)
        return status, body


def evidence_of(error: Exception) -> PlatformError:
    """The evidence of a failed call, by the class of the error behind the library's."""
    if isinstance(error, BotApiFailed):
        return error.answer.error()
    cause = error.__cause__ or error
    if isinstance(cause, httpx.HTTPError | httpx.InvalidURL):
        return of_httpx(cause)
    if isinstance(cause, RuntimeError) and not isinstance(error, TimeoutError):
        return NotSent("the connections of the bot are closed")
    return Ambiguous(f"no usable response: {type(cause).__name__}")


class BotApi:
    """The Bot API of a bot. Every failure is a `PlatformError`, or a `CallRefused` on request."""

    def __init__(self, config: TelegramConfig, token: str) -> None:
        root = config.api_root.rstrip("/")
        self._polls = TimedRequest(config.poll_seconds + _POLL_MARGIN, 1)
        self._calls = TimedRequest(config.request_timeout, _CONNECTIONS)
        self._bot = telegram.Bot(
            token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot", request=self._calls,
            get_updates_request=self._polls,
        )  # fmt: skip
        self._poll_seconds = config.poll_seconds
        logging.getLogger("httpx").addFilter(_WITHOUT_TOKENS)

    async def close(self) -> None:
        """Close all connections."""
        await self._polls.shutdown()
        await self._calls.shutdown()

    async def call(self, call: BotCall) -> Any:
        """The JSON value of the result. Raises `PlatformError`."""
        try:
            return await self.attempt(call)
        except CallRefused as refused:
            raise refused.answer.error() from None

    async def attempt(self, call: BotCall) -> Any:
        """As `call`, but a response without success is `CallRefused`.

        The library makes the request, and the result is read here: what was accepted stays so if the library's types
        do not fit the answer of another version.
        """
        bodies: list[bytes] = []
        token = _BODIES.set(bodies)
        try:
            await getattr(self._bot, call.method)(**call.arguments, api_kwargs=dict(call.more) or None)
        except BotApiFailed as failed:
            raise CallRefused(failed.answer) from None
        except Exception as error:
            if not bodies:
                raise evidence_of(error) from error
        finally:
            _BODIES.reset(token)
        return json.loads(bodies[-1].decode("utf-8", "replace"))["result"]

    async def updates(self, offset: int | None, allowed: tuple[str, ...], limit: int, *, hold: bool) -> bytes:
        """The body of an answer to `getUpdates`, unread: an update of a future version must not spoil the others.

        `hold`: wait while there is nothing new.
        """
        asked: dict[str, Any] = {
            "timeout": max(1, round(self._poll_seconds)) if hold else 0,
            "limit": limit,
            "allowed_updates": msgspec.json.encode(allowed).decode(),
        }
        if offset is not None:
            asked["offset"] = offset
        try:
            _, body = await self._polls.do_request(f"{self._bot.base_url}/getUpdates?{urlencode(asked)}", "POST")
        except BotApiFailed as failed:
            if failed.answer.status == _CONFLICT:
                raise Refused("another program asks for the updates of this bot (409)") from None
            raise failed.answer.error() from None
        except Exception as error:
            raise evidence_of(error) from error
        return body
