"""The catalogue of actions: each is declared once. Which channels have it, and what it needs there: `core.channels`."""

from enum import StrEnum

import msgspec


class TargetMode(StrEnum):
    """Where an action's target goes: to `to`, to `channelId`, or the action has none."""

    TO = "to"
    CHANNEL_ID = "channelId"
    NONE = "none"


class ActionKind(StrEnum):
    """How an action is carried out."""

    #: a message of its own, through hooks, chunks, queue and mirror
    MESSAGE = "message"
    #: a change of something that exists, as an intent through the queue
    CHANGE = "change"
    #: a question to the platform: answered at once, never stored
    QUERY = "query"


class ActionSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The declaration of an action."""

    kind: ActionKind
    target: TargetMode = TargetMode.TO
    #: parameters that name the target instead, e.g. ``messageId``
    aliases: tuple[str, ...] = ()
    #: the cross-context policy judges it
    guarded: bool = False
    #: doing it twice is the same as doing it once, so an attempt in doubt is repeated; else it is parked
    repeatable: bool = True
    #: it names a message (`messageId`)
    of_message: bool = False

    @property
    def requires_target(self) -> bool:
        return self.target is not TargetMode.NONE


_CHAT = ("chatGuid", "chatIdentifier", "chatId")
_NONE, _CHANNEL = TargetMode.NONE, TargetMode.CHANNEL_ID
_MESSAGE, _CHANGE, _QUERY = ActionKind.MESSAGE, ActionKind.CHANGE, ActionKind.QUERY


class Action(StrEnum):
    """An action of the message tool: its name, as agents and models write it, and its declaration."""

    _value_: str
    spec: ActionSpec

    def __new__(cls, name: str, spec: ActionSpec) -> "Action":
        action = str.__new__(cls, name)
        action._value_, action.spec = name, spec
        return action

    # messages
    SEND = "send", ActionSpec(kind=_MESSAGE, guarded=True)
    BROADCAST = "broadcast", ActionSpec(kind=_MESSAGE, target=_NONE)
    POLL = "poll", ActionSpec(kind=_MESSAGE, guarded=True)
    REPLY = "reply", ActionSpec(kind=_MESSAGE, guarded=True)
    THREAD_REPLY = "thread-reply", ActionSpec(kind=_MESSAGE, guarded=True)
    STICKER = "sticker", ActionSpec(kind=_MESSAGE, guarded=True)
    SEND_WITH_EFFECT = "sendWithEffect", ActionSpec(kind=_MESSAGE, guarded=True)
    SEND_ATTACHMENT = "sendAttachment", ActionSpec(kind=_MESSAGE, guarded=True)
    UPLOAD_FILE = "upload-file", ActionSpec(kind=_MESSAGE, guarded=True)

    # changes of messages
    EDIT = "edit", ActionSpec(kind=_CHANGE, aliases=("messageId",), guarded=True, of_message=True)
    UNSEND = "unsend", ActionSpec(kind=_CHANGE, aliases=("messageId",), guarded=True, of_message=True)
    DELETE = "delete", ActionSpec(kind=_CHANGE, guarded=True, of_message=True)
    REACT = "react", ActionSpec(kind=_CHANGE, aliases=_CHAT, of_message=True)
    PIN = "pin", ActionSpec(kind=_CHANGE, guarded=True, of_message=True)
    UNPIN = "unpin", ActionSpec(kind=_CHANGE, guarded=True, of_message=True)
    POLL_VOTE = "poll-vote", ActionSpec(kind=_CHANGE, of_message=True)

    # threads and topics
    THREAD_CREATE = "thread-create", ActionSpec(kind=_CHANGE, guarded=True, repeatable=False)
    TOPIC_CREATE = "topic-create", ActionSpec(kind=_CHANGE, guarded=True, repeatable=False)
    TOPIC_EDIT = "topic-edit", ActionSpec(kind=_CHANGE, guarded=True)

    # groups
    RENAME_GROUP = "renameGroup", ActionSpec(kind=_CHANGE, aliases=_CHAT)
    SET_GROUP_ICON = "setGroupIcon", ActionSpec(kind=_CHANGE, aliases=_CHAT)
    ADD_PARTICIPANT = "addParticipant", ActionSpec(kind=_CHANGE, aliases=_CHAT)
    REMOVE_PARTICIPANT = "removeParticipant", ActionSpec(kind=_CHANGE, aliases=_CHAT)
    LEAVE_GROUP = "leaveGroup", ActionSpec(kind=_CHANGE, aliases=_CHAT)

    # servers: members, channels, events
    TIMEOUT = "timeout", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    KICK = "kick", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    BAN = "ban", ActionSpec(kind=_CHANGE, target=_NONE)
    ROLE_ADD = "role-add", ActionSpec(kind=_CHANGE, target=_NONE)
    ROLE_REMOVE = "role-remove", ActionSpec(kind=_CHANGE, target=_NONE)
    CHANNEL_CREATE = "channel-create", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    CHANNEL_EDIT = "channel-edit", ActionSpec(kind=_CHANGE, target=_CHANNEL)
    CHANNEL_DELETE = "channel-delete", ActionSpec(kind=_CHANGE, target=_CHANNEL)
    CHANNEL_MOVE = "channel-move", ActionSpec(kind=_CHANGE, target=_CHANNEL)
    CATEGORY_CREATE = "category-create", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    CATEGORY_EDIT = "category-edit", ActionSpec(kind=_CHANGE, target=_NONE)
    CATEGORY_DELETE = "category-delete", ActionSpec(kind=_CHANGE, target=_NONE)
    EVENT_CREATE = "event-create", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    EMOJI_UPLOAD = "emoji-upload", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)
    STICKER_UPLOAD = "sticker-upload", ActionSpec(kind=_CHANGE, target=_NONE, repeatable=False)

    # the account itself
    SET_PRESENCE = "set-presence", ActionSpec(kind=_CHANGE, target=_NONE)
    SET_PROFILE = "set-profile", ActionSpec(kind=_CHANGE, target=_NONE)

    # questions
    REACTIONS = "reactions", ActionSpec(kind=_QUERY, of_message=True)
    READ = "read", ActionSpec(kind=_QUERY)
    LIST_PINS = "list-pins", ActionSpec(kind=_QUERY)
    PERMISSIONS = "permissions", ActionSpec(kind=_QUERY)
    SEARCH = "search", ActionSpec(kind=_QUERY, target=_NONE)
    STICKER_SEARCH = "sticker-search", ActionSpec(kind=_QUERY, target=_NONE)
    MEMBER_INFO = "member-info", ActionSpec(kind=_QUERY, target=_NONE)
    ROLE_INFO = "role-info", ActionSpec(kind=_QUERY, target=_NONE)
    EMOJI_LIST = "emoji-list", ActionSpec(kind=_QUERY, target=_NONE)
    CHANNEL_INFO = "channel-info", ActionSpec(kind=_QUERY, target=_CHANNEL)
    CHANNEL_LIST = "channel-list", ActionSpec(kind=_QUERY, target=_NONE)
    THREAD_LIST = "thread-list", ActionSpec(kind=_QUERY, target=_NONE)
    VOICE_STATUS = "voice-status", ActionSpec(kind=_QUERY, target=_NONE)
    EVENT_LIST = "event-list", ActionSpec(kind=_QUERY, target=_NONE)
    DOWNLOAD_FILE = "download-file", ActionSpec(kind=_QUERY, target=_NONE)
    #: ours: the votes of a poll so far
    POLL_RESULTS = "poll-results", ActionSpec(kind=_QUERY, of_message=True)
