"""The server and its members, roles, emoji and events; who the bot is."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from trunkline.core.actions.names import Action
from trunkline.sim.wire.discord.errors import DiscordSays, reply
from trunkline.sim.wire.discord.exchange import RestExchange


async def me(call: RestExchange) -> web.StreamResponse:
    """The bot."""
    call.server.platform.tokens.check(call.account, call.number)
    return reply(
        {**call.view.bot(call.account), "mfa_enabled": False, "verified": True, "locale": "en-US", "email": None}
    )


async def application(call: RestExchange) -> web.StreamResponse:
    """The bot's application."""
    bot = call.view.bot(call.account)
    return reply(
        {
            "id": call.server.application_id(call.account),
            "name": call.account,
            "icon": None,
            "description": "",
            "summary": "",
            "bot": bot,
            "bot_public": False,
            "bot_require_code_grant": False,
            "owner": call.view.person(bot["id"]),
            "verify_key": "0" * 64,
            "team": None,
            "flags": 565248,
            "approximate_guild_count": 1,
            "redirect_uris": [],
        }
    )


async def user(call: RestExchange) -> web.StreamResponse:
    """A user."""
    wanted = call.named("user")
    if wanted not in call.server.platform.server.members and wanted != call.view.bot(call.account)["id"]:
        raise DiscordSays(10013)
    return reply(call.view.person(wanted))


async def guilds(call: RestExchange) -> web.StreamResponse:
    """The servers of the bot."""
    shown = call.view.guild()
    return reply(
        [{key: shown[key] for key in ("id", "name", "icon", "features")} | {"owner": False, "permissions": "8"}]
    )


async def guild(call: RestExchange) -> web.StreamResponse:
    """The server."""
    call.in_server()
    return reply(call.view.guild())


async def channels(call: RestExchange) -> web.StreamResponse:
    """The channels of the server, without threads."""
    server = call.server

    def answer(_: object) -> web.StreamResponse:
        rooms = [room for room in call.view.rooms(call.account) if not room.owner and room.parent is None]
        categories = [server.category(*one) for one in server.platform.server.kept("category").items()]
        return reply([*categories, *(call.view.channel(call.account, room) for room in rooms)])

    return await call.ask(Action.CHANNEL_LIST, call.in_server(), answer)


GUILD_ROUTES: dict[tuple[str, str], Any] = {
    ("GET", "/users/@me"): me,
    ("GET", "/users/@me/guilds"): guilds,
    ("GET", "/users/{user}"): user,
    ("GET", "/applications/@me"): application,
    ("GET", "/oauth2/applications/@me"): application,
    ("GET", "/guilds/{guild}"): guild,
    ("GET", "/guilds/{guild}/channels"): channels,
}
