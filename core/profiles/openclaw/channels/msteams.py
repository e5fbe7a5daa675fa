"""Microsoft Teams, by OpenClaw's rules: no threads, and groups are not distinguished from channels."""

from __future__ import annotations

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.msteams import CHANNEL, MsTeams
from trunkline.core.channels.rules import Hints, OutboundPlace, ParsedTarget
from trunkline.core.profiles.openclaw.channels.base import FORMS, WORDS, OpenClawRules
from trunkline.core.values import Address, ChatKind


class OpenClawMsTeams(MsTeams, OpenClawRules):
    """The rules of Microsoft Teams."""

    lacks = FORMS | {Action.POLL_RESULTS, Action.EDIT, Action.DELETE}

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() or "unknown"

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        return None

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Only ``user:`` is a user; what follows a semicolon is dropped."""
        word, rest = self.kind_word(self.strip(self.clean(text)), WORDS)
        if not rest:
            raise self.wrong(text, "there is no id")
        id = rest.partition(";")[0]  # noqa: A001 -- the word
        kind = ChatKind.CHANNEL if CHANNEL.search(id) else ChatKind.GROUP
        kind = ChatKind.DIRECT if word == "user" else kind
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by word and id")

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return super().place(target, None, None)

    def to(self, target: ParsedTarget) -> str:
        return super().to(target) if target.kind is ChatKind.DIRECT else f"conversation:{target.id}"
