"""An agent which echoes the text of each message: for trying out a gateway without a model."""

from __future__ import annotations

from trunkline.core.agent import Turn
from trunkline.core.values import ChatKind, WorkKind

#: the role of what the agent said, in transcripts
_OWN = "assistant"


class EchoAgent:
    """Answers a message with the same text, and in a conversation of several people with the name of the author.

    The result of a hand is passed on with the hand's name. Nobody wrote a wake-up, so it gets no answer.
    """

    def __init__(self, introduction: str = "") -> None:
        self._introduction = introduction.strip()

    async def turn(self, turn: Turn) -> str | None:
        said = _said(turn)
        if said is None or not self._introduction or turn.work is not WorkKind.MESSAGE:
            return said
        if any(line.role == _OWN for line in await turn.history()):
            return said
        return f"{said}\n\n{self._introduction}"


def _said(turn: Turn) -> str | None:
    if turn.callback is not None:
        return f"{turn.callback.hand} ({turn.callback.outcome.value}): {turn.text}"
    if turn.work is WorkKind.TASK:
        return turn.text
    if turn.work is not WorkKind.MESSAGE or not turn.text.strip():
        return None
    if turn.place is None or turn.place.kind is ChatKind.DIRECT:
        return turn.text
    return f"{turn.peer.name or turn.peer.id}: {turn.text}"
