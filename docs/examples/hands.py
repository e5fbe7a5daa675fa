"""A gateway whose agent delegates: to a function, to another agent, and to a worker in a process of its own.

    python docs/examples/hands.py FOLDER
    python docs/examples/worker.py FOLDER/trunkline.db

Start the second command in another terminal. The first one prints what Ana sees, and ends when all three hands have
answered. Stop it in between and start it again: the tasks that are open go on.
"""

import sys
from pathlib import Path

import anyio
from echo import Loopback

from trunkline import (
    CallbackState,
    DelegationFilter,
    DelegationRefused,
    EventLog,
    Gateway,
    GatewayConfig,
    HandOutcome,
    HandTask,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)

CONFIG = GatewayConfig.model_validate(
    {
        "agents": [{"id": "jeeves", "default": True}, {"id": "scout"}],
        "hands": {"each": {"count": {"on_restart": "rerun"}, "archive": {"worker": True, "deadline": "1h"}}},
    }
)
ASKED = ("count the words of this message", "scout the tower", "archive lighthouse")


class Jeeves:
    """Gives each message to the hand that its first word names, and reports what comes back."""

    async def turn(self, turn: Turn) -> str | None:
        """Delegate, or report."""
        if turn.callback is not None:
            ended = turn.callback
            return (
                f"{ended.hand}: {turn.text}" if ended.outcome is HandOutcome.OK else f"{ended.hand} failed: {turn.text}"
            )
        hand, _, task = turn.text.partition(" ")
        try:
            await turn.send_async(hand, task, timeout=600)
        except DelegationRefused as refused:
            return str(refused)
        return f"{hand} works on it."


class Scout:
    """Another agent. Its task is a turn in a session of its own, and what it returns is the result."""

    async def turn(self, turn: Turn) -> str | None:
        """Work on a task."""
        return f"I saw {turn.text}, {turn.asked_by.name}." if turn.asked_by is not None else None


class Functions:
    """A `trunkline.HandRunner`: the hands that run in this process."""

    def has(self, hand: str) -> bool:
        """Whether a hand exists."""
        return hand == "count"

    async def run(self, task: HandTask) -> str:
        """Count the words of a task."""
        await task.progress("counting")
        return f"{len(task.task.split())} words"


async def main(folder: Path) -> list[str]:
    """Serve until each hand has been reported. Returns the texts that Ana sees."""
    env = system_env()
    platform, events = Loopback(env), EventLog(env.now, keep=False).recorder("gateway", generation=1)
    gateway = Gateway(
        config=CONFIG,
        store=SqliteStore(lambda: connect_file(folder / "trunkline.db"), events),
        adapters=[platform],
        agents={"jeeves": Jeeves(), "scout": Scout()},
        hands=Functions(),
        env=env,
        events=events,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        for number, text in enumerate(ASKED):
            platform.say(text, message_id=str(number))
        reported = DelegationFilter(callbacks=(CallbackState.DELIVERED,))
        while len((await gateway.hands.list(reported)).rows) < len(ASKED):  # noqa: ASYNC110 -- nothing notifies of it
            await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    return [request.text for request in platform.accepted]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for line in anyio.run(main, place):
        sys.stdout.write(f"{line}\n")
