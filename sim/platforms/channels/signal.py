"""A fake Signal: people by phone number, groups by an id in base64, no threads, and neither keys nor look-up.

Rules taken from the real platform: a text is plain, and its styles are separate ranges in UTF-16 code units. A
message's id is its time of sending in milliseconds. Group ids are compared byte for byte. Texts over 2000 characters
are refused here; the real platform sends them as attachments.
"""

import string

from trunkline.core.values import ChatKind, Markup
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.base import TimedPlatform
from trunkline.sim.platforms.rooms import digits, letters

_BASE64 = string.ascii_letters + string.digits + "+/"
#: start of the run on Signal's clock
_BEGAN = 1_700_000_000_000


class FakeSignal(TimedPlatform):
    channel = "signal"
    rules = ActionRules(one_reaction=True, edit_seconds=24 * 3600.0, delete_seconds=24 * 3600.0, edits=10)
    has_threads = False
    markup = Markup.STYLED
    text_limit = 2000
    per_second = 500

    def new_id(self, *what: str) -> str:
        """43 characters and ``=`` for a group, a phone number for a person."""
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        return f"{letters(self.channel, *what, length=43, alphabet=_BASE64)}="

    def account_id(self, number: str) -> str:
        """The UUID of the person or bot with a number."""
        found = letters(self.channel, "account-id", number, length=32, alphabet="0123456789abcdef")
        return f"{found[:8]}-{found[8:12]}-4{found[13:16]}-a{found[17:20]}-{found[20:]}"

    def number_of(self, account_id: str) -> str | None:
        """The number of the person with a UUID, if an account can write to them."""
        direct = (room.conversation for room in self.rooms if room.kind is ChatKind.DIRECT)
        return next((number for number in direct if self.account_id(number) == account_id), None)

    def id_at(self, number: int) -> str:
        return str(_BEGAN + number)
