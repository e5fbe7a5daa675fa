"""One run of one scenario, as reports take it."""

from __future__ import annotations

import msgspec

from trunkline.app.runs.model import Run


class TimedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and how long it took."""

    run: Run
    #: CPU seconds
    spent: float

    @property
    def holds(self) -> bool:
        """Whether every invariant and every expectation holds."""
        return self.run.holds
