"""A button or a poll that a platform would refuse is refused by its fake in memory too, and not only on the wire."""

from typing import Any

from tests.support.for_each import for_each
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import IntentId, Poll, Receipt, SendRequest, Transport
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: one platform
world: {{people: [ana], {platform}: {{rooms: {{one: {{}}}}}}}}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""


def button(text: str, value: str = "", url: str | None = None) -> dict[str, Any]:
    return {"parts": MessageParts(buttons=((Button(text=text, value=value, url=url),),))}


def poll(question: str, option: str) -> dict[str, Any]:
    return {"poll": Poll(question=question, options=(option, "another"))}


#: platform, what it takes, what is one too long
CASES = [
    ("telegram", button("lamp", "x" * 64), button("lamp", "x" * 65)),
    ("telegram", button("lamp", "\u00fc" * 32), button("lamp", "\u00fc" * 33)),
    # A button without a value sends its label.
    ("telegram", button("x" * 64), button("x" * 65)),
    ("telegram", poll("x" * 300, "y" * 100), poll("x" * 301, "y")),
    ("telegram", poll("x", "y"), poll("x", "y" * 101)),
    ("discord", button("x" * 80, "v" * 100), button("x" * 81, "v")),
    ("discord", button("x", "v" * 100), button("x", "v" * 101)),
    ("discord", poll("x" * 300, "y" * 55), poll("x", "y" * 56)),
    ("slack", button("x" * 75, "v" * 2000), button("x", "v" * 2001)),
    ("slack", button("x" * 75), button("x" * 76)),
]


@for_each(("platform", "good", "bad"), CASES)
def test_the_longest_part_is_taken_and_a_longer_one_refused(
    platform: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    async def main(loop: SimLoop) -> list[object]:
        world = World(load_text(WORLD.format(platform=platform)), loop, seed=1, bugs=())
        world.build()
        try:
            return [await answer(world, platform, f"k{number}", parts) for number, parts in enumerate((good, bad))]
        finally:
            world.disk.discard()

    taken, refused = run(main)
    assert isinstance(taken, Receipt)
    assert type(refused) is Refused


async def answer(world: World, platform: str, key: str, parts: dict[str, Any]) -> object:
    """What the platform answers to a send: a receipt or an error."""
    future = world.future()
    request = SendRequest(
        address=world.address(f"{platform}/one"),
        text="hello",
        key=key,
        intent=IntentId(key),
        chunk=1,
        attempt=1,
        transport=Transport.DIRECT,
        **parts,
    )
    world.platforms[platform].wire.receive(request, future, 1)
    try:
        return await future
    except Refused as error:
        return error
