"""Voice calls: one person by phone number, in every profile (seed 000, "Open Items")."""

import pytest

from tests.support.routes import MARCH, inbound_key, key, read, route
from trunkline.core.channels import rules_for
from trunkline.core.errors import TargetError
from trunkline.core.profiles import Profile
from trunkline.core.values import Address, ChatKind

SPELLINGS = (
    "voice:+15551234567",
    "VOICE: +1 (555) 123-4567",
    "tel:+1-555-123-4567",
    "voice:tel:+15551234567",
    "+1 555 123 4567",
    "0015551234567",
    "15551234567",
    "user:+15551234567",
)


@pytest.mark.parametrize("text", SPELLINGS)
@pytest.mark.parametrize("profile", list(Profile))
def test_a_number_is_one_conversation_however_it_is_written(text: str, profile: Profile) -> None:
    found = route("voice", text, profile)
    assert (found.kind, found.peer, found.chat_type) == (ChatKind.DIRECT, "+15551234567", ChatKind.DIRECT)
    assert found.to == found.sender == "voice:+15551234567"
    assert found.address == Address(
        channel="voice", account="default", kind=ChatKind.DIRECT, conversation="+15551234567"
    )


def test_the_key_is_that_of_the_call_that_comes_in() -> None:
    place = Address(channel="voice", account="default", kind=ChatKind.DIRECT, conversation="+15551234567")
    assert key("voice", "tel:+15551234567") == inbound_key(place) == "main:voice:default:direct:+15551234567"
    assert key("voice", "tel:+15551234567", MARCH) == "agent:main:voice:direct:+15551234567"
    assert rules_for("voice").write(place).target == "voice:+15551234567"


@pytest.mark.parametrize(
    "text", ["ana", "voice:ana", "group:+15551234567", "0151 234", "+", "1" * 16, "tel:+1555;ext=9"]
)
@pytest.mark.parametrize("profile", list(Profile))
def test_what_is_no_number_with_its_country_is_an_error(text: str, profile: Profile) -> None:
    with pytest.raises(TargetError, match=r"expected an international phone number.* Accepted: voice:"):
        read("voice", text, profile)


@pytest.mark.parametrize("text", ["voice:", "tel:", "user:", "voice: "])
def test_an_empty_number_is_reported(text: str) -> None:
    with pytest.raises(TargetError, match=r"understood as a user .* there is no id"):
        read("voice", text)


def test_a_call_has_no_threads() -> None:
    assert route("voice", "+15551234567", thread="7", reply_to="8").address.thread is None
