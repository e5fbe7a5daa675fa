"""iMessage and SMS through a Mac: people have handles, chats a number, guid or identifier; no threads."""

from __future__ import annotations

import re

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.channels.phone_numbers import upstream_phone
from trunkline.core.channels.platforms.imessage_common import (
    APPLE_ACTIONS,
    CHAT_WORDS,
    SERVICES,
    AppleRules,
    chat_word,
    without_services,
)
from trunkline.core.channels.rules import Hints, ParsedTarget
from trunkline.core.profile_rules import Profile
from trunkline.core.values import ChatKind

_NUMBER = re.compile(r"[+-]?[0-9]+")


#: as by BlueBubbles; upstream's bridge to iMessage only sends
_ACTIONS = {
    which: msgspec.structs.replace(entry, ours=which is not Action.SEND) for which, entry in APPLE_ACTIONS.items()
}


class IMessage(AppleRules):
    """The rules of iMessage."""

    channel = "imessage"
    actions = _ACTIONS

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self._upstream(self.clean(text), text) if hints.profile.upstream else self.read_own(text, hints)

    def _upstream(self, bare: str, text: str) -> ParsedTarget:
        """Upstream: every chat is a group; any other text is a mail address or a phone number, perhaps only ``+``."""
        service, rest = self.kind_word(bare, SERVICES)
        word, value = self.kind_word(rest, tuple(CHAT_WORDS))
        if word:
            form = CHAT_WORDS[word]
            if form == "chat_id":
                # Upstream drops what follows the number.
                number = _NUMBER.match(value)
                value = str(int(number[0])) if number else ""
            found = self.target(ChatKind.GROUP, value, text, f"by the prefix {word}:")
            return msgspec.structs.replace(found, form=form)
        handle = without_services(rest)
        if not handle:
            raise self.wrong(text, f"it was understood as a handle (by the prefix {service}:), but there is none")
        handle = handle.lower() if "@" in handle else upstream_phone(handle)
        return self.target(ChatKind.DIRECT, handle, text, "by handle")

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        word = f"{target.form}:" if target.form else chat_word(target.kind, target.id)
        return f"{word or f'{self.channel}:'}{target.id}"
