"""The bench of the adapter kit over a fake platform: a world without a gateway, and faults as its provocations."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from trunkline.core.channels import ChannelAdapter
from trunkline.core.testing.adapter_kit import Bench, SeenMessage
from trunkline.core.values import Address, DeliveryMode, Transport
from trunkline.sim.loop import Node, SimLoop
from trunkline.sim.platforms import adapter_to
from trunkline.sim.platforms.channels.voice import FakeVoice
from trunkline.sim.run.world import World
from trunkline.sim.scenario import PlaceRef, load_text
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.world import CALLS, THREADLESS

FILE = """\
scenario: 1
title: the kit
world:
  people: [ana, bo, cem]
  {platform}:
    rooms: {rooms}
    {settings}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""
ROOMS = "{one: {threads: [deploy]}, two: {}}"


class FakeBench(Bench):
    """A fake platform; its hooks are what the simulator can do."""

    shows = ("media", "poll", "payload", "html", "styles", "reactions", "pinned", "deleted")
    payload = '{"buttons": []}'
    media = ("https://example.org/lamp.png", "https://example.org/bulb.png")
    #: what the adapter is wrapped in
    wrap: Callable[[ChannelAdapter], ChannelAdapter] = staticmethod(lambda adapter: adapter)

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = world.platforms[platform]
        self._said = 0
        self._generation = 0
        self.adapter = self._make()
        room, direct, other = self._calls(platform) if platform in CALLS else self._rooms(platform)
        self.places = (room, direct, other)
        if platform not in THREADLESS:
            self.thread = world.address(f"{platform}/one/deploy")
        self.nowhere = (_elsewhere(room), _elsewhere(direct), *([] if self.thread is None else [_lost(self.thread)]))

    def _rooms(self, platform: str) -> tuple[Address, ...]:
        return tuple(self._world.address(f"{platform}/{name}") for name in ("one", "@ana", "two"))

    def _calls(self, platform: str) -> tuple[Address, ...]:
        """A call of each person, answered."""
        assert isinstance(self._platform, FakeVoice)
        found: list[Address] = []
        for name in ("ana", "bo", "cem"):
            line = self._world.room(PlaceRef(platform=platform, account="default", person=name))
            call = self._platform.exchange.call(line, self._world.peer(platform, name), "first")
            self._platform.exchange.answer_call(call)
            found.append(call.room.address("default"))
        return tuple(found)

    def _make(self) -> ChannelAdapter:
        self._generation += 1
        return self.wrap(adapter_to(self._platform, "default", Node("gateway", self._generation), self._world))

    async def accepted(self) -> Sequence[SeenMessage]:
        return [
            SeenMessage(
                address=message.receipt.address,
                text=message.text,
                key=message.request.key,
                provider_id=message.receipt.provider_id,
                transport=message.request.transport,
                media=message.request.media,
                poll=message.request.poll,
                payload=message.request.payload,
                html=message.request.html,
                styles=message.request.styles,
                reactions=message.emoji,
                pinned=message.pinned,
            )
            for message in self._platform.board.sent
        ]

    async def requests(self) -> int:
        return self._platform.wire.requests

    async def restart(self) -> ChannelAdapter:
        return self._make()

    def _fault(self, do: str, on: str = "send", seconds: float = 5.0, **fields: Any) -> None:
        self._world.arm(Fault.model_validate({"on": on, "do": do, "for": seconds, **fields}))

    async def lose_response(self) -> None:
        self._fault("lose-response")

    async def delay_response(self, seconds: float) -> None:
        self._fault("slow", seconds=seconds)

    async def reset_connection(self) -> None:
        self._fault("reset")

    async def refuse_connection(self) -> None:
        hybrid = self.adapter.capabilities.mode is DeliveryMode.HYBRID
        self._fault("refuse-connection", transport=Transport.DIRECT if hybrid else None)

    async def rate_limit(self, seconds: float) -> None:
        self._fault("rate-limit", seconds=seconds)

    async def refuse(self) -> None:
        self._fault("refuse")

    async def fail_look_up(self) -> None:
        self._fault("error", on="lookup")

    async def say(self, place: Address, text: str) -> None:
        room = self._platform.room_at(place)
        assert room is not None
        self._said += 1
        name = f"m{self._said}"
        peer = self._world.peer(self._platform.channel, "ana")
        self._platform.people.say(name, peer, (), room, self._platform.message_id(name, room), text)

    async def break_stream(self) -> None:
        self._fault("error", on="connect")
        self._world.faults.heal()

    async def unready(self) -> None:
        self._fault("error", on="ready")


def _elsewhere(place: Address) -> Address:
    """An address of the same form with nobody there."""
    return Address(
        channel=place.channel, account=place.account, kind=place.kind, conversation=f"{place.conversation}404"
    )


def _lost(thread: Address) -> Address:
    """A thread that is not there."""
    name = "thread" if thread.thread else "conversation"
    fields = {field: getattr(thread, field) for field in thread.__struct_fields__}
    return Address(**{**fields, name: "404"})


@asynccontextmanager
async def fake_bench(
    loop: SimLoop, platform: str, settings: str = "", kind: type[FakeBench] = FakeBench
) -> AsyncGenerator[FakeBench, None]:
    """A new world around one platform."""
    rooms = "{}" if platform in CALLS else ROOMS.replace("threads: [deploy]", "") if platform in THREADLESS else ROOMS
    file = load_text(FILE.format(platform=platform, rooms=rooms, settings=settings))
    world = World(file, loop, seed=1, bugs=())
    world.build()
    try:
        yield kind(world, platform)
    finally:
        world.disk.discard()
