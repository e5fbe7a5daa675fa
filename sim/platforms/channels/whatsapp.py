"""A fake WhatsApp: people by phone number, groups by JID, no threads, and neither idempotency keys nor look-up.

Rules taken from the real platform: the account's own connection is the only interface, so everything uses the gateway
transport, and nothing can be sent while that connection is down. A person's JID is the same conversation as the phone
number. Limits: 12 options in a poll; 4096 characters, as in the strictest of its interfaces.
"""

from __future__ import annotations

import re

from trunkline.core.values import Address, Capability, DeliveryMode
from trunkline.sim.platforms.actions.rules import ActionRules
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import digits, letters

_PERSON = re.compile(r"\+?([0-9]+)(?::[0-9]+)?(?:@(?:s\.whatsapp\.net|c\.us))?", re.IGNORECASE)
_HEX = "0123456789ABCDEF"


class FakeWhatsApp(FakePlatform):
    """Groups and people."""

    channel = "whatsapp"
    extras = frozenset({Capability.POLL})
    rules = ActionRules(one_reaction=True, edit_seconds=15 * 60.0, delete_seconds=60 * 3600.0)
    has_threads = False
    mode = DeliveryMode.GATEWAY
    poll_options = 12

    def new_id(self, *what: str) -> str:
        """``120363...@g.us`` for a group, a phone number for a person, ``3EB0...`` for a message."""
        if what[0] == "room":
            return f"120363{digits(self.channel, *what, length=12)}@g.us"
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        return f"3EB0{letters(self.channel, *what, length=16, alphabet=_HEX)}"

    def canonical(self, address: Address) -> tuple[str, str | None]:
        """The phone number for a person's JID; a group's JID is case-insensitive."""
        person = _PERSON.fullmatch(address.conversation)
        return f"+{person[1]}" if person else address.conversation.lower(), address.thread
