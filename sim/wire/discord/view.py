"""The objects of Discord as JSON: users, members, servers, channels, messages. Complete for strict client libraries."""

import json
import re
from datetime import UTC, datetime

from trunkline.core.message_parts import MessageParts
from trunkline.core.values import ChatKind, Envelope, Poll
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.channels.discord import FakeDiscord
from trunkline.sim.platforms.rooms import Room, digits
from trunkline.sim.wire.json_values import Json

TEXT_CHANNEL, DM_CHANNEL, PUBLIC_THREAD = 0, 1, 11
_JOINED = "2024-01-01T00:00:00.000000+00:00"
_SILENT = 1 << 12
_MENTION = re.compile(r"<@!?(\d+)>")


def unset(*, null: str = "", false: str = "", zero: str = "", empty: str = "") -> Json:
    """Fields that nothing here sets, and that strict client libraries miss: names of each kind, empty of lists."""
    kinds = ((null, None), (false, False), (zero, 0))
    made: Json = {name: value for names, value in kinds for name in names.split()}
    return made | {name: [] for name in empty.split()}


class DiscordView:
    """A platform as Discord shows it. `epoch`: the start of the world in seconds since 1970."""

    def __init__(self, platform: FakeDiscord, epoch: float) -> None:
        self._platform = platform
        self._epoch = epoch
        #: (account, id of the channel) -> user of a direct conversation
        self._users: dict[tuple[str, str], str] = {}
        #: messages as they were handed out, by conversation and id: they say who wrote them
        self._said: dict[tuple[str, str], Envelope] = {}

    @property
    def guild_id(self) -> str:
        """The id of the one server: its name in the scenario if that is a number, as ids are, else one for the name."""
        name = self._platform.spec.guild or ""
        return name if name.isascii() and name.isdecimal() else digits("discord", "guild", name, length=18)

    def dm_id(self, account: str, user: str) -> str:
        """The id of the channel of a direct conversation, which has the id of its user in the world."""
        found = digits("discord", "dm", account, user, length=18)
        self._users[account, found] = user
        return found

    def room(self, account: str, channel: str) -> Room | None:
        """The conversation that a channel id means for an account; None if it sees none."""
        for room in self._platform.rooms:
            if room.kind is ChatKind.DIRECT and room.owner == account:
                self.dm_id(account, room.conversation)
        wanted = self._users.get((account, channel), channel)
        direct = (account, channel) in self._users
        for room in self._platform.rooms:
            fits = room.conversation == wanted and (room.kind is ChatKind.DIRECT) is direct
            if fits and account in room.accounts and room.owner in ("", account):
                return room
        return None

    def channel_id(self, account: str, room: Room) -> str:
        return self.dm_id(account, room.conversation) if room.kind is ChatKind.DIRECT else room.conversation

    def date(self, at: float) -> str:
        return datetime.fromtimestamp(self._epoch + at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")

    def user(self, user: str, name: str = "", *, bot: bool = False) -> Json:
        shown = name or user
        return {
            "id": user,
            "username": shown.lower().replace(" ", "_"),
            "global_name": shown,
            "discriminator": "0000" if bot else "0",
            "bot": bot,
            **unset(null="avatar banner accent_color", false="system", zero="flags public_flags"),
        }

    def bot(self, account: str) -> Json:
        return self.user(self._platform.bot_id(account), account, bot=True)

    def person(self, user: str) -> Json:
        """A user by id: a bot of the gateway or a person."""
        for account in self._platform.spec.accounts:
            if self._platform.bot_id(account) == user:
                return self.bot(account)
        member = self._platform.server.members.get(user)
        return self.user(user, "" if member is None else member.peer.name)

    def _is_known(self, user: str) -> bool:
        bots = (self._platform.bot_id(account) for account in self._platform.spec.accounts)
        return user in self._platform.server.members or user in bots

    def member(self, user: str, roles: tuple[str, ...] | None = None) -> Json:
        if roles is None:
            roles = self._platform.server.roles(user, self._platform.usual_roles.get(user, ()))
        return {
            "user": self.person(user),
            "roles": list(roles),
            "joined_at": _JOINED,
            "permissions": "8",
            **unset(null="nick avatar banner premium_since communication_disabled_until"),
            **unset(false="deaf mute pending", zero="flags"),
        }

    def roles(self) -> list[Json]:
        """The roles of the server; everybody has the one with the server's id."""
        known = {
            role
            for person in self._platform.server.members
            for role in self._platform.server.roles(person, self._platform.usual_roles.get(person, ()))
        }
        return [self._role(self.guild_id, "@everyone"), *(self._role(role, role) for role in sorted(known))]

    def _role(self, role: str, name: str) -> Json:
        return {
            "id": role,
            "name": name,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "permissions": "8",
            **unset(null="icon unicode_emoji", false="hoist managed mentionable", zero="color position flags"),
        }

    def guild(self) -> Json:
        return {
            **unset(
                null="afk_channel_id application_id banner description discovery_splash icon incidents_data"
                " max_presences public_updates_channel_id rules_channel_id safety_alerts_channel_id splash"
                " system_channel_id vanity_url_code widget_channel_id",
                false="premium_progress_bar_enabled widget_enabled",
                zero="default_message_notifications explicit_content_filter mfa_level nsfw_level"
                " premium_subscription_count premium_tier system_channel_flags verification_level",
                empty="emojis features stickers",
            ),
            "id": self.guild_id,
            "name": self._platform.spec.guild or "guild",
            "owner_id": digits("discord", "owner", length=18),
            "afk_timeout": 300,
            "max_members": 500000,
            "max_video_channel_users": 25,
            "preferred_locale": "en-US",
            "roles": self.roles(),
        }

    def guild_create(self, account: str) -> Json:
        """The server as its event brings it, with everything that the account sees."""
        rooms = [room for room in self.rooms(account) if room.kind is not ChatKind.DIRECT]
        channels = [self.channel(account, room) for room in rooms]
        return {
            **self.guild(),
            "channels": [channel for channel in channels if channel["type"] == TEXT_CHANNEL],
            "threads": [
                channel for channel in channels if channel["type"] != TEXT_CHANNEL and not is_archived(channel)
            ],
            "joined_at": _JOINED,
            "member_count": len(self._platform.server.members) + 1,
            "members": [self.member(self._platform.bot_id(account), ())],
            **unset(
                false="large unavailable",
                empty="guild_scheduled_events presences soundboard_sounds stage_instances voice_states",
            ),
        }

    def rooms(self, account: str) -> list[Room]:
        rooms = self._platform.rooms
        return [
            room for room in rooms if account in room.accounts and room.closed != "deleted" and account not in room.left
        ]

    def channel(self, account: str, room: Room) -> Json:
        last = max(
            (int(message.id) for message in self._platform.board.within(room) if message.id.isdecimal()), default=None
        )
        shown: Json = {
            "id": self.channel_id(account, room),
            "last_message_id": None if last is None else str(last),
            "flags": 0,
        }
        if room.kind is ChatKind.DIRECT:
            return {**shown, "type": DM_CHANNEL, "recipients": [self.person(room.conversation)]}
        shown |= {"guild_id": self.guild_id, "name": room.title or room.name, "rate_limit_per_user": 0}
        if room.parent is None:
            settings = self._platform.server.rooms.get(room.conversation, {})
            return {
                **shown,
                "type": TEXT_CHANNEL,
                "position": settings.get("position", 0),
                "permission_overwrites": [],
                "parent_id": settings.get("parentId"),
                "nsfw": bool(settings.get("nsfw", False)),
                "topic": settings.get("topic"),
                "last_pin_timestamp": None,
            }
        return {
            **shown,
            "type": PUBLIC_THREAD,
            "parent_id": room.parent,
            "owner_id": self._platform.bot_id(account),
            "message_count": 0,
            "member_count": 1,
            "total_message_sent": 0,
            "thread_metadata": {
                "archived": room.closed == "archived",
                "auto_archive_duration": 1440,
                "archive_timestamp": _JOINED,
                "locked": room.locked,
                "create_timestamp": _JOINED,
            },
        }

    def note(self, envelope: Envelope) -> None:
        self._said[envelope.address.conversation, envelope.message_id] = envelope

    def message(self, account: str, posted: BoardMessage, *, replies: bool = True) -> Json:
        """A message of the history. `replies`: with the message under a reply."""
        said = self._said.get((posted.room.conversation, posted.id))
        if said is not None:
            shown = self.message_event(account, said, posted.room, replies=replies)
            return {**shown, "content": posted.text, "pinned": posted.pinned}
        author, webhook = self.person(posted.author), None
        request = posted.request if isinstance(posted, PostedMessage) else None
        if posted.identity is not None:
            author, webhook = self.user(posted.identity.id, posted.identity.name, bot=True), posted.identity.id
        shown = self._whole(account, posted.room, posted.id, posted.at, posted.text, author)
        shown |= {"pinned": posted.pinned, "edited_timestamp": self.date(posted.at) if posted.edits else None}
        if webhook is not None:
            shown["webhook_id"] = webhook
        if posted.reactions:
            shown["reactions"] = [
                reaction(emoji, who, self._platform.bot_id(account)) for emoji, who in posted.reactions.items()
            ]
        if request is not None:
            shown |= _parts(request.parts)
            shown |= {} if request.poll is None else {"poll": poll_json(request.poll, posted, self.date(posted.at))}
            shown |= self._reply(account, posted.room, request.reply_to if replies else None)
            shown["attachments"] = [attachment(number, name) for number, name in enumerate(request.media)]
        return shown

    def message_event(self, account: str, envelope: Envelope, room: Room, *, replies: bool = True) -> Json:
        author = self.user(envelope.peer.id, envelope.peer.name, bot=envelope.bot)
        shown = self._whole(account, room, envelope.message_id, envelope.sent_at, envelope.text, author)
        if envelope.webhook is not None:
            shown["webhook_id"] = envelope.webhook
        elif room.kind is not ChatKind.DIRECT:
            member = self.member(envelope.peer.id, envelope.roles)
            del member["user"]
            shown["member"] = member
        shown["attachments"] = [
            {**attachment(number, file.name), "content_type": file.mime_type}
            for number, file in enumerate(envelope.files)
        ]
        if room.kind is not ChatKind.DIRECT:
            shown["guild_id"] = self.guild_id
        return shown | self._reply(account, room, envelope.reply_to if replies else None)

    def _reply(self, account: str, room: Room, answered: str | None) -> Json:
        if answered is None:
            return {}
        reference = {"type": 0, "message_id": answered, "channel_id": self.channel_id(account, room)}
        found = self._platform.board.get(room, answered)
        # Null says that it was deleted.
        whole = None if found is None or found.deleted else self.message(account, found, replies=False)
        return {"type": 19, "message_reference": reference, "referenced_message": whole}

    def of_event(self, account: str, room: Room) -> Json:
        """The fields of an event beside the message, by which clients know the kind of an unknown channel."""
        where = {} if room.kind is ChatKind.DIRECT else {"guild_id": self.guild_id}
        return {**where, "channel_type": self.channel(account, room)["type"]}

    def _whole(self, account: str, room: Room, message: str, at: float, text: str, author: Json) -> Json:
        return {
            "id": message,
            "channel_id": self.channel_id(account, room),
            "author": author,
            "content": text,
            "timestamp": self.date(at),
            "mentions": [self.person(user) for user in dict.fromkeys(_MENTION.findall(text)) if self._is_known(user)],
            **unset(null="edited_timestamp", false="tts mention_everyone pinned", zero="type flags"),
            **unset(empty="mention_roles attachments embeds components"),
        }


def is_archived(channel: Json) -> bool:
    return bool(channel.get("thread_metadata", {}).get("archived"))


def reaction(emoji: str, who: list[str], bot: str) -> Json:
    return {
        "emoji": emoji_json(emoji),
        "count": len(who),
        "count_details": {"burst": 0, "normal": len(who)},
        "me": bot in who,
        "me_burst": False,
        "burst_colors": [],
    }


def emoji_json(emoji: str) -> Json:
    """An emoji: a sign, or ``name:id`` of a server's own."""
    name, _, number = emoji.partition(":")
    return {"id": number or None, "name": name}


def attachment(number: int, name: str) -> Json:
    return {
        "id": str(number),
        "filename": name,
        "size": 1,
        "url": f"https://cdn.discordapp.invalid/{name}",
        "proxy_url": f"https://media.discordapp.invalid/{name}",
    }


def poll_json(poll: Poll, message: BoardMessage, expiry: str) -> Json:
    """A poll with the votes so far."""
    chosen = [option for options in message.votes.values() for option in options]
    return {
        "question": {"text": poll.question},
        "answers": [{"answer_id": n, "poll_media": {"text": text}} for n, text in enumerate(poll.options, 1)],
        "expiry": expiry,
        "allow_multiselect": poll.max_selections > 1,
        "layout_type": 1,
        "results": {
            "is_finalized": False,
            "answer_counts": [
                {"id": n, "count": chosen.count(n - 1), "me_voted": False} for n in range(1, len(poll.options) + 1)
            ],
        },
    }


def _parts(parts: MessageParts | None) -> Json:
    if parts is None:
        return {}
    shown: Json = {"flags": _SILENT if parts.silent else 0}
    if parts.embed is not None:
        shown["embeds"] = [{"type": "rich", "description": parts.embed}]
    if parts.components is not None:
        shown["components"] = json.loads(parts.components)
    return shown
