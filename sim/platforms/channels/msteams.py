"""A fake Microsoft Teams: channels of a team, threads by reply chains, and people.

Rules taken from the real platform: a thread has the id of its root message, and a send that names a message of a
channel as its thread replies in that chain. A message's id is its time in milliseconds, unique in its conversation. Ids
are case-sensitive. A card may have buttons, and a press reaches the bot. A poll is a card with at most 12 options.
There are neither idempotency keys nor look-up. A message has at most 28 KB in UTF-16, so any 7000 characters fit.
"""

import string

from trunkline.core.values import Capability, ChatKind
from trunkline.sim.platforms.base import TimedPlatform
from trunkline.sim.platforms.rooms import digits, letters

_ALPHABET = string.ascii_lowercase + string.digits
#: start of the run on the clock of Teams; threads of the scenario are older
_BEGAN = 1_700_000_000_000


class FakeMsTeams(TimedPlatform):
    channel = "msteams"
    extras = frozenset({Capability.POLL, Capability.CARDS})
    poll_options = 12
    opens_by_sending = True
    text_limit = 7000
    room_kind = ChatKind.CHANNEL
    has_directory = True
    per_second = 500

    def new_id(self, *what: str) -> str:
        """``19:...@thread.tacv2`` for a channel, ``29:...`` for a person, the time of an older message for a thread."""
        if what[0] == "room":
            return f"19:{letters(self.channel, *what, length=32, alphabet=_ALPHABET)}@thread.tacv2"
        if what[0] in ("person", "bot"):
            return f"{'28' if what[0] == 'bot' else '29'}:{letters(self.channel, *what, length=32, alphabet=_ALPHABET)}"
        return f"16{digits(self.channel, *what, length=11)}"

    def id_at(self, number: int) -> str:
        return str(_BEGAN + number)
