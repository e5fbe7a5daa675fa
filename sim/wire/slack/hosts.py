"""The server of the fake Slack as its methods and feeds use it: secrets, tickets, places, files."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.values import Address, ChatKind, Envelope, Receipt
from trunkline.sim.platforms.channels.slack import FakeSlack
from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.slack.call import SlackCall

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(slots=True, kw_only=True)
class ShelvedFile:
    """A file on its way into a message."""

    name: str
    length: int
    content: bytes | None = None
    #: the message that has it
    receipt: Receipt | None = None


class FileShelf:
    """The files of all accounts."""

    def __init__(self) -> None:
        self.files: dict[str, ShelvedFile] = {}

    def reserve(self, name: str, length: int) -> str:
        """A new file without content; returns its id."""
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
    """The server as its methods and feeds use it."""

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

    # ------------------------------------------------------------ secrets and accounts

    def token(self, account: str, number: int) -> str:
        return f"xoxb-{account}-{number}"

    def app_token(self, account: str) -> str:
        """The app-level token, for Socket Mode."""
        return f"xapp-1-{account}"

    def signing_secret(self, account: str) -> str:
        """The signing secret, for events by HTTP."""
        return f"signing-{account}"

    def account_of_app(self, token: str) -> str | None:
        """The account of an app-level token."""
        return next((account for account in self.platform.spec.accounts if self.app_token(account) == token), None)

    def new_ticket(self, account: str) -> str:
        """A ticket for one socket."""
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
        call.address = place if thread is None else _in_thread(place, thread)
        return call.address


def _in_thread(place: Address, thread: str) -> Address:
    return Address(
        channel=place.channel,
        account=place.account,
        kind=place.kind,
        conversation=place.conversation,
        thread=thread,
        parent=place.parent,
    )
