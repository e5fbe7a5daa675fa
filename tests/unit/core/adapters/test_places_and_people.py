"""What makes the place and the person of an update, for each kind of update of all platforms.

The fields are those of the published schemas that name a chat, a room, a thread, a person, or an account. A row changes
one field of an update, and says what changes with it: its place, its person, both, nothing, or it is dropped. What
changes nothing has a reason. The readers are asked, so a field that is no longer read, or that is read and stands here
as unread, fails.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.own_names import own_names
from trunkline.core.adapters.discord.payloads import ChannelData, InteractionData, MessageData
from trunkline.core.adapters.discord.receiving.envelopes import envelope_of, press_of
from trunkline.core.adapters.matrix.inbound.updates import MatrixMessage, read_event, read_message
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.signal.updates import read_event as read_signal
from trunkline.core.adapters.slack.inbound.events import OtherTeam, SlackReader, SlackSelf
from trunkline.core.adapters.telegram.updates import read_update
from trunkline.core.adapters.whatsapp.updates import read_webhook
from trunkline.core.values import Envelope

#: place and person of an update; None: it becomes no message
Found = tuple[object, str] | None
PLACE, PERSON, BOTH, DROPPED = "place", "person", "place and person", "dropped"

# ---------------------------------------------------------------- the readers


def of(found: object) -> Found:
    return (found.address, found.peer.id) if isinstance(found, Envelope) else None


def telegram(update: Any) -> Found:
    return of(read_update(update, "default", own_names("telegram", "999"), 0).content)


def discord(update: Any) -> Found:
    channel = msgspec.convert(update["channel"], ChannelData)
    if "press" in update:
        return of(press_of(msgspec.convert(update["press"], InteractionData), channel, "default", 0.0))
    return of(envelope_of(msgspec.convert(update["message"], MessageData), channel, "default"))


def slack(update: Any) -> Found:
    reader, me = SlackReader("default", own_names("slack", "UBOT")), SlackSelf(user="UBOT", bot="BBOT", team="T1")
    try:
        found = reader.interaction(update, me) if update["type"] == "block_actions" else reader.event(update, me)
    except (OtherTeam, OwnPost):
        return None
    return of(found[0]) if found else None


def matrix(update: Any) -> Found:
    event = read_event(update["event"])
    message = None if not hasattr(event, "content") else read_message(event)  # type: ignore[arg-type] -- has contents
    found = isinstance(message, MatrixMessage)
    return ((update["room"], message.thread), message.sender) if found else None  # type: ignore[union-attr] -- checked


def signal(update: Any) -> Found:
    try:
        said = read_signal(json.dumps(update), "+15550009999", own_names("signal", "+15550009999"))
    except OwnPost:
        return None
    return None if said is None else (said.group or said.author, said.author)


def whatsapp(update: Any) -> Found:
    body = json.dumps({"entry": [{"changes": [update]}]}).encode()
    found = read_webhook(body, "106", "default", own_names("whatsapp")).messages
    return of(found[0]) if found else None


# ---------------------------------------------------------------- updates

ANA, BEN = {"id": 77, "is_bot": False}, {"id": 78, "is_bot": False}
_POST = {
    "message_id": 3,
    "date": 1,
    "chat": {"id": -5, "type": "supergroup", "is_forum": True},
    "from": ANA,
    "text": "x",
}
_SLACK = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "5.5", "text": "x"}
_DISCORD = {"id": "1", "channel_id": "2", "author": {"id": "5"}, "timestamp": "2026-01-01T00:00:00+00:00"}
_MATRIX = {"event_id": "$1", "sender": "@ana:x", "type": "m.room.message", "origin_server_ts": 1}
_SIGNAL = {"source": "+1", "sourceNumber": "+15551", "sourceUuid": "0a1b", "sourceDevice": 1}
_WHATSAPP = {"from": "16505551234", "from_user_id": "US.1", "id": "w.1", "timestamp": "1", "type": "text"}

#: platform -> kind -> an update of it
UPDATES: dict[str, dict[str, Any]] = {
    "telegram": {
        "message": {"update_id": 1, "message": _POST},
        "direct message of a channel": {
            "update_id": 1,
            "message": _POST
            | {"chat": {"id": -5, "type": "supergroup", "is_direct_messages": True}}
            | {"direct_messages_topic": {"topic_id": 55, "user": ANA}},
        },
        "private message": {"update_id": 1, "message": _POST | {"chat": {"id": 77, "type": "private"}}},
        "channel_post": {
            "update_id": 1,
            "channel_post": {"message_id": 3, "date": 1, "text": "x", "chat": {"id": -6, "type": "channel"}},
        },
        "callback_query": {"update_id": 1, "callback_query": {"id": "9", "from": ANA, "message": _POST, "data": "y"}},
    },
    "slack": {
        "message": {"type": "event_callback", "team_id": "T1", "event": _SLACK},
        "direct message": {
            "type": "event_callback",
            "team_id": "T1",
            "event": _SLACK | {"channel": "D1", "channel_type": "im"},
        },
        "app_mention": {
            "type": "event_callback",
            "team_id": "T1",
            "event": {"type": "app_mention", "channel": "C1", "user": "U1", "ts": "5.5", "text": "x"},
        },
        "block_actions": {
            "type": "block_actions",
            "team": {"id": "T1"},
            "user": {"id": "U1", "team_id": "T1"},
            "channel": {"id": "C1", "name": "ops"},
            "message": {"ts": "5.5", "user": "UBOT"},
            "container": {"type": "message", "channel_id": "C1", "message_ts": "5.5"},
            "trigger_id": "t.1",
            "actions": [{"action_id": "a", "action_ts": "6.6", "value": "v"}],
        },
    },
    "discord": {
        "message": {"message": _DISCORD | {"guild_id": "9"}, "channel": {"id": "2", "type": 0, "guild_id": "9"}},
        "message in a thread of a forum": {
            "message": _DISCORD | {"guild_id": "9"},
            "channel": {"id": "2", "type": 11, "parent_id": "3", "guild_id": "9", "owner_id": "5"},
        },
        "direct message": {"message": _DISCORD, "channel": {"id": "2", "type": 1, "recipients": [{"id": "5"}]}},
        "press": {
            "press": {
                "id": "4",
                "token": "t",
                "channel_id": "2",
                "message": {"id": "1", "author": {"id": "7"}},
                "data": {"custom_id": "go"},
                "guild_id": "9",
                "member": {"user": {"id": "5"}},
            },
            "channel": {"id": "2", "type": 0, "guild_id": "9"},
        },
    },
    "matrix": {"m.room.message": {"room": "!r:x", "event": _MATRIX | {"content": {"msgtype": "m.text", "body": "x"}}}},
    "signal": {
        "dataMessage": {
            "account": "+15550009999",
            "envelope": _SIGNAL | {"dataMessage": {"timestamp": 1, "message": "x"}},
        },
        "dataMessage in a group": {
            "account": "+15550009999",
            "envelope": _SIGNAL
            | {"dataMessage": {"timestamp": 1, "message": "x", "groupInfo": {"groupId": "q=", "type": "DELIVER"}}},
        },
    },
    "whatsapp": {
        "messages": {
            "field": "messages",
            "value": {
                "metadata": {"display_phone_number": "15550783881", "phone_number_id": "106"},
                "contacts": [{"wa_id": "16505551234", "user_id": "US.1", "profile": {"name": "Ana"}}],
                "messages": [_WHATSAPP | {"text": {"body": "x"}}],
            },
        }
    },
}

# ---------------------------------------------------------------- the table

#: platform, kind -> field -> another value, and what changes with it; or why nothing does
Row = tuple[object, str] | tuple[object, str, str]
_TOLD = "who said first what is told again here: no part of where and by whom"
_ID = "ids of people are the same in all places of the platform"
_REPLY = "the message that it answers, which has a field of its own"
TABLE: dict[tuple[str, str], dict[str, Row]] = {
    ("telegram", "message"): {
        "message.chat.id": (-6, PLACE),
        "message.from.id": (78, PERSON),
        "message.from.id ": (999, DROPPED),
        "message.sender_chat": ({"id": -9, "type": "channel"}, PERSON),
        "message.message_thread_id+message.is_topic_message": (7, PLACE),
        "message.direct_messages_topic": ({"topic_id": 55}, PLACE),
        "message.chat.is_direct_messages": (True, DROPPED),
        "message.business_connection_id": ("b", DROPPED),
        "message.chat.type": ("channel", "", "groups and channels are one kind of place"),
        "message.chat.is_forum": (False, "", "only topics are told apart, and their messages say that they are in one"),
        "message.chat.username": ("ops", "", "a name that can change hands"),
        "message.sender_business_bot": (BEN, "", "only in chats of business accounts, which are dropped"),
        "message.guest_query_id": ("g", "", "comes as `guest_message`, which is not asked for"),
        "message.guest_bot_caller_user": (BEN, "", "comes as `guest_message`, which is not asked for"),
        "message.via_bot": (BEN, "", "a person has chosen to send what the bot offered"),
        "message.sender_tag": ("boss", "", "a title, and no id"),
        "message.author_signature": ("Ana", "", "a name that anybody may have"),
        "message.forward_origin": ({"type": "user", "sender_user": BEN, "date": 1}, "", _TOLD),
        "message.is_automatic_forward": (True, "", "the channel is its author, by `sender_chat`"),
        "message.external_reply": ({"chat": {"id": -8, "type": "group"}, "message_id": 1}, "", _REPLY),
        "message.reply_to_message": ({"message_id": 1}, "", _REPLY),
        "message.media_group_id": ("m", "", "the act that the message belongs to"),
    },
    ("telegram", "direct message of a channel"): {
        "message.direct_messages_topic.topic_id": (56, PLACE),
        "message.chat.id": (-6, PLACE),
        "message.direct_messages_topic": (None, DROPPED),
        "message.from.id": (78, PERSON),
        "message.direct_messages_topic.user.id": (78, "", "the topic is the place, and `from` who wrote"),
    },
    ("telegram", "private message"): {
        "message.chat.id": (78, PLACE),
        "message.from.id": (78, PERSON),
        "message.message_thread_id+message.is_topic_message": (7, PLACE),
        "message.business_connection_id": ("b", DROPPED),
    },
    ("telegram", "channel_post"): {
        "channel_post.chat.id": (-7, BOTH),
        "channel_post.sender_chat": ({"id": -9, "type": "channel"}, PERSON),
        "channel_post.author_signature": ("Ana", "", "a name that anybody may have"),
    },
    ("telegram", "callback_query"): {
        "callback_query.from.id": (78, PERSON),
        "callback_query.message.chat.id": (-6, PLACE),
        "callback_query.message.message_thread_id+callback_query.message.is_topic_message": (7, PLACE),
        "callback_query.message.direct_messages_topic": ({"topic_id": 55}, PLACE),
        "callback_query.message.business_connection_id": ("b", DROPPED),
        "callback_query.message": (None, DROPPED),
        "callback_query.message.from.id": (78, "", "who wrote the message below which the button is"),
        "callback_query.chat_instance": ("1", "", "the chat of the message says it"),
        "callback_query.inline_message_id": ("i", "", "without a message, the press is dropped"),
    },
    ("slack", "message"): {
        "event.channel": ("C2", PLACE),
        "event.channel_type": ("mpim", PLACE),
        "event.thread_ts": ("4.4", PLACE),
        "event.user": ("U2", PERSON),
        "event.user ": ("UBOT", DROPPED),
        "event.bot_id": ("B2", "", "the user of a bot is its person, where it has one"),
        "team_id": ("T2", DROPPED),
        "event.team": ("T2", "", _ID),
        "event.user_team": ("T2", "", f"a shared channel: {_ID}"),
        "event.source_team": ("T2", "", f"a shared channel: {_ID}"),
        "context_team_id": ("T2", "", "`team_id` and `authorizations` say for whom it is"),
        "is_ext_shared_channel": (True, "", "a shared channel has one id in all workspaces"),
        "api_app_id": ("A2", "", "each app has an address and secrets of its own"),
        "event.parent_user_id": ("U3", "", "who began the thread that `thread_ts` names"),
        "event.app_id": ("A2", "", "`user` and `bot_id` say who wrote"),
        "event.username": ("Deploys", "", "a name that a bot gives itself"),
        "event.assistant_thread": ({"action_token": "a"}, "", "`thread_ts` is the thread"),
    },
    ("slack", "direct message"): {
        "event.user": ("U2", BOTH),
        "event.thread_ts": ("4.4", PLACE),
        "event.channel": ("D2", "", "the conversation with a person is named by the person"),
    },
    ("slack", "app_mention"): {
        "event.channel": ("C2", PLACE),
        "event.thread_ts": ("4.4", PLACE),
        "event.user": ("U2", PERSON),
    },
    ("slack", "block_actions"): {
        "channel.id": ("C2", PLACE),
        "message.thread_ts": ("4.4", PLACE),
        "user.id": ("U2", PERSON),
        "team.id": ("T2", DROPPED),
        "user.team_id": ("T2", "", _ID),
        "message.user": ("U3", "", "who wrote the message below which the button is"),
        "container.channel_id": ("C2", "", "`channel` says it"),
        "enterprise": ({"id": "E1"}, "", "`team` says for whom it is"),
    },
    ("discord", "message"): {
        "channel.id": ("3", PLACE),
        "channel.type": (11, "", "a thread without a parent is a conversation like any other"),
        "message.author.id": ("6", PERSON),
        "message.webhook_id": ("8", "", "the author of a webhook's message is the webhook"),
        "message.application_id": ("8", "", "the webhook of an answer to an interaction says whose it is"),
        "message.guild_id": ("10", "", "a channel is in one server; route rules read it"),
        "message.member": ({"user": {"id": "6"}}, "", "`author` says who wrote"),
        "message.thread": ({"id": "11", "type": 11}, "", "a thread that was opened on it: the message is outside"),
        "message.message_reference": ({"message_id": "3", "channel_id": "4"}, "", _REPLY),
        "message.interaction_metadata": ({"user": {"id": "6"}}, "", "who had asked a bot for this message"),
        "message.message_snapshots": ([{"message": {"content": "x"}}], "", _TOLD),
    },
    ("discord", "message in a thread of a forum"): {
        "channel.id": ("3", PLACE),
        "channel.parent_id": ("4", PLACE),
        "channel.type": (12, "", "public or private: the same place"),
        "message.author.id": ("6", PERSON),
        "channel.owner_id": ("6", "", "who opened it"),
    },
    ("discord", "direct message"): {
        "channel.recipients.0.id": ("6", PLACE),
        "message.author.id": ("6", PERSON),
        "channel.id": ("3", "", "the conversation with a person is named by the person"),
        "channel.type": (3, PLACE),
    },
    ("discord", "press"): {
        "channel.id": ("3", PLACE),
        "press.member.user.id": ("6", PERSON),
        "press.user": ({"id": "6"}, "", "outside of servers only"),
        "press.guild_id": ("10", "", "a channel is in one server; route rules read it"),
        "press.message.author.id": ("6", "", "who wrote the message below which the button is"),
        "press.authorizing_integration_owners": ({"0": "9"}, "", "who installed the app"),
    },
    ("matrix", "m.room.message"): {
        "room": ("!s:x", PLACE),
        "event.sender": ("@ben:x", PERSON),
        "event.content.m.relates_to": ({"rel_type": "m.thread", "event_id": "$0"}, PLACE),
        "event.content.m.relates_to ": ({"m.in_reply_to": {"event_id": "$0"}}, "", _REPLY),
        "event.state_key": ("", DROPPED),
        "event.room_id": ("!s:x", "", "a sync names the room around the event"),
        "event.unsigned": ({"transaction_id": "t"}, "", "the account's own posts are known by their sender"),
        "event.content.m.mentions": ({"user_ids": ["@ben:x"]}, "", "who is meant, and not who wrote"),
    },
    ("signal", "dataMessage"): {
        "envelope.sourceNumber": ("+15552", BOTH),
        "envelope.sourceNumber ": ("+15550009999", DROPPED),
        "envelope.sourceUuid": ("0c2d", "", "the number comes first; without one, the id is the person"),
        "envelope.source": ("+2", "", "the number or the id, which have fields of their own"),
        "envelope.source ": ("+15550009999", DROPPED),
        "envelope.sourceDevice": (2, "", "a person's devices are one person"),
        "envelope.sourceName": ("Ben", "", "a name that anybody may have"),
        "envelope.dataMessage.groupInfo": ({"groupId": "q=", "type": "DELIVER"}, PLACE),
        "envelope.dataMessage.storyContext": (
            {"authorUuid": "0c2d"},
            "",
            "an answer to a story goes to its author, as any message",
        ),
        "envelope.dataMessage.quote": ({"id": 7, "author": "+2"}, "", _REPLY),
        "account": ("+15550001111", DROPPED),
    },
    ("signal", "dataMessage in a group"): {
        "envelope.dataMessage.groupInfo.groupId": ("r=", PLACE),
        "envelope.sourceNumber": ("+15552", PERSON),
        "envelope.dataMessage.groupInfo.type": ("UPDATE", "", "a change of the group that comes with words"),
        "envelope.dataMessage.groupInfo.groupName": ("ops", "", "a name that can change"),
    },
    ("whatsapp", "messages"): {
        "value.messages.0.from": ("16505559999", BOTH),
        "value.messages.0.from ": ("15550783881", DROPPED),
        "value.messages.0.from  ": (None, BOTH),
        "value.messages.0.group_id": ("Y2Fw", PLACE),
        "value.messages.0.from_user_id": ("US.2", "", "the number comes first; without one, the id is the person"),
        "value.metadata.phone_number_id": ("107", DROPPED),
        "value.contacts.0.wa_id": ("16505559999", "", "only gives the name"),
        "value.contacts.0.user_id": ("US.2", "", "only gives the name"),
        "value.messages.0.context": ({"from": "15550783881", "id": "w.0"}, "", _REPLY),
        "value.messages.0.referral": ({"source_id": "1"}, "", "the advertisement that led here"),
    },
}

READERS: dict[str, Callable[[Any], Found]] = {
    read.__name__: read for read in (telegram, slack, discord, matrix, signal, whatsapp)
}


def changed(update: Any, path: str, value: object) -> Any:
    """An update with another value in a field, or in several; None takes it out."""
    made = json.loads(json.dumps(update))
    for n, field in enumerate(path.strip().split("+")):
        at, name = made, ""
        for name, last in steps(at, field):
            if not last:
                at = at[int(name)] if isinstance(at, list) else at[name]
        if value is None:
            del at[name]
        else:
            at[name] = value if n == 0 else True
    return made


def steps(update: Any, field: str) -> Iterator[tuple[str, bool]]:
    """The names on the way to a field, some of which have dots."""
    parts = field.replace(".m.", ".m\0").split(".")
    for n, part in enumerate(parts, 1):
        yield part.replace("\0", "."), n == len(parts)


def effect(platform: str, update: Any, path: str, value: object) -> str:
    before, after = READERS[platform](update), READERS[platform](changed(update, path, value))
    assert before is not None
    if after is None:
        return DROPPED
    place, person = after[0] != before[0], after[1] != before[1]
    return BOTH if place and person else PLACE if place else PERSON if person else ""


@for_each(("platform", "kind"), TABLE, ids=lambda word: word)
def test_each_field_of_place_and_person_is_read_or_has_its_reason(platform: str, kind: str) -> None:
    wrong = []
    for path, (value, expected, *why) in TABLE[platform, kind].items():
        found = effect(platform, UPDATES[platform][kind], path, value)
        if found != expected or (not expected and not why):
            wrong.append(f"{path}: {found or 'nothing'} changes, and not {expected or 'nothing'}")
    assert wrong == []


def test_each_kind_of_update_has_its_rows() -> None:
    assert {(platform, kind) for platform, kinds in UPDATES.items() for kind in kinds} == set(TABLE)


# ---------------------------------------------------------------- kinds that are no messages

_NOT_ASKED = "not asked for"
_TELEGRAM = """
    business_connection business_message edited_business_message
    deleted_business_messages guest_message message_reaction_count inline_query chosen_inline_result
    shipping_query pre_checkout_query purchased_paid_media poll poll_answer my_chat_member chat_member
    chat_join_request chat_boost removed_chat_boost managed_bot
