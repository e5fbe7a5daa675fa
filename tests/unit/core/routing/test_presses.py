"""A press of a button: what identifies it, and which message its answer concerns."""

import pytest

from tests.support.factories import envelope, room
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import also_known_as, identify, plan_reply
from trunkline.core.values import Capabilities

OPS = room("100", channel="discord")


@pytest.mark.parametrize("stable", [True, False])
def test_a_press_is_known_by_its_own_id(stable: bool) -> None:
    can = Capabilities(stable_ids=stable)
    press = envelope(OPS, message_id="press-1", text="yes", pressed="7")
    assert identify(press, can) == identify(envelope(OPS, message_id="press-1", text="no", pressed="8"), can)
    assert identify(press, can) != identify(envelope(OPS, message_id="press-2", text="yes", pressed="7"), can)
    assert also_known_as(press, can) == ()


def test_its_subject_is_the_message_with_the_button() -> None:
    assert envelope(OPS, message_id="press-1", pressed="7").subject == "7"
    assert envelope(OPS, message_id="7").subject == "7"


def test_a_thread_is_opened_on_the_message_with_the_button() -> None:
    config = GatewayConfig.model_validate({"channels": {"discord": {"auto_thread": True}}})
    plan = plan_reply(envelope(OPS, message_id="press-1", pressed="7"), config)
    assert (plan.open_on, plan.address.conversation, plan.address.parent) == ("7", "7", "100")
