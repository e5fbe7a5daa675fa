"""Simulated processes, and the mark that tells which of them a callback belongs to."""

from contextvars import Context, ContextVar, copy_context

from trunkline.sim.loop._compat import LoopHandle

__all__ = ["NODE", "Node"]


class Node:
    """One incarnation of a simulated process.

    Everything that is scheduled while NODE holds this node belongs to it: tasks, timers, done callbacks and queued
    statements. A restart is a new Node with the next generation, never the old one again.
    """

    __slots__ = ("alive", "generation", "held", "name", "still")

    def __init__(self, name: str, generation: int = 0) -> None:
        self.name = name
        #: Counts the incarnations of one process, from 0.
        self.generation = generation
        #: False for ever after kill().
        self.alive = True
        #: True while none of its callbacks runs: it is dead or frozen.
        self.still = False
        #: what would have run since it was frozen
        self.held: list[LoopHandle] = []

    def kill(self) -> None:
        """Stop this incarnation as SIGKILL would: none of its callbacks and timers runs any more.

        No finally block runs, nothing is cancelled, and nobody is told. A callback that is just running goes on until
        it returns to the loop. Killing twice is killing once.
        """
        self.alive = False
        self.still = True
        self.held.clear()

    @property
    def frozen(self) -> bool:
        """Whether it lives and stands still."""
        return self.still and self.alive

    def freeze(self) -> None:
        """Stop this incarnation as SIGSTOP would: its callbacks and timers wait until the loop thaws it.

        It learns nothing of it, but from a clock. A callback that is just running goes on until it returns to the loop.
        """
        self.still = True

    def context(self) -> Context:
        """Return a copy of the current context that belongs to this node, for `loop.create_task(..., context=...)`."""
        context = copy_context()
        context.run(NODE.set, self)
        return context

    def __repr__(self) -> str:
        state = " dead" if not self.alive else " frozen" if self.still else ""
        return f"<Node {self.name}#{self.generation}{state}>"


#: The process that the running callback belongs to; None is the world outside of all processes, which never dies.
NODE: ContextVar[Node | None] = ContextVar("sim_node", default=None)
