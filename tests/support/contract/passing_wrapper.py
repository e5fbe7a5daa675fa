"""The base of the broken adapters."""

from typing import Any

from trunkline.core.values import Address
from trunkline.sim.bugs.wrappers import AdapterWrapper


class PassingWrapper(AdapterWrapper):
    """Passes edits and reactions on too."""

    inner: Any

    async def edit(self, address: Address, provider_id: str, text: str) -> None:
        await self.inner.edit(address, provider_id, text)

    async def react(self, address: Address, provider_id: str, emoji: str) -> None:
        await self.inner.react(address, provider_id, emoji)
