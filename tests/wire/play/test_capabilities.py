"""The adapters on the wire have the actions that their platforms have in memory, but for those that do not fit."""

import msgspec
import pytest

from tests.support.wire.bench import MemoryCursors
from trunkline.core.action_catalogue import Action
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.env import system_env
from trunkline.core.values import Capabilities
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.play.accounts import account_on
from trunkline.sim.wire.play.fit import LACKING
from trunkline.sim.wire.servers import ON_THE_WIRE, listening

FILE = f"""
scenario: 1
title: every platform
world: {{people: [ana], {", ".join(f"{name}: {{}}" for name in ON_THE_WIRE)}}}
cast: {{agents: {{main: [{{do: [{{reply: "yes"}}]}}]}}}}
script: [{{at: 0s, note: nothing}}]
"""
#: what differs beside actions and does not change what a scenario may ask for; the time of keys is in the fit
DIFFERENT = {
    "discord": {"key_seconds"},
    "matrix": {"key_seconds"},
    # In memory it is WhatsApp of the web; the Cloud API has buttons, no polls, and shorter captions.
    "whatsapp": {"can", "mode", "poll_options", "caption_limit", "button_text_limit"},
}


@pytest.fixture(scope="module")
def capabilities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Capabilities, Capabilities]]:
    """Platform -> what its adapter says, and what the fake in memory says."""

    async def main(loop: RealTimeLoop) -> dict[str, tuple[Capabilities, Capabilities]]:
        world = World(load_text(FILE), loop, seed=1, bugs=())
        world.build()
        folder = tmp_path_factory.mktemp("files")
        found: dict[str, tuple[Capabilities, Capabilities]] = {}
        async with listening(world.platforms, world, Attribution()) as listeners:
            for name, platform in world.platforms.items():
                reached = account_on(listeners[name].server, platform, "default")
                host = AdapterHost(
                    account="default",
                    env=system_env(),
                    cursors=MemoryCursors(),
                    events=world.events,
                    folder=folder,
                    environ=reached.environ,
                )
                found[name] = (make_adapter(reached.config, host).capabilities, platform.capabilities["default"])
        world.disk.discard()
        return found

    return run_real_time(main)


@pytest.mark.parametrize("platform", ON_THE_WIRE)
def test_the_actions_that_an_adapter_lacks_are_those_of_the_fit(
    capabilities: dict[str, tuple[Capabilities, Capabilities]], platform: str
) -> None:
    real, fake = capabilities[platform]
    assert fake.actions - real.actions == LACKING.get(platform, frozenset[Action]())
    assert real.actions <= fake.actions


@pytest.mark.parametrize("platform", ON_THE_WIRE)
def test_nothing_else_differs_unseen(capabilities: dict[str, tuple[Capabilities, Capabilities]], platform: str) -> None:
    real, fake = capabilities[platform]
    fields = set(msgspec.structs.asdict(real)) - {"actions"}
    assert {one for one in fields if getattr(real, one) != getattr(fake, one)} == DIFFERENT.get(platform, set())
