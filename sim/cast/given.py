"""What an agent of the cast was given for a turn, as a fact of the world."""

from __future__ import annotations

from trunkline.core.agent import Turn
from trunkline.core.values import WorkKind
from trunkline.sim.events.hands import AgentGiven, GivenPrompt

#: kinds of work in which an agent is given a result or a task
_RECORDED = (WorkKind.CALLBACK, WorkKind.TASK)
#: how the sender of a result begins
_OF_HANDS = "hand:"


def given_of(turn: Turn) -> AgentGiven | None:
    """What the agent was given; None for a turn of a plain message without a prompt, which costs no event.

    A message of somebody who bears the sender of a hand is recorded (invariant C7).
    """
    names = (turn.peer.id, turn.peer.name)
    like_a_hand = any(name.strip().lower().startswith(_OF_HANDS) for name in names)
    if turn.work not in _RECORDED and not turn.prompt and not like_a_hand:
        return None
    callback = turn.callback
    return AgentGiven(
        agent=turn.agent,
        session_id=turn.session_id,
        session_key=turn.session_key,
        work=turn.work,
        peer=turn.peer,
        asked_by=turn.asked_by,
        place=turn.place,
        text=turn.text,
        prompts=tuple(GivenPrompt(kind=one.kind.value, text=one.text) for one in turn.prompts),
        prompt=turn.prompt,
        hand="" if callback is None else callback.hand,
        outcome=None if callback is None else callback.outcome,
        label="" if callback is None else callback.label,
        frame="" if callback is None else _frame(turn),
    )


def _frame(turn: Turn) -> str:
    """What stands around the text in what a model is given; what has no text before its last line has no frame."""
    message, text = turn.for_model, turn.text
    last = message.rfind("\n") if message != text else -1
    first = last - len(text)
    if first < 0 or message[first:last] != text:
        return ""
    return f"{message[:first]}{{text}}{message[last:]}"
