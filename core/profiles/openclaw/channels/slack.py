"""Slack, by OpenClaw's rules: anything but an id with a sign or a word is a channel."""

from __future__ import annotations

import re

import msgspec

from trunkline.core.channels.platforms import slack
from trunkline.core.channels.platforms.slack import MENTION, Slack, SlackMessage, capitals
from trunkline.core.channels.rules import Hints, InboundPlace, OutboundPlace, ParsedTarget, given
from trunkline.core.profiles.openclaw.channels.base import AugustRules, OpenClawRules
from trunkline.core.values import ChatKind

_WORD = re.compile(r"[A-Za-z0-9]+")
_WORDS = {"user": ChatKind.DIRECT, "slack": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}


class OpenClawSlack(Slack, OpenClawRules):
    """The rules of Slack."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Prefixes are case-sensitive, and anything else is a channel."""
        trimmed = self.clean(text)
        if (mention := MENTION.fullmatch(trimmed)) and mention[2] is None:
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        word, _, rest = trimmed.partition(":")
        if word in _WORDS and rest.strip():
            kind, id, how = _WORDS[word], rest.strip(), f"by the prefix {word}:"  # noqa: A001 -- the word
        elif trimmed[0] in "@#":
            kind = ChatKind.DIRECT if trimmed[0] == "@" else ChatKind.CHANNEL
            id, how = trimmed[1:].strip(), f"by the sign {trimmed[0]}"  # noqa: A001
            if not _WORD.fullmatch(id):
                raise self.wrong(text, f"expected an id ({how}), but {id!r} is none")
        else:
            kind, id, how = ChatKind.CHANNEL, trimmed, "by default"  # noqa: A001
        if kind is ChatKind.CHANNEL and id[0] in "Gg" and id.upper() in capitals(hints.group_dms):
            found = self.target(ChatKind.GROUP, id, text, "by configuration")
            # Its chat is still called a channel.
            return msgspec.structs.replace(found, chat_type=ChatKind.CHANNEL)
        return self.target(kind, id, text, how)


class AugustSlack(OpenClawSlack, AugustRules):
    """In August a conversation with one user must be named by the user, and a reply goes before a thread."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        found = super().read(text, hints)
        if found.kind is ChatKind.CHANNEL and found.id[0] in "Dd":
            raise self.wrong(text, "it names a conversation with an unknown user")
        return found

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return super().place(target, given(reply_to) or given(thread), None)


def read_inbound(
    message: SlackMessage, account: str, reply_mode: str = "off", inherit_parent: bool = False
) -> InboundPlace:
    """The place of a message. If replies are threaded, every direct message starts a session."""
    found = slack.read_inbound(message, account, reply_mode, inherit_parent)
    if found.is_thread_reply or reply_mode != "all" or found.address.kind is not ChatKind.DIRECT:
        return found
    address = msgspec.structs.replace(found.address, thread=message.ts)
    return msgspec.structs.replace(found, address=address, inherits_parent=inherit_parent)
