"""One run of a hand: whatever it returns or raises becomes a result."""

from __future__ import annotations

import anyio.lowlevel

from trunkline.core.errors import HandError
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.hands.result_limits import bounded_result
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.well_formed import describe, plain_text


async def run_hand(hands: HandRunner, task: HandTask, most: int) -> tuple[HandResult, Reason | None]:
    """Run a hand; returns its result of at most `most` characters, and why it is none of its own."""
    try:
        with UserCode():
            if not hands.has(task.hand):
                # Accepted by an earlier process, which had it.
                text = f"no hand {task.hand!r} is installed any more"
                return HandResult(outcome=HandOutcome.ERROR, text=text), Reason.UNKNOWN_HAND
            result: object = await hands.run(task)
    except HandError as error:
        return _bounded(HandResult(outcome=HandOutcome.ERROR, text=error.facts), Reason.HAND_RAISED, most)
    except Exception as error:  # noqa: BLE001 -- any error of a hand is reported to the requester
        # A hand may turn a cancellation into an error: then it is not the hand that failed.
        await anyio.lowlevel.checkpoint_if_cancelled()
        return HandResult(outcome=HandOutcome.ERROR, text=describe(error)), Reason.HAND_RAISED
    text = plain_text(result)
    if text is None:
        text = f"the hand returned a value of type {type(result).__name__} instead of a str"
        return HandResult(outcome=HandOutcome.ERROR, text=text), Reason.BAD_RESULT
    return _bounded(HandResult(outcome=HandOutcome.OK, text=text), None, most)


def _bounded(result: HandResult, reason: Reason | None, most: int) -> tuple[HandResult, Reason | None]:
    shorter = bounded_result(result, most)
    return (result, reason) if shorter is None else (shorter, Reason.RESULT_TOO_LARGE)
