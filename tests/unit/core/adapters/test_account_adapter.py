"""What the adapters of all accounts have in common: a message that the capabilities do not allow is refused."""

from typing import Any

import pytest

from tools.doc_platforms import adapter_of
from trunkline.core.adapters.config import PLATFORMS
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.errors import IdentityGone, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    ChatKind,
    Identity,
    IntentId,
    Poll,
    SendRequest,
    Transport,
)

POLL = Poll(question="Which?", options=("red", "green"))
#: what a request has -> the capability that it needs
NEEDS: dict[Capability, dict[str, Any]] = {
    Capability.MEDIA: {"media": ("https://example.org/a.png",)},
    Capability.POLL: {"poll": POLL},
    Capability.PAYLOAD: {"payload": "{}"},
    Capability.SILENT: {"parts": MessageParts(silent=True)},
    Capability.BUTTONS: {"parts": MessageParts(buttons=((Button(text="yes"),),))},
    Capability.CARDS: {"parts": MessageParts(card="{}")},
    Capability.COMPONENTS: {"parts": MessageParts(components="[]")},
    Capability.EMBEDS: {"parts": MessageParts(embed="text")},
}
#: what only an action in the capabilities allows
UNUSUAL = ({"parts": MessageParts(effect="confetti")}, {"parts": MessageParts(sticker="1")})


def request(**fields: Any) -> SendRequest:
    place = Address(channel="lamp", account="default", kind=ChatKind.DIRECT, conversation="1")
    usual: dict[str, Any] = {"address": place, "text": "hello", "key": "k/0", "intent": IntentId("k"), "chunk": 0}
    return SendRequest(**{**usual, "attempt": 1, **fields})


def adapter_with(*can: Capability, **fields: Any) -> AccountAdapter:
    return AccountAdapter("lamp", "default", Capabilities(can=frozenset({Capability.TEXT, *can}), **fields))


@pytest.mark.parametrize("capability", NEEDS)
def test_what_the_capabilities_lack_is_refused(capability: Capability) -> None:
    asked = request(**NEEDS[capability])
    adapter_with(capability).check_sendable(asked)
    with pytest.raises(Refused, match="lamp:default"):
        adapter_with().check_sendable(asked)


@pytest.mark.parametrize("fields", UNUSUAL)
def test_effects_and_stickers_are_refused_without_their_action(fields: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        adapter_with().check_sendable(request(**fields))


def test_a_poll_with_too_many_options_is_refused() -> None:
    with pytest.raises(Refused, match="at most 2"):
        adapter_with(Capability.POLL, poll_options=2).check_sendable(
            request(poll=Poll(question="?", options=("a", "b", "c")))
        )


def test_another_transport_and_another_identity_are_refused() -> None:
    with pytest.raises(Refused, match="gateway transport"):
        adapter_with().check_sendable(request(transport=Transport.GATEWAY))
    with pytest.raises(IdentityGone):
        adapter_with().check_sendable(request(identity=Identity(id="1", name="hook")))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_refuses_what_it_does_not_declare(platform: str) -> None:
    adapter = adapter_of(platform)
    assert isinstance(adapter, AccountAdapter)
    adapter.check_sendable(request())
    missing = [NEEDS[one] for one in NEEDS if one not in adapter.capabilities.can]
    assert missing
    for fields in missing:
        with pytest.raises(Refused):
            adapter.check_sendable(request(**fields))