"""
_SIGNAL_KINDS = "storyMessage callMessage receiptMessage typingMessage syncMessage"
_WHATSAPP_KINDS = "history smb_app_state_sync account_update message_template_status_update user_preferences"
#: platform -> kind -> why it is no message
OTHERS: dict[str, dict[str, str]] = {
    "telegram": dict.fromkeys(_TELEGRAM.split(), _NOT_ASKED),
    "slack": {
        "app_home_opened": "a page of the app",
        "assistant_thread_started": "somebody opened a thread, and has said nothing",
        "assistant_thread_context_changed": "somebody looks at another channel",
        "channel_id_changed": "a channel has another id",
        "member_joined_channel": "nobody has said anything",
        "team_join": "nobody has said anything",
        "message:channel_join": "a note of Slack",
        "message:assistant_app_thread": "the root of a thread, which Slack posts",
    },
    "matrix": {
        "m.room.encrypted": "cannot be read; recorded as dropped",
        "m.room.member": "nobody has said anything",
        "m.room.redaction": "a deletion, which `read_deed` reads",
        "m.reaction": "a reaction, which `read_deed` reads",
        "m.room.tombstone": "the room has another id",
        "m.space.child": "a room of a space: spaces have no messages",
        "m.room.name": "nobody has said anything",
        "m.call.invite": "a call",
        "m.key.verification.start": "a protocol of devices",
    },
    "signal": dict.fromkeys(_SIGNAL_KINDS.split(), "no message of words"),
    "whatsapp": dict.fromkeys(_WHATSAPP_KINDS.split(), "about the number, and no message of a person to it"),
}


def other(platform: str, kind: str) -> Any:
    """An update of a kind, as like a message as it can be."""
    if platform == "telegram":
        return {"update_id": 1, kind: _POST}
    if platform == "slack":
        name, _, subtype = kind.partition(":")
        return {"type": "event_callback", "team_id": "T1", "event": _SLACK | {"type": name, "subtype": subtype or None}}
    if platform == "matrix":
        return {"room": "!r:x", "event": _MATRIX | {"type": kind, "content": {"msgtype": "m.text", "body": "x"}}}
    if platform == "signal":
        return {"account": "+15550009999", "envelope": _SIGNAL | {kind: {"timestamp": 1, "message": "x"}}}
    return UPDATES["whatsapp"]["messages"] | {"field": kind}


@pytest.mark.parametrize("platform", OTHERS)
def test_no_other_kind_is_a_message(platform: str) -> None:
    assert [kind for kind in OTHERS[platform] if READERS[platform](other(platform, kind)) is not None] == []
