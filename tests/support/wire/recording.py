"""Asks a fake over HTTP, and keeps its answers for a check against published types."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientSession

from tests.support.wire.descriptions import RecordedAnswer
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.wire.fakes.fakes import Fakes, world_of_ours


class Recording:
    """A fake of one platform, asked by a client that is no library."""

    def __init__(self, fakes: Fakes, platform: str, client: ClientSession) -> None:
        self.fakes = fakes
        self.server = fakes.listeners[platform].server
        self.client = client
        self.answers: list[RecordedAnswer] = []

    @property
    def token(self) -> str:
        """The token of the only account."""
        return self.server.token("default", self.server.platform.tokens.newest("default"))

    async def ask(self, type: str, method: str, path: str, **request: Any) -> Any:  # noqa: A002 -- the word
        """Ask, and record the answer as one of a type."""
        async with self.client.request(method, f"{self.server.url}{path}", **request) as response:
            value = await response.json() if response.content_length != 0 and response.status != 204 else None
        if value is not None:
            self.answers.append(
                RecordedAnswer(type, value, f"{method} {path.rsplit('/', maxsplit=1)[-1]} [{response.status}]")
            )
        return value


def recorded(platform: str, ask: Callable[[Recording], Awaitable[None]]) -> list[RecordedAnswer]:
    """The answers of a fake to what a test asks."""

    async def main(loop: RealTimeLoop) -> list[RecordedAnswer]:
        fakes = Fakes(world_of_ours([platform]), [platform], loop)
        await fakes.open()
        try:
            async with ClientSession() as client:
                recording = Recording(fakes, platform, client)
                await ask(recording)
                return recording.answers
        finally:
            await fakes.close()
            fakes.world.disk.discard()

    return run_real_time(main)
