"""A fake Slack: channels, threads rooted at messages, and direct conversations with two ids.

Rules taken from the real platform: a message's id is its time (``1700000000.000100``), unique only in its channel. A
thread has the id of its root message, and a send that names a message opens its thread; replies in a thread open no
further threads. Ids are case-insensitive. A direct conversation also has a channel id ``D...``. At most 4000
characters.

`chat.postMessage` has no idempotency key, and history cannot be searched by one, so a send whose response was lost
stays unknown. An adapter that puts a key into message metadata could look it up: set ``idempotency: lookup`` for it.
"""

import re

from trunkline.core.events import Recorder
from trunkline.core.values import Address, Capability, ChatKind, DeedKind
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.api.request_checks import PartLimits
from trunkline.sim.platforms.base import TimedPlatform
from trunkline.sim.platforms.rooms import Room, WorldPort, digits, letters
from trunkline.sim.scenario.model.world import PlatformSpec

_LETTERS = {"room": "C", "person": "U", "bot": "U"}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#: start of the run on Slack's clock; threads of the scenario are older
_BEGAN = 1_700_000_000
_NOT_ALPHANUMERIC = re.compile(r"[^A-Z0-9]")
#: prefixes of a target before its id, ``#name`` or ``@name``
_PREFIX = re.compile(r"\A(?:slack:)?(?:(?:channel|group|user|dm):)?\s*", re.IGNORECASE)

#: from https://docs.slack.dev/reference/block-kit/block-elements/button-element
PART_LIMITS = PartLimits(button_text=75, button_value=2000)


class FakeSlack(TimedPlatform):
    channel = "slack"
    extras = frozenset({Capability.PAYLOAD, Capability.BUTTONS})
    rules = ActionRules(pins=100)
    part_limits = PART_LIMITS
    opens_threads = True
    opens_by_sending = True
    text_limit = 4000
    room_kind = ChatKind.CHANNEL
    has_directory = True
    anonymous = frozenset({DeedKind.DELETE})
    per_second = 500_000

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        super().__init__(world, spec, recorder)
        #: (account, D...) -> user
        self._users: dict[tuple[str, str], str] = {}

    def new_id(self, *what: str) -> str:
        """``C`` or ``U`` and ten capitals and digits; a thread is the time of an older message."""
        if what[0] == "thread":
            return f"16{digits(self.channel, *what, length=8)}.{digits(self.channel, *what, 'part', length=6)}"
        return f"{_LETTERS.get(what[0], 'O')}0{letters(self.channel, *what, length=9, alphabet=_ALPHABET)}"

    def id_at(self, number: int) -> str:
        seconds, rest = divmod(number, 1_000_000)
        return f"{_BEGAN + seconds}.{rest:06d}"

    def add_room(self, room: Room, under: str | None = None) -> Room:
        """Create a conversation; a direct conversation also under the alias."""
        if room.kind is ChatKind.DIRECT and room.thread is None:
            self._users[room.accounts[0], self.alias(room.accounts[0], room.conversation)] = room.conversation.upper()
        return super().add_room(room, under)

    def alias(self, account: str, user: str) -> str:
        """The ``D...`` id of a direct conversation: ``D`` for ``U``; accounts after the first append their name."""
        first = next(iter(self.spec.accounts))
        return f"D{user.upper()[1:]}{'' if account == first else _NOT_ALPHANUMERIC.sub('', account.upper())}"

    def canonical(self, address: Address) -> tuple[str, str | None]:
        """Upper case, with the user's id for a direct conversation."""
        conversation = address.conversation.upper()
        return self._users.get((address.account, conversation), conversation), address.thread

    def find(self, account: str, text: str) -> Room | None:
        """A channel by id or ``#name``, a user by id or ``@name``, and the user behind ``D...``."""
        bare = _PREFIX.sub("", text.strip()).strip("<>").partition("|")[0]
        named = self.room_named(account, bare[1:] if bare[:1] == "#" else bare)
        if named is not None and named.thread is None and bare[:1] in ("#", "@"):
            return named
        place = Address(channel=self.channel, account=account, kind=ChatKind.CHANNEL, conversation=bare.lstrip("#@"))
        found = self.room_at(place)
        return found if found is not None and account in found.accounts else None
