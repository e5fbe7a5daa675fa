"""A fake Discord: guild channels, threads that are channels themselves, direct messages, and nonces.

Rules taken from the real platform: a message has at most one thread, with the message's id. A send with a used nonce
returns the first message (``enforce_nonce``); nonces of webhooks are not enforced. Limits: 2000 characters; 10 options
in a poll.
"""

from trunkline.core.events import Recorder
from trunkline.core.values import Capability, ChatKind, DeedKind, Idempotency
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.api.request_checks import PartLimits
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import Room, WorldPort, digits
from trunkline.sim.scenario.model.world import PlatformSpec

#: the smallest snowflake of a message
_BEGAN = 2 * 10**17

#: from https://discord.com/developers/docs/components/reference#button and /resources/poll#poll-create-request-object
PART_LIMITS = PartLimits(button_text=80, button_value=100, question=300, option=55)


class FakeDiscord(FakePlatform):
    channel = "discord"
    extras = frozenset(
        {
            *(Capability.POLL, Capability.PAYLOAD, Capability.SILENT, Capability.BUTTONS),
            *(Capability.COMPONENTS, Capability.EMBEDS),
        }
    )
    rules = ActionRules(deletes_others=True, pins=50)
    poll_options = 10
    part_limits = PART_LIMITS
    opens_threads = True
    identities = Idempotency.NONE
    text_limit = 2000
    room_kind = ChatKind.CHANNEL
    has_directory = True
    anonymous = frozenset({DeedKind.DELETE})

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        super().__init__(world, spec, recorder)
        self._messages: set[int] = set()

    def new_id(self, *what: str) -> str:
        """A snowflake: 18 digits."""
        return digits(self.channel, *what, length=18)

    def message_id(self, name: str, room: Room) -> str:
        return self._snowflake("said", name)

    def posted_id(self, room: Room, *what: str) -> str:
        return self._snowflake("message", room.conversation, *what)

    def _snowflake(self, *what: str) -> str:
        """The id of a message: its time in milliseconds, then seven digits hashed from names."""
        found = _BEGAN + int(self._world.id_time() * 1000) * 10**7 + int(digits(self.channel, *what, length=7))
        while found in self._messages:
            found += 1
        self._messages.add(found)
        return str(found)

    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room:
        return Room(
            channel=self.channel,
            name=name,
            kind=parent.kind,
            conversation=thread_id,
            parent=parent.conversation,
            accounts=parent.accounts,
        )
