"""Feishu (Lark): users are ``ou_...`` or ``on_...``, chats ``oc_...``; ids are case-sensitive.

A chat is a group or the conversation with one user, whose messages have the user's id; only a kind word or a directory
distinguishes them. Threads of topic groups can be answered but not addressed, so they are not places. Sends with the
same ``uuid`` are accepted once within an hour.
"""

import re

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.values import Capabilities, ChatKind, Chunker, Idempotency

_ID = re.compile(r"[^\s:]+")
_USER = re.compile(r"o[un]_[^\s:]+")
_CHAT = re.compile(r"oc_[^\s:]+")
_WORDS = {
    "group": ChatKind.GROUP,
    "chat": ChatKind.GROUP,
    "user": ChatKind.DIRECT,
    "dm": ChatKind.DIRECT,
    "channel": ChatKind.GROUP,
    "conversation": ChatKind.GROUP,
    "room": ChatKind.GROUP,
}


class Feishu(ChannelRules):
    channel = "feishu"
    prefixes = ("lark",)
    forms = ("ou_ID or on_ID (a user)", "user:ID", "group:oc_ID")
    # A request has at most 150 KB, and a character up to four bytes.
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=30_000)
    chunker = Chunker.MARKDOWN

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The kind word decides, else the prefix of the id, else a directory."""
        trimmed = self.clean(text)
        bare = self.strip(trimmed, repeat=True)
        word, id = self.kind_word(bare, tuple(_WORDS))  # noqa: A001 -- the word
        kind, how = _WORDS.get(word), f"by the prefix {word}:"
        if kind is None and _USER.fullmatch(id):
            kind, how = ChatKind.DIRECT, f"by its beginning {id[:3]}"
        elif kind is None and hints.kind is not None:
            kind = ChatKind.DIRECT if hints.kind is ChatKind.DIRECT else ChatKind.GROUP
            how = "according to a directory"
        elif kind is None and bare != trimmed and not _CHAT.fullmatch(id):
            # From names a user ``feishu:ID``.
            kind, how = ChatKind.DIRECT, "by the prefix feishu:"
        if kind is None and id:
            raise self.ambiguous(text, "it may be a group or a user")
        found = self.target(kind or ChatKind.DIRECT, id, text, how)
        self._check(found, text, how)
        return found

    def _check(self, found: ParsedTarget, text: str, how: str) -> None:
        """Raise `TargetError` for an invalid id, or one that contradicts the kind word."""
        direct = found.kind is ChatKind.DIRECT
        if not _ID.fullmatch(found.id):
            raise self.wrong(text, f"expected an id ({how}), but {found.id!r} is none")
        if direct and _CHAT.fullmatch(found.id):
            raise self.wrong(text, f"it was understood as a user ({how}), but oc_ is a chat; name the user by ou_...")
        if not direct and _USER.fullmatch(found.id):
            raise self.wrong(text, f"it was understood as a group ({how}), but {found.id[:3]} is a user")
