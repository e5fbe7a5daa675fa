"""Discord: a thread is a channel of its own whose parent is the channel that contains it.

A thread's id is unique, so session keys have no thread suffix: the conversation of a message in a thread is the thread,
inbound and outbound. A thread started on a message takes the message's id, and a message can start only one thread:
opening is idempotent. Ids are digits, for users and channels alike.
"""

import re
from typing import Literal

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels import rules
from trunkline.core.channels.channel_actions import NO_HANDLER, ChannelAction, PollFeatures, action, react, table
from trunkline.core.errors import TargetError
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker, Idempotency

_USER_MENTION = re.compile(r"<@!?([0-9]+)>")
_CHANNEL_MENTION = re.compile(r"<#([0-9]+)>")
_DIGITS = re.compile(r"[0-9]+")
_WORDS = {**rules.KIND_WORDS, "room": ChatKind.CHANNEL}
_KINDS = {"dm": ChatKind.DIRECT, "group_dm": ChatKind.GROUP}


#: gates and required parameters of actions on servers
_SERVER = {
    Action.MEMBER_INFO: action("userId", "guildId", gate="member_info"),
    Action.ROLE_INFO: action("guildId", gate="role_info"),
    Action.ROLE_ADD: action("guildId", "userId", "roleId", gate="roles", on=False),
    Action.ROLE_REMOVE: action("guildId", "userId", "roleId", gate="roles", on=False),
    Action.EMOJI_LIST: action("guildId", gate="reactions"),
    Action.EMOJI_UPLOAD: action("guildId", "emojiName", "media", gate="emoji_uploads"),
    Action.STICKER_UPLOAD: action(
        "guildId", "stickerName", "stickerDesc", "stickerTags", "media", gate="sticker_uploads"
    ),
    Action.CHANNEL_INFO: action("channelId", gate="channel_info"),
    Action.CHANNEL_LIST: action("guildId", gate="channel_info"),
    Action.CHANNEL_CREATE: action("guildId", "name", gate="channels"),
    Action.CHANNEL_EDIT: action("channelId", gate="channels"),
    Action.CHANNEL_DELETE: action("channelId", gate="channels"),
    Action.CHANNEL_MOVE: action("guildId", "channelId", gate="channels"),
    Action.CATEGORY_CREATE: action("guildId", "name", gate="channels"),
    Action.CATEGORY_EDIT: action("categoryId", gate="channels"),
    Action.CATEGORY_DELETE: action("categoryId", gate="channels"),
    Action.VOICE_STATUS: action("guildId", "userId", gate="voice_status"),
    Action.EVENT_LIST: action("guildId", gate="events"),
    Action.EVENT_CREATE: action("guildId", "eventName", "startTime", gate="events"),
    Action.TIMEOUT: action("guildId", "userId", "durationMin|until", gate="moderation", on=False),
    Action.KICK: action("guildId", "userId", gate="moderation", on=False),
    Action.BAN: action("guildId", "userId", gate="moderation", on=False),
    Action.SET_PRESENCE: action("status|activityName|activityState", gate="presence", on=False),
}
_ACTIONS = table(
    {
        Action.POLL: action(gate="polls"),
        Action.POLL_RESULTS: action("messageId|pollId", gate="polls"),
        Action.REACT: react("Emoji is required to remove a Discord reaction."),
        Action.REACTIONS: action("messageId", gate="reactions"),
        Action.READ: action(gate="messages"),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages", of_others="moderation"),
        Action.PIN: action("messageId", gate="pins"),
        Action.UNPIN: action("messageId", gate="pins"),
        Action.LIST_PINS: action(gate="pins"),
        Action.PERMISSIONS: action(gate="permissions"),
        Action.THREAD_CREATE: ChannelAction(needs=("threadName",), gate="threads", group_only=True),
        Action.THREAD_LIST: action("guildId", gate="threads"),
        Action.THREAD_REPLY: action("message", gate="threads"),
        Action.SEARCH: action("guildId", "query", gate="search"),
        Action.STICKER: ChannelAction(needs=("to", "stickerId"), gate="stickers", labels={"stickerId": "sticker-id"}),
        **_SERVER,
    }
)


