"""Edits, deletions, reactions and other changes through a real gateway, below the message tool."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.changing import Acting, Changing, acting, changing
from tests.support.factories import direct
from tests.support.small_gateway import ANA, BEN, KEY
from tests.support.stores import transcript_of
from trunkline.core.action_catalogue import Action
from trunkline.core.errors import Ambiguous, InvalidAction, NotSent, Refused
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.events.delivery import AttemptEnded, IntentPrepared, IntentSettled
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.message_tool.conversations import account_place, server_place
from trunkline.core.reasons import Reason
from trunkline.core.values import Idempotency, IntentState, TranscriptLine

pytestmark = pytest.mark.anyio

FAST: dict[str, Any] = {"backoff": ["1ms"]}
ONE, TWO = (str(ANA), "1"), (str(ANA), "2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Acting]:
    tiny = acting()
    yield tiny
    tiny.close()


async def lines(running: Changing, key: str = KEY) -> list[TranscriptLine]:
    return list(await transcript_of(running.store, key))


def states(running: Changing) -> dict[str, tuple[IntentState, Reason]]:
    """The end of each intent."""
    found = tuple(running.log.events)
    return {
        event.intent or "": (event.body.state, event.body.reason)
        for event in found
        if isinstance(event.body, IntentSettled)
    }


# ---------------------------------------------------------------- edits


@pytest.mark.parametrize("by", ["send:k", "1"])
async def test_an_edit_changes_the_message_and_what_the_transcript_says_of_it(
    path: Path, platform: Acting, by: str
) -> None:
    async with changing(path, platform) as running:
        await running.send("the metting is at 9")
        row = await running.change(Action.EDIT, by, "the meeting is at 9")
        await running.until(IntentSettled, 2)
        [line] = await lines(running)
        [changed] = running.recorded(TranscriptChanged)
        prepared = running.recorded(IntentPrepared)[-1]
    assert platform.seen == {ONE: "the meeting is at 9"}
    assert (line.text, line.was, line.deleted) == ("the meeting is at 9", ("the metting is at 9",), False)
    assert (changed.line, changed.before, changed.text) == ("send:k", "the metting is at 9", "the meeting is at 9")
    assert (changed.session_key, changed.deleted) == (KEY, False)
    assert (prepared.action, prepared.of, prepared.message_id, prepared.mirror_key) == (
        Action.EDIT,
        "send:k",
        "1",
        None,
    )
    assert row.key(0) == platform.carried_out[0].key


async def test_an_edit_of_a_message_that_is_still_queued_waits_for_it(path: Path, platform: Acting) -> None:
    platform.hold()
    async with changing(path, platform) as running:
        await running.enqueue("first")
        await running.enqueue("second", "k2")
        row = await running.change(Action.EDIT, "send:k2", "the second")
        assert row.extra.action is not None
        assert row.extra.action.message_id is None
        platform.held.set()
        await running.until(IntentSettled, 3)
        assert [line.text for line in await lines(running)] == ["first", "the second"]
    assert platform.seen == {ONE: "first", TWO: "the second"}


async def test_two_edits_and_a_deletion_keep_their_order(path: Path, platform: Acting) -> None:
    platform.hold()
    async with changing(path, platform) as running:
        await running.enqueue("one")
        for text in ("two", "three"):
            await running.change(Action.EDIT, "send:k", text)
        await running.change(Action.DELETE, "send:k")
        platform.held.set()
        await running.until(IntentSettled, 4)
        [line] = await lines(running)
        changed = running.recorded(TranscriptChanged)
    assert [request.text for request in platform.carried_out] == ["two", "three", ""]
    assert (line.text, line.was, line.deleted) == ("three", ("one", "two"), True)
    assert [(body.before, body.text, body.deleted) for body in changed] == [
        ("one", "two", False),
        ("two", "three", False),
        ("three", "", True),
    ]
    assert platform.seen == {}


async def test_an_edit_must_fit_into_one_message(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send()
        with pytest.raises(InvalidAction, match="the new text needs 2 messages, but it replaces one") as caught:
            await running.change(Action.EDIT, "send:k", "word " * 500)
        assert caught.value.reason is Reason.TEXT_TOO_LONG
        with pytest.raises(InvalidAction, match="nothing visible"):
            await running.change(Action.EDIT, "send:k", " \n")
        await running.send("word " * 500, "long")
        with pytest.raises(InvalidAction, match="is 2 messages on the platform"):
            await running.change(Action.EDIT, "send:long", "short")
    assert platform.asked == []


async def test_the_same_text_again_leaves_the_line_as_it_is(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send("hi")
        await running.change(Action.EDIT, "send:k", "hi")
        await running.until(IntentSettled, 2)
        [line] = await lines(running)
        assert running.recorded(TranscriptChanged) == []
    assert (line.text, line.was) == ("hi", ())


# ---------------------------------------------------------------- deletions


async def test_a_deletion_deletes_each_chunk_of_its_message(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send("word " * 1000, "long")
        await running.send("after", "k2")
        # Any of its ids means the whole message.
        await running.change(Action.UNSEND, "2")
        await running.until(IntentSettled, 3)
        line, after = await lines(running)
    assert platform.seen == {(str(ANA), "4"): "after"}
    assert [request.message_id for request in platform.carried_out] == ["1", "2", "3"]
    assert (line.deleted, after.deleted, line.text[:9]) == (True, False, "word word")


async def test_a_deletion_of_a_message_that_never_arrived_ends_and_says_so(path: Path, platform: Acting) -> None:
    platform.errors = [Refused("no")]
    platform.hold()
    async with changing(path, platform) as running:
        await running.enqueue("first")
        row = await running.change(Action.DELETE, "send:k")
        platform.held.set()
        await running.until(IntentSettled, 2)
        assert states(running)[row.id] == (IntentState.FAILED, Reason.NOTHING_TO_CHANGE)
        with pytest.raises(InvalidAction, match="has ended as failed") as caught:
            await running.change(Action.DELETE, "send:k")
        assert caught.value.reason is Reason.NOTHING_TO_CHANGE
    assert platform.asked == []


async def test_a_parked_message_cannot_be_deleted_before_an_operator_resolves_it(
    path: Path, anyio_backend: str
) -> None:
    platform = acting(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("no answer")]
    platform.hold()
    async with changing(path, platform) as running:
        await running.enqueue("first")
        row = await running.change(Action.DELETE, "send:k")
        platform.held.set()
        await running.until(IntentSettled, 2)
        ended = states(running)
    platform.close()
    assert ended["send:k"][0] is IntentState.UNKNOWN
    assert ended[row.id] == (IntentState.FAILED, Reason.NOTHING_TO_CHANGE)
    assert platform.asked == []


# ---------------------------------------------------------------- reactions, pins, and what has no message


async def test_reactions_to_peoples_messages_leave_no_line(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        for _ in range(2):
            await running.change(Action.REACT, "p1", "👍")
        await running.change(Action.PIN, "p1")
        await running.until(IntentSettled, 4)
        assert [line.role for line in await lines(running)] == ["user", "assistant"]
    assert platform.reactions == {(str(ANA), "p1"): {"👍"}}
    assert [request.action for request in platform.carried_out] == [Action.REACT, Action.REACT, Action.PIN]


@pytest.mark.parametrize("action", [Action.EDIT, Action.UNSEND, Action.DELETE])
async def test_peoples_messages_are_neither_edited_nor_deleted(path: Path, platform: Acting, action: Action) -> None:
    async with changing(path, platform) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        with pytest.raises(InvalidAction, match="somebody else wrote message 'p1'") as caught:
            await running.change(action, "p1", "mine now")
        assert caught.value.reason is Reason.NOT_OWN_MESSAGE
        with pytest.raises(InvalidAction, match="no own message 'p9' is known") as caught:
            await running.change(action, "p9", "mine now")
        assert caught.value.reason is Reason.UNKNOWN_MESSAGE
    assert platform.asked == []


async def test_a_moderator_deletes_what_others_wrote(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        await running.change(Action.DELETE, "p1", moderates=True)
        await running.until(IntentSettled, 2)
    assert [request.message_id for request in platform.carried_out] == ["p1"]


async def test_a_message_of_another_conversation_is_refused(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send()
        for name in ("send:k", "1"):
            with pytest.raises(
                InvalidAction, match="is in discord:default/100, and not in discord:default/2"
            ) as caught:
                await running.change(Action.EDIT, name, "hi Ben", place=BEN)
            assert caught.value.reason is Reason.OTHER_CONVERSATION
        # Here it may be the id of a person's message.
        await running.change(Action.REACT, "1", "👍", place=BEN)
        await running.until(IntentSettled, 2)
    assert platform.reactions == {(str(BEN), "1"): {"👍"}}


async def test_actions_without_a_conversation_have_a_lane_for_each_server(path: Path, platform: Acting) -> None:
    server = server_place("discord", "default", "g1")
    async with changing(path, platform) as running:
        await running.change(Action.KICK, place=server, fields='{"userId":"7"}')
        await running.change(Action.SET_PRESENCE, text="away", place=account_place("discord", "default"))
        await running.until(IntentSettled, 2)
    assert {(request.action, request.fields) for request in platform.carried_out} == {
        (Action.KICK, '{"userId":"7"}'),
        (Action.SET_PRESENCE, None),
    }


async def test_what_the_adapter_cannot_do_is_refused_before_it_is_stored(path: Path, anyio_backend: str) -> None:
    platform = acting(actions=frozenset({Action.REACT}))
    async with changing(path, platform) as running:
        with pytest.raises(InvalidAction, match="kick on discord:default: the adapter has react") as caught:
            await running.change(Action.KICK, place=direct())
        assert running.recorded(IntentPrepared) == []
    platform.close()
    assert caught.value.reason is Reason.UNSUPPORTED


# ---------------------------------------------------------------- failures and doubt


async def test_a_repeatable_change_in_doubt_is_made_again_but_not_while_the_first_request_may_arrive(
    path: Path, anyio_backend: str
) -> None:
    platform = acting(in_flight_seconds=0.3)
    platform.lost = [Ambiguous("no answer")]
    async with changing(path, platform, delivery=FAST) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        await running.change(Action.REACT, "p1", "👍")
        await running.until(IntentSettled, 2)
        ended = [event for event in running.log.events if isinstance(event.body, AttemptEnded)][1:]
    platform.close()
    assert [event.body.decision for event in ended if isinstance(event.body, AttemptEnded)] == ["retry", "settle"]
    assert ended[1].at - ended[0].at >= 0.3
    assert platform.reactions == {(str(ANA), "p1"): {"👍"}}


@pytest.mark.parametrize("ambiguous", ["park", "resend-marked"])
async def test_any_other_change_in_doubt_is_parked(path: Path, platform: Acting, ambiguous: str) -> None:
    platform.lost = [Ambiguous("no answer")]
    async with changing(path, platform, delivery={**FAST, "ambiguous": ambiguous}) as running:
        row = await running.change(Action.THREAD_CREATE, text="plans")
        await running.until(IntentSettled)
        assert states(running)[row.id] == (IntentState.UNKNOWN, Reason.PARKED)
    assert [request.text for request in platform.asked] == ["plans"]


async def test_what_surely_did_not_happen_is_tried_again(path: Path, platform: Acting) -> None:
    platform.refusals = [NotSent("no route"), NotSent("no route")]
    async with changing(path, platform, delivery=FAST) as running:
        await running.change(Action.THREAD_CREATE, text="plans")
        [settled] = await running.until(IntentSettled)
    assert settled.state is IntentState.DELIVERED
    assert len(platform.asked) == 3
    assert len({request.key for request in platform.asked}) == 1


async def test_a_refused_change_is_noted_where_it_was_asked_for(path: Path, platform: Acting) -> None:
    platform.refusals = [Refused("no rights")]
    async with changing(path, platform) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        [admitted] = [event for event in running.log.events if isinstance(event.body, InboundAdmitted)]
        await running.change(Action.PIN, "p1", turn=admitted.inbound or "")
        await running.until(IntentSettled, 2)
        ended = states(running)["c1"]
        [line] = [line.text for line in await lines(running) if line.role == "delivery"]
    assert ended == (IntentState.FAILED, Reason.REFUSED)
    assert line == "The action pin of message p1 in discord:default/100 was not carried out (failed, refused). " + (
        Reason.REFUSED.sentence
    )
