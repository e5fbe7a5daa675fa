"""Chunks of the gateway as calls of the Bot API. Pure.

A call makes a single message or album: content that does not fit is refused, never split or left out.
"""

import json
import logging
import mimetypes
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import anyio
import httpx
import msgspec
import telegram
from telegram import InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo
from telegram.error import TelegramError
from telegram.request import BaseRequest, HTTPXRequest, RequestData

from trunkline.core.adapters.evidence import of_httpx, of_status
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.telegram.updates import FILE_PREFIX
from trunkline.core.channels.platforms.telegram import direct_topic
from trunkline.core.errors import Ambiguous, NotSent, PlaceArchived, PlaceGone, PlatformError, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, Poll, SendRequest

# Requests to the Bot API over python-telegram-bot, with the evidence of each failure.

# The errors of the Bot API. Pure.
#
# The status of the response decides between a refusal and doubt. Telegram has no error codes beside it: among refusals,
# the beginning of the description separates a place that is gone from a request that is wrong, so a wording that
# changes turns a refusal into a plainer refusal and never into doubt.

_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _UNAUTHORIZED = 400, 403, 404, 401
_PREFIX = "bad request: "
#: a chat or topic that takes no messages, and never will
_GONE = (
    "chat not found",
    "message thread not found",
    "topic_deleted",
    "topic_id_invalid",
    "group chat was deactivated",
    "group chat was upgraded to a supergroup chat",
    "group is deactivated",
    "peer_id_invalid",
    "channel_private",
    "have no rights to send a message",
)
_CLOSED = ("topic_closed",)
#: what was asked for is so already
_NO_CHANGE = ("message is not modified", "topic_not_modified", "chat_not_modified")
_ALREADY_DELETED = ("message to delete not found",)
_NO_TEXT = ("there is no text in the message to edit",)
#: seconds that nobody is asked to wait
_FOREVER = 1e9
#: characters of a description in an error
_LONGEST = 300


class BotApiAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    #: Telegram's words; empty: the response is not Telegram's
    description: str = ""
    retry_after: float | None = None
    #: the supergroup that a group has become
    migrated_to: int | None = None

    def _begins(self, beginnings: tuple[str, ...]) -> bool:
        said = self.description.lower().removeprefix(_PREFIX)
        return self.status == _BAD_REQUEST and said.startswith(beginnings)

    @property
    def no_change(self) -> bool:
        return self._begins(_NO_CHANGE)

    @property
    def already_deleted(self) -> bool:
        """The message to delete is not there."""
        return self._begins(_ALREADY_DELETED)

    @property
    def has_no_text(self) -> bool:
        """The message to edit is a file with a caption."""
        return self._begins(_NO_TEXT)

    def error(self) -> PlatformError:
        facts = self.description[:_LONGEST]
        if self.migrated_to is not None:
            return PlaceGone(f"the group has become the supergroup {self.migrated_to}: send there")
        # Telegram answers 404 to a token that is none; a method that is missing would be a mistake of ours.
        if self.status == _NOT_FOUND:
            return of_status(_UNAUTHORIZED, facts or "no such bot")
        if self._begins(_CLOSED):
            return PlaceArchived(facts)
        if self._begins(_GONE) or (self.status == _FORBIDDEN and self.description):
            return PlaceGone(facts)
        return of_status(self.status, facts, retry_after=self.retry_after)


def read_answer(status: int, body: bytes) -> BotApiAnswer | None:
    """The response as an error; None for a success.

    A success that is not Telegram's JSON proves nothing: it counts as an error of the server, hence as doubt.
    """
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return BotApiAnswer(status=status if status >= _BAD_REQUEST else 502)
    answer = cast("dict[str, Any]", found)
    if 200 <= status < 300 and answer.get("ok") is True and "result" in answer:
        return None
    description, given = answer.get("description"), answer.get("parameters")
    more = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    wait, moved = more.get("retry_after"), more.get("migrate_to_chat_id")
    return BotApiAnswer(
        status=status if status >= _BAD_REQUEST else 502,
        description=description if isinstance(description, str) else "",
        retry_after=_seconds(wait),
        migrated_to=moved if isinstance(moved, int) and not isinstance(moved, bool) else None,
    )


def _seconds(wait: object) -> float | None:
    """A time to wait; None for anything else."""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < _FOREVER:
        return None
    return float(wait)


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


