"""Simulated processes, and the context variable that assigns callbacks to them."""

from contextvars import Context, ContextVar, copy_context

from trunkline.sim.loop._compat import LoopHandle


class Node:
    """An incarnation of a simulated process.

    Everything scheduled while NODE holds this node belongs to it: tasks, timers, done callbacks and queued statements.
    A restart is a new Node with the next generation.
    """

    __slots__ = ("alive", "generation", "held", "name", "still")

    def __init__(self, name: str, generation: int = 0) -> None:
        self.name = name
        #: Number of the incarnation, from 0.
        self.generation = generation
        #: False after kill(), permanently.
        self.alive = True
        #: True while it is dead or frozen, so none of its callbacks runs.
        self.still = False
        #: callbacks that came due while it was frozen
        self.held: list[LoopHandle] = []

    def kill(self) -> None:
        """Stop this incarnation like SIGKILL: none of its callbacks and timers runs any more.

        No finally block runs and nothing is cancelled. The running callback continues until it returns to the loop.
        Idempotent.
        """
        self.alive = False
        self.still = True
        self.held.clear()

    @property
    def frozen(self) -> bool:
        """Whether it is frozen, and not dead."""
        return self.still and self.alive

    def freeze(self) -> None:
        """Pause this incarnation like SIGSTOP: its callbacks and timers wait until the loop thaws it.

        It can notice only by the clock. The running callback continues until it returns to the loop.
        """
        self.still = True

    def context(self) -> Context:
        """Return a copy of the current context for this node, for `loop.create_task(..., context=...)`."""
        context = copy_context()
        context.run(NODE.set, self)
        return context

    def __repr__(self) -> str:
        state = " dead" if not self.alive else " frozen" if self.still else ""
        return f"<Node {self.name}#{self.generation}{state}>"


#: The process of the running callback; None is the world outside all processes, which never dies.
NODE: ContextVar[Node | None] = ContextVar("sim_node", default=None)
