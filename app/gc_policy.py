"""When the app's processes collect garbage. A full round over a long run takes several frames and frees almost nothing.

The policy: pause the collector while something large is built, freeze what survived, and run full rounds while the
app is idle. `trunkline.core.gc_tuning` is the policy of a process that serves a gateway.
"""

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

#: number of events from which a run is frozen after it was built
LARGE_RUN = 20_000
#: thresholds while the app is shown: full rounds come from `IdleCollector` alone, in practice
APP_THRESHOLDS = (2000, 10, 1000)
#: thresholds of a process that explores: its runs leave little garbage
WORKER_THRESHOLDS = (20_000, 50, 50)
#: collections of the middle generation that make a full round worth while
DUE = 10
#: seconds without a key before a full round
IDLE_SECONDS = 2.0


@contextmanager
def paused(size: int) -> Generator[None]:
    """Pause the collector while `size` objects are built, and freeze them if they are many."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        if size >= LARGE_RUN:
            gc.freeze()


@contextmanager
def loading() -> Generator[None]:
    """Pause the collector during imports and freeze what they define: a tenth of the time to the first picture."""
    with paused(LARGE_RUN):
        yield


def freeze_survivors() -> None:
    """Collect the young generations, then freeze the rest. Frozen garbage would never be freed."""
    gc.collect(1)
    gc.freeze()


def tune_worker() -> None:
    """Freeze what is loaded, and collect rarely: the policy of a process that runs scenarios one after another."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*WORKER_THRESHOLDS)


@contextmanager
def worker() -> Generator[None]:
    """Apply `tune_worker` to this process for a while."""
    before = gc.get_threshold()
    tune_worker()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


class IdleCollector:
    """Moves full rounds to when the app is idle. `set_timer` calls a function after some seconds."""

    def __init__(self, set_timer: Callable[[float, Callable[[], None]], object]) -> None:
        self._set_timer = set_timer
        self._thresholds = gc.get_threshold()
        self._last_activity = 0.0
        self._waiting = False

    def start(self) -> None:
        """Apply the thresholds of the app."""
        gc.set_threshold(*APP_THRESHOLDS)

    def stop(self) -> None:
        """Restore the thresholds from before."""
        gc.set_threshold(*self._thresholds)

    def activity(self) -> None:
        """Record that the app is used; schedules a full round if one is due."""
        self._last_activity = monotonic()
        if not self._waiting and gc.get_count()[2] >= DUE:
            self._waiting = True
            self._set_timer(IDLE_SECONDS, self._collect)

    def _collect(self) -> None:
        if monotonic() - self._last_activity < IDLE_SECONDS:
            self._set_timer(IDLE_SECONDS, self._collect)
        else:
            self._waiting = False
            gc.collect()
