"""Voice calls: one person by phone number, in every profile (seed 000, "Open Items")."""

import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.routes import MARCH, inbound_key, key, read, route
from trunkline.core.action_catalogue import Action
from trunkline.core.channels import CurrentConversation, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.prepare import pieces, recipe_for
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.sessions.entries import entry_for
from trunkline.core.values import Address, Capability, ChatKind

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


@for_each("text", SPELLINGS)
@for_each("profile", list(Profile))
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


@for_each("text", ["ana", "voice:ana", "group:+15551234567", "0151 234", "+", "1" * 16, "tel:+1555;ext=9"])
@for_each("profile", list(Profile))
def test_what_is_no_number_with_its_country_is_an_error(text: str, profile: Profile) -> None:
    with pytest.raises(TargetError, match=r"expected an international phone number.* Accepted: voice:"):
        read("voice", text, profile)


@pytest.mark.parametrize("text", ["voice:", "tel:", "user:", "voice: "])
def test_an_empty_number_is_reported(text: str) -> None:
    with pytest.raises(TargetError, match=r"understood as a user .* there is no id"):
        read("voice", text)


def test_a_call_is_the_thread_of_an_address_and_no_part_of_its_key() -> None:
    found = route("voice", "+15551234567", thread="CA7", reply_to="8")
    assert found.address.thread == found.thread_id == "CA7"
    assert found.key == found.base == route("voice", "+15551234567").key
    written = rules_for("voice").write(found.address)
    assert (written.target, written.thread) == ("voice:+15551234567", "CA7")


@pytest.mark.parametrize("profile", [profile for profile in Profile if profile is not Profile.TRUNKLINE])
def test_upstream_has_no_calls(profile: Profile) -> None:
    assert route("voice", "+15551234567", profile, thread="CA7").address.thread is None


@for_each(
    ("current", "call"),
    [
        (CurrentConversation(conversation="+15551234567", thread="CA7"), "CA7"),
        (CurrentConversation(conversation="tel:+1 555 123 4567", thread="CA7"), "CA7"),
        (CurrentConversation(conversation="+15557654321", thread="CA7"), None),
        (CurrentConversation(conversation="nobody", thread="CA7"), None),
        (CurrentConversation(conversation="+15551234567"), None),
        (CurrentConversation(thread="CA7"), None),
    ],
)
def test_a_send_to_the_same_number_stays_in_the_call(current: CurrentConversation, call: str | None) -> None:
    assert rules_for("voice").inherit(read("voice", "voice:+15551234567"), current) == call


def test_a_session_outlives_its_calls() -> None:
    place = Address(channel="voice", account="default", kind=ChatKind.DIRECT, conversation="+15551234567", thread="CA7")
    assert inbound_key(place) == "main:voice:default:direct:+15551234567"
    assert entry_for(place) == entry_for(msgspec.structs.replace(place, thread=None))
    assert entry_for(place).thread is None


def test_a_call_takes_texts_only_and_cuts_them_into_sentences() -> None:
    rules = rules_for("voice")
    assert rules.capabilities.can == {Capability.TEXT, Capability.MESSAGE_IDS}
    assert set(rules.actions) == {Action.SEND}
    recipe = recipe_for("voice", "default", GatewayConfig(), rules.capabilities)
    said = [piece.text for piece in pieces("**One** is short. " * 12, recipe)]
    assert all(text.startswith("One") and text.endswith("short.") and len(text) <= 120 for text in said)
    assert " ".join(said) == " ".join(["One is short."] * 12)
