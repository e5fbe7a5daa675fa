"""What the tests of endings and status share."""

from trunkline.core.events.delivery import HookSent
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

DELIVERED, UNKNOWN, CANCELLED = IntentState.DELIVERED, IntentState.UNKNOWN, IntentState.CANCELLED


def outcome(state: IntentState) -> HookSent:
    return HookSent(state=state, reason=Reason.CANCELLED_BY_HOOK)
