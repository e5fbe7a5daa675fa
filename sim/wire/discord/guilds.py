"""The server and its members, roles, emoji and events; who the bot is."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Receipt
from trunkline.sim.wire.discord.errors import DiscordSays, reply
from trunkline.sim.wire.discord.exchange import RestExchange
from trunkline.sim.wire.discord.messages import page_of
from trunkline.sim.wire.discord.view import unset
from trunkline.sim.wire.json_values import Json

_CATEGORY = 4
_LONGEST_NAME = 100
#: setting of a channel -> its name in the message tool
CHANNEL_FIELDS = {
    "name": "name",
    "type": "type",
    "topic": "topic",
    "position": "position",
    "nsfw": "nsfw",
    "rate_limit_per_user": "rateLimitPerUser",
    "parent_id": "parentId",
}


async def me(call: RestExchange) -> web.StreamResponse:
    call.server.platform.tokens.check(call.account, call.number)
    return reply(
        {**call.view.bot(call.account), "mfa_enabled": False, "verified": True, "locale": "en-US", "email": None}
    )


async def application(call: RestExchange) -> web.StreamResponse:
    bot = call.view.bot(call.account)
    return reply(
        {
            "id": call.server.application_id(call.account),
            "name": call.account,
            "description": "",
            "summary": "",
            "bot": bot,
            "owner": call.view.person(bot["id"]),
            "verify_key": "0" * 64,
            "flags": 565248,
            "approximate_guild_count": 1,
            **unset(null="icon team", false="bot_public bot_require_code_grant", empty="redirect_uris"),
        }
    )


async def user(call: RestExchange) -> web.StreamResponse:
    wanted = call.path_part("user")
    if wanted not in call.server.platform.server.members and wanted != call.view.bot(call.account)["id"]:
        raise DiscordSays(10013)
    return reply(call.view.person(wanted))


async def guilds(call: RestExchange) -> web.StreamResponse:
    shown = call.view.guild()
    return reply(
        [{key: shown[key] for key in ("id", "name", "icon", "features")} | {"owner": False, "permissions": "8"}]
    )


async def guild(call: RestExchange) -> web.StreamResponse:
    call.in_server()
    return reply(call.view.guild())


async def channels(call: RestExchange) -> web.StreamResponse:
    """The channels of the server, without threads."""
    server = call.server

    def answer(_: object) -> web.StreamResponse:
        rooms = [room for room in call.view.rooms(call.account) if not room.owner and room.parent is None]
        categories = [server.category(*category) for category in server.platform.server.objects_of("category").items()]
        return reply([*categories, *(call.view.channel(call.account, room) for room in rooms)])

    return await call.ask(Action.CHANNEL_LIST, call.in_server(), answer)


async def create_channel(call: RestExchange) -> web.StreamResponse:
    body, place, server = await call.body(), call.in_server(), call.server
    name = body.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
        raise DiscordSays(50035, field="name", detail="Must be between 1 and 100 in length.")
    fields = _renamed(body, CHANNEL_FIELDS)
    if body.get("type") == _CATEGORY:

        def category(receipt: Receipt) -> web.StreamResponse:
            return reply(server.category(receipt.provider_id, {"name": name, **fields}), 201)

        return await call.act(Action.CATEGORY_CREATE, place, category, fields=fields)

    def channel(receipt: Receipt) -> web.StreamResponse:
        room = server.platform.room_at(receipt.address)
        return DiscordSays(10003).response() if room is None else reply(call.view.channel(call.account, room), 201)

    return await call.act(Action.CHANNEL_CREATE, place, channel, fields=fields)


async def member(call: RestExchange) -> web.StreamResponse:
    wanted, bot = call.path_part("user"), call.view.bot(call.account)["id"]
    if wanted in (bot, "@me"):
        return reply(call.view.member(bot, ()))

    def answer(found: Json) -> web.StreamResponse:
        there = call.server.platform.server.members[wanted]
        if there.out is not None:
            return DiscordSays(10007).response()
        shown = call.view.member(wanted)
        if found["status"] == "timed out":
            shown["communication_disabled_until"] = call.view.date(there.timeout)
        return reply(shown)

    return await call.ask(Action.MEMBER_INFO, call.in_server(), answer, fields={"userId": wanted})


async def members(call: RestExchange) -> web.StreamResponse:
    """The members whose name begins so, or all."""
    call.in_server()
    wanted = call.request.query.get("query", "").lower()
    found = call.server.platform.server.members.values()
    shown = [member.peer.id for member in found if member.out is None and member.peer.name.lower().startswith(wanted)]
    return reply([call.view.member(user) for user in page_of(call, shown)])


async def edit_member(call: RestExchange) -> web.StreamResponse:
    """Time a member out, or end a timeout."""
    body, wanted = await call.body(), call.path_part("user")
    until, minutes = body.get("communication_disabled_until"), 0.0
    if until is not None:
        try:
            minutes = (datetime.fromisoformat(until).timestamp() - call.server.date()) / 60
        except (ValueError, TypeError):
            raise DiscordSays(50035, field="communication_disabled_until") from None
    fields = {**_who(call), "durationMin": max(0.0, minutes)}
    return await call.act(Action.TIMEOUT, call.in_server(), lambda _: reply(call.view.member(wanted)), fields=fields)


def _changing_member(action: Action) -> Any:
    """Handles the changes of a member that are answered with nothing: a kick, and roles."""

    async def handle(call: RestExchange) -> web.StreamResponse:
        role = call.request.match_info.get("role")
        fields = _who(call) if role is None else {**_who(call), "roleId": role}
        return await call.act(action, call.in_server(), fields=fields)

    return handle


async def ban(call: RestExchange) -> web.StreamResponse:
    """Remove a member for good."""
    await call.body()
    return await call.act(Action.BAN, call.in_server(), fields=_who(call))


async def roles(call: RestExchange) -> web.StreamResponse:
    return await call.ask(Action.ROLE_INFO, call.in_server(), lambda _: reply(call.view.roles()))


async def voice(call: RestExchange) -> web.StreamResponse:
    """Where a member speaks. Nobody is ever in a voice channel here."""
    fields = {"userId": call.path_part("user")}
    answer = DiscordSays(10065)
    return await call.ask(Action.VOICE_STATUS, call.in_server(), lambda _: answer.response(), fields=fields)


def _who(call: RestExchange) -> Json:
    return {"guildId": call.path_part("guild"), "userId": call.path_part("user")}


def _listing(action: Action, shown: Callable[[RestExchange, Json], Json]) -> Any:
    async def handle(call: RestExchange) -> web.StreamResponse:
        return await call.ask(action, call.in_server(), lambda found: reply([shown(call, item) for item in found]))

    return handle


def _creating(
    action: Action, names: Mapping[str, str], shown: Callable[[RestExchange, Json], Json], id_name: str
) -> Any:
    async def handle(call: RestExchange) -> web.StreamResponse:
        body = await call.body()
        fields = _renamed(body, names)
        missing = next((name for name in names if name in ("name", "image") and not body.get(name)), None)
        if missing is not None:
            raise DiscordSays(50035, field=missing, detail="This field is required")
        made = {**fields, "name": body.get("name")}
        return await call.act(
            action,
            call.in_server(),
            lambda receipt: reply(shown(call, {**made, id_name: receipt.provider_id}), 201),
            fields=fields,
        )

    return handle


def _emoji(call: RestExchange, found: Json) -> Json:
    return {
        "id": found["emojiId"],
        "name": found.get("name"),
        "require_colons": True,
        "available": True,
        **unset(false="managed animated", empty="roles"),
    }


def _sticker(call: RestExchange, found: Json) -> Json:
    return {
        "id": found["stickerId"],
        "name": found.get("name"),
        "description": found.get("stickerDesc"),
        "tags": found.get("stickerTags", ""),
        "type": 2,
        "format_type": 1,
        "available": True,
        "guild_id": call.view.guild_id,
    }


def _event(call: RestExchange, found: Json) -> Json:
    return {
        "id": found["eventId"],
        "guild_id": call.view.guild_id,
        "channel_id": found.get("channel_id"),
        "name": found.get("name"),
        "description": found.get("desc"),
        "scheduled_start_time": found.get("startTime"),
        "scheduled_end_time": found.get("endTime"),
        "privacy_level": 2,
        "status": 1,
        "entity_type": 3,
        "entity_id": None,
        "entity_metadata": {"location": found.get("location")},
    }


async def search(call: RestExchange) -> web.StreamResponse:
    """Messages of the server with a text."""
    query = call.request.query
    fields = {"query": query.get("content", ""), "limit": 25, "channelId": query.get("channel_id")}
    board = {message.id: message for message in call.server.platform.board.all}

    def answer(found: list[Json]) -> web.StreamResponse:
        shown = [[call.view.message(call.account, board[hit["messageId"]])] for hit in found]
        return reply({"total_results": len(shown), "messages": shown, "doing_deep_historical_index": False})

    return await call.ask(
        Action.SEARCH, call.in_server(), answer, fields={key: value for key, value in fields.items() if value}
    )


def _renamed(body: Json, names: Mapping[str, str]) -> Json:
    return {names[name]: value for name, value in body.items() if name in names}


_EMOJI_FIELDS = {"name": "emojiName", "image": "media", "roles": "roleIds"}
_STICKER_FIELDS = {"name": "stickerName", "description": "stickerDesc", "tags": "stickerTags"}
_EVENT_FIELDS = {
    "name": "eventName",
    "description": "desc",
    "scheduled_start_time": "startTime",
    "scheduled_end_time": "endTime",
}
GUILD_ROUTES: dict[tuple[str, str], Any] = {
    ("GET", "/users/@me"): me,
    ("GET", "/users/@me/guilds"): guilds,
    ("GET", "/users/{user}"): user,
    ("GET", "/applications/@me"): application,
    ("GET", "/oauth2/applications/@me"): application,
    ("GET", "/guilds/{guild}"): guild,
    ("GET", "/guilds/{guild}/channels"): channels,
    ("POST", "/guilds/{guild}/channels"): create_channel,
    ("GET", "/guilds/{guild}/members/search"): members,
    ("GET", "/guilds/{guild}/members"): members,
    ("GET", "/guilds/{guild}/members/{user}"): member,
    ("PATCH", "/guilds/{guild}/members/{user}"): edit_member,
    ("DELETE", "/guilds/{guild}/members/{user}"): _changing_member(Action.KICK),
    ("PUT", "/guilds/{guild}/bans/{user}"): ban,
    ("PUT", "/guilds/{guild}/members/{user}/roles/{role}"): _changing_member(Action.ROLE_ADD),
    ("DELETE", "/guilds/{guild}/members/{user}/roles/{role}"): _changing_member(Action.ROLE_REMOVE),
    ("GET", "/guilds/{guild}/roles"): roles,
    ("GET", "/guilds/{guild}/voice-states/{user}"): voice,
    ("GET", "/guilds/{guild}/emojis"): _listing(Action.EMOJI_LIST, _emoji),
    ("POST", "/guilds/{guild}/emojis"): _creating(Action.EMOJI_UPLOAD, _EMOJI_FIELDS, _emoji, "emojiId"),
    ("POST", "/guilds/{guild}/stickers"): _creating(Action.STICKER_UPLOAD, _STICKER_FIELDS, _sticker, "stickerId"),
    ("GET", "/guilds/{guild}/scheduled-events"): _listing(Action.EVENT_LIST, _event),
    ("POST", "/guilds/{guild}/scheduled-events"): _creating(Action.EVENT_CREATE, _EVENT_FIELDS, _event, "eventId"),
    ("GET", "/guilds/{guild}/messages/search"): search,
}
