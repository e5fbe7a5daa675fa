"""Checks the adapter of echo.py against its contract, and prints the report.

    python docs/examples/check_adapter.py

A bench connects the kit to an adapter and its platform: it reports accepted messages, and provokes what the kit cannot
provoke by itself. This one can let people write. It cannot lose answers or break connections, so those checks are
reported as not tried.
"""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
import msgspec
from echo import ANA, BEN, Loopback

from trunkline import Address, system_env
from trunkline.core.testing.adapter_kit import Bench, KitReport, SeenMessage, check_channel_adapter


class LoopbackBench(Bench):
    """The in-memory platform, as the kit sees it."""

    def __init__(self) -> None:
        self.adapter = self.platform = Loopback(system_env())
        self.places = (ANA, BEN)
        self.nowhere = (msgspec.structs.replace(ANA, conversation="nobody"),)
        self._said = 0

    async def accepted(self) -> Sequence[SeenMessage]:
        """The messages that people can see."""
        return [
            SeenMessage(address=request.address, text=request.text, key=request.key, provider_id=str(number))
            for number, request in enumerate(self.platform.accepted, 1)
        ]

    async def say(self, place: Address, text: str) -> None:
        """A person writes to the bot."""
        self._said += 1
        self.platform.say(text, message_id=str(self._said), place=place)


@asynccontextmanager
async def make_adapter() -> AsyncGenerator[Bench, None]:
    """A new adapter for each check; a real one would open and close its sandbox here."""
    yield LoopbackBench()


async def main() -> KitReport:
    """Run all checks, with short waits: an in-memory platform answers at once."""
    return await check_channel_adapter(make_adapter, patience=1.0, settle=0.01)


if __name__ == "__main__":
    report = anyio.run(main)
    sys.stdout.write(f"{report}\n")
    report.raise_for_failures()
