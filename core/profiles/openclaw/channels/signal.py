"""Signal, by OpenClaw's rules: all but groups and UUIDs are phone numbers; ``alice.01`` becomes ``+01``."""

from __future__ import annotations

import re

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.signal import WORDS, Signal
from trunkline.core.channels.rules import Hints, ParsedTarget
from trunkline.core.profiles.openclaw.channels.base import FORMS, STRICT, AugustRules, Folding, OpenClawRules, phone
from trunkline.core.values import ChatKind

#: hexadecimal digits and dashes with at least one letter
_LIKE_UUID = re.compile(r"(?=.*[a-f])-*[0-9a-f][0-9a-f-]*", re.IGNORECASE)


class OpenClawSignal(Folding, Signal, OpenClawRules):
    """The rules of Signal."""

    lacks = FORMS | {Action.EDIT, Action.DELETE}
    lenient = STRICT

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """All but groups and UUIDs are phone numbers, even usernames."""
        word, id = self.kind_word(self.strip(self.clean(text)), ("group", "username", "u"))  # noqa: A001 -- the word
        if word == "group":
            found = self.target(ChatKind.GROUP, id, text, "by the prefix group:")
            return msgspec.structs.replace(found, form=f"group:{found.id}")
        if not id:
            raise self.wrong(text, "there is no recipient")
        _, id = self.kind_word(id, ("uuid",))  # noqa: A001
        if _LIKE_UUID.fullmatch(id):
            found = self.target(ChatKind.DIRECT, f"uuid:{id}", text, "by UUID")
            return msgspec.structs.replace(found, form=f"signal:{id}")
        found = self.target(ChatKind.DIRECT, phone(id), text, "by the digits in it, as a phone number")
        return msgspec.structs.replace(found, form=f"signal:{found.id}")

    def comparable(self, text: str) -> str:
        """Usernames and UUIDs stay what they are here."""
        word, id = self.kind_word(self.strip(text.strip()), WORDS)  # noqa: A001 -- the word
        shown = {"username": "username:", "u": "username:", "group": "group:"}.get(word, "")
        return f"{shown}{id.strip()}".lower()

    def sender(self, target: ParsedTarget) -> str:
        """From, for groups without the platform's name, and for UUIDs without their prefix."""
        return target.form or super().sender(target)


class AugustSignal(OpenClawSignal, AugustRules):
    """In August ids of groups keep their case."""

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() if kind is ChatKind.DIRECT else id
