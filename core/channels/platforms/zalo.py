"""Zalo, through its bot API: people and groups have ids; no threads, no channels."""

from __future__ import annotations

import re
from typing import ClassVar

from trunkline.core.channels.rules import UPSTREAM_WORDS, ChannelRules, Hints, ParsedTarget
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Capabilities, ChatKind

_ID = re.compile(r"[^\s:/]+")


class Zalo(ChannelRules):
    """The rules of Zalo."""

    channel = "zalo"
    prefixes = ("zl",)
    forms = ("user:ID", "ID (a user)", "group:ID")
    capabilities = Capabilities(text_limit=2000)
    chunk_limit = 2000
    #: words before an id
    words: ClassVar[dict[str, ChatKind]] = {
        "user": ChatKind.DIRECT,
        "dm": ChatKind.DIRECT,
        "group": ChatKind.GROUP,
        "room": ChatKind.GROUP,
    }

    def fold(self, kind: ChatKind, id: str, profile: Profile = Profile.TRUNKLINE) -> str:  # noqa: A002 -- the word
        """Upstream: an empty id becomes ``unknown``."""
        return super().fold(kind, id, profile) or "unknown"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The prefix decides the kind, else the form, else the directory; the default is a user."""
        trimmed = self.clean(text)
        if hints.profile.upstream:
            return self._upstream(trimmed, text)
        word, id = self.kind_word(self.strip(trimmed, repeat=True), tuple(self.words))  # noqa: A001
        kind, how = self.words.get(word) or self.by_form(id), f"by the prefix {word}:" if word else "by its form"
        if kind is None:
            known = hints.kind is not None and hints.kind is not ChatKind.DIRECT
            kind = ChatKind.GROUP if known else ChatKind.DIRECT
            how = "according to a directory" if hints.kind else "by default"
        found = self.target(kind, id, text, how)
        if not _ID.fullmatch(id):
            raise self.wrong(text, f"it was understood as a {kind.value} conversation ({how}), but {id!r} is not an id")
        return found

    def by_form(self, id: str) -> ChatKind | None:  # noqa: A002
        """The kind that the form of an id shows, or None."""
        return None

    def _upstream(self, trimmed: str, text: str) -> ParsedTarget:
        """Upstream: only ``group:`` is a group; other kind words are stripped. The id may be empty."""
        bare = trimmed
        # One name after another, so that `zl:zalo:` leaves `zalo:`.
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        if not bare:
            raise self.wrong(text, "there is nothing after the name of the platform")
        word, id = self.kind_word(bare, UPSTREAM_WORDS)  # noqa: A001
        kind = ChatKind.GROUP if word == "group" else ChatKind.DIRECT
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by the prefix {word}:")

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        """To. Upstream does not distinguish groups from users."""
        return f"{self.channel}:{target.id}" if profile.upstream else super().to(target, profile)