class DiscordMessage(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["dm", "group_dm", "guild_channel", "guild_thread"]
    #: id of its channel or thread
    conversation_id: str
    #: the other participant of a direct conversation
    user_id: str | None = None
    parent_id: str | None = None
    guild_id: str | None = None


class Discord(rules.ChannelRules):
    channel = "discord"
    forms = ("user:1", "<@1>", "@1", "channel:1", "<#1>", "thread:1", "group:1 (several people)")
    case_sensitive = False
    thread_id_is_message_id = True
    thread_is_conversation = True
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=2000, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 2000
    actions = _ACTIONS
    features = frozenset({Feature.COMPONENTS, Feature.SILENT})
    polls = PollFeatures(hours=True)
    unsupported = NO_HANDLER

    def read(self, text: str, hints: rules.Hints) -> rules.ParsedTarget:
        """Mentions, prefixes and ``@``; digits alone need a directory."""
        trimmed = self.clean(text)
        if mention := _USER_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        if mention := _CHANNEL_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.CHANNEL, mention[1], text, "by the mention")
        stripped = self.strip(trimmed)
        word, id = self.kind_word(stripped, tuple(_WORDS))  # noqa: A001 -- the word
        if word:
            found = self.target(_WORDS[word], id, text, f"by the prefix {word}:")
        elif stripped.startswith("@"):
            found = self.target(ChatKind.DIRECT, stripped[1:], text, "by the sign @")
        elif stripped != trimmed:
            # From names a user ``discord:1``.
            found = self.target(ChatKind.DIRECT, stripped, text, "by the prefix discord:")
        else:
            found = self.bare(stripped, text, hints)
        if not _DIGITS.fullmatch(found.id):
            raise self.wrong(text, f"an id is digits, and {found.id!r} is a name, which must be looked up first")
        return found

    def bare(self, id: str, text: str, hints: rules.Hints) -> rules.ParsedTarget:  # noqa: A002 -- the word
        """A target without a word or a sign before it."""
        if hints.kind is None and _DIGITS.fullmatch(id):
            raise self.ambiguous(text, f"write user:{id} for a direct message, channel:{id} for a channel or thread")
        direct = hints.kind is ChatKind.DIRECT and _DIGITS.fullmatch(id) is not None
        # A directory's groups are channels: bots cannot join group direct messages.
        kind = ChatKind.DIRECT if direct else ChatKind.CHANNEL
        return self.target(kind, id, text, "according to a directory" if hints.kind else "by default")

    def place(self, target: rules.ParsedTarget, thread: str | None, reply_to: str | None) -> rules.OutboundPlace:
        """A named thread is the conversation; a reply is a quote in the same place. Only channels have threads."""
        named = rules.given(thread)
        own = named if target.kind is ChatKind.CHANNEL and named != target.id else None
        if own is not None and not _DIGITS.fullmatch(own):
            raise TargetError(f"thread {own!r} on discord: a thread's id is digits")
        reported = target if own is None else msgspec.structs.replace(target, id=own)
        return rules.OutboundPlace(
            conversation=own or target.id,
            parent=target.id if own else None,
            peer=reported.id,
            thread_id=own,
            sender=self.sender(reported),
            to=self.to(reported),
        )

    def write(self, address: Address) -> rules.TargetText:
        """A thread is written with its parent, which route rules match."""
        if address.parent is None:
            return super().write(address)
        return rules.TargetText(target=f"{address.kind.value}:{address.parent}", thread=address.conversation)


def read_inbound(message: DiscordMessage, account: str) -> rules.InboundPlace:
    """The place of a message. A direct conversation has the id of its user."""
    kind = _KINDS.get(message.kind, ChatKind.CHANNEL)
    conversation = message.user_id if kind is ChatKind.DIRECT else message.conversation_id
    if not conversation:
        raise TargetError(f"a direct message in {message.conversation_id!r} on discord: its user is missing")
    in_thread = message.kind == "guild_thread"
    return rules.InboundPlace(
        address=Address(
            channel=Discord.channel,
            account=account,
            kind=kind,
            conversation=conversation,
            parent=message.parent_id or None if in_thread else None,
        ),
        is_thread_reply=in_thread,
        message_thread=message.conversation_id if in_thread else None,
    )
