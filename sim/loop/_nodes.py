"""Simulated processes, and the mark that tells which of them a callback belongs to."""

from contextvars import Context, ContextVar, copy_context

__all__ = ["NODE", "Node"]


class Node:
    """One incarnation of a simulated process.

    Everything that is scheduled while NODE holds this node belongs to it: tasks, timers, done callbacks and queued
    statements. A restart is a new Node with the next generation, never the old one again.
    """

    __slots__ = ("alive", "generation", "name")

    def __init__(self, name: str, generation: int = 0) -> None:
        self.name = name
        #: Counts the incarnations of one process, from 0.
        self.generation = generation
        #: False for ever after kill().
        self.alive = True

    def kill(self) -> None:
        """Stop this incarnation as SIGKILL would: none of its callbacks and timers runs any more.

        No finally block runs, nothing is cancelled, and nobody is told. A callback that is just running goes on until
        it returns to the loop. Killing twice is killing once.
        """
        self.alive = False

    def context(self) -> Context:
        """Return a copy of the current context that belongs to this node, for `loop.create_task(..., context=...)`."""
        context = copy_context()
        context.run(NODE.set, self)
        return context

    def __repr__(self) -> str:
        return f"<Node {self.name}#{self.generation}{'' if self.alive else ' dead'}>"


#: The process that the running callback belongs to; None is the world outside of all processes, which never dies.
NODE: ContextVar[Node | None] = ContextVar("sim_node", default=None)
