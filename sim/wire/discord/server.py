"""Discord on the wire: the REST API, and the gateway that ``GET /gateway/bot`` names."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, ChatKind, Envelope
from trunkline.sim.platforms.channels.discord import FakeDiscord
from trunkline.sim.platforms.rooms import Room, digits, letters
from trunkline.sim.wire.discord.bodies import read_json
from trunkline.sim.wire.discord.errors import DiscordSays, nothing, refusal_of, reply
from trunkline.sim.wire.discord.exchange import RestExchange
from trunkline.sim.wire.discord.gateway import GatewayHub
from trunkline.sim.wire.discord.guilds import GUILD_ROUTES
from trunkline.sim.wire.discord.messages import MESSAGE_ROUTES
from trunkline.sim.wire.discord.threads import CHANNEL_ROUTES, WEBHOOK_ROUTES
from trunkline.sim.wire.discord.view import DiscordView, Json, mapping
from trunkline.sim.wire.server import WireServer

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_VERSIONS = "{version:v9|v10}"
#: answers to interactions that a client may give
_CALLBACKS = frozenset({1, 4, 5, 6, 7, 8, 9, 10, 12})

RestHandler = Callable[[RestExchange], Awaitable[web.StreamResponse]]


class DiscordServer(WireServer[FakeDiscord]):
    """``/api/v10`` and ``/gateway``."""

    channel = "discord"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.view = DiscordView(self.platform, self.epoch)
        self.hub = GatewayHub(self)
        #: interactions that wait for their answer: id -> token
        self._interactions: dict[str, str] = {}
        self._answered: set[str] = set()

    def add_routes(self, app: web.Application) -> None:
        root = f"/api/{_VERSIONS}"
        for (method, path), handler in {**MESSAGE_ROUTES, **CHANNEL_ROUTES, **GUILD_ROUTES}.items():
            app.router.add_route(method, root + path, self._with_token(handler))
        for (method, path), handler in WEBHOOK_ROUTES.items():
            app.router.add_route(method, f"{root}/webhooks/{{webhook}}/{{token}}{path}", self._with_secret(handler))
        app.router.add_get(f"{root}/gateway", self._gateway)
        app.router.add_get(f"{root}/gateway/bot", self._with_token(self._gateway_bot))
        app.router.add_post(f"{root}/interactions/{{interaction}}/{{token}}/callback", self._callback)
        app.router.add_get("/gateway", self.hub.handle)
        app.router.add_get("/gateway/", self.hub.handle)
        app.router.add_route("*", "/{anything:.*}", self._unknown)

    def token(self, account: str, number: int) -> str:
        """A token in the form of Discord's: the bot's id, a time and a signature."""
        bot = base64.urlsafe_b64encode(self.platform.bot_id(account).encode()).decode().rstrip("=")
        return f"{bot}.G{number:05d}.{letters('discord', account, str(number), length=20, alphabet=_BASE64)}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return refusal_of(error)

    async def close(self) -> None:
        await self.hub.close()

    # ------------------------------------------------------------ what others need

    @property
    def gateway_url(self) -> str:
        """Address of the gateway."""
        return f"{self.url.replace('http', 'ws', 1)}/gateway"

    def application_id(self, account: str) -> str:
        """The id of an account's application, which is not that of its bot."""
        return digits("discord", "application", account, length=18)

    def secret(self, account: str, webhook: str) -> str:
        """The token of a webhook."""
        return letters("discord", "webhook", account, webhook, length=40, alphabet=_BASE64)

    def channel_of_webhook(self, account: str, webhook: str) -> str:
        """The channel of a webhook; of a missing one its id, at which there is no channel."""
        for room in self.view.rooms(account):
            if room.parent is None and self.platform.webhooks.found(room.address(account)) == webhook:
                return room.conversation
        return webhook

    def category(self, number: str, fields: Json) -> Json:
        """A category as a channel."""
        return {
            "id": number,
            "type": 4,
            "guild_id": self.view.guild_id,
            "name": fields.get("name"),
            "position": fields.get("position", 0),
            "permission_overwrites": [],
            "parent_id": None,
            "flags": 0,
        }

    def presence(self, account: str, number: int, body: Any) -> None:
        """An account shows another presence, which the gateway does not answer."""
        given = mapping(body)
        activities = given.get("activities")
        first = mapping(cast("list[Any]", activities)[0]) if isinstance(activities, list) and activities else {}
        named = {
            "activityName": first.get("name"),
            "activityState": first.get("state"),
            "activityUrl": first.get("url"),
        }
        fields = {"status": given.get("status"), **named}
        text = msgspec.json.encode({key: value for key, value in fields.items() if value}).decode()
        place = Address(channel=self.channel, account=account, kind=ChatKind.CHANNEL, conversation="@account")
        change = self.action_request(Action.SET_PRESENCE, place, fields=text)
        self.platform.actions.act(change, self.world.future(), number)

    # ------------------------------------------------------------ interactions

    def interaction(self, press: Envelope, room: Room) -> Json:
        """The press of a button as an event, which the client must answer by its token."""
        account = press.address.account
        token = letters("discord", "interaction", press.message_id, length=40, alphabet=_BASE64)
        self._interactions[press.message_id] = token
        message = self.platform.board.get(room, press.pressed or "")
        who = (
            {"user": self.view.person(press.peer.id)}
            if room.kind is ChatKind.DIRECT
            else {"member": self.view.member(press.peer.id, press.roles), "guild_id": self.view.guild_id}
        )
        return {
            "id": press.message_id,
            "application_id": self.application_id(account),
            "type": 3,
            "token": token,
            "version": 1,
            "channel_id": self.view.channel_id(account, room),
            "channel": self.view.channel(account, room),
            "message": {"id": press.pressed} if message is None else self.view.message(account, message),
            "data": {"custom_id": press.text, "component_type": 2},
            "locale": "en-US",
            "guild_locale": "en-US",
            "app_permissions": "8",
            "entitlements": [],
            "authorizing_integration_owners": {"0": self.view.guild_id},
            "context": 1 if room.kind is ChatKind.DIRECT else 0,
            "attachment_size_limit": 10485760,
            **who,
        }

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Interactions that no client has answered."""
        return tuple(one for one in self._interactions if one not in self._answered)

    async def _callback(self, request: web.Request) -> web.StreamResponse:
        """The answer to an interaction, which needs its token and no other one."""
        interaction = request.match_info["interaction"]
        try:
            if self._interactions.get(interaction) != request.match_info["token"]:
                raise DiscordSays(10062)
            if interaction in self._answered:
                raise DiscordSays(40060)
            if (await read_json(request)).get("type") not in _CALLBACKS:
                raise DiscordSays(50035, field="type")
        except DiscordSays as error:
            return error.response()
        self._answered.add(interaction)
        return nothing()

    # ------------------------------------------------------------ requests

    def _with_token(self, handler: RestHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for requests with a bot's token. An old token goes to the platform, which refuses it."""

        async def handle(request: web.Request) -> web.StreamResponse:
            kind, _, token = request.headers.get("Authorization", "").partition(" ")
            owner = self.owner_of(token) if kind == "Bot" else None
            try:
                if owner is None:
                    raise DiscordSays(0)
                return await handler(RestExchange(server=self, request=request, account=owner[0], number=owner[1]))
            except DiscordSays as error:
                return error.response()
            except PlatformError as error:
                return refusal_of(error)

        return handle

    def _with_secret(self, handler: RestHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for requests that a webhook's token authorises."""

        async def handle(request: web.Request) -> web.StreamResponse:
            webhook, token = request.match_info["webhook"], request.match_info["token"]
            accounts = self.platform.spec.accounts
            owner = next((one for one in accounts if self.secret(one, webhook) == token), None)
            try:
                if owner is None:
                    raise DiscordSays(50027)
                number = self.platform.tokens.newest(owner)
                return await handler(RestExchange(server=self, request=request, account=owner, number=number))
            except DiscordSays as error:
                return error.response()
            except PlatformError as error:
                return refusal_of(error)

        return handle

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        return reply({"url": self.gateway_url})

    async def _gateway_bot(self, call: RestExchange) -> web.StreamResponse:
        self.platform.tokens.check(call.account, call.number)
        limit = {"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}
        return reply({"url": self.gateway_url, "shards": 1, "session_start_limit": limit})

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        return DiscordSays(520000).response()
