"""Slack: channels, multi-person direct messages and users; a thread hangs on a message and is part of its room.

Ids are letters and digits whose case means nothing. ``G...`` may be a private channel or a multi-person direct message:
only the configuration or Slack itself can tell. ``D...`` is another name for the conversation with a user; a directory
has to say which (B069). An answer in a thread keeps the thread as a suffix of its session key (seed 000, "Slack").
"""

from __future__ import annotations

import re

from core.channels.base import ChannelRules, Current, Hints, Placement, Target
from core.profiles import Profile
from core.values import Capabilities, ChatKind

_MENTION = re.compile(r"<@([A-Za-z0-9]+)(?:\|[^>]*)?>")
_ID = re.compile(r"[A-Za-z0-9]+")
_WORDS = {"user": ChatKind.DIRECT, "slack": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}


class Slack(ChannelRules):
    """The rules of Slack."""

    channel = "slack"
    forms = ("user:U1", "<@U1>", "@U1", "channel:C1", "#C1", "C1 (a channel)", "group:G1 (several people)")
    case_sensitive = False
    has_threads = True
    thread_id_is_message_id = True
    capabilities = Capabilities(text_limit=4000, opens_threads=True)

    def read(self, text: str, hints: Hints) -> Target:
        """Mentions, prefixes (as they are written, case counts), ``@`` and ``#``; anything else is a channel."""
        trimmed = self.clean(text)
        if mention := _MENTION.fullmatch(trimmed):
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        word, colon, rest = trimmed.partition(":")
        if colon and word == "group" and not hints.profile.upstream:
            return self.target(ChatKind.GROUP, rest, text, "by the prefix group:")
        if colon and word in _WORDS:
            kind, id, how = _WORDS[word], rest.strip(), f"by the prefix {word}:"  # noqa: A001 -- the word
        elif trimmed[0] in "@#":
            kind = ChatKind.DIRECT if trimmed[0] == "@" else ChatKind.CHANNEL
            id, how = trimmed[1:].strip(), f"by the sign {trimmed[0]}"  # noqa: A001
            if not _ID.fullmatch(id):
                raise self.wrong(text, f"{how} an id is expected, and {id!r} is a name")
        else:
            kind, id, how = ChatKind.CHANNEL, trimmed, "for want of a prefix"  # noqa: A001
        if kind is ChatKind.CHANNEL:
            return self._channel(id, text, how, hints)
        return self.target(kind, id, text, how)

    def _channel(self, id: str, text: str, how: str, hints: Hints) -> Target:  # noqa: A002
        """A channel, unless it is known to be something else."""
        folded = id.lower()
        if folded[:1] == "g" and folded in {known.lower() for known in hints.group_dms}:
            found = self.target(ChatKind.GROUP, id, text, "a multi-person direct message by configuration")
            # Upstream calls its chat a channel all the same.
            return Target(
                kind=found.kind,
                id=found.id,
                chat_type=ChatKind.CHANNEL if hints.profile.upstream else None,
                understood=found.understood,
            )
        if folded[:1] == "d" and _ID.fullmatch(id) and len(id) > 1 and any(char.isdigit() for char in id):
            if not hints.profile.upstream and folded not in {known.lower() for known in hints.rooms}:
                why = "it is Slack's own id of a conversation with one user; name the user, or have a directory say who"
                raise self.ambiguous(text, why)
        return self.target(ChatKind.CHANNEL, id, text, how)

    def place(self, target: Target, thread: str | None, reply_to: str | None, profile: Profile) -> Placement:
        """A thread, else the message that is replied to, becomes the thread; August: the other way round."""
        first, second = (reply_to, thread) if profile.august else (thread, reply_to)
        return super().place(target, _given(first) or _given(second), None, profile)

    def inherit(self, target: Target, current: Current) -> str | None:
        """A send to the channel that the agent works in stays in the thread, where answers are threaded at all."""
        modes = ("all",) if current.has_replied else ("all", "first")
        same = target.kind is not ChatKind.DIRECT and target.id.lower() == (current.conversation or "").lower()
        return current.thread if same and current.reply_mode in modes else None


def _given(text: str | None) -> str | None:
    return (text or "").strip() or None


RULES = Slack()
