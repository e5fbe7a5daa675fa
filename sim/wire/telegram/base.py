"""What all parts of the Telegram server use: its tokens, its files, and the places that calls name."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.telegram.answers import Wording, refused
from trunkline.sim.wire.telegram.file_store import FileStore
from trunkline.sim.wire.telegram.parameters import BadParameter, Parameters

_WORDING = web.RequestKey("wording", Wording)


class BotCaller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a call, and how its refusal is worded."""

    request: web.Request
    account: str
    #: number of the token
    token: int

    def word(self, wording: Wording) -> None:
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
