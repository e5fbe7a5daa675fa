"""A try as a value: a worker process plays it, which may be in a network namespace of its own."""

import msgspec

from trunkline.sim.attach.kill_points import KillPoint


class AttachJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A try for a worker process to play. Paths are absolute."""

    #: the scenario file and the profile
    scenario: str
    profile: str
    #: modules of plug-ins that were named
    plugins: tuple[str, ...] = ()
    #: where the gateway is installed
    install: str
    #: the version that is installed, for the trace; empty if it is not known
    version: str = ""
    #: a folder of its own for the gateway's state and log
    folder: str
    #: the trace file that it writes
    trace: str
    #: a folder in which states of gateways that have run before are kept, to be copied: the first worker that needs one
    #: makes it. Empty: each try starts with nothing
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
    #: another start would end so too
    final: bool = False
    #: warnings, such as that the network could not be closed off
    notes: tuple[str, ...] = ()
