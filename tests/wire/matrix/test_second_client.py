"""The homeserver on the wire against another client library."""

import asyncio
from pathlib import Path

from tests.support.wire.matrix import MatrixBench, play_matrix
from tests.support.wire.second_clients import needs_second, run_second

SCRIPT = Path(__file__).with_name("nio_script.py")


@needs_second("matrix-nio")
def test_nio_understands_every_answer() -> None:
    async def test(bench: MatrixBench) -> None:
        room = bench.places[0].conversation
        await bench.say(bench.places[0], "hello")
        await asyncio.sleep(0.2)
        facts = (bench.server.token("default", 1), bench.server.platform.bot_id("default"), room)
        person = bench.world.peer("matrix", "ana").id
        assert await run_second("matrix-nio", SCRIPT, bench.server.url, *facts, person, "hello") == []
        # What it has done is in the world: an edited message with a reaction and a pin; the other one is deleted.
        [message] = await bench.accepted()
        assert (message.text, message.reactions, message.pinned) == ("two", ("+",), True)
        assert bench.server.platform.pushes.waiting == 0

    play_matrix(test)
