"""A request to the REST API: its account, its place, and its response."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.values import Address, ChatKind, Identity, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.discord.bodies import read_json
from trunkline.sim.wire.discord.errors import DiscordSays, nothing
from trunkline.sim.wire.discord.hosts import DiscordHost
from trunkline.sim.wire.discord.view import DiscordView
from trunkline.sim.wire.json_values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RestExchange:
    """A request with its account."""

    server: DiscordHost
    request: web.Request
    account: str
    #: number of the token
    number: int

    @property
    def view(self) -> DiscordView:
        return self.server.view

    def path_part(self, part: str) -> str:
        """A part of the path."""
        return self.request.match_info[part]

    async def body(self) -> Json:
        """The body. Raises `DiscordSays`."""
        return await read_json(self.request)

    # ------------------------------------------------------------ places

    def place(self, channel: str | None = None) -> Address:
        """The place of a channel id; of an unknown one too, which the platform refuses."""
        wanted = channel or self.path_part("channel")
        room = self.view.room(self.account, wanted)
        if room is not None:
            return room.address(self.account)
        return Address(channel=self.server.channel, account=self.account, kind=ChatKind.CHANNEL, conversation=wanted)

    def room(self, channel: str | None = None) -> Room:
        """A conversation that the account sees. Raises `DiscordSays`."""
        room = self.view.room(self.account, channel or self.path_part("channel"))
        if room is None or room.closed == "deleted" or self.account in room.left:
            raise DiscordSays(10003)
        return room

    def message(self, room: Room | None = None) -> BoardMessage:
        """A message that is still there. Raises `DiscordSays`."""
        found = self.server.platform.board.get(room or self.room(), self.path_part("message"))
        if found is None or found.deleted:
            raise DiscordSays(10008)
        return found

    def in_server(self) -> Address:
        """The place of a change of the server. Raises `DiscordSays` for another server."""
        if self.path_part("guild") != self.view.guild_id:
            raise DiscordSays(10004)
        return self.on_server()

    def on_server(self) -> Address:
        """The place of a change of the one server."""
        return Address(channel=self.server.channel, account=self.account, kind=ChatKind.CHANNEL, conversation="@server")

    # ------------------------------------------------------------ what the platform does

    async def act(
        self,
        action: Action,
        place: Address,
        answer: Callable[[Receipt], web.StreamResponse] | None = None,
        *,
        message: str | None = None,
        fields: Json | None = None,
        identity: Identity | None = None,
        **parts: Any,
    ) -> web.StreamResponse:
        """Have a change carried out. `answer`: by default a success without content."""
        text = None if fields is None else json.dumps(fields)
        change = self.server.action_request(action, place, message, fields=text, identity=identity, **parts)
        return await self.server.act(self.request, change, self.number, answer or (lambda _: nothing()))

    async def ask(
        self,
        action: Action,
        place: Address,
        answer: Callable[[Any], web.StreamResponse],
        *,
        message: str | None = None,
        fields: Json | None = None,
    ) -> web.StreamResponse:
        """Have a question answered."""
        text = None if fields is None else json.dumps(fields)
        query = ActionQuery(action=action, address=place, message_id=message, fields=text)
        return await self.server.ask(self.request, query, self.number, answer)

    async def call(
        self,
        what: tuple[str, ...],
        place: Address,
        do: Callable[[], Any],
        answer: Callable[[Any], web.StreamResponse],
        *,
        opens: bool = False,
    ) -> web.StreamResponse:
        """Make any other call to the platform."""
        future = self.server.platform.calls.call(what, place, self.number, do, opens=opens)
        return await self.server.respond(self.request, future, answer)
