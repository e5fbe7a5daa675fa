"""Matrix: rooms by ``!id:server`` and users by ``@name:server``; a thread hangs on an event and is part of its room.

Case counts in all ids: a folded one is another room or none (B068, B105). Every room is a channel, whatever is said
before its id. A direct conversation goes by its user, since rooms of two cannot be told from others by their id; an
alias (``#name:server``) has to be looked up. The server takes a send with the same transaction id once (B111 tells how
not to make them).
"""

from __future__ import annotations

import re

from trunkline.core.channels.rules import ChannelRules, Hints, OutboundPlace, ParsedTarget, given
from trunkline.core.channels.target_parsing import UPSTREAM_WORDS, agree, said
from trunkline.core.profiles import Profile
from trunkline.core.values import Capabilities, ChatKind, Chunker, Idempotency

_USER = re.compile(r"@[^\s:]+:\S+")
#: rooms of later versions have no server in their ids
_ROOM = re.compile(r"![^\s:]+(?::\S+)?")
_WORDS = (*UPSTREAM_WORDS, "thread")


class Matrix(ChannelRules):
    """The rules of Matrix."""

    channel = "matrix"
    forms = ("!room:server", "room:!room:server", "@user:server", "user:@user:server")
    has_threads = True
    thread_id_is_message_id = True
    # An event has 64 KiB at most, and a character up to four bytes.
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=16_000, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000

    def fold(self, kind: ChatKind, id: str, profile: Profile = Profile.TRUNKLINE) -> str:  # noqa: A002 -- the word
        """Upstream folds users, and in March rooms too."""
        spared = not profile.upstream or (profile.august and kind is not ChatKind.DIRECT)
        return id if spared else id.lower()

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The sign in front of an id says what it is; words are only cut off."""
        trimmed = self.clean(text)
        if hints.profile.upstream:
            return self._read_upstream(self.strip(trimmed), text, hints)
        word, id = self.kind_word(self.strip(trimmed, repeat=True), _WORDS)  # noqa: A001
        if not id:
            return self.target(said(word) or ChatKind.CHANNEL, id, text, f"by the prefix {word or self.channel}:")
        if _USER.fullmatch(id):
            agree(self, text, word, ChatKind.DIRECT)
            return self.target(ChatKind.DIRECT, id, text, "by the sign @")
        if not _ROOM.fullmatch(id):
            what = "an alias" if id.startswith("#") else "no id"
            raise self.wrong(text, f"{id!r} is {what}; it has to be looked up first")
        agree(self, text, word, ChatKind.CHANNEL)
        if hints.kind is ChatKind.DIRECT:
            raise self.ambiguous(text, "it is the room of a conversation with one user; name the user")
        return self.target(ChatKind.CHANNEL, id, text, "by the sign !")

    def _read_upstream(self, stripped: str, text: str, hints: Hints) -> ParsedTarget:
        """Upstream: any text is an id, and a room unless a sign, a word or a directory says that it is a user."""
        word, id = self.kind_word(stripped, UPSTREAM_WORDS)  # noqa: A001
        direct = hints.kind is ChatKind.DIRECT or word == "user" or stripped.startswith("@")
        how = f"by the prefix {word}:" if word else "as a directory says" if hints.kind else "by its sign"
        return self.target(ChatKind.DIRECT if direct else ChatKind.CHANNEL, id, text, how)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None, profile: Profile) -> OutboundPlace:
        """A named thread. A reply is a quotation in the same place."""
        named = given(thread)
        if profile.upstream:
            # March has no threads here; in August a reply makes one too.
            named = (given(reply_to) or named) if profile.august else None
        return super().place(target, named, None, profile)

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        """To: ``room:``, or ``user:``."""
        # Upstream calls users rooms.
        word = "user" if target.kind is ChatKind.DIRECT and not profile.upstream else "room"
        return f"{word}:{target.id}"


RULES = Matrix()
