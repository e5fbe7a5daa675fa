"""The server of the fake Slack as its methods and feeds use it: secrets, tickets, places, files."""

from abc import abstractmethod
from contextvars import ContextVar
from itertools import count
from typing import Any, cast

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Address, ChatKind, Envelope, Receipt
from trunkline.sim.platforms.channels.slack import FakeSlack
from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.json_values import NoObject, mappings, object_in, sequence, value_in
from trunkline.sim.wire.server import WireServer

# A call of the Web API: its account, its arguments, and what the response to a failure needs to know.

_JSON = "application/json"


class BadArguments(Exception):
    """The call itself is wrong; its text is the error code of Slack."""


class SlackCall(msgspec.Struct, kw_only=True):
    request: web.Request
    method: str
    account: str
    token: int
    given: dict[str, Any]
    #: what a failure is about
    address: Address | None = None
    text: str = ""
    message_id: str | None = None
    action: Action | None = None
    warnings: list[str] = []

    def word(self, name: str, missing: str = "invalid_arguments") -> str:
        """A required argument. Raises `BadArguments` with the code `missing`."""
        found = self.given.get(name)
        if not isinstance(found, str | int) or isinstance(found, bool) or not str(found).strip():
            raise BadArguments(missing)
        return str(found)

    def maybe(self, name: str) -> str | None:
        found = self.given.get(name)
        return str(found) if isinstance(found, str | int) and str(found).strip() else None

    def objects(self, name: str, wrong: str) -> list[dict[str, Any]]:
        """A list of objects, which a form gives as JSON. Raises `BadArguments` with the code `wrong`."""
        found = self.given.get(name)
        if isinstance(found, str):
            try:
                found = value_in(found)
            except ValueError:
                raise BadArguments(wrong) from None
        if found is None:
            return []
        objects = mappings(found)
        if not isinstance(found, list) or len(objects) != len(sequence(cast("object", found))):
            raise BadArguments(wrong)
        return objects

    def page(self, most: int = 1000) -> tuple[int, int]:
        """Where a list begins, and how many of its entries are asked for. Raises `BadArguments`."""
        cursor, limit = self.maybe("cursor") or "0", self.maybe("limit") or "100"
        if not cursor.isdecimal():
            raise BadArguments("invalid_cursor")
        if not limit.isdecimal():
            raise BadArguments("invalid_limit")
        return int(cursor), max(1, min(int(limit), most))

    def answer(self, **fields: Any) -> web.Response:
        return self._respond({"ok": True, **fields})

    def error(self, code: str, **fields: Any) -> web.Response:
        """A response with an error code: its status is 200 too."""
        return self._respond({"ok": False, "error": code, **fields})

    def _respond(self, body: dict[str, Any]) -> web.Response:
        if self.warnings:
            body["warning"] = ",".join(self.warnings)
            body.setdefault("response_metadata", {})["warnings"] = self.warnings
        return web.json_response(body)


#: the call that is answered, for the response to a failure
CALL: ContextVar[SlackCall] = ContextVar("slack-call")


async def arguments_of(request: web.Request) -> tuple[dict[str, Any], list[str]]:
    """The arguments of a request, from its query, a form or a JSON object, and warnings. Raises `BadArguments`."""
    given: dict[str, Any] = dict(request.query)
    if request.content_type == _JSON:
        try:
            given |= object_in(await request.text())
        except NoObject:
            raise BadArguments("json_not_object") from None
        except ValueError:
            raise BadArguments("invalid_json") from None
        return given, [] if request.charset else ["missing_charset"]
    if request.method == "POST":
        given |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return given, []


def token_of(request: web.Request, given: dict[str, Any]) -> str:
    """The token of a call: in its header, or among its arguments."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token else str(given.get("token", ""))


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class ShelvedFile(msgspec.Struct, kw_only=True):
    """A file on its way into a message."""

    name: str
    length: int
    content: bytes | None = None
    receipt: Receipt | None = None


class FileShelf:
    def __init__(self) -> None:
        self.files: dict[str, ShelvedFile] = {}

    def reserve(self, name: str, length: int) -> str:
        """A new file without content; returns the id."""
        number = f"F0{letters('slack', 'file', str(len(self.files)), length=9, alphabet=_ALPHABET)}"
        self.files[number] = ShelvedFile(name=name, length=length)
        return number

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """The content of a file comes, as the body or as a file of a form."""
        file = self.files.get(request.match_info["file"])
        content = await _content(request)
        if file is None or len(content) != file.length:
            return web.Response(status=400, text="bad upload")
        file.content = content
        return web.Response(text=f"OK - {len(content)}")


async def _content(request: web.Request) -> bytes:
    if request.content_type != "multipart/form-data":
        return await request.read()
    found = [part for part in (await request.post()).values() if isinstance(part, web.FileField)]
    return found[0].file.read() if found else b""


class SlackHost(WireServer[FakeSlack]):
    channel = "slack"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.files = FileShelf()
        #: ticket of a socket -> account; a ticket is used once
        self._tickets: dict[str, str] = {}
        self._numbers = count(1)
        self._response_urls: dict[str, Envelope] = {}

    @abstractmethod
    def report(self, account: str, event: dict[str, Any]) -> None:
        """Bring an event to an account once, such as an echo of its own message."""

    def token(self, account: str, number: int) -> str:
        return f"xoxb-{account}-{number}"

    def app_token(self, account: str) -> str:
        return f"xapp-1-{account}"

    def signing_secret(self, account: str) -> str:
        return f"signing-{account}"

    def account_of_app(self, token: str) -> str | None:
        return next((account for account in self.platform.spec.accounts if self.app_token(account) == token), None)

    def new_ticket(self, account: str) -> str:
        ticket = f"{account}-{next(self._numbers)}"
        self._tickets[ticket] = account
        return ticket

    def response_url(self, envelope: Envelope) -> str:
        """The address with which an app answers an interaction."""
        number = str(next(self._numbers))
        self._response_urls[number] = envelope
        return f"{self.url}/response/{number}"

    def address_of(self, call: SlackCall, name: str = "channel", thread: str | None = None) -> Address:
        """The place that an argument names: by an id, of a user too, or ``#name``. It need not be there."""
        given = call.word(name, "channel_not_found")
        named = self.platform.find(call.account, given) if given[:1] == "#" else None
        conversation = given if named is None else named.conversation
        usual = ChatKind.DIRECT if conversation[:1].upper() in ("D", "U", "W") else ChatKind.CHANNEL
        place = Address(channel=self.channel, account=call.account, kind=usual, conversation=conversation)
        room = self.platform.room_at(place)
        if room is not None:
            own = room.address(call.account)
            # The platform takes an id in lower case too; the record keeps it as it came.
            same = conversation.upper() == own.conversation.upper()
            place = msgspec.structs.replace(own, conversation=conversation) if same else own
        call.address = place if thread is None else msgspec.structs.replace(place, thread=thread)
        return call.address
