"""The bench of the adapter kit over the real Discord adapter and Discord on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.support.wire.bench import WireBench
from trunkline.core.testing.adapter_kit import SeenMessage
from trunkline.sim.wire.discord.server import DiscordServer

#: files beside this one, as the messages of the kit name them
_FILES = Path(__file__).parent


class DiscordBench(WireBench):
    """Discord on the wire. It shows files by their names, and the nonce instead of the key."""

    platform = "discord"
    config: dict[str, Any] = {  # noqa: RUF012 -- as the class that it is of
        "api_root": "{url}/api/v10",
        "token": {"env": "TOKEN"},
    }
    media = (str(_FILES / "discord.py"), "data:text/plain;name=lamp.txt;base64,bGFtcA==")

    @property
    def server(self) -> DiscordServer:
        """The server."""
        server = self.listener.server
        assert isinstance(server, DiscordServer)
        return server

    async def accepted(self) -> Sequence[SeenMessage]:
        names = {_name(one): one for one in self.media}
        found = await super().accepted()
        return [
            msgspec.structs.replace(one, key=None, media=tuple(names.get(name, name) for name in one.media))
            for one in found
        ]


def _name(media: str) -> str:
    return "lamp.txt" if media.startswith("data:") else Path(media).name
