"""A world without a gateway, for tests of fake platforms: the test is the process."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast

import anyio
import pytest

from tests.support import factories
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import PlatformError
from trunkline.core.events import Body
from trunkline.core.values import Address, Envelope, IntentId, Receipt, SendRequest
from trunkline.sim.loop import Node, SimLoop, run
from trunkline.sim.platforms import PLATFORMS, FakeAdapter, adapter_to
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.world import CALLS, THREADLESS

PLACES = """
    accounts: {default: {}, second: {}}
    rooms:
      both: {threads: [deploy]}
      mine: {accounts: [default]}
"""
#: the platforms with rooms; `tests/contract/platforms/test_calls.py` has the others
ALL = [name for name in PLATFORMS if name not in CALLS]
#: there are threads
THREADED = [platform for platform in ALL if platform not in THREADLESS]
#: a room, a direct conversation, and a thread where there are threads
SPOTS = [
    (platform, spot)
    for platform in ALL
    for spot in ("mine", "@ana", "both/deploy")
    if spot != "both/deploy" or platform in THREADED
]
#: longer than any request takes by itself
LONG = 60.0


class Stage:
    """A world without a gateway: the test is the process."""

    def __init__(self, world: World) -> None:
        self.world = world

    def place(self, name: str) -> Address:
        return self.world.address(name)

    def thread(self, platform: str, name: str) -> Address:
        """A thread that was opened meanwhile."""
        room = self.world.platforms[platform].room_named("default", name)
        assert room is not None
        return room.address("default")

    def adapter(self, platform: str, account: str = "default", node: Node | None = None) -> FakeAdapter:
        return adapter_to(self.world.platforms[platform], account, node or Node("gateway", 1), self.world)

    def say(self, name: str, place: str, text: str = "hi", **more: Any) -> str:
        """A person posts a message; its id on the platform."""
        ref = self.world.file.resolve(place)
        platform, spot = self.world.platforms[ref.platform], self.world.room(ref)
        message = platform.message_id(name, spot)
        platform.people.say(name, self.world.peer(ref.platform, "ana"), ("dev",), spot, message, text, **more)
        return message

    def message(self, receipt: Receipt) -> BoardMessage:
        """The message of a receipt as people see it now."""
        platform = self.world.platforms[receipt.address.channel]
        found = platform.board.get(platform.open_room(receipt.address), receipt.provider_id)
        assert found is not None
        return found

    def fault(self, do: str, on: str = "send", **fields: Any) -> None:
        """One thing goes wrong next."""
        self.world.arm(Fault.model_validate({"on": on, "do": do, **fields}))

    def close(self, place: str, how: str = "archived") -> None:
        ref = self.world.file.resolve(place)
        self.world.platforms[ref.platform].threads.close(self.world.room(ref), how, None)

    def recorded(self, kind: type[Body]) -> list[Any]:
        """What the world recorded of a kind."""
        return [event.body for event in self.world.log.events if isinstance(event.body, kind)]

    async def taken(self, adapter: FakeAdapter, *, ack: bool = False) -> list[Envelope]:
        """What a new connection brings before nothing more comes."""
        found: list[Envelope] = []
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            with anyio.move_on_after(LONG):
                async for envelope in stream:
                    found.append(envelope)
                    if ack:
                        await adapter.ack(envelope)
        return found


Test = Callable[[Stage], Awaitable[None]]


def scenario(settings: dict[str, str], people: str) -> str:
    """All platforms and nobody in a hurry."""
    lines = ["scenario: 1", "title: all platforms", "world:", f"  people: {people}"]
    for platform in ALL:
        own = "guild: acme" if platform == "discord" else ""
        more = "".join(f"    {line}\n" for line in (own, settings.get(platform, "")) if line)
        places = PLACES if platform in THREADED else PLACES.replace("{threads: [deploy]}", "{}")
        lines.append(f"  {platform}:{places}{more}")
    lines += ["cast: {agents: {main: [{do: [{silent: true}]}]}}"]
    lines += ['script: [{at: 0s, as: ana, in: telegram/mine, say: "not played"}]']
    return "\n".join(lines)


def play(
    test: Test,
    settings: dict[str, str] | None = None,
    *,
    people: str = "[ana, ben]",
    replace: tuple[str, str] = ("", ""),
) -> None:
    """Run a test in a new world, in virtual time; `settings` are those of platforms."""
    file = load_text(scenario(settings or {}, people).replace(*replace))

    async def main(loop: SimLoop) -> None:
        world = World(file, loop, seed=1, bugs=())
        world.build()
        try:
            await test(Stage(world))
        finally:
            world.disk.discard()

    run(main)


def request(place: Address, text: str = "hello", **fields: Any) -> SendRequest:
    """A chunk on its way, by the transport that its platform has."""
    transport = PLATFORMS[place.channel].mode.first
    return factories.request(place, text, **{"transport": transport, **fields})


async def given_up(adapter: FakeAdapter, place: Address, key: str = "k1/0") -> None:
    """Send and stop waiting after a while."""
    with pytest.raises(TimeoutError):
        with anyio.fail_after(10.0):
            await adapter.send(request(place, key=key))


async def attempt(adapter: FakeAdapter, place: Address, **fields: Any) -> Receipt | PlatformError:
    try:
        return await adapter.send(request(place, **fields))
    except PlatformError as error:
        return error


def change(action: Action, receipt: Receipt, text: str = "", **fields: Any) -> ActionRequest:
    """A change of a message that a receipt names."""
    given: dict[str, Any] = {"key": f"{action.value}/0", "intent": IntentId("i1"), "attempt": 1, **fields}
    return ActionRequest(action=action, address=receipt.address, message_id=receipt.provider_id, text=text, **given)


async def act(
    adapter: FakeAdapter, action: Action, receipt: Receipt, text: str = "", **fields: Any
) -> Receipt | PlatformError:
    try:
        return await adapter.act(change(action, receipt, text, **fields))
    except PlatformError as error:
        return error
