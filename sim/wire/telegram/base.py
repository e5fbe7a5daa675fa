"""The Telegram server as its methods use it: its tokens, its files, and the places that calls name."""

import json
import math
from typing import Any, NoReturn, cast

import msgspec
from aiohttp import web
from aiohttp.web_request import FileField

from trunkline.core.errors import (
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    TrunklineError,
    Unauthorized,
)
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.api.wire_faults import refused_as
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.json_values import NoObject, object_in, value_in
from trunkline.sim.wire.server import WireServer

# The parameters of a call of the Bot API: in the address, as a form, with files, or as JSON. Checked as Telegram
# does.

#: numbers that fit into the API's integers
_LARGEST = 2**63


class BadParameter(TrunklineError):
    """A parameter refused by Telegram."""


class UploadedFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    content: bytes


class Parameters:
    def __init__(self, values: dict[str, Any], files: dict[str, UploadedFile]) -> None:
        self._values = values
        self.files = files

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) not in (None, "")

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._values)

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def text(self, name: str, otherwise: str = "") -> str:
        """A text; a number counts as a text."""
        found = self._values.get(name)
        if found is None:
            return otherwise
        if isinstance(found, bool | int | float):
            return json.dumps(found)
        if not isinstance(found, str):
            _bad(f"can't parse {name}: expected a string")
        return found

    def integer(self, name: str) -> int | None:
        """A whole number, also as text."""
        found = self._values.get(name)
        if found is None or found == "":
            return None
        try:
            number = int(found) if isinstance(found, str | int) and not isinstance(found, bool) else None
        except ValueError:
            number = None
        if number is None or abs(number) >= _LARGEST:
            _bad(f'parameter "{name}" must be an integer')
        return number

    def flag(self, name: str) -> bool | None:
        """A yes or no, also as text."""
        found = self._values.get(name)
        if found is None or found == "":
            return None
        if isinstance(found, bool):
            return found
        word = str(found).lower()
        if word not in ("true", "false", "1", "0", "yes", "no"):
            _bad(f'parameter "{name}" must be a boolean')
        return word in ("true", "1", "yes")

    def data(self, name: str) -> Any:
        """An object or a list; in a form it is JSON."""
        found = self._values.get(name)
        if not isinstance(found, str):
            return found
        if found == "":
            return None
        try:
            return value_in(found)
        except ValueError:
            _bad(f"can't parse {name} JSON object")

    def record(self, name: str) -> dict[str, Any]:
        """An object; empty if it is not given."""
        found = self.data(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            _bad(f"can't parse {name}: expected an object")
        return cast("dict[str, Any]", found)

    def sequence(self, name: str) -> list[Any]:
        """A list; empty if it is not given."""
        found = self.data(name)
        if found is None:
            return []
        if not isinstance(found, list):
            _bad(f"can't parse {name}: expected an array")
        return cast("list[Any]", found)


def _bad(why: str) -> NoReturn:
    raise BadParameter(why)


async def read_parameters(request: web.Request) -> Parameters:
    """Read a request. Raises `BadParameter`."""
    values: dict[str, Any] = dict(request.query)
    files: dict[str, UploadedFile] = {}
    if request.content_type == "application/json" and request.can_read_body:
        try:
            values |= object_in(await request.read())
        except NoObject:
            _bad("can't parse JSON in the request body: expected an object")
        except ValueError:
            _bad("can't parse JSON in the request body")
    elif request.can_read_body:
        for name, value in (await request.post()).items():
            if isinstance(value, FileField):
                files[name] = UploadedFile(name=value.filename, content=value.file.read())
            else:
                values[name] = value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
    return Parameters(values, files)


# The answers of the Bot API: what succeeds, and how a refusal is worded.

#: refusal that a scenario asks for -> status and words
_AS = {
    "blocked": (403, "bot was blocked by the user"),
    "chat-not-found": (400, "chat not found"),
    "kicked": (403, "bot was kicked from the supergroup chat"),
    "no-rights": (400, "not enough rights to send text messages to the chat"),
    "cant-parse": (400, "can't parse entities: Can't find end of the entity starting at byte offset 0"),
    "too-long": (400, "message is too long"),
}


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a refusal: Telegram words the same refusal differently for each."""

    place: Address | None = None
    #: what is done to a message: ``edit``, ``delete``, ``react``, ``pin``
    verb: str = ""
    caption: bool = False


def ok(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def failed(status: int, description: str, **parameters: Any) -> web.Response:
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if parameters:
        body["parameters"] = parameters
    return web.json_response(body, status=status)


def refused(platform: FakePlatform, error: PlatformError, wording: Wording) -> web.Response:
    if isinstance(error, Unauthorized):
        return failed(401, "Unauthorized")
    if isinstance(error, RateLimited):
        wait = math.ceil(error.retry_after or 1)
        return failed(429, f"Too Many Requests: retry after {wait}", retry_after=wait)
    if not isinstance(error, Refused):
        return failed(500, "Internal Server Error")
    if name := refused_as(error):
        status, words = _AS[name]
        return failed(status, f"{'Forbidden' if status == 403 else 'Bad Request'}: {words}")
    if isinstance(error, PlaceArchived):
        return failed(400, "Bad Request: TOPIC_CLOSED")
    if isinstance(error, PlaceGone) or error.facts == "no such conversation":
        return _no_place(platform, wording.place)
    return failed(400, f"Bad Request: {_words(error.facts, wording)}")


def _no_place(platform: FakePlatform, place: Address | None) -> web.Response:
    above = None if place is None else platform.room_above(place)
    if place is None or above is None or place.account not in above.accounts:
        return failed(400, "Bad Request: chat not found")
    if place.account in above.left:
        return failed(403, "Forbidden: bot is not a member of the supergroup chat")
    if above.closed == "deleted":
        return failed(403, "Forbidden: the group chat was deleted")
    return failed(400, "Bad Request: message thread not found")


def _words(facts: str, wording: Wording) -> str:
    if facts in ("no such message", "the message was deleted"):
        return f"message to {wording.verb or 'reply'} not found"
    if facts.startswith("longer than"):
        return "message caption is too long" if wording.caption else "message is too long"
    if facts.startswith("cannot parse entities"):
        return facts.replace("cannot", "can't", 1)
    if facts in ("the new text is empty", "there is no text"):
        return "message text is empty"
    if facts == "only its author can edit a message":
        return "message can't be edited"
    if facts.startswith(("this account cannot delete", "the message is too old to be deleted")):
        return "message can't be deleted"
    if facts == "there are no threads here":
        return "the chat is not a forum"
    return facts


_WORDING = web.RequestKey("wording", Wording)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    file_id: str
    kind: str
    #: the address or the name under which the bot gave it
    source: str
    content: bytes

    @property
    def path(self) -> str:
        """The path of the file, below the address of the files."""
        return f"{self.kind}s/{self.file_id[:12]}_{self.source.rpartition('/')[2]}"


class FileStore:
    def __init__(self) -> None:
        self.by_id: dict[str, StoredFile] = {}

    def add(self, kind: str, source: str | UploadedFile) -> StoredFile:
        """Keep a file. What is read from an address has that address as its content: nothing leaves this machine."""
        name = source if isinstance(source, str) else source.name
        content = source.encode() if isinstance(source, str) else source.content
        file_id = letters("file", kind, name, str(len(self.by_id)), length=40, alphabet=_ALPHABET)
        stored = self.by_id[file_id] = StoredFile(file_id=file_id, kind=kind, source=name, content=content)
        return stored

    def at(self, path: str) -> StoredFile | None:
        return next((stored for stored in self.by_id.values() if stored.path == path), None)


class BotCaller(msgspec.Struct, frozen=True, kw_only=True):
    """The account that makes a call, and how a refusal of the call is worded."""

    request: web.Request
    account: str
    token: int

    def note_wording(self, wording: Wording) -> None:
        """Say what a refusal of this call is about."""
        self.request[_WORDING] = wording


class TelegramBase(WireServer[FakeTelegram]):
    channel = "telegram"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.files = FileStore()

    def token(self, account: str, number: int) -> str:
        return f"{self.platform.bot_id(account)}:{account}-{number}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return refused(self.platform, error, request.get(_WORDING, Wording()))

    def place(self, account: str, given: Parameters) -> Address:
        """The chat and topic that a call names. Raises `BadParameter`."""
        if "chat_id" not in given:
            raise BadParameter("chat_id is empty")
        chat = given.text("chat_id")
        if chat.startswith("@") or not chat.removeprefix("-").isdecimal():
            raise BadParameter("chat not found")
        topic = given.integer("message_thread_id")
        return Address(
            channel=self.channel,
            account=account,
            kind=ChatKind.GROUP if chat.startswith("-") else ChatKind.DIRECT,
            conversation=chat,
            thread=None if not topic else str(topic),
        )
