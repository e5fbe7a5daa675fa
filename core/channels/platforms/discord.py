"""Discord: a thread is a channel of its own whose parent is the channel it hangs under.

A thread's id scopes its session by itself, so keys have no thread suffix (seed 000, "Discord ... useSuffix=false"): a
thread that a send names is the conversation, as it is for the messages that come from there. A thread started on a
message takes that message's id, and a message can start only one thread: opening is idempotent. Ids are digits, alike
for users and channels.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from trunkline.core.channels.rules import (
    ChannelRules,
    Hints,
    InboundPlace,
    OutboundPlace,
    ParsedTarget,
    TargetText,
    given,
)
from trunkline.core.errors import TargetError
from trunkline.core.profiles import Profile
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker, Idempotency

_USER_MENTION = re.compile(r"<@!?([0-9]+)>")
_CHANNEL_MENTION = re.compile(r"<#([0-9]+)>")
_DIGITS = re.compile(r"[0-9]+")
_UPSTREAM_WORDS = {"user": ChatKind.DIRECT, "discord": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}
_WORDS = {
    "user": ChatKind.DIRECT,
    "dm": ChatKind.DIRECT,
    "group": ChatKind.GROUP,
    "channel": ChatKind.CHANNEL,
    "conversation": ChatKind.CHANNEL,
    "room": ChatKind.CHANNEL,
    "thread": ChatKind.CHANNEL,
}
_KINDS = {"dm": ChatKind.DIRECT, "group_dm": ChatKind.GROUP}


class DiscordMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What Discord says of a message."""

    kind: Literal["dm", "group_dm", "guild_channel", "guild_thread"]
    #: id of the channel that it is in; a thread is one
    conversation_id: str
    #: the other side of a direct conversation
    user_id: str | None = None
    #: the channel that a thread hangs under
    parent_id: str | None = None
    guild_id: str | None = None


class Discord(ChannelRules):
    """The rules of Discord."""

    channel = "discord"
    forms = ("user:1", "<@1>", "@1", "channel:1", "<#1>", "thread:1", "group:1 (several people)")
    case_sensitive = False
    thread_id_is_message_id = True
    thread_is_conversation = True
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=2000, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 2000

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Mentions, prefixes and ``@``; digits alone need a directory."""
        trimmed = self.clean(text)
        if mention := _USER_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        if hints.profile.upstream:
            return self._read_upstream(trimmed, text, hints)
        if mention := _CHANNEL_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.CHANNEL, mention[1], text, "by the mention")
        stripped = self.strip(trimmed)
        word, id = self.kind_word(stripped, tuple(_WORDS))  # noqa: A001 -- the word
        if word:
            found = self.target(_WORDS[word], id, text, f"by the prefix {word}:")
        elif stripped.startswith("@"):
            found = self.target(ChatKind.DIRECT, stripped[1:], text, "by the sign @")
        elif stripped != trimmed:
            # ``discord:1`` is how From names a user.
            found = self.target(ChatKind.DIRECT, stripped, text, "by the prefix discord:")
        else:
            found = self._bare(stripped, text, hints)
        if not _DIGITS.fullmatch(found.id):
            raise self.wrong(text, f"an id is digits, and {found.id!r} is a name; it has to be looked up first")
        return found

    def _read_upstream(self, trimmed: str, text: str, hints: Hints) -> ParsedTarget:
        """Upstream: prefixes count as they are written, and anything but digits is a channel."""
        word, _, rest = trimmed.partition(":")
        if word in _UPSTREAM_WORDS and rest.strip():
            return self.target(_UPSTREAM_WORDS[word], rest, text, f"by the prefix {word}:")
        if trimmed.startswith("@"):
            if not _DIGITS.fullmatch(trimmed[1:].strip()):
                raise self.wrong(text, "by the sign @ an id is expected")
            return self.target(ChatKind.DIRECT, trimmed[1:], text, "by the sign @")
        return self._bare(trimmed, text, hints)

    def _bare(self, id: str, text: str, hints: Hints) -> ParsedTarget:  # noqa: A002 -- the word
        """An id without a word before it."""
        if hints.kind is None and _DIGITS.fullmatch(id):
            raise self.ambiguous(text, f"write user:{id} for a direct message, channel:{id} for a channel or thread")
        direct = hints.kind is ChatKind.DIRECT and _DIGITS.fullmatch(id) is not None
        # A directory's groups are channels: bots are in no conversation of several people.
        kind = ChatKind.DIRECT if direct else ChatKind.CHANNEL
        return self.target(kind, id, text, "as a directory says" if hints.kind else "for want of a prefix")

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None, profile: Profile) -> OutboundPlace:
        """A named thread is the conversation; a reply is a quotation in the same place. Only channels have threads."""
        named = given(thread)
        own = named if target.kind is ChatKind.CHANNEL and named != target.id else None
        if own is not None and not profile.upstream and not _DIGITS.fullmatch(own):
            raise TargetError(f"thread {own!r} on discord: a thread's id is digits")
        # Upstream reports the channel, with the thread beside it, and keys by the channel.
        told = target if profile.upstream or own is None else msgspec.structs.replace(target, id=own)
        return OutboundPlace(
            conversation=own or target.id,
            parent=target.id if own else None,
            peer=told.id,
            thread_id=named if profile.upstream else own,
            sender=self.sender(told),
            to=self.to(told, profile),
        )

    def write(self, address: Address) -> TargetText:
        """A thread is written with its parent, which bindings match."""
        if address.parent is None:
            return super().write(address)
        return TargetText(target=f"{address.kind.value}:{address.parent}", thread=address.conversation)


def read_inbound(message: DiscordMessage, account: str, profile: Profile = Profile.TRUNKLINE) -> InboundPlace:
    """Where a message is. A direct conversation goes by its user, anything else by its own id."""
    kind = _KINDS.get(message.kind, ChatKind.CHANNEL)
    conversation = message.user_id if kind is ChatKind.DIRECT else message.conversation_id
    if not conversation:
        if not profile.upstream:
            raise TargetError(f"a direct message in {message.conversation_id!r} on discord: its user is missing")
        conversation = message.conversation_id
    in_thread = message.kind == "guild_thread"
    return InboundPlace(
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


RULES = Discord()
