"""The bench of the adapter kit over the real Discord adapter and Discord on the wire."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec

from tests.support.wire.bench import WireBench, wire_bench
from trunkline.core.adapters.discord.adapter import DiscordAdapter
from trunkline.core.events import Body
from trunkline.core.testing.adapter_kit import SeenMessage
from trunkline.core.testing.adapter_kit.check_run import Inbox
from trunkline.core.values import Address, Envelope, IntentId, Peer, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.wire.discord.server import DiscordServer

T = TypeVar("T", bound=Body)
#: files beside this one, as the messages of the kit name them
_FILES = Path(__file__).parent


class DiscordBench(WireBench):
    """Discord on the wire. It shows files by their names, and the nonce instead of the key."""

    platform = "discord"
    config: dict[str, Any] = {  # noqa: RUF012 -- as the class that it is of
        "api_root": "{url}/api/v10",
        "token": {"env": "TOKEN"},
        "files": str(_FILES),
    }
    media = (str(_FILES / "discord.py"), "data:text/plain;name=lamp.txt;base64,bGFtcA==")

    @property
    def server(self) -> DiscordServer:
        """The server."""
        server = self.listener.server
        assert isinstance(server, DiscordServer)
        return server

    @property
    def bot(self) -> DiscordAdapter:
        """The adapter with all that it has beside `ChannelAdapter`."""
        assert isinstance(self.real, DiscordAdapter)
        return self.real

    @property
    def place(self) -> Address:
        """The first room."""
        return self.places[0]

    @property
    def ana(self) -> Peer:
        """The person who says everything."""
        return self._world.peer("discord", "ana")

    def recorded(self, kind: type[T]) -> list[T]:
        """What the log has of one kind."""
        return [event.body for event in self._world.log.events if isinstance(event.body, kind)]

    def fault(self, do: str, on: str = "send", seconds: float = 5.0, **fields: Any) -> None:
        """Arm a fault."""
        self._fault(do, on, seconds, **fields)

    def request(self, text: str, key: str = "k", place: Address | None = None, **fields: Any) -> SendRequest:
        """A send."""
        return SendRequest(
            address=place or self.place, text=text, key=key, intent=IntentId(key), chunk=0, attempt=1, **fields
        )

    def texts(self, place: Address | None = None) -> list[str]:
        """What the gateway has posted, in one place or anywhere."""
        sent = self._platform.board.sent
        return [one.text for one in sent if place is None or one.receipt.address.lane == place.lane]

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Inbox]:
        """An open connection; its errors are kept in the inbox."""
        inbox = Inbox()
        async with self.adapter.connect() as stream, anyio.create_task_group() as group:
            group.start_soon(inbox.listen, stream)
            try:
                yield inbox
            finally:
                group.cancel_scope.cancel()

    async def brought(self, inbox: Inbox, *texts: str, within: float = 5.0) -> list[Envelope]:
        """The messages with these texts, waited for."""
        assert await inbox.until(lambda: all(inbox.saying(text) for text in texts), within), (
            texts,
            [one.text for one in inbox.envelopes],
            inbox.over,
        )
        return [inbox.saying(text)[0] for text in texts]

    async def ended(self, inbox: Inbox, within: float = 5.0) -> Exception | str | None:
        """How the connection ended, waited for."""
        assert await inbox.until(lambda: inbox.over is not None, within)
        return inbox.over

    async def accepted(self) -> Sequence[SeenMessage]:
        names = {_name(one): one for one in self.media}
        found = await super().accepted()
        return [
            msgspec.structs.replace(one, key=None, media=tuple(names.get(name, name) for name in one.media))
            for one in found
        ]


def say_raw(bench: DiscordBench, payload: Any) -> None:
    """Send any payload to every client with a session, such as one of a future version."""
    for session in bench.server.hub.sessions.values():
        if session.link is not None:
            session.link.say(payload)


def _name(media: str) -> str:
    return "lamp.txt" if media.startswith("data:") else Path(media).name


def play(test: Callable[[DiscordBench], Awaitable[None]], settings: str = "", **config: Any) -> None:
    """Run a test on a new world with Discord on the wire, in real time. `config`: further settings of the account."""

    class Bench(DiscordBench):
        """With the settings of the test."""

    Bench.config = {**DiscordBench.config, **config}

    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, Bench, settings) as bench:
            assert isinstance(bench, DiscordBench)
            await test(bench)

    run_real_time(main)