#: limits of the Bot API: files of an album, bytes of a button's value, seconds of a poll
_MOST_FILES, _LONGEST_VALUE, _LONGEST_POLL = 10, 64, 2_628_000
_HOUR = 3600
#: what a payload may add to a message; nothing that would change its place, its text or its sender
PAYLOAD_FIELDS = frozenset(
    {
        "allow_paid_broadcast",
        "has_spoiler",
        "link_preview_options",
        "message_effect_id",
        "protect_content",
        "reply_markup",
        "show_caption_above_media",
    }
)
_METHODS = {
    "photo": "send_photo",
    "video": "send_video",
    "animation": "send_animation",
    "audio": "send_audio",
    "voice": "send_voice",
    "document": "send_document",
}
_ALBUM: dict[str, Callable[..., Any]] = {
    "photo": InputMediaPhoto,
    "video": InputMediaVideo,
    "audio": InputMediaAudio,
    "document": InputMediaDocument,
}
#: not whatever Python takes for a number: 1_000 is no chat
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{16,250}")
_VOICES = ("audio/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a")
_PHOTOS = ("image/jpeg", "image/png", "image/webp")


def number_of(text: str | None, what: str) -> int:
    """An id as a number for Telegram. Raises `Refused`."""
    if not _NUMBER.fullmatch(text or ""):
        raise Refused(f"{what} is a number on Telegram, not {text!r}")
    return int(text or "")


def chat_of(address: Address) -> int:
    """The number of a chat. Raises `PlaceGone` for anything else."""
    if not _NUMBER.fullmatch(address.conversation):
        raise PlaceGone(f"a chat is a number on Telegram, not {address.conversation!r}")
    return int(address.conversation)


def file_id(text: str) -> str:
    """The id of a file kept by Telegram. Raises `Refused`: the library would take another text for a path."""
    found = text.removeprefix(FILE_PREFIX)
    if not _FILE_ID.fullmatch(found):
        raise Refused(f"no id of a file on Telegram: {text[:80]!r}")
    return found


def call_of(request: SendRequest, files: Mapping[str, Any]) -> BotCall:
    """The call to send a chunk. `files`: the content of each file, or an address for Telegram to read.

    Raises `Refused` for what Telegram has no single message for.
    """
    parts = request.parts or MessageParts()
    more = _common(request, parts)
    kinds = sum((bool(request.media), request.poll is not None, parts.sticker is not None))
    if kinds > 1:
        raise Refused("files, a poll and a sticker are different messages on Telegram")
    if request.poll is not None:
        return _poll(request, request.poll, more)
    if parts.sticker is not None:
        return _sticker(request, parts.sticker, more)
    if not request.media:
        text, form = _text(request)
        return BotCall(
            method="send_message", arguments={"chat_id": chat_of(request.address), "text": text}, more={**more, **form}
        )
    if len(request.media) == 1:
        return _file(request, parts, files[request.media[0]], more)
    return _album(request, parts, files, more)


def _text(request: SendRequest) -> tuple[str, dict[str, str]]:
    """The text of the request, and the parse mode."""
    return (request.text, {}) if request.html is None else (request.html, {"parse_mode": "HTML"})


def _common(request: SendRequest, parts: MessageParts) -> dict[str, Any]:
    """The parameters of any message: topic, answered message, silence, buttons, and the payload."""
    more = _payload(request.payload)
    direct = direct_topic(request.address.thread)
    if direct is not None:
        more["direct_messages_topic_id"] = direct
    elif request.address.thread is not None:
        more["message_thread_id"] = number_of(request.address.thread, "a topic")
    if request.reply_to is not None:
        replied = number_of(request.reply_to, "the message to answer")
        # An answer arrives even if its question was deleted.
        more["reply_parameters"] = {"message_id": replied, "allow_sending_without_reply": True}
    if parts.silent:
        more["disable_notification"] = True
    if parts.buttons:
        if "reply_markup" in more:
            raise Refused("the payload has a `reply_markup` beside the buttons")
        more["reply_markup"] = {"inline_keyboard": [[_button(button) for button in row] for row in parts.buttons]}
    return more


def _payload(text: str | None) -> dict[str, Any]:
    """The parameters of a payload. Raises `Refused` for other parameters."""
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the payload is no JSON: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise Refused("the payload is no JSON object")
    given = cast("dict[str, Any]", found)
    unknown = sorted(set(given) - PAYLOAD_FIELDS)
    if unknown:
        raise Refused(f"the payload may have {', '.join(sorted(PAYLOAD_FIELDS))}, and has {', '.join(unknown)[:200]}")
    return given


