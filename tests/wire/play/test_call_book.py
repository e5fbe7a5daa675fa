"""Which attempt a request on the wire belongs to."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.discord.adapter import KEY_SECONDS
from trunkline.core.values import Address, ChatKind, IntentId, SendRequest
from trunkline.sim.loop import NODE, Node
from trunkline.sim.wire.play import fit
from trunkline.sim.wire.play.run import CallBook

OPS = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001")
BEN = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="7")
ROOM = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="1")
FIRST = SendRequest(
    address=OPS,
    text="it is **on**",
    html="it is <b>on</b>",
    key="m1/0",
    intent=IntentId("m1"),
    chunk=0,
    attempt=1,
    cause=5,
)
CHANGE = ActionRequest(
    action=Action.EDIT, address=OPS, key="e1", intent=IntentId("e1"), attempt=2, message_id="9", text="off", cause=8
)


def book() -> CallBook:
    return CallBook(lambda place: place.lane, {"discord": lambda key: f"nonce of {key}"})


def changed(**parts: object) -> SendRequest:
    return msgspec.structs.replace(FIRST, **parts)


def test_a_send_is_found_by_its_text_in_its_place_in_any_form() -> None:
    known = book()
    with known.calling(FIRST):
        for text in (FIRST.text, FIRST.html or ""):
            found = known.attempt(OPS, None, text)
            assert found is not None
            assert (found.intent, found.chunk, found.attempt, found.cause) == ("m1", 0, 1, 5)
            assert found.text == FIRST.text
        assert known.attempt(BEN, None, FIRST.text) is None


def test_another_text_in_the_place_of_the_only_call_is_that_call_and_keeps_its_text() -> None:
    known = book()
    with known.calling(FIRST):
        found = known.attempt(OPS, None, "something else")
        assert found is not None
        assert (found.intent, found.text) == ("m1", None)


def test_another_text_after_the_call_belongs_to_nobody() -> None:
    known = book()
    with known.calling(FIRST):
        pass
    assert known.attempt(OPS, None, "something else") is None
    # The same text again is the same attempt, made twice.
    found = known.attempt(OPS, None, FIRST.text)
    assert found is not None
    assert found.intent == "m1"


def test_of_two_attempts_with_one_text_the_one_that_goes_on_is_meant() -> None:
    known, again = book(), changed(attempt=2, cause=9)
    with known.calling(FIRST):
        pass
    with known.calling(again):
        found = known.attempt(OPS, None, FIRST.text)
        assert found is not None
        assert found.attempt == 2


def test_the_call_of_a_dead_process_does_not_go_on() -> None:
    known, node = book(), Node("gateway")
    entered = node.context()
    calling = known.calling(FIRST)
    entered.run(calling.__enter__)
    node.kill()
    with known.calling(changed(attempt=2)):
        found = known.attempt(OPS, None, FIRST.text)
        assert found is not None
        assert found.attempt == 2
    assert NODE.get() is None


def test_a_key_on_the_wire_decides_alone() -> None:
    known, send = book(), changed(address=ROOM)
    with known.calling(send):
        found = known.attempt(ROOM, "nonce of m1/0", "whatever")
        assert found is not None
        assert found.key == "m1/0"
        assert known.attempt(ROOM, "a nonce of the library's own", send.text) is None


def test_a_change_is_found_by_action_place_and_message() -> None:
    known = book()
    with known.calling(CHANGE):
        found = known.change(Action.EDIT, OPS, "9")
        assert found is not None
        assert (found.intent, found.attempt, found.text) == ("e1", 2, None)
        assert known.change(Action.EDIT, OPS, "10") is None
        assert known.change(Action.DELETE, OPS, "9") is None
        assert known.attempt(OPS, None, "off") is None


def test_a_thread_is_named_after_the_key_of_the_call_that_opens_it() -> None:
    known = book()
    assert known.opening(OPS, "codex: task 1") is None
    with known.opening_child(OPS, "codex: task 1", "m1.hand1+2"), known.opening_child(OPS, "codex: task 2", "m2.hand1"):
        assert known.opening(OPS, "codex: task 1 · 77503b") == "m1.hand1"
        assert known.opening(OPS, "codex: task 2") == "m2.hand1"
    assert known.opening(OPS, "codex: task 1") is None


def test_the_time_for_which_discord_remembers_keys_is_that_of_its_adapter() -> None:
    assert vars(fit)["_KEY_SECONDS"] == KEY_SECONDS
