"""BlueBubbles, a bridge to iMessage and SMS: handles and chats as on iMessage, no threads."""

from __future__ import annotations

import msgspec

from trunkline.core.channels.platforms.imessage_common import FORMS, SERVICES, AppleRules, chat_word
from trunkline.core.channels.rules import UPSTREAM_WORDS, Hints, ParsedTarget
from trunkline.core.profile_rules import Profile
from trunkline.core.values import ChatKind

_CHATS = ("chat_id", "chat_guid", "chat_identifier")


class BlueBubbles(AppleRules):
    """The rules of BlueBubbles."""

    channel = "bluebubbles"
    forms = (*FORMS, "chat123 (a group)", "group:ID")

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self._upstream(text) if hints.profile.upstream else self.read_own(text, hints)

    def _upstream(self, text: str) -> ParsedTarget:
        """Upstream knows one spelling of each word, leaves handles unchanged, and keeps the words in To."""
        bare = self.strip(self.clean(text))
        word, _ = self.kind_word(bare, (*_CHATS, "group"))
        if word:
            _, id = self.kind_word(bare, UPSTREAM_WORDS)  # noqa: A001 -- the word
            _, id = self.kind_word(id, _CHATS)  # noqa: A001
            found = self.target(ChatKind.GROUP, id, text, f"by the prefix {word}:")
        else:
            _, id = self.kind_word(bare, SERVICES)  # noqa: A001
            found = self.target(ChatKind.DIRECT, id, text, "by default")
        return msgspec.structs.replace(found, form=bare)

    def sender(self, target: ParsedTarget) -> str:
        """From. Upstream omits the platform's name for groups."""
        if target.form and target.kind is ChatKind.GROUP:
            return f"group:{target.id}"
        return super().sender(target)

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        """To: the platform, and the handle or the chat with its word. Upstream: the text unchanged."""
        return f"{self.channel}:{target.form or chat_word(target.kind, target.id) + target.id}"
