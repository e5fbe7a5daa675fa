"""The server of the fake Discord as its endpoints and its gateway use it: ids, secrets, presences, interactions."""

from __future__ import annotations

import base64
from abc import abstractmethod
from typing import Any, Protocol

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.values import Address, ChatKind, Envelope
from trunkline.sim.platforms.channels.discord import FakeDiscord
from trunkline.sim.platforms.rooms import Room, digits, letters
from trunkline.sim.wire.discord.view import DiscordView
from trunkline.sim.wire.json_values import Json, mapping, sequence
from trunkline.sim.wire.server import WireServer

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class OpenSessions(Protocol):
    """The sessions of the gateway, which show what the REST API has done."""

    def announce_message(self, account: str, room: Room, message: Json) -> None: ...
    def announce_thread(self, account: str, room: Room) -> None: ...
    def confirm_shown(self, account: str, message: str) -> None: ...


class DiscordHost(WireServer[FakeDiscord]):
    """The server as its endpoints and its gateway use it."""

    channel = "discord"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.view = DiscordView(self.platform, self.epoch)
        #: interactions that wait for their answer: id -> token
        self._interactions: dict[str, str] = {}
        self._answered: set[str] = set()

    @property
    @abstractmethod
    def hub(self) -> OpenSessions:
        """The gateway of all accounts."""

    def token(self, account: str, number: int) -> str:
        """A token in the form of Discord's: the bot's id, a time and a signature."""
        bot = base64.urlsafe_b64encode(self.platform.bot_id(account).encode()).decode().rstrip("=")
        return f"{bot}.G{number:05d}.{letters('discord', account, str(number), length=20, alphabet=_BASE64)}"

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
        activities = sequence(given.get("activities"))
        first = mapping(activities[0]) if activities else {}
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
        return tuple(interaction for interaction in self._interactions if interaction not in self._answered)
