"""The servers of all platforms that can be put on the wire, and a world of them that listens."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trunkline.core.errors import UnknownName
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import WorldPort
from trunkline.sim.wire.attribution import Attribution

# Their library is an extra: which platforms there are is known without it.
if TYPE_CHECKING:
    from trunkline.sim.wire.server import WireListener, WireServer

#: platform -> module and class of its server
_SERVERS = {
    "telegram": ("trunkline.sim.wire.telegram.server", "TelegramServer"),
    "discord": ("trunkline.sim.wire.discord.server", "DiscordServer"),
    "slack": ("trunkline.sim.wire.slack.server", "SlackServer"),
    "matrix": ("trunkline.sim.wire.matrix.server", "MatrixServer"),
    "signal": ("trunkline.sim.wire.signal.server", "SignalServer"),
    "whatsapp": ("trunkline.sim.wire.whatsapp.server", "WhatsAppServer"),
}
#: the package that they listen with, an extra
SERVER_PACKAGE = "aiohttp"
#: the platforms that can be put on the wire
ON_THE_WIRE = tuple(_SERVERS)


def make_server(
    platform: FakePlatform, world: WorldPort, attribution: Attribution, epoch: float = 0.0
) -> "WireServer[Any]":
    """The server of a fake platform. Raises `UnknownName` for a platform that has none."""
    if platform.channel not in _SERVERS:
        raise UnknownName(f"{platform.channel} cannot be put on the wire; there are: {', '.join(ON_THE_WIRE)}")
    module, name = _SERVERS[platform.channel]
    return getattr(import_module(module), name)(platform, world, attribution, epoch)


@asynccontextmanager
async def listening(
    platforms: Mapping[str, FakePlatform], world: WorldPort, attribution: Attribution, epoch: float = 0.0
) -> "AsyncGenerator[dict[str, WireListener]]":
    """Servers of platforms, which listen while the block runs. `epoch`: see `WireServer.epoch`."""
    from trunkline.sim.wire.server import WireListener

    listeners = {
        name: WireListener(make_server(platform, world, attribution, epoch)) for name, platform in platforms.items()
    }
    try:
        for listener in listeners.values():
            await listener.open()
        yield listeners
    finally:
        for listener in listeners.values():
            await listener.close()
