"""People on four platforms at once: each asks in one place, waits for the answer, and asks again."""

import asyncio
from collections.abc import Callable
from random import Random

from tests.kill.platforms.record import Observer
from trunkline.sim.run.world import World

#: seconds until a person stops waiting: an answer in doubt is parked, and never comes
_PATIENCE = 8.0
#: seconds between an answer and the next question
_PAUSE = (0.02, 0.3)


class Asker:
    """A person in one place."""

    def __init__(self, world: World, observer: Observer, name: str, place: str, seed: int) -> None:
        self._world = world
        self._observer = observer
        #: letters only: it begins the marks of this person
        self._name = name
        self._place = world.place(place)
        self._random = Random(f"{seed}/{name}/{place}")
        self._count = 0

    async def ask(self, over: Callable[[], bool], *, pause: float = 0.0) -> None:
        """Ask one thing after the other until it is over; with so many seconds more between them."""
        while not over():
            self._count += 1
            mark = f"q{self._name}{self._count}"
            self._say(mark)
            await self._observer.answer(mark, _PATIENCE)
            await asyncio.sleep(pause + self._random.uniform(*_PAUSE))

    def _say(self, mark: str) -> None:
        platform = self._world.platforms[self._place.platform]
        room = self._world.room(self._place)
        peer = self._world.peer(platform.channel, self._place.person or self._name)
        self._observer.said(mark, room.address("default"))
        platform.people.say(mark, peer, (), room, platform.message_id(mark, room), f"please say {mark}")
