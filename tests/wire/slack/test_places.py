"""Where a receipt says that a message is, and which names a directory knows."""

from typing import Any

import msgspec
import pytest

from tests.support.own_names import own_names
from trunkline.core.adapters.slack.adapter import SlackPlaces, state_of
from trunkline.core.adapters.slack.directory import entry_of, person_of, shown_name
from trunkline.core.adapters.slack.inbound.events import SlackReader
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, ChatKind

ROOM = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")
THREAD = msgspec.structs.replace(ROOM, thread="1.1")
DIRECT = Address(channel="slack", account="default", kind=ChatKind.DIRECT, conversation="U1")


def places() -> SlackPlaces:
    reader = SlackReader("default", own_names("slack"))
    reader.learn_direct("U2", "D2")
    return SlackPlaces(SlackWeb("t", "http://127.0.0.1:1/", 1.0), reader)


@pytest.mark.parametrize(
    ("asked", "channel", "message", "shown"),
    [
        (ROOM, "C1", {}, ROOM),
        (msgspec.structs.replace(ROOM, conversation="c1"), "C1", {}, msgspec.structs.replace(ROOM, conversation="c1")),
        (THREAD, "C1", {"thread_ts": "1.1"}, THREAD),
        # Slack posts beside a thread that is not there any more.
        (THREAD, "C1", {}, ROOM),
        (ROOM, "C2", {}, msgspec.structs.replace(ROOM, conversation="C2")),
        (DIRECT, "D1", {}, DIRECT),
        (DIRECT, "D2", {}, msgspec.structs.replace(DIRECT, conversation="U2")),
        (DIRECT, "C2", {}, msgspec.structs.replace(DIRECT, conversation="C2")),
    ],
)
def test_a_receipt_shows_where_the_message_is(
    asked: Address, channel: str, message: dict[str, Any], shown: Address
) -> None:
    receipt = places().receipt(asked, {"ok": True, "channel": channel, "ts": "9.9", "message": message})
    assert (receipt.provider_id, receipt.address) == ("9.9", shown)
    if asked.kind is not ChatKind.DIRECT:
        # Direct conversations may have several names, so the gateway does not compare them.
        assert is_misplaced(asked, receipt) is (shown != asked)


@pytest.mark.parametrize("response", [{}, {"ts": 5}, {"channel": 5, "message": "text"}])
def test_a_response_without_an_id_names_no_message(response: dict[str, Any]) -> None:
    assert places().receipt(THREAD, response).provider_id == ""


@pytest.mark.parametrize(
    ("channel", "target"),
    [
        ({"id": "C1", "name": "ops"}, "channel:C1"),
        ({"id": "G1", "name": "mpdm-a--b", "is_mpim": True}, "group:G1"),
        ({"id": "D1", "is_im": True, "user": "U1"}, "user:U1"),
        ({"id": "D1", "is_im": True}, None),
        ({"id": "C1", "is_archived": True}, None),
        ({"id": 5}, None),
    ],
)
def test_entries_of_conversations(channel: dict[str, Any], target: str | None) -> None:
    found = entry_of(channel)
    assert (found.target if found else None) == target


def test_entries_of_people() -> None:
    ana = {"id": "U1", "name": "ana.lima", "real_name": "Ana Lima", "profile": {"display_name": " ", "real_name": 5}}
    found = person_of(ana)
    assert found is not None
    assert (found.target, found.name, found.handle) == ("user:U1", "Ana Lima", "ana.lima")
    assert person_of({**ana, "deleted": True}) is None
    assert person_of({}) is None
    assert shown_name({"profile": {"display_name": "ana"}, "real_name": "Ana Lima"}) == "ana"


@pytest.mark.parametrize(
    ("channel", "state"),
    [
        ({"is_member": True}, PlaceState.OPEN),
        ({"is_im": True}, PlaceState.OPEN),
        ({"is_member": False}, PlaceState.GONE),
        ({"is_archived": True, "is_member": True}, PlaceState.ARCHIVED),
        (None, PlaceState.GONE),
    ],
)
def test_the_state_of_a_conversation(channel: dict[str, Any] | None, state: PlaceState) -> None:
    assert state_of({"ok": channel is not None, "channel": channel}) is state
