"""A try as a value: a worker process plays it, which may be in a network namespace of its own."""

from __future__ import annotations

import msgspec

from trunkline.sim.attach.kill_points import KillPoint


class AttachJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A try for a worker process to play. Paths are absolute."""

    #: the scenario file and the profile
    scenario: str
    profile: str
    #: where the gateway is installed
    install: str
    #: the version that is installed, for the trace; empty if it is not known
    version: str = ""
    #: a folder of its own for the gateway's state and log
    folder: str
    #: the trace file that it writes
    trace: str
    #: a folder with the state of a gateway that has run before, which is copied; empty: it starts with nothing
    warm: str = ""
    #: a folder in which such states are kept: the first worker that needs one makes it. Empty: none is made
    states: str = ""
    #: where the gateway is killed in addition to the script (`trunkline attach --explore`)
    kill_at: KillPoint | None = None
    #: seconds, instead of those of the profile
    patience: float | None = None
    settle: float | None = None
    #: the options of the command that it is played by, for the trace
    options: tuple[str, ...] = ()


class AttachOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a try ended. `problem`: why it could not be played to its end; the trace may then be short or missing."""

    problem: str = ""
    #: the last lines of the gateway's log, if that is the problem
    log: tuple[str, ...] = ()
    #: warnings, such as that the network could not be closed off
    notes: tuple[str, ...] = ()
