"""Matrix, by OpenClaw's rules: any text is an id, ids are folded, and March has no threads."""

from __future__ import annotations

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.matrix import Matrix
from trunkline.core.channels.rules import Hints, OutboundPlace, ParsedTarget, given
from trunkline.core.profiles.openclaw.channels.base import WORDS, AugustRules, OpenClawRules
from trunkline.core.values import ChatKind


class OpenClawMatrix(Matrix, OpenClawRules):
    """The rules of Matrix."""

    lacks = frozenset(Matrix.actions) - {Action.SEND}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any text is an id, and a room unless a sign, a word or a directory says user."""
        stripped = self.strip(self.clean(text))
        word, id = self.kind_word(stripped, WORDS)  # noqa: A001 -- the word
        direct = hints.kind is ChatKind.DIRECT or word == "user" or stripped.startswith("@")
        how = f"by the prefix {word}:" if word else "according to a directory" if hints.kind else "by its sign"
        return self.target(ChatKind.DIRECT if direct else ChatKind.CHANNEL, id, text, how)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """March has no threads here."""
        return super().place(target, None, None)

    def to(self, target: ParsedTarget) -> str:
        """To. Users are called rooms."""
        return f"room:{target.id}"


class AugustMatrix(OpenClawMatrix, AugustRules):
    """In August room ids keep their case, and there are threads; a reply starts one too."""

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() if kind is ChatKind.DIRECT else id

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return Matrix.place(self, target, given(reply_to) or given(thread), None)
