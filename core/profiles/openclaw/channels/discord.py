"""Discord, by OpenClaw's rules: anything but digits is a channel, and keys of threads have the channel."""

from __future__ import annotations

import re

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.discord import Discord, DiscordMessage, kind_of, place_in
from trunkline.core.channels.rules import Hints, InboundPlace, OutboundPlace, ParsedTarget, given
from trunkline.core.profiles.openclaw.channels.base import KeyedPlace, OpenClawRules
from trunkline.core.values import ChatKind

_USER_MENTION = re.compile(r"<@!?([0-9]+)>")
_DIGITS = re.compile(r"[0-9]+")
_WORDS = {"user": ChatKind.DIRECT, "discord": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}


class OpenClawDiscord(Discord, OpenClawRules):
    """The rules of Discord."""

    lacks = frozenset({Action.REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE, Action.POLL_RESULTS})
    lenient = {  # noqa: RUF012 -- read only, like every table
        **OpenClawRules.lenient,
        Action.TIMEOUT: "durationMin|until",
        Action.SET_PRESENCE: "status|activityName|activityState",
    }

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Prefixes are case-sensitive, and anything but digits is a channel."""
        trimmed = self.clean(text)
        if mention := _USER_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        word, _, rest = trimmed.partition(":")
        if word in _WORDS and rest.strip():
            return self.target(_WORDS[word], rest, text, f"by the prefix {word}:")
        if trimmed.startswith("@"):
            if not _DIGITS.fullmatch(trimmed[1:].strip()):
                raise self.wrong(text, "expected an id after @")
            return self.target(ChatKind.DIRECT, trimmed[1:], text, "by the sign @")
        return self.bare(trimmed, text, hints)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """Channel and thread are reported separately, and keys contain the channel."""
        named = given(thread)
        own = named if target.kind is ChatKind.CHANNEL and named != target.id else None
        return KeyedPlace(
            conversation=own or target.id,
            parent=target.id if own else None,
            peer=target.id,
            thread_id=named,
            sender=self.sender(target),
            to=self.to(target),
        )


def read_inbound(message: DiscordMessage, account: str) -> InboundPlace:
    """The place of a message. A direct conversation without a user has its own id."""
    direct = kind_of(message) is ChatKind.DIRECT
    return place_in(message, account, (direct and message.user_id) or message.conversation_id)
