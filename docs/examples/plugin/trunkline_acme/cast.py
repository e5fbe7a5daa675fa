"""Those who act around a gateway: an agent, a hand and a hook with code of their own."""

from trunkline import Change, HandTask, Outgoing, Turn


class Clerk:
    """An agent.

    A turn that a crash interrupted runs again in another process. So an agent answers by its turn and its session, and
    not by what it keeps in memory, or `trunkline explore` finds answers that differ.
    """

    async def turn(self, turn: Turn) -> str | None:
        """Note what somebody says; ``twice``: and say so in advance."""
        if "twice" in turn.text:
            await turn.send("Wait, I note it")
        return f"Noted: {turn.text}"


class Search:
    """A hand."""

    async def run(self, task: HandTask) -> str:
        """Count words, which is all that it finds."""
        return f"found {len(task.task.split())} words"


class Polite:
    """A hook that changes each message."""

    async def __call__(self, message: Outgoing) -> Change:
        """Add a word."""
        return Change(text=f"{message.text}, please")
