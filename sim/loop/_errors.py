"""What can go wrong with simulated time itself.

SimulationError            the rules of the simulator were broken
├── Deadlock               nothing is ready and no timer is set
├── StepLimit              the step budget is used up
└── ForeignThread          another thread called into the loop
UnsupportedRuntime         (an ImportError) this interpreter or library cannot be made deterministic
"""

__all__ = ["Deadlock", "ForeignThread", "SimulationError", "StepLimit", "UnsupportedRuntime"]


class SimulationError(Exception):
    """A rule of the simulator was broken."""


class Deadlock(SimulationError):
    """Nothing is ready and no timer is set, so time can never go on.

    The message tells the virtual time, the step and the names of the tasks that wait.
    """


class StepLimit(SimulationError):
    """The run used up its step budget, most often because something spins without letting time pass.

    The message tells the virtual time, the step and the names of the tasks that are not done.
    """


class ForeignThread(SimulationError):
    """Another thread called into the loop.

    When a thread answers is decided by the operating system, so its answer would make the run depend on the machine.
    """


class UnsupportedRuntime(ImportError):
    """This interpreter or library lacks something that the simulator's determinism stands on.

    The message tells what was found and which versions work.
    """
