"""hikari, which reads Discord's objects strictly, understands the fake: gateway with compression, events, REST."""

from pathlib import Path
from typing import Any

import anyio

from tests.support.wire.discord import DiscordBench, play
from tests.support.wire.second_clients import needs_second, run_second
from trunkline.sim.events.world import PlatformConnected

GUILD = "810000000000000001"
SCRIPT = Path(__file__).parent / "hikari_script.py"


@needs_second("hikari")
def test_hikari_understands_every_answer() -> None:
    seen: dict[str, Any] = {}

    async def test(bench: DiscordBench) -> None:
        room, direct = bench.places[:2]
        assert bench.thread is not None

        async def script() -> None:
            server = bench.server
            args = (f"{server.url}/api/v10", server.token("default", 1), room.conversation, GUILD)
            seen.update(await run_second("hikari", SCRIPT, *args))

        async with anyio.create_task_group() as group:
            group.start_soon(script)
            while not bench.recorded(PlatformConnected):  # noqa: ASYNC110 -- the log notifies nobody
                await anyio.sleep(0.05)
            for place, text in ((room, "in a room"), (direct, "directly"), (bench.thread, "in a thread")):
                await bench.say(place, text)
                await anyio.sleep(0.2)
        texts = {"again from hikari", "in a thread", "by a hook", "a file"}
        assert set(bench.texts()) == texts

    play(test, settings=f'guild: "{GUILD}"')
    assert seen["heard"] == [
        ["guild", "in a room", "ana"],
        ["direct", "directly", "ana"],
        ["guild", "in a thread", "ana"],
    ]
    assert seen["guilds"] == [GUILD]
    assert seen["edited"] == "edited by hikari"
    assert len(seen["reactors"]) == 1
    assert seen["thread"][0]
    assert seen["in_thread"]
    assert seen["history"] == ["again from hikari", "edited by hikari", "in a room"]
    assert seen["webhook"] == [True, "somebody"]
    assert (seen["channel"], seen["channels"], seen["guild"]) == ("one", ["one", "two"], GUILD)
    assert seen["files"] == ["lamp.txt"]
    assert seen["no message"] == ["NotFoundError", 10008]
    assert seen["no channel"] == ["NotFoundError", 10003]
    assert seen["empty"] == ["BadRequestError", 50006]
