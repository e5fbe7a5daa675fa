"""Voice calls: one person by phone number, written ``voice:<number>``.

Upstream keys calls ``voice:<phone>``, outside its key grammar, and does not define how a send names one. Here a call is
a direct conversation like any other, in every profile: From, To and the target are ``voice:`` and the international
number; ``tel:`` and the bare number are accepted too. A call has no threads.
"""

from __future__ import annotations

from trunkline.core.channels.phone_numbers import normal_phone
from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.profiles import Profile
from trunkline.core.values import ChatKind

_WORDS = ("user", "dm")


class Voice(ChannelRules):
    """The rules of voice calls."""

    channel = "voice"
    prefixes = ("tel",)
    forms = ("voice:+15551234567", "tel:+1-555-123-4567", "+1 (555) 123-4567")
    case_sensitive = False

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """An international phone number in any notation."""
        _, bare = self.kind_word(self.strip(self.clean(text), repeat=True), _WORDS)
        if not bare:
            return self.target(ChatKind.DIRECT, bare, text, "a call is with one person")
        phone = normal_phone(bare)
        if phone is None:
            raise self.wrong(text, f"expected an international phone number, but {bare!r} is none")
        return self.target(ChatKind.DIRECT, phone, text, "by phone number")

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        return f"{self.channel}:{target.id}"
