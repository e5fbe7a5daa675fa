"""How a gateway process gets its adapters: objects in memory, or real ones with connections of their own."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from trunkline.core.channels import ChannelAdapter
from trunkline.core.events import EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.store import Store
from trunkline.sim.loop import Node
from trunkline.sim.platforms.base import FakePlatform

#: makes the adapter of an account that reaches its platform in memory
InMemory = Callable[[], ChannelAdapter]


class ProcessAdapters:
    """Makes the adapters of all processes of a run, and knows what happens to them with their process.

    These reach their platform in memory: nothing of them is open when their process is dead.
    """

    def open(self, platforms: Mapping[str, FakePlatform]) -> AbstractAsyncContextManager[None]:
        """Make the platforms reachable, while the block runs."""
        return nullcontext()

    async def wait_until_connected(self) -> None:
        """Wait until the accounts of the first process receive what people write; in memory, that waits for them."""

    def make(
        self, in_memory: InMemory, platform: FakePlatform, account: str, node: Node, store: Store, events: EventSink
    ) -> ChannelAdapter:
        """The adapter of a process for one account. `store` and `events` are those of its gateway."""
        return in_memory()

    def serve(self, gateway: Gateway, node: Node) -> Coroutine[Any, Any, None]:
        """The work of a process, from the start to the end."""
        return gateway.run()

    def close_process(self, node: Node) -> None:
        """Close what a process that has ended left open."""
