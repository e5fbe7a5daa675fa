"""The stock event loop with a clock that jumps, as looptime and the like have it: the yardstick for speed and order."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.SelectSelector):
    """Waits for nothing: a timeout is added to the clock instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("nothing is ready and no timer is set")
        self.now += max(0.0, timeout)
        return []


class StockLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop in virtual time."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)
        self._clock_resolution = 1e-9
        self.timer_events = 0

    def time(self) -> float:
        return self._virtual.now


def run_stock(main: Callable[[Any], Awaitable[T]]) -> T:
    """Run main(loop) on a StockLoop."""
    loop = StockLoop()

    async def root() -> T:
        return await main(loop)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(root())
