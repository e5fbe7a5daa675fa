"""What the adapters of real platforms can do, and what the fake platforms of the simulator can do, is the same.

So a promise that holds in the simulator holds on the platform. What differs is listed, each with its reason.
"""

from typing import Any

import msgspec
import pytest

from tools.doc_platforms import adapter_of, promises_table
from trunkline.core.adapters.config import PLATFORMS
from trunkline.core.channels import check_capabilities
from trunkline.core.channels.registry import rules_for
from trunkline.core.values import Capabilities, Idempotency
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: one platform
world:
  people: [ana]
  {platform}: {{rooms: {{one: {{}}}}{settings}}}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""

#: what makes the fake the account that the adapter is for
SETTINGS = {"whatsapp": ", mode: direct"}
_FORGETS = "a fake keeps keys for good, unless `key_seconds` of its scenario says how long the platform does"
#: (platform, field) -> what only the adapter has, what only the fake has, and why
DIFFERENCES: dict[tuple[str, str], tuple[object, object, str]] = {
    ("telegram", "actions"): (
        set[str](),
        {"poll-results", "sticker-search"},
        "the Bot API answers neither: results of a poll only come as updates, and stickers cannot be searched",
    ),
    ("discord", "key_seconds"): (120.0, None, _FORGETS),
    ("matrix", "key_seconds"): (1800.0, None, _FORGETS),
}


def fake_of(platform: str) -> Capabilities:
    async def main(loop: SimLoop) -> Capabilities:
        world = World(
            load_text(WORLD.format(platform=platform, settings=SETTINGS.get(platform, ""))), loop, seed=1, bugs=()
        )
        world.build()
        try:
            return world.platforms[platform].capabilities["default"]
        finally:
            world.disk.discard()

    return run(main)


def difference(real: Any, fake: Any) -> tuple[object, object]:
    """What each has that the other lacks; of sets the members."""
    if isinstance(real, frozenset):
        return {str(one) for one in real - fake}, {str(one) for one in fake - real}
    return real, fake


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_adapter_can_what_the_fake_can(platform: str) -> None:
    real, fake = msgspec.structs.asdict(adapter_of(platform).capabilities), msgspec.structs.asdict(fake_of(platform))
    found = {name: difference(real[name], fake[name]) for name in real if real[name] != fake[name]}
    listed = {name: (mine, other) for (of, name), (mine, other, _) in DIFFERENCES.items() if of == platform}
    assert found == listed


def test_each_difference_has_a_reason() -> None:
    assert all(len(reason) > 20 for _, _, reason in DIFFERENCES.values())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_an_adapter_declares_is_consistent(platform: str) -> None:
    adapter = adapter_of(platform)
    assert (adapter.channel, adapter.account) == (platform, "default")
    assert check_capabilities(adapter.capabilities) == ()
    rules = rules_for(platform)
    assert adapter.capabilities.text_limit <= rules.text_limit
    assert adapter.capabilities.actions <= set(rules.actions)


def test_keys_are_claimed_only_where_platforms_have_them() -> None:
    kinds = {name: adapter_of(name).capabilities.idempotency for name in PLATFORMS}
    assert kinds == {
        "telegram": Idempotency.NONE,
        "discord": Idempotency.KEY,
        "slack": Idempotency.NONE,
        "matrix": Idempotency.KEY,
        "signal": Idempotency.NONE,
        "whatsapp": Idempotency.NONE,
    }
    assert adapter_of("discord").capabilities.key_seconds is not None, "Discord forgets nonces after minutes"


def test_the_table_of_promises_has_every_platform() -> None:
    head = promises_table().splitlines()[0]
    assert all(name in head for name in PLATFORMS)
