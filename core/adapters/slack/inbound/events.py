"""Events of Slack as envelopes. Pure: from the JSON of an event or of an interaction to an `Envelope`.

Unknown fields are ignored, and unknown kinds are no messages. A message that lacks what an envelope needs is
`UnreadableUpdate`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, cast

import msgspec

from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text
from trunkline.core.adapters.own_names import OwnAccount, OwnPost
from trunkline.core.adapters.slack.emoji import character_of
from trunkline.core.adapters.slack.requests import LINK
from trunkline.core.channels.platforms.slack import SlackMessage, read_inbound
from trunkline.core.message_parts import CardPart, FilePart, ForwardPart, MediaKind, Part
from trunkline.core.values import Address, ChatKind, Deed, DeedKind, Envelope, Peer
from trunkline.core.well_formed import is_well_formed, well_formed

T = TypeVar("T")
Kind = Literal["channel", "im", "mpim"]
_KINDS: dict[str, Kind] = {"channel": "channel", "group": "channel", "im": "im", "mpim": "mpim", "app_home": "im"}
#: kinds of message events that are new messages; the others are edits, deletions and notes of Slack
_NEW = frozenset({None, "file_share", "thread_broadcast", "bot_message", "me_message"})
_LONGEST_ID = 200
_TIME = re.compile(r"\d{1,11}(?:\.\d{1,6})?")


# The text and the parts of a message: what blocks and attachments show, files, shared messages.

_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_VOICE = "slack_audio"
#: how deep blocks are nested
_DEEPEST = 10


def text_of(event: Json) -> str:
    """The text, or the words of the blocks of a message without."""
    return _plain(as_text(event.get("text"))) or _plain("\n".join(_words(event.get("blocks"))))


def parts_of(event: Json) -> tuple[Part, ...]:
    """The parts of a message beside its text. An agent can download a file by its id."""
    files = [_file(file) for file in as_objects(event.get("files")) if file.get("id")]
    return (*(_attached(attachment) for attachment in as_objects(event.get("attachments"))), *files)


def _file(file: Json) -> FilePart:
    mime_type, size, length = as_text(file.get("mimetype")), file.get("size"), file.get("duration_ms")
    voice = file.get("subtype") == _VOICE
    return FilePart(
        file=MediaKind.VOICE if voice else MediaKind.of(mime_type),
        id=as_text(file.get("id")),
        name=as_text(file.get("name")),
        mime_type=mime_type,
        size=size if isinstance(size, int) else None,
        seconds=length / 1000 if isinstance(length, int) else None,
        about=as_text(as_object(file.get("transcription")).get("preview")),
    )


def _attached(attachment: Json) -> Part:
    """A shared message, the preview of a link, or what an app shows."""
    blocks = "\n".join(_words(attachment.get("blocks"))) or "\n".join(_words(attachment.get("message_blocks")))
    words = _plain(as_text(attachment.get("text")) or blocks)
    if attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True:
        return ForwardPart(author=as_text(attachment.get("author_name")), text=words or "[message]")
    rows = as_objects(attachment.get("fields"))
    fields = [f"{as_text(row.get('title'))}: {as_text(row.get('value'))}" for row in rows]
    title, url = as_text(attachment.get("title")), as_text(attachment.get("title_link"))
    shown = "\n".join(filter(None, (_plain(as_text(attachment.get("pretext"))), words, *map(_plain, fields))))
    if not shown and not title:
        shown = _plain(as_text(attachment.get("fallback")))
    preview = isinstance(attachment.get("from_url"), str)
    return CardPart(text=shown, title=_plain(title), url=url, preview=preview)


def _words(value: object, depth: int = 0) -> Iterator[str]:
    """The texts that blocks show, in order; the words of a line of rich text are joined."""
    if depth > _DEEPEST:
        return
    for block in as_objects(value):
        kind = block.get("type")
        if kind == "rich_text_section" or kind in ("rich_text_quote", "rich_text_preformatted"):
            yield "".join(_inline(element) for element in as_objects(block.get("elements")))
            continue
        for text in (block.get("text"), block.get("title"), block.get("alt_text"), *as_objects(block.get("fields"))):
            words = text if isinstance(text, str) else as_text(as_object(text).get("text"))
            if words:
                yield words
        if kind in ("rich_text", "rich_text_list", "context", "actions"):
            yield from _words(block.get("elements"), depth + 1)


def _inline(element: Json) -> str:
    kind = element.get("type")
    if kind == "emoji":
        return f":{as_text(element.get('name'))}:"
    if kind == "user":
        return f"<@{as_text(element.get('user_id'))}>"
    return as_text(element.get("text")) or as_text(element.get("url"))


def _plain(text: str) -> str:
    text = well_formed(text)
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


class UnreadableUpdate(ValueError):
    """An update lacks something for a message."""


class SlackSelf(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of the account, from ``auth.test``."""

    user: str
    bot: str
    team: str


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a ``message`` or ``app_mention`` event for an envelope."""

    type: str
    channel: str
    ts: str
    subtype: str | None = None
    channel_type: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    hidden: bool = False


class PressedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A pressed button or a choice in a block."""

    type: str = ""
    action_id: str = ""
    action_ts: str = ""
    value: str | None = None
    selected_option: dict[str, Any] | None = None


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a ``block_actions`` payload for an envelope."""

    type: str
    user: dict[str, Any]
    channel: dict[str, Any]
    message: dict[str, Any]
    trigger_id: str
    actions: tuple[PressedAction, ...] = ()


def kind_of(channel_type: str | None, channel: str) -> Kind:
    """The kind of a conversation, by the event, else by the first letter of the id."""
    named = _KINDS.get(channel_type or "")
    return named or ("im" if channel.startswith("D") else "channel")


def read_message(
    event: Mapping[str, Any], account: str, own: OwnAccount, kinds: Mapping[str, Kind], team: str | None
) -> Envelope | None:
    """The envelope of an event; None for other events.

    `kinds`: of conversations that are known from other events; an event of kind ``app_mention`` does not say it.
    Raises `UnreadableUpdate` and `OwnPost`.
    """
    subtype = event.get("subtype")
    if event.get("type") not in ("message", "app_mention") or (isinstance(subtype, str) and subtype not in _NEW):
        return None
    if event.get("hidden") is True:
        return None
    own.check(*(name for name in (event.get("user"), event.get("bot_id")) if isinstance(name, str)))
    read, fields = _convert(event, MessageEvent), dict(event)
    if not isinstance(event.get("text"), str | None):
        raise UnreadableUpdate("`text` is no text")
    author = read.user or read.bot_id
    if not author:
        raise UnreadableUpdate("the message has no author")
    kind = kind_of(read.channel_type, read.channel) if read.channel_type else kinds.get(read.channel)
    facts = SlackMessage(
        conversation=kind or kind_of(None, read.channel),
        channel_id=_id(read.channel),
        user=_id(author),
        ts=_id(read.ts),
        thread_ts=None if read.thread_ts is None else _id(read.thread_ts),
        parent_user_id=read.parent_user_id,
    )
    return Envelope(
        address=read_inbound(facts, account).address,
        peer=Peer(id=author, name=well_formed(read.username or "")),
        message_id=read.ts,
        text=text_of(fields),
        parts=parts_of(fields),
        sent_at=seconds(read.ts),
        team=team,
        bot=read.bot_id is not None,
        webhook=read.bot_id if read.user is None else None,
    )


_REACTIONS = {"reaction_added": DeedKind.REACT, "reaction_removed": DeedKind.UNREACT}


def _deed_in(event: Json) -> tuple[DeedKind, Json, str] | None:
    """The kind of a deed, the message and the text; None for changes by Slack, such as previews."""
    message, before, item = (as_object(event.get(name)) for name in ("message", "previous_message", "item"))
    if (kind := _REACTIONS.get(as_text(event.get("type")))) is not None:
        text = character_of(as_text(event.get("reaction")))
        return (kind, item | {"user": event.get("user")}, text) if item.get("type") == "message" else None
    if event.get("subtype") == "message_deleted" or message.get("subtype") == "tombstone":
        return DeedKind.DELETE, before | {"ts": event.get("deleted_ts") or message.get("ts")}, ""
    edited = event.get("subtype") == "message_changed" and message.get("edited") != before.get("edited")
    return (DeedKind.EDIT, message, text_of(message)) if edited else None


def read_deed(event: Json, name: str, account: str, own: OwnAccount, kinds: Mapping[str, Kind]) -> Envelope | None:
    """The deed of a person; None for other events. `name`: of the event.

    Raises `UnreadableUpdate`, and `OwnPost` for what is done by the gateway, or to its messages by others.
    """
    found = _deed_in(event)
    if found is None:
        return None
    did, message, text = found
    own.check(*(as_text(message.get(field)) for field in ("user", "bot_id")))
    channel, at, root = _word(event | message, "channel"), as_text(event.get("event_ts")), message.get("thread_ts")
    who = as_text(message.get("user")) or as_text(message.get("bot_id"))
    facts = SlackMessage(
        conversation=kinds.get(channel) or kind_of(as_text(event.get("channel_type")), channel),
        channel_id=channel,
        user=who,
        ts=_word(message, "ts"),
        thread_ts=_id(root) if isinstance(root, str) else None,
        parent_user_id=as_text(message.get("parent_user_id")) or None,
    )
    return Envelope(
        address=read_inbound(facts, account).address,
        # Slack does not say who deletes.
        peer=Peer(id="" if did is DeedKind.DELETE else who),
        message_id=_id(name),
        text=text,
        sent_at=seconds(at) if _TIME.fullmatch(at) else seconds(facts.ts),
        bot="bot_id" in message,
        deed=Deed(kind=did, of=facts.ts),
    )


def read_presses(
    payload: Mapping[str, Any], account: str, kinds: Mapping[str, Kind], team: str | None
) -> list[Envelope]:
    """The envelopes of pressed buttons; none for other interactions. Raises `UnreadableUpdate`."""
    if payload.get("type") != "block_actions" or "message" not in payload:
        return []
    read = _convert(payload, Interaction)
    user, channel, ts = (_word(read.user, "id"), _word(read.channel, "id"), _word(read.message, "ts"))
    root = read.message.get("thread_ts")
    facts = SlackMessage(
        conversation=kinds.get(channel) or _kind_of_name(channel, read.channel.get("name")),
        channel_id=channel,
        user=user,
        ts=ts,
        thread_ts=_id(root) if isinstance(root, str) else None,
    )
    name = read.user.get("name") or read.user.get("username")
    pressed = [action for action in read.actions if not action.action_id.startswith(LINK)]
    return [
        Envelope(
            address=read_inbound(facts, account).address,
            peer=Peer(id=user, name=well_formed(name) if isinstance(name, str) else ""),
            # Slack gives each interaction a trigger of its own, and repeats the trigger on redelivery.
            message_id=_id(read.trigger_id if number == 0 else f"{read.trigger_id}/{number}"),
            text=well_formed(_value(press)),
            sent_at=seconds(press.action_ts) if _TIME.fullmatch(press.action_ts) else seconds(ts),
            team=team,
            pressed=ts,
        )
        for number, press in enumerate(pressed)
    ]


def seconds(ts: str) -> float:
    """The time of a message, from the id. Raises `UnreadableUpdate`."""
    if _TIME.fullmatch(ts) is None:
        raise UnreadableUpdate("the id of the message is no time")
    return float(ts)


def _kind_of_name(channel: str, name: object) -> Kind:
    return "mpim" if isinstance(name, str) and name.startswith("mpdm-") else kind_of(None, channel)


def _value(action: PressedAction) -> str:
    chosen = (action.selected_option or {}).get("value")
    return action.value or (chosen if isinstance(chosen, str) else "") or action.action_id


def _convert(value: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UnreadableUpdate(str(error)) from None


def _word(fields: Mapping[str, Any], name: str) -> str:
    found = fields.get(name)
    if not isinstance(found, str):
        raise UnreadableUpdate(f"`{name}` is missing")
    return _id(found)


def _id(text: str) -> str:
    """An id, checked for storing and sending back. Raises `UnreadableUpdate`."""
    if not text or len(text) > _LONGEST_ID or not is_well_formed(text) or not text.isprintable():
        raise UnreadableUpdate("an id is empty, too long or unprintable")
    return text


# Reads the updates of an account: checks the workspace, and learns the ids of direct conversations.

#: bytes of an update; Slack's longest message has 40 000 characters
LARGEST_UPDATE = 4 * 1024 * 1024


class OtherTeam(ValueError):
    """An update is for another workspace."""


class SlackReader:
    def __init__(self, account: str, own: OwnAccount) -> None:
        self._account = account
        self._own = own
        #: conversation -> its kind, as far as events said it
        self._kinds: dict[str, Kind] = {}
        #: user -> their direct conversation ``D...``, and the reverse
        self._direct: dict[str, str] = {}
        self._users: dict[str, str] = {}

    def direct_of(self, user: str) -> str | None:
        return self._direct.get(user.upper())

    def user_of(self, direct: str) -> str | None:
        return self._users.get(direct)

    def learn_direct(self, user: str, direct: str) -> None:
        self._direct[user.upper()] = direct
        self._users[direct] = user

    def event(self, payload: Mapping[str, Any], me: SlackSelf) -> list[Envelope]:
        """The message of an event, if any. Raises `UnreadableUpdate`, `OtherTeam` and `OwnPost`."""
        self._check_team(_teams(payload), me)
        event = payload.get("event")
        if not isinstance(event, dict):
            raise UnreadableUpdate("`event` is missing")
        fields = cast("dict[str, Any]", event)
        channel, kind = fields.get("channel"), fields.get("channel_type")
        if isinstance(channel, str) and isinstance(kind, str):
            self._kinds[channel] = kind_of(kind, channel)
        try:
            deed = read_deed(fields, as_text(payload.get("event_id")), self._account, self._own, self._kinds)
        except OwnPost:
            # What became of the gateway's own messages is reported otherwise.
            return []
        if deed is not None:
            return [deed]
        team = payload.get("team_id")
        found = read_message(fields, self._account, self._own, self._kinds, team if isinstance(team, str) else me.team)
        if found is None:
            return []
        # Another app that writes into a direct conversation is not the person whose conversation it is.
        if found.webhook is None and kind_of(fields.get("channel_type"), str(fields.get("channel"))) == "im":
            self.learn_direct(found.peer.id, str(fields["channel"]))
        return [found]

    def unarchived(self, payload: Mapping[str, Any]) -> Address | None:
        """The channel that an event says is open again, if it says so."""
        event = as_object(payload.get("event"))
        channel = event.get("channel")
        if event.get("type") not in ("channel_unarchive", "group_unarchive") or not isinstance(channel, str):
            return None
        return Address(channel="slack", account=self._account, kind=ChatKind.CHANNEL, conversation=channel)

    def deleted(self, payload: Mapping[str, Any]) -> tuple[str, object] | None:
        """The conversation and the id of a deleted message, if an event is about a deletion."""
        event = as_object(payload.get("event"))
        channel = event.get("channel")
        if event.get("subtype") != "message_deleted" or not isinstance(channel, str):
            return None
        return self._users.get(channel, channel), event.get("deleted_ts")

    def interaction(self, payload: Mapping[str, Any], me: SlackSelf) -> list[Envelope]:
        """The pressed buttons of an interaction. Raises `UnreadableUpdate` and `OtherTeam`."""
        named = as_object(payload.get("team")).get("id")
        self._check_team({named} if isinstance(named, str) else set(), me)
        return read_presses(payload, self._account, self._kinds, named if isinstance(named, str) else me.team)

    def _check_team(self, teams: set[str], me: SlackSelf) -> None:
        if teams and me.team not in teams:
            raise OtherTeam(f"it is for the workspace {', '.join(sorted(teams))}")


def _teams(payload: Mapping[str, Any]) -> set[str]:
    """The workspaces of an event: in a shared channel, the workspaces of all installations there."""
    authorizations = as_objects(payload.get("authorizations"))
    given = [payload.get("team_id"), *(authorization.get("team_id") for authorization in authorizations)]
    return {team for team in given if isinstance(team, str)}
