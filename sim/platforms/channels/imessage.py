"""Fakes of iMessage and of BlueBubbles, a bridge to it: people by phone number, groups by identifier, no threads.

Rules taken from the real platform: a group is named by its identifier (``chat...``) or by its guid, a person by a
handle or by the guid of the chat; both are one conversation. A message's id is a guid. A person has one reaction on a
message. A message can be edited five times within 15 minutes, and unsent within two minutes. Effects have names. There
are neither idempotency keys nor look-up. Limit: 20 000 characters.
"""

import re

from trunkline.core.values import Address
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import digits, letters

_GUID = re.compile(r"[A-Za-z]+;[-+];(.+)")
_HEX = "0123456789ABCDEF"
_PARTS = (8, 4, 4, 4, 12)
#: of bubbles, then of the whole screen
_EFFECTS = frozenset(
    {
        *("slam", "loud", "gentle", "invisible-ink"),
        *("echo", "spotlight", "balloons", "confetti", "love", "lasers", "fireworks", "celebration"),
    }
)


class FakeIMessage(FakePlatform):
    channel = "imessage"
    rules = ActionRules(one_reaction=True, edit_seconds=15 * 60.0, delete_seconds=2 * 60.0, edits=5, effects=_EFFECTS)
    has_threads = False
    text_limit = 20_000
    shows_names = False

    def new_id(self, *what: str) -> str:
        """``chat`` and digits for a group, a phone number for a person, a guid for a message."""
        if what[0] == "room":
            return f"chat{digits(self.channel, *what, length=18)}"
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        characters = iter(letters(self.channel, *what, length=sum(_PARTS), alphabet=_HEX))
        return "-".join("".join(next(characters) for _ in range(length)) for length in _PARTS)

    def canonical(self, address: Address) -> tuple[str, str | None]:
        """The identifier or handle inside a guid; handles are case-insensitive."""
        guid = _GUID.fullmatch(address.conversation)
        named = guid[1] if guid else address.conversation
        return named if named.startswith("chat") else named.lower(), address.thread


class FakeBlueBubbles(FakeIMessage):
    """Groups and people behind the bridge, under the same rules."""

    channel = "bluebubbles"
