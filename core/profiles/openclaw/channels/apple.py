"""iMessage and BlueBubbles, by OpenClaw's rules: a chat is a group; any other text is a handle."""

from __future__ import annotations

import re

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.bluebubbles import BlueBubbles
from trunkline.core.channels.platforms.imessage import IMessage
from trunkline.core.channels.platforms.imessage_common import APPLE_ACTIONS, CHAT_WORDS, SERVICES, without_services
from trunkline.core.channels.rules import Hints, ParsedTarget
from trunkline.core.profiles.openclaw.channels.base import STRICT, WORDS, Folding, OpenClawRules, phone
from trunkline.core.values import ChatKind

_NUMBER = re.compile(r"[+-]?[0-9]+")
_CHATS = ("chat_id", "chat_guid", "chat_identifier")


class OpenClawIMessage(Folding, IMessage, OpenClawRules):
    """The rules of iMessage. The bridge only sends."""

    lacks = frozenset(APPLE_ACTIONS) - {Action.SEND}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Every chat is a group; any other text is a mail address or a phone number, perhaps only ``+``."""
        service, rest = self.kind_word(self.clean(text), SERVICES)
        word, value = self.kind_word(rest, tuple(CHAT_WORDS))
        if word:
            form = CHAT_WORDS[word]
            if form == "chat_id":
                # What follows the number is dropped.
                number = _NUMBER.match(value)
                value = str(int(number[0])) if number else ""
            found = self.target(ChatKind.GROUP, value, text, f"by the prefix {word}:")
            return msgspec.structs.replace(found, form=form)
        handle = without_services(rest)
        if not handle:
            raise self.wrong(text, f"it was understood as a handle (by the prefix {service}:), but there is none")
        return self.target(ChatKind.DIRECT, handle.lower() if "@" in handle else phone(handle), text, "by handle")

    def to(self, target: ParsedTarget) -> str:
        return f"{target.form}:{target.id}" if target.form else super().to(target)


class OpenClawBlueBubbles(Folding, BlueBubbles, OpenClawRules):
    """The rules of BlueBubbles."""

    lacks = frozenset({Action.UPLOAD_FILE})
    lenient = STRICT

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Each word has one spelling, handles are left unchanged, and To keeps the words."""
        bare = self.strip(self.clean(text))
        word, _ = self.kind_word(bare, (*_CHATS, "group"))
        if word:
            _, id = self.kind_word(bare, WORDS)  # noqa: A001 -- the word
            _, id = self.kind_word(id, _CHATS)  # noqa: A001
            found = self.target(ChatKind.GROUP, id, text, f"by the prefix {word}:")
        else:
            _, id = self.kind_word(bare, SERVICES)  # noqa: A001
            found = self.target(ChatKind.DIRECT, id, text, "by default")
        return msgspec.structs.replace(found, form=bare)

    def sender(self, target: ParsedTarget) -> str:
        """From, for groups without the platform's name."""
        return f"group:{target.id}" if target.form and target.kind is ChatKind.GROUP else super().sender(target)

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.form}" if target.form else super().to(target)
