"""Fake calls: people call by phone number, speak and listen; both take time.

The platform is an exchange with speech recognition, such as telephone systems and call services offer: it answers a
call as soon as the gateway is connected, keeps it while the gateway restarts, and pushes what a person said as one
message per utterance. The gateway's texts arrive as speech; each carries the gateway's own id, so one that is sent
again is not said again. There are no rooms and no files.
"""

from __future__ import annotations

from trunkline.core.channels import Ready
from trunkline.core.errors import CallEnded
from trunkline.core.events import Recorder
from trunkline.core.values import Address, Capabilities, Capability, Markup
from trunkline.sim.platforms.actions.rules import ActionRules
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.calls.callers import Callers
from trunkline.sim.platforms.calls.engine import FakeEngine
from trunkline.sim.platforms.calls.exchange import Exchange
from trunkline.sim.platforms.calls.speaking import Speaking
from trunkline.sim.platforms.rooms import Room, WorldPort, digits, letters
from trunkline.sim.scenario.model.scenario import PlatformSpec
from trunkline.sim.scenario.model.world import AccountSpec

_HEX = "0123456789abcdef"


class FakeVoice(FakePlatform):
    """People who call."""

    channel = "voice"
    rules = ActionRules()
    has_threads = False
    markup = Markup.STYLED
    text_limit = 120
    shows_names = False
    #: texts are sent as speech
    engine = FakeEngine()
    #: people on hold hear nothing
    keeps_waiting = True

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        super().__init__(world, spec, recorder)
        self.exchange = Exchange(self, world)
        self.people = Callers(self, world)
        self.wire = self.speaking = Speaking(self, world)

    def new_id(self, *what: str) -> str:
        """A phone number for a person, ``CA`` and hexadecimal digits for a call, ``SP...`` for an utterance."""
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        prefix = "CA" if what[0] == "call" else "SP"
        return f"{prefix}{letters(self.channel, *what, length=16, alphabet=_HEX)}"

    def _can(self, account: AccountSpec) -> Capabilities:
        """The capabilities of an account: only texts can be said."""
        found = super()._can(account)
        return Capabilities(
            can=found.can - {Capability.MEDIA},
            mode=found.mode,
            idempotency=found.idempotency,
            key_seconds=found.key_seconds,
            markup=found.markup,
            stable_ids=found.stable_ids,
            text_limit=found.text_limit,
        )

    def canonical(self, address: Address) -> tuple[str, str | None]:
        return address.conversation, address.thread

    def open_room(self, address: Address) -> Room:
        """The place, if something can be said there. Raises `Refused` and subclasses."""
        room = self.room_at(address)
        if room is not None and room.closed is not None:
            raise CallEnded(f"the call {address.thread} is over")
        return super().open_room(address)

    def is_within(self, room: Room, address: Address) -> bool:
        """A person's place holds all their calls."""
        if super().is_within(room, address):
            return True
        mine = room.thread is None and (room.owner, room.conversation) == (address.account, address.conversation)
        return mine and self.room_at(address) is not None

    def ready_at(self, place: Address) -> Ready:
        held = self.exchange.is_held(place)
        return Ready(ok=not held, reason="call-on-hold" if held else "")

    def heal(self) -> None:
        """End the calls on hold: nobody holds for ever."""
        self.exchange.end_held()

    @property
    def busy(self) -> bool:
        return super().busy or self.exchange.busy
