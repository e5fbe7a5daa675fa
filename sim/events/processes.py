"""How gateway processes end, freeze and go on, as the simulator makes them."""

from __future__ import annotations

from typing import ClassVar

from trunkline.sim.events.base import SimBody


class ProcessCrashed(SimBody, frozen=True, kw_only=True):
    """The process died: no callback of it ever runs again."""

    kind: ClassVar[str] = "process.crashed"
    why: str
    #: of an error of its own: where it was raised and through what, the outermost call first
    frames: tuple[str, ...] = ()


class ProcessFrozen(SimBody, frozen=True, kw_only=True):
    """The gateway process stands still, as if suspended: it does nothing, and does not know it."""

    kind: ClassVar[str] = "process.frozen"
    why: str


class ProcessThawed(SimBody, frozen=True, kw_only=True):
    """The gateway process goes on where it stood still."""

    kind: ClassVar[str] = "process.thawed"


class ProcessStopped(SimBody, frozen=True, kw_only=True):
    """The process ended in order."""

    kind: ClassVar[str] = "process.stopped"
    why: str
