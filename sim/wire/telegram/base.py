"""The Telegram server as its methods use it: its tokens, its files, and the places that calls name."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.telegram.answers import Wording, refused
from trunkline.sim.wire.telegram.parameters import BadParameter, Parameters, UploadedFile

_WORDING = web.RequestKey("wording", Wording)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its id."""

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
    """All files of one server."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}

    def add(self, kind: str, source: str | UploadedFile) -> StoredFile:
        """Keep a file. What is read from an address has that address as its content: nothing leaves this machine."""
        name = source if isinstance(source, str) else source.name
        content = source.encode() if isinstance(source, str) else source.content
        file_id = letters("file", kind, name, str(len(self._by_id)), length=40, alphabet=_ALPHABET)
        stored = self._by_id[file_id] = StoredFile(file_id=file_id, kind=kind, source=name, content=content)
        return stored

    @property
    def every(self) -> tuple[StoredFile, ...]:
        """All files, in the order in which they came."""
        return tuple(self._by_id.values())

    def get(self, file_id: str) -> StoredFile | None:
        """The file with an id."""
        return self._by_id.get(file_id)

    def at(self, path: str) -> StoredFile | None:
        """The file at a path."""
        return next((stored for stored in self._by_id.values() if stored.path == path), None)


class BotCaller(msgspec.Struct, frozen=True, kw_only=True):
    """The account that makes a call, and how a refusal of the call is worded."""

    request: web.Request
    account: str
    #: number of the token
    token: int

    def note_wording(self, wording: Wording) -> None:
        """Say what a refusal of this call is about."""
        self.request[_WORDING] = wording


class TelegramBase(WireServer[FakeTelegram]):
    """The server without its methods."""

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
