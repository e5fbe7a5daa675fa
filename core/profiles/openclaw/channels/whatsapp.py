"""WhatsApp, by OpenClaw's rules: a person is a phone number, and the digits of a hidden id are one (scenario B082)."""

from __future__ import annotations

import re

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms.whatsapp import GROUP, WhatsApp
from trunkline.core.channels.rules import Hints, ParsedTarget
from trunkline.core.profiles.openclaw.channels.base import FORMS, Folding, OpenClawRules, phone
from trunkline.core.values import ChatKind

_PERSON = re.compile(r"([0-9]+)(?:(?::[0-9]+)?@s\.whatsapp\.net|@lid)", re.IGNORECASE)


class OpenClawWhatsApp(Folding, WhatsApp, OpenClawRules):
    """The rules of WhatsApp."""

    lacks = FORMS | {Action.POLL_RESULTS, Action.EDIT, Action.DELETE}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A person is always a phone number, and any digits are one; other addresses have no route."""
        bare = self.strip(self.clean(text), repeat=True)
        if group := GROUP.fullmatch(bare):
            return ParsedTarget(kind=ChatKind.GROUP, id=f"{group[1]}@g.us", understood="a group, by its JID")
        if person := _PERSON.fullmatch(bare):
            return ParsedTarget(kind=ChatKind.DIRECT, id=f"+{person[1]}", understood="a user, by the digits of a JID")
        number = phone(bare)
        if "@" in bare or number == "+":
            raise self.wrong(text, "it is an address of another domain, or has no digits")
        return ParsedTarget(kind=ChatKind.DIRECT, id=number, understood="a user, by phone number")
