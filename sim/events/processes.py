"""Simulated crashes, stops and freezes of gateway processes."""

from trunkline.sim.events.base import SimBody


class ProcessCrashed(SimBody, frozen=True, kw_only=True):
    """The process died: no callback of it ever runs again."""

    why: str
    #: the call stack of an unhandled error, the outermost call first
    frames: tuple[str, ...] = ()


class ProcessFrozen(SimBody, frozen=True, kw_only=True):
    """The gateway process is frozen, as if suspended, without noticing."""

    why: str


class ProcessThawed(SimBody, frozen=True, kw_only=True):
    """The frozen gateway process resumes."""


class ProcessStopped(SimBody, frozen=True, kw_only=True):
    """The process ended normally."""

    why: str
