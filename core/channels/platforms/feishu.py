"""Feishu (Lark): users by ``ou_...`` and ``on_...``, chats by ``oc_...``; case counts.

A chat may be a group or the conversation with one user, whose messages come with the user's id; only a word or a
directory tells. Threads of topic groups can be answered, not addressed, so they are no places. A send with the same
``uuid`` is taken once within an hour.
"""

from __future__ import annotations

import re

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.profiles import Profile
from trunkline.core.values import Capabilities, ChatKind, Chunker, Idempotency

_ID = re.compile(r"[^\s:]+")
_USER = re.compile(r"o[un]_[^\s:]+")
_CHAT = re.compile(r"oc_[^\s:]+")
_UPSTREAM_WORDS = {"group": ChatKind.GROUP, "chat": ChatKind.GROUP, "user": ChatKind.DIRECT, "dm": ChatKind.DIRECT}
_WORDS = {
    **_UPSTREAM_WORDS,
    "channel": ChatKind.GROUP,
    "conversation": ChatKind.GROUP,
    "room": ChatKind.GROUP,
}


class Feishu(ChannelRules):
    """The rules of Feishu."""

    channel = "feishu"
    prefixes = ("lark",)
    forms = ("ou_ID or on_ID (a user)", "user:ID", "group:oc_ID")
    # A request has 150 KB at most, and a character up to four bytes.
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=30_000)
    chunker = Chunker.MARKDOWN

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A word in front, else what the id begins with, else a directory."""
        trimmed = self.clean(text)
        if hints.profile.upstream:
            return self._read_upstream(trimmed, text)
        bare = self.strip(trimmed, repeat=True)
        word, id = self.kind_word(bare, tuple(_WORDS))  # noqa: A001 -- the word
        kind, how = _WORDS.get(word), f"by the prefix {word}:"
        if kind is None and _USER.fullmatch(id):
            kind, how = ChatKind.DIRECT, f"by its beginning {id[:3]}"
        elif kind is None and hints.kind is not None:
            kind, how = _one_or_many(hints.kind), "as a directory says"
        elif kind is None and bare != trimmed and not _CHAT.fullmatch(id):
            # ``feishu:ID`` is how From names a user.
            kind, how = ChatKind.DIRECT, "by the prefix feishu:"
        if kind is None and id:
            raise self.ambiguous(text, "it may be a group or a user")
        found = self.target(kind or ChatKind.DIRECT, id, text, how)
        self._check(found, text, how)
        return found

    def _check(self, found: ParsedTarget, text: str, how: str) -> None:
        """An id that is none, or that says otherwise than the word before it."""
        direct = found.kind is ChatKind.DIRECT
        if not _ID.fullmatch(found.id):
            raise self.wrong(text, f"{how} an id is expected, and {found.id!r} is none")
        if direct and _CHAT.fullmatch(found.id):
            raise self.wrong(text, f"it was understood as a user ({how}), and oc_ is a chat; name the user by ou_...")
        if not direct and _USER.fullmatch(found.id):
            raise self.wrong(text, f"it was understood as a group ({how}), and {found.id[:3]} is a user")

    def _read_upstream(self, trimmed: str, text: str) -> ParsedTarget:
        """Upstream: a chat is a user unless a word says that it is a group."""
        bare = trimmed
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        word, id = self.kind_word(bare, tuple(_UPSTREAM_WORDS))  # noqa: A001
        how = f"by the prefix {word}:" if word else "for want of a prefix"
        return self.target(_UPSTREAM_WORDS.get(word, ChatKind.DIRECT), id, text, how)

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        """To: the kind and the id. Upstream's is the id alone."""
        return target.id if profile.upstream else super().to(target, profile)


def _one_or_many(kind: ChatKind) -> ChatKind:
    return ChatKind.DIRECT if kind is ChatKind.DIRECT else ChatKind.GROUP


RULES = Feishu()
