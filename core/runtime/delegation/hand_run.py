"""One run of a hand: whatever it returns or raises becomes a result."""

from __future__ import annotations

import anyio
import anyio.lowlevel

from trunkline.core.errors import HandError
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.hands.results import HandOutcome, HandResult
from trunkline.core.reasons import Reason
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.well_formed import describe, plain_text


async def run_hand(hands: HandRunner, task: HandTask, deadline: float) -> tuple[HandResult, Reason | None]:
    """Run a hand for at most `deadline` seconds; returns its result, and why it is none of its own."""
    with anyio.move_on_after(deadline):
        try:
            with UserCode():
                result: object = await hands.run(task)
        except HandError as error:
            return HandResult(outcome=HandOutcome.ERROR, text=error.facts), Reason.HAND_RAISED
        except Exception as error:  # noqa: BLE001 -- any error of a hand is reported to the requester
            # A hand may turn a cancellation into an error: then it is not the hand that failed.
            await anyio.lowlevel.checkpoint_if_cancelled()
            return HandResult(outcome=HandOutcome.ERROR, text=describe(error)), Reason.HAND_RAISED
        text = plain_text(result)
        if text is None:
            text = f"the hand returned a value of type {type(result).__name__} instead of a str"
            return HandResult(outcome=HandOutcome.ERROR, text=text), Reason.BAD_RESULT
        return HandResult(outcome=HandOutcome.OK, text=text), None
    return HandResult(outcome=HandOutcome.TIMEOUT, text=f"no result within {deadline:g} s"), Reason.HAND_DEADLINE
