"""What is read of an event of signal-cli, and where the stream goes on after it."""

import json
from typing import Any

import pytest

from tests.support.own_names import own_names
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.signal.adapter import EventCursor
from trunkline.core.adapters.signal.updates import SaidMessage, SignalEventError, read_event

NUMBER = "+15550009999"
TIME = 1_700_000_000_000


def event(data: Any = None, account: str | None = NUMBER, **envelope: Any) -> str:
    who = {"source": "+1555", "sourceNumber": "+15551", "sourceUuid": "0a1b", "sourceName": "Ana", "timestamp": TIME}
    body = who | ({} if data is None else {"dataMessage": data}) | envelope
    return json.dumps({"envelope": body, "account": account})


def said(message: Any = "hello", **fields: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "message": message, "expiresInSeconds": 0, "viewOnce": False, **fields}


def read(text: str) -> SaidMessage | None:
    return read_event(text, NUMBER, own_names("signal", NUMBER))


def test_a_text() -> None:
    found = read(event(said(quote={"id": 7, "author": "+1"}, new_in_2031={"deep": [1]})))
    assert found == SaidMessage(
        author="+15551", uuid="0a1b", name="Ana", group=None, time=TIME, text="hello", parts=(), quotes=7
    )


def test_a_group_and_a_person_who_hides_their_number() -> None:
    found = read(event(said(groupInfo={"groupId": "q83vEg==", "type": "DELIVER"}), sourceNumber=None))
    assert found is not None
    assert (found.group, found.author) == ("q83vEg==", "0a1b")


def test_a_mention_is_a_name() -> None:
    mentions = [{"name": "Bo", "number": "+2", "start": 3, "length": 1}, {"uuid": "0c", "start": 5, "length": 1}]
    found = read(event(said("👍 ￼ ￼!", mentions=mentions)))
    assert found is not None and found.text == "👍 @Bo @0c!"
    # Ranges outside of the text are left alone.
    for start, length in ((90, 1), (-1, 1), (0, 0), (0, 90)):
        found = read(event(said("hello", mentions=[{"name": "Bo", "start": start, "length": length}])))
        assert found is not None and found.text == "hello"


@pytest.mark.parametrize("part", ["attachments", "sticker", "contacts"])
def test_a_message_without_a_text_is_one_all_the_same(part: str) -> None:
    found = read(event(said(None, **{part: [{"id": "1"}]})))
    assert found is not None and found.text == ""


@pytest.mark.parametrize(
    "text",
    [
        event(receiptMessage={"when": TIME}),
        event(typingMessage={"action": "STARTED"}),
        event(said(None, groupInfo={"groupId": "q=", "type": "UPDATE"})),
        event(said(None, isExpirationUpdate=True)),
        event(said(), account="+15550000000"),
        "{}",
    ],
    ids=[
        "receipt", "typing", "group update", "expiration", "another account", "nothing",
    ],
)  # fmt: skip
def test_what_is_no_message_of_a_person_to_the_account(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        event(syncMessage={"sentMessage": said("from my phone") | {"destination": "+1"}}, sourceNumber=NUMBER),
        event(said(), sourceNumber=NUMBER),
        event(said(), source=NUMBER, sourceNumber=None),
    ],
    ids=["own device", "own message", "the source alone"],
)
def test_what_the_account_wrote_itself_tells_its_other_names(text: str) -> None:
    with pytest.raises(OwnPost) as found:
        read(text)
    assert {NUMBER, "0a1b"} <= set(found.value.names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "[" * 100_000,
        event(said(7)),
        event(said(timestamp="soon")),
        event(said(timestamp=0)),
        event(said(timestamp=10**30)),
        event(said(), source=None, sourceNumber=None, sourceUuid=None),
        event(said(), sourceNumber="+1\ud83d"),
        event(said(), sourceNumber="x" * 300),
        event(said(groupInfo={"groupId": ""})),
        event(said(groupInfo={})),
        event({"message": "no time"}),
        event("no object"),
        json.dumps({"account": NUMBER, "exception": {"type": "UntrustedIdentityException", "message": "?"}}),
    ],
)
def test_a_bad_event_is_reported(text: str) -> None:
    with pytest.raises(SignalEventError) as found:
        read(text)
    assert str(found.value).encode()


def test_half_a_surrogate_pair_in_a_text_costs_that_sign_only() -> None:
    found = read(event(said("a\ud83d!", mentions=[{"name": "\udc00", "start": 0, "length": 1}])))
    assert found is not None and found.text == "@??!"


def test_ten_megabytes_are_read() -> None:
    found = read(event(said("x" * 10_000_000)))
    assert found is not None and len(found.text) == 10_000_000


# ---------------------------------------------------------------- the cursor


def test_the_cursor_moves_over_what_is_done_without_a_gap() -> None:
    cursor = EventCursor()
    one, two = ("c", "1"), ("c", "2")
    assert cursor.note_event("e1", one) and not cursor.note_event("e2", None) and cursor.note_event("e3", two)
    assert cursor.note_durable(two) is None
    assert cursor.note_durable(one) == "e3"
    assert cursor.note_durable(one) is None


def test_what_is_durable_is_not_handed_on_again() -> None:
    cursor = EventCursor()
    one, two = ("c", "1"), ("c", "2")
    cursor.note_event("e1", one)
    cursor.note_event("e2", two)
    assert cursor.note_durable(two) is None
    cursor.begin()
    assert cursor.note_event("e1", one) and not cursor.note_event("e2", two)
    assert cursor.note_durable(one) == "e2"


def test_without_ids_there_is_nothing_to_go_back_to() -> None:
    cursor = EventCursor()
    assert cursor.note_event("", ("c", "1"))
    assert cursor.note_durable(("c", "1")) is None


def test_a_daemon_that_counts_from_the_beginning_again_hides_no_message() -> None:
    """The id is that of a message that is durable already, and the message is another one."""
    cursor = EventCursor()
    cursor.begin()
    cursor.note_event("1", ("u", "a"))
    cursor.note_event("2", ("u", "b"))
    assert cursor.note_durable(("u", "b")) is None
    cursor.begin()
    assert cursor.note_event("1", ("u", "c"))
    assert cursor.note_event("2", ("u", "d"))
    assert cursor.note_durable(("u", "d")) is None
    assert cursor.note_durable(("u", "c")) == "2"