def _button(button: Button) -> dict[str, str]:
    if button.url is not None:
        return {"text": button.text, "url": button.url}
    value = button.value or button.text
    if not 1 <= len(value.encode("utf-8", "replace")) <= _LONGEST_VALUE:
        raise Refused(f"the value of a button has 1 to {_LONGEST_VALUE} bytes on Telegram: {value[:80]!r}")
    return {"text": button.text, "callback_data": value}


def _poll(request: SendRequest, poll: Poll, more: dict[str, Any]) -> BotCall:
    if direct_topic(request.address.thread) is not None:
        raise Refused("the direct messages of a channel have no polls on Telegram")
    more = dict(more)
    if request.text.strip() not in ("", poll.question.strip()):
        text, form = _text(request)
        more["description"] = text
        if form:
            more["description_parse_mode"] = form["parse_mode"]
    if poll.anonymous is not None:
        more["is_anonymous"] = poll.anonymous
    if poll.max_selections > 1:
        if poll.max_selections < len(poll.options):
            raise Refused("a poll of Telegram lets people choose one option or any number, not at most some")
        more["allows_multiple_answers"] = True
    seconds = poll.duration_seconds if poll.duration_hours is None else poll.duration_hours * _HOUR
    if seconds is not None:
        if not 5 <= seconds <= _LONGEST_POLL:
            raise Refused(f"a poll of Telegram is open for 5 to {_LONGEST_POLL} seconds")
        more["open_period"] = seconds
    arguments = {"chat_id": chat_of(request.address), "question": poll.question, "options": list(poll.options)}
    return BotCall(method="send_poll", arguments=arguments, more=more)


def _sticker(request: SendRequest, sticker: str, more: dict[str, Any]) -> BotCall:
    if request.text.strip():
        raise Refused("a sticker has no text on Telegram: send the text as a message of its own")
    arguments = {"chat_id": chat_of(request.address), "sticker": file_id(sticker)}
    return BotCall(method="send_sticker", arguments=arguments, more=more)


def _caption(request: SendRequest) -> dict[str, str]:
    if not request.text:
        return {}
    text, form = _text(request)
    return {"caption": text, **form}


def _file(request: SendRequest, parts: MessageParts, file: Any, more: dict[str, Any]) -> BotCall:
    kind = kind_of(request.media[0], parts)
    arguments = {"chat_id": chat_of(request.address), kind: file}
    return BotCall(method=_METHODS[kind], arguments=arguments, more={**more, **_caption(request)})


def _album(request: SendRequest, parts: MessageParts, files: Mapping[str, Any], more: dict[str, Any]) -> BotCall:
    if len(request.media) > _MOST_FILES:
        raise Refused(f"an album of Telegram has at most {_MOST_FILES} files, not {len(request.media)}")
    if "reply_markup" in more:
        raise Refused("an album of Telegram has no buttons: send one file, or the buttons with a text")
    kinds = [kind_of(media, parts) for media in request.media]
    if not (set(kinds) <= {"photo", "video"} or set(kinds) == {"audio"}):
        kinds = ["document"] * len(kinds)
    # People see the caption below the whole album if exactly one file has a caption; of documents below the last.
    captioned = len(kinds) - 1 if kinds[0] == "document" else 0
    items = [
        _ALBUM[kind](files[media], **(_caption(request) if number == captioned else {}))
        for number, (kind, media) in enumerate(zip(kinds, request.media, strict=True))
    ]
    return BotCall(
        method="send_media_group", arguments={"chat_id": chat_of(request.address), "media": items}, more=more
    )


def kind_of(address: str, parts: MessageParts) -> str:
    """The kind of a file on Telegram, by the type in the message or by the file name."""
    path = address if address.startswith(FILE_PREFIX) else urlsplit(address).path
    named = parts.mime_type or mimetypes.guess_type(parts.file_name or path)[0] or ""
    if parts.as_voice and (named in _VOICES or not named):
        return "voice"
    if named == "image/gif" or (parts.gif and named.startswith("video/")):
        return "animation"
    if named in _PHOTOS:
        return "photo"
    main = named.partition("/")[0]
    return main if main in ("video", "audio") else "document"
