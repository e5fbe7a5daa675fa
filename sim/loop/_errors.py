"""Errors of simulated time.

SimulationError            a rule of the simulator was broken
├── Deadlock               nothing is ready and no timer is set
├── StepLimit              the step budget is used up
└── ForeignThread          another thread called into the loop
UnsupportedRuntime         (an ImportError) this interpreter or library cannot be made deterministic
"""


class SimulationError(Exception):
    """A rule of the simulator was broken."""


class Deadlock(SimulationError):
    """The loop has no ready callback and no timer, so time cannot advance.

    The message has the virtual time, the step and the names of the waiting tasks.
    """


class StepLimit(SimulationError):
    """The run used up its step budget, usually because a task spins without letting time pass.

    The message has the virtual time, the step and the names of the unfinished tasks.
    """


class ForeignThread(SimulationError):
    """Another thread called into the loop.

    The operating system decides when a thread answers, so the run would depend on the machine.
    """


class UnsupportedRuntime(ImportError):
    """The interpreter or a library lacks something that the simulator's determinism depends on.

    The message says what was found and which versions work.
    """
