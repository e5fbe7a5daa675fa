"""Our homeserver on the wire answers as a real one does, but for what `differences.txt` lists with its reason."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

from tests.matrix.requests import REQUESTS
from tests.support.contract.fake_platform_double import FILE, ROOMS
from tests.support.synapse.bench import Town
from tests.support.synapse.comparing import Given, answers, differences
from tests.support.synapse.homeserver import needs_synapse
from trunkline.core.env import system_env
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.servers import listening

pytestmark = needs_synapse()
#: line of a difference, then its reason below it, indented
TABLE = Path(__file__).parent / "differences.txt"


def listed() -> dict[str, str]:
    """The differences in the table, `*` for any text, and their reasons; a reason holds for all lines before it."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("    "):
            found.update(dict.fromkeys(waiting, line.strip()))
            waiting.clear()
        elif line and not line.startswith("#"):
            waiting.append(line)
    assert not waiting, f"no reason: {waiting}"
    return found


def ours() -> tuple[dict[str, Given], dict[str, str]]:
    """What our homeserver answers, and the facts that it gave."""

    async def main(loop: RealTimeLoop) -> tuple[dict[str, Given], dict[str, str]]:
        world = World(load_text(FILE.format(platform="matrix", rooms=ROOMS, settings="")), loop, seed=1, bugs=())
        world.build()
        epoch = system_env().now() - world.now()
        async with AsyncExitStack() as stack:
            stack.callback(world.disk.discard)
            listeners = await stack.enter_async_context(listening(world.platforms, world, Attribution(), epoch=epoch))
            server, platform = listeners["matrix"].server, world.platforms["matrix"]
            world.address("matrix/@ana")
            facts = {
                "room": world.address("matrix/one").conversation,
                "me": platform.bot_id("default"),
                "person": world.peer("matrix", "ana").id,
                "home": "example.org",
                "closed": "!closed:example.org",
            }
            return await answers(server.url, server.token("default", 1), facts, REQUESTS), facts

    return run_real_time(main)


async def _real(town: Town) -> tuple[dict[str, Given], dict[str, str]]:
    bot = town.server.user("compared")
    closed, room = (town.ana.create_room(*invited, name="room") for invited in ((), (bot,)))
    bot.join(room)
    bot.ask("PUT", f"/user/{bot.id}/account_data/m.direct", {town.ana.id: [room]})
    levels = town.ana.ask("GET", f"/rooms/{room}/state/m.room.power_levels")
    town.ana.ask("PUT", f"/rooms/{room}/state/m.room.power_levels", {**levels, "users": {bot.id: 50}})
    home = bot.id.partition(":")[2]
    facts = {"room": room, "me": bot.id, "person": town.ana.id, "home": home, "closed": closed}
    return await answers(town.server.url, bot.token, facts, REQUESTS), facts


def test_both_answer_alike(town: Town) -> None:
    async def main(loop: RealTimeLoop) -> tuple[dict[str, Given], dict[str, str]]:
        return await _real(town)

    mine, my_facts = ours()
    real, facts = run_real_time(main)
    for given in (my_facts, facts):
        assert given["again"] == given["message"]
    found = differences(mine, real)
    table = listed()
    new = [one for one in found if not any(_fits(one, line) for line in table)]
    assert not new, "\n".join(new)
    stale = [line for line in table if not any(_fits(one, line) for one in found)]
    assert not stale, "\n".join(stale)


def _fits(difference: str, line: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in line.split("*")), difference) is not None
