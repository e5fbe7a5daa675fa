"""Fake platforms, which enforce their own rules and record the wire truth."""

from trunkline.core.declared import classes_in
from trunkline.sim.platforms import channels
from trunkline.sim.platforms.adapter import FakeAdapter, adapter_to
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.scenario.model import world

_kinds = {kind.channel: kind for kind in classes_in(channels.__path__, channels.__name__, FakePlatform, "channel")}
#: the fake platform of each name in `world`
PLATFORMS: dict[str, type[FakePlatform]] = {name: _kinds[name] for name in world.PLATFORMS}

__all__ = ["PLATFORMS", "FakeAdapter", "FakePlatform", "Room", "adapter_to"]
