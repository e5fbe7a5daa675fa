"""Zalo, through its bot API: people and groups have ids; no threads, no channels."""

import re
from typing import ClassVar

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.values import Capabilities, ChatKind

_ID = re.compile(r"[^\s:/]+")


class Zalo(ChannelRules):
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

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """An empty id becomes ``unknown``."""
        return super().fold(kind, id) or "unknown"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The prefix decides the kind, else the form, else the directory; the default is a user."""
        trimmed = self.clean(text)
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
        return None
