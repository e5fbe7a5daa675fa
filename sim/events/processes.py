"""Simulated crashes, stops and freezes of gateway processes."""

from typing import ClassVar

from trunkline.sim.events.base import SimBody


class ProcessCrashed(SimBody, frozen=True, kw_only=True):
    """The process died: no callback of it ever runs again."""

    kind: ClassVar[str] = "process.crashed"
    why: str
    #: the call stack of an unhandled error, the outermost call first
    frames: tuple[str, ...] = ()


class ProcessFrozen(SimBody, frozen=True, kw_only=True):
    """The gateway process is frozen, as if suspended, without noticing."""

    kind: ClassVar[str] = "process.frozen"
    why: str


class ProcessThawed(SimBody, frozen=True, kw_only=True):
    """The frozen gateway process resumes."""

    kind: ClassVar[str] = "process.thawed"


class ProcessStopped(SimBody, frozen=True, kw_only=True):
    """The process ended normally."""

    kind: ClassVar[str] = "process.stopped"
    why: str
