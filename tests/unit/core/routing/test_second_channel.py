"""Where a person gets what could not be said any more: only where links name exactly one id of theirs."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import ConfigError
from trunkline.core.routing.second_channel import SecondChannel, second_channel
from trunkline.core.values import Address, ChatKind

CALL = Address(channel="voice", account="default", kind=ChatKind.DIRECT, conversation="+15551234567", thread="CA1")


def config(links: dict[str, list[str]], after_call: str | None = "telegram") -> GatewayConfig:
    return GatewayConfig.model_validate(
        {"channels": {"voice": {"after_call": after_call}}, "session": {"identity_links": links}}
    )


@for_each(
    ("links", "target", "why"),
    [
        ({"ana": ["voice:+15551234567", "telegram:7"]}, "7", ""),
        ({"ana": ["+15551234567", "telegram:7", "slack:U1"]}, "7", ""),
        ({"ana": ["voice:+15551234567", "Telegram: 7"]}, "7", ""),
        ({"ana": ["voice:+15551234567", "telegram:7", "telegram:7"]}, "7", ""),
        ({"ana": ["voice:+15551234567"], "Ana": ["telegram:7"]}, "7", ""),
        ({}, None, "no identity link has voice:+15551234567"),
        ({"bo": ["voice:+15557654321", "telegram:7"]}, None, "no identity link has voice:+15551234567"),
        ({"ana": ["voice:+15551234567"]}, None, "the identity link 'ana' has no id on telegram"),
        ({"ana": ["voice:+15551234567", "slack:U1"]}, None, "the identity link 'ana' has no id on telegram"),
        # An id without its channel may be one of any channel.
        ({"ana": ["voice:+15551234567", "7"]}, None, "the identity link 'ana' has no id on telegram"),
        ({"ana": ["voice:+15551234567", "telegram:"]}, None, "the identity link 'ana' has no id on telegram"),
        (
            {"ana": ["voice:+15551234567", "telegram:7", "telegram:8"]},
            None,
            "the identity link 'ana' has 2 ids on telegram",
        ),
    ],
)
def test_links_decide(links: dict[str, list[str]], target: str | None, why: str) -> None:
    assert second_channel(CALL, config(links)) == SecondChannel(channel="telegram", target=target, why=why)


def test_without_a_setting_nothing_goes_elsewhere() -> None:
    linked = {"ana": ["voice:+15551234567", "telegram:7"]}
    assert second_channel(CALL, config(linked, None)) is None
    other = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="7")
    assert second_channel(other, config(linked)) is None


@pytest.mark.parametrize(
    ("channels", "error"),
    [
        ({"voice": {"after_call": "voice"}}, "channels.voice.after_call: expected another channel, such as telegram"),
        ({"voice": {"after_call": " "}}, "channels.voice.after_call: expected another channel, such as telegram"),
        ({"slack": {"after_call": "telegram"}}, "channels.slack.after_call: only voice has calls; write it under"),
    ],
)
def test_a_setting_that_cannot_work_is_an_error(channels: dict[str, Any], error: str) -> None:
    with pytest.raises((ConfigError, ValueError), match=error):
        GatewayConfig.model_validate({"channels": channels})
