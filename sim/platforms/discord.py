"""A fake Discord: guild channels, threads that are channels of their own, direct messages, and nonces.

Rules taken over from the real one: a thread started on a message has the message's id, and there is at most one; a
send with a nonce that was used is answered with the first message (``enforce_nonce``); at most 2000 characters, and 10
options in a poll. What a webhook says has no nonce that is enforced.
"""

from __future__ import annotations

from trunkline.core.values import Capability, ChatKind, Idempotency
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import Room, digits


class FakeDiscord(FakePlatform):
    """Guild channels, threads, users, DMs."""

    channel = "discord"
    extras = frozenset({Capability.POLL, Capability.PAYLOAD, Capability.EDIT, Capability.REACTIONS})
    poll_options = 10
    idempotency = Idempotency.KEY
    opens_threads = True
    identities = Idempotency.NONE
    text_limit = 2000
    room_kind = ChatKind.CHANNEL

    def new_id(self, *what: str) -> str:
        """A snowflake: 18 digits."""
        return digits(self.channel, *what, length=18)

    def message_id(self, name: str, room: Room) -> str:
        """Snowflakes are unique over the whole platform."""
        return self.new_id("said", name)

    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room:
        """A conversation of its own with a parent."""
        return Room(
            channel=self.channel,
            name=name,
            kind=parent.kind,
            conversation=thread_id,
            parent=parent.conversation,
            accounts=parent.accounts,
        )
