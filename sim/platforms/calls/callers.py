"""People of a platform with calls: what they say is heard in a call, and reaches the gateway when they have said it."""

from __future__ import annotations

from functools import partial

from trunkline.core.values import Peer
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Speaker
from trunkline.sim.platforms.calls.hosts import CallsHost
from trunkline.sim.platforms.people import People
from trunkline.sim.platforms.rooms import Room, WorldPort


class Callers(People):
    """The people who call."""

    def __init__(self, platform: CallsHost, world: WorldPort) -> None:
        super().__init__(platform, world)
        self._voice = platform

    def say(
        self,
        name: str,
        person: Peer,
        roles: tuple[str, ...],
        room: Room,
        message_id: str,
        text: str,
        *,
        secret: str = "",
        reply_chain: str | None = None,
        speaker: Speaker = PERSON,
        cause: int | None = None,
    ) -> None:
        """Say something in the call that a place means. Raises `UnknownName` if nobody hears it."""

        def post(call: Room) -> None:
            # `super()` needs the class inside a nested function.
            say = partial(People.say, self, name, person, roles, call, message_id, text)
            say(secret=secret, reply_chain=reply_chain, speaker=speaker, cause=cause)

        self._voice.exchange.talk(room, name, text, post)
