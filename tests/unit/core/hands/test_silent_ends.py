"""Which ends of a delegation start no callback turn, and why."""

import pytest

from tests.support.factories import direct
from trunkline.core.config import HandsConfig
from trunkline.core.hands.completion_plan import KEPT, TURN, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import DelegationId


def planned(outcome: HandOutcome, reason: Reason | None, config: HandsConfig) -> tuple[str, Reason]:
    done = HandCompletion(
        delegation=DelegationId("d1"),
        hand="clerk",
        agent="main",
        session_key="main",
        reply_to=direct("1"),
        result=HandResult(outcome=outcome, text="x"),
        requester_busy=False,
        reason=reason,
    )
    [step] = plan_completion(done, config).steps
    return step.mode, step.reason


@pytest.mark.parametrize("reason", [Reason.CANCELLED_BY_AGENT, Reason.PARENT_ENDED])
def test_an_agent_gets_no_report_of_what_it_did_itself(reason: Reason) -> None:
    assert planned(HandOutcome.CANCELLED, reason, HandsConfig()) == (KEPT, reason)


@pytest.mark.parametrize(
    ("outcome", "reason", "setting"),
    [
        (HandOutcome.TIMEOUT, Reason.HAND_DEADLINE, "on_timeout"),
        (HandOutcome.CANCELLED, Reason.CANCELLED_BY_PEER, "on_cancel"),
        (HandOutcome.CANCELLED, Reason.CANCELLED_BY_OPERATOR, "on_cancel"),
    ],
)
def test_a_report_can_be_switched_off(outcome: HandOutcome, reason: Reason, setting: str) -> None:
    assert planned(outcome, reason, HandsConfig()) == (TURN, Reason.CALLBACK_TURN)
    silent = HandsConfig.model_validate({setting: "silent"})
    assert planned(outcome, reason, silent) == (KEPT, Reason.CALLBACK_OFF)


@pytest.mark.parametrize("outcome", [HandOutcome.OK, HandOutcome.ERROR, HandOutcome.LOST])
def test_results_are_reported_whatever_is_switched_off(outcome: HandOutcome) -> None:
    silent = HandsConfig(on_timeout="silent", on_cancel="silent")
    assert planned(outcome, None, silent) == (TURN, Reason.CALLBACK_TURN)
