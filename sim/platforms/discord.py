"""A fake Discord: guild channels, threads that are channels themselves, direct messages, and nonces.

Rules taken from the real platform: a message has at most one thread, with the message's id. A send with a used nonce
returns the first message (``enforce_nonce``); nonces of webhooks are not enforced. Limits: 2000 characters; 10 options
in a poll.
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

    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room:
        """A separate conversation with a parent."""
        return Room(
            channel=self.channel,
            name=name,
            kind=parent.kind,
            conversation=thread_id,
            parent=parent.conversation,
            accounts=parent.accounts,
        )
