"""The objects of Slack's JSON: channels, users, messages, events, interactions."""

import json
from typing import Any

from trunkline.core.adapters.slack.emoji import name_of
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Deed, DeedKind, Envelope, Peer
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.channels.slack import FakeSlack
from trunkline.sim.platforms.rooms import Room, letters
from trunkline.sim.wire.json_values import mapping

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_KINDS = {ChatKind.DIRECT: "im", ChatKind.GROUP: "mpim", ChatKind.CHANNEL: "channel"}
#: workspace and app of all accounts
TEAM, APP = "T0TRUNKLINE", "A0TRUNKLINE"


def escaped(text: str) -> str:
    """A text as Slack reports texts: control characters are entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def bot_of(user: str) -> str:
    return f"B{user[1:]}"


def channel_id(platform: FakeSlack, account: str, place: Address | Room) -> str:
    """The id of a conversation on Slack: of a direct one, ``D...``."""
    direct = place.kind is ChatKind.DIRECT
    return platform.alias(account, place.conversation) if direct else place.conversation


def channel_of(platform: FakeSlack, account: str, room: Room) -> dict[str, Any]:
    """A conversation, as ``conversations.info`` shows it."""
    found: dict[str, Any] = {
        "id": channel_id(platform, account, room),
        "created": 1_600_000_000,
        "is_archived": room.closed == "archived",
        "is_im": room.kind is ChatKind.DIRECT,
        "is_mpim": room.kind is ChatKind.GROUP,
        "is_org_shared": False,
    }
    if room.kind is ChatKind.DIRECT:
        return {**found, "user": room.conversation, "is_user_deleted": False}
    return {
        **found,
        "name": room.title or room.name,
        "name_normalized": (room.title or room.name).lower(),
        "is_channel": room.kind is ChatKind.CHANNEL,
        "is_group": False,
        "is_private": room.kind is ChatKind.GROUP,
        "is_general": False,
        "is_shared": False,
        "is_member": account in room.accounts and account not in room.left,
        "creator": platform.bot_id(account),
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def user_of(peer: Peer, *, bot: bool = False) -> dict[str, Any]:
    """A user, as ``users.info`` shows them."""
    return {
        "id": peer.id,
        "team_id": TEAM,
        "name": peer.name.lower().replace(" ", "."),
        "deleted": False,
        "real_name": peer.name,
        "is_bot": bot,
        "is_app_user": False,
        "updated": 1_600_000_000,
        "profile": {
            "real_name": peer.name,
            "real_name_normalized": peer.name,
            "display_name": peer.name,
            "display_name_normalized": peer.name,
            "team": TEAM,
        },
    }


def message_of(platform: FakeSlack, message: BoardMessage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "message",
        "user": message.author,
        "text": message.text if message.account is not None else escaped(message.text),
        "ts": message.id,
        "team": TEAM,
    }
    if message.account is not None:
        found |= {"bot_id": bot_of(platform.bot_id(message.account)), "app_id": APP}
    if message.room.thread is not None:
        found["thread_ts"] = message.room.thread
    if isinstance(message, PostedMessage):
        found["blocks"] = blocks_of(message.request.parts, message.request.payload)
    if message.pinned:
        found["pinned_to"] = [message.room.conversation]
    return found


def blocks_of(parts: MessageParts | None, payload: str | None) -> list[dict[str, Any]]:
    """The blocks of a message for what the fake platform keeps in other forms."""
    rows = () if parts is None else parts.buttons
    given = {} if payload is None else mapping(json.loads(payload))
    return [
        *({"type": "actions", "elements": [_button(button) for button in row]} for row in rows),
        *given.get("blocks", []),
    ]


def _button(button: Button) -> dict[str, Any]:
    label = {"type": "plain_text", "text": button.text, "emoji": True}
    more = {"url": button.url} if button.url is not None else {"value": button.value}
    return {"type": "button", "action_id": button.text, "text": label, **more}


def event_of(platform: FakeSlack, envelope: Envelope, at: float) -> dict[str, Any]:
    if envelope.deed is not None:
        return _deed(platform, envelope, envelope.deed, at)
    place = envelope.address
    event: dict[str, Any] = {
        "type": "message",
        "channel": channel_id(platform, place.account, place),
        "channel_type": _KINDS[place.kind],
        "text": escaped(envelope.text),
        "ts": envelope.message_id,
        "event_ts": envelope.message_id,
        "team": TEAM,
    }
    if envelope.webhook is not None:
        event |= {"subtype": "bot_message", "bot_id": envelope.peer.id, "username": envelope.peer.name}
    else:
        event["user"] = envelope.peer.id
        if envelope.bot:
            event |= {"bot_id": bot_of(envelope.peer.id), "app_id": "A0ANOTHER"}
    if envelope.files:
        event |= {"subtype": "file_share", "upload": False}
        event["files"] = [
            {"id": f"F-{file.name}", "name": file.name, "mimetype": file.mime_type, "size": 1, "mode": "hosted"}
            for file in envelope.files
        ]
    if place.thread is not None:
        above = platform.room_above(place)
        root = None if above is None else platform.board.get(above, place.thread)
        event |= {"thread_ts": place.thread, "parent_user_id": root.author if root is not None else envelope.peer.id}
    return event


def _deed(platform: FakeSlack, envelope: Envelope, deed: Deed, at: float) -> dict[str, Any]:
    """The deed of a person as an event."""
    place = envelope.address
    channel, ts = channel_id(platform, place.account, place), f"{at:.6f}"
    if deed.kind in (DeedKind.REACT, DeedKind.UNREACT):
        kind = "reaction_added" if deed.kind is DeedKind.REACT else "reaction_removed"
        item = {"type": "message", "channel": channel, "ts": deed.of}
        return {
            "type": kind,
            "user": envelope.peer.id,
            "reaction": name_of(envelope.text),
            "item": item,
            "event_ts": ts,
        }
    room = platform.room_at(place)
    message = None if room is None else platform.board.get(room, deed.of)
    before = {} if message is None else message_of(platform, message)
    event = {"type": "message", "channel": channel, "channel_type": _KINDS[place.kind], "ts": ts, "event_ts": ts}
    if deed.kind is DeedKind.DELETE:
        gone = {"subtype": "message_deleted", "hidden": True, "deleted_ts": deed.of, "previous_message": before}
        return event | gone
    after = before | {"text": escaped(envelope.text), "edited": {"user": envelope.peer.id, "ts": ts}}
    return event | {"subtype": "message_changed", "hidden": True, "message": after, "previous_message": before}


def callback_of(platform: FakeSlack, account: str, event: dict[str, Any], at: float) -> dict[str, Any]:
    """The outer part of an event. The same event has the same id when it is delivered again."""
    what = (account, str(event.get("channel")), str(event.get("event_ts")), str(event.get("subtype", "")))
    return {
        "token": "verification",
        "team_id": TEAM,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev0{letters('event', *what, length=9, alphabet=_ALPHABET)}",
        "event_time": int(at),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": platform.bot_id(account),
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def press_of(platform: FakeSlack, envelope: Envelope, response_url: str) -> dict[str, Any]:
    """The interaction of a person who has pressed a button."""
    place, ts = envelope.address, envelope.pressed or ""
    channel = channel_id(platform, place.account, place)
    room = platform.room_at(place)
    message = None if room is None else platform.board.get(room, ts)
    name = "directmessage" if place.kind is ChatKind.DIRECT else room.title or room.name if room else ""
    container: dict[str, Any] = {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": False}
    if place.thread is not None:
        container["thread_ts"] = place.thread
    return {
        "type": "block_actions",
        "user": {"id": envelope.peer.id, "username": envelope.peer.name, "name": envelope.peer.name, "team_id": TEAM},
        "api_app_id": APP,
        "token": "verification",
        "container": container,
        "trigger_id": envelope.message_id,
        "team": {"id": TEAM, "domain": "trunkline"},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": channel, "name": name},
        "message": {"type": "message", "ts": ts} if message is None else message_of(platform, message),
        "response_url": response_url,
        "actions": [
            {
                "type": "button",
                "action_id": envelope.text[:200],
                "block_id": "b1",
                "text": {"type": "plain_text", "text": envelope.text, "emoji": True},
                "value": envelope.text,
                "action_ts": f"{envelope.sent_at:.6f}",
            }
        ],
    }
