"""The bench of Matrix on the wire."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tests.support.wire.bench import WireBench
from trunkline.core.testing.adapter_kit import SeenMessage
from trunkline.sim.run.world import World
from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.matrix.server import MatrixServer


class MatrixBench(WireBench):
    """Matrix: files are uploaded, so the platform has their bytes and not their addresses."""

    platform = "matrix"
    config: dict[str, Any] = {  # noqa: RUF012 -- not changed
        "homeserver": "{url}",
        "user": "@bot-default:example.org",
        "token": {"env": "TOKEN"},
        "poll_seconds": 2,
        "request_timeout": 3,
    }

    def __init__(self, world: World, listener: WireListener, stack: AsyncExitStack) -> None:
        super().__init__(world, listener, stack)
        file = Path(stack.enter_context(TemporaryDirectory())) / "lamp.png"
        file.write_bytes(b"a lamp")
        self.media = (str(file),)

    async def accepted(self) -> Sequence[SeenMessage]:
        server = self.listener.server
        assert isinstance(server, MatrixServer)
        names = {address: self.media[0] for address, one in server.media.files.items() if one.body == b"a lamp"}
        return [
            msgspec.structs.replace(one, media=tuple(names.get(file, file) for file in one.media))
            for one in await super().accepted()
        ]
