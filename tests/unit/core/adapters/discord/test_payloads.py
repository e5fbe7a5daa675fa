"""Payloads of the gateway as they are read."""

import json

import pytest

from tests.support.for_each import for_each
from trunkline.core.adapters.discord.receiving.gateway import GatewayEvent, read_payload


@for_each("seq", [-1, 1 << 60, True, "5", 1.5, None, 10**400])
def test_a_number_that_no_event_can_have_moves_nothing(seq: object) -> None:
    found = read_payload(json.dumps({"op": 0, "t": "X", "s": seq, "d": None}))
    assert isinstance(found, GatewayEvent)
    assert (found.name, found.seq) == ("X", None)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"op": ' + "1" * 5000 + "}", "{", "5"], ids=["deep", "5000", "{", "5"]
)
def test_a_payload_that_cannot_be_read_says_so(text: str) -> None:
    found = read_payload(text)
    assert isinstance(found, GatewayEvent)
    assert found.wrong
