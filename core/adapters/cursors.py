"""The cursors of an account in the gateway's own store."""

from trunkline.core.store.cursors import FindCursor, SaveCursor
from trunkline.core.store.port import Store, answer


class StoreCursors:
    """`trunkline.core.adapters.port.Cursors` of an account, in a store."""

    def __init__(self, store: Store, channel: str, account: str) -> None:
        self._store = store
        self._channel = channel
        self._account = account

    async def load(self, name: str) -> str | None:
        return await self._store.read(FindCursor(channel=self._channel, account=self._account, name=name))

    async def save(self, name: str, value: str) -> None:
        command = SaveCursor(channel=self._channel, account=self._account, name=name, value=value)
        await self._store.write(command, answer)
