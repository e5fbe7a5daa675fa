"""Changes that adapters answer in odd ways, and hooks that see the new text of an edit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.changing import Acting, acting, changing
from tests.support.factories import room
from tests.support.sending import message
from tests.support.small_gateway import ANA, KEY
from tests.support.stores import transcript_of
from trunkline import Change, Hooks, Outgoing, Receipt, SendingHook, Sent, SentHook
from trunkline.core.action_catalogue import Action
from trunkline.core.events.delivery import AttemptEnded, IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

SOON: dict[str, Any] = {"backoff": ["1ms"], "request_timeout": 0.2}
ELSEWHERE = room("999")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Acting]:
    tiny = acting()
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("answer", [None, "1", ValueError("odd"), "hangs"])
async def test_an_answer_that_proves_nothing_leaves_a_doubt(path: Path, platform: Acting, answer: object) -> None:
    act, odd = platform.act, [answer]

    async def answers(request: Any) -> Any:
        receipt = await act(request)
        if not odd:
            return receipt
        wrong = odd.pop()
        if isinstance(wrong, Exception):
            raise wrong
        if wrong == "hangs":
            await anyio.sleep_forever()
        return wrong

    platform.act = answers  # pyright: ignore[reportAttributeAccessIssue]
    async with changing(path, platform, delivery=SOON) as running:
        await running.change(Action.REACT, "p1", "👍")
        [settled] = await running.until(IntentSettled)
        first, second = running.recorded(AttemptEnded)
    assert (settled.state, first.decision, second.decision) == (IntentState.DELIVERED, "retry", "settle")
    assert first.reason in (Reason.NO_RECEIPT, Reason.RESPONSE_LOST)


async def test_a_receipt_need_not_name_a_message(path: Path, platform: Acting) -> None:
    async def nameless(request: Any) -> Receipt:
        return Receipt(provider_id="", address=request.address)

    platform.act = nameless  # pyright: ignore[reportAttributeAccessIssue]
    async with changing(path, platform) as running:
        await running.change(Action.SET_PRESENCE, text="away")
        [settled] = await running.until(IntentSettled)
    assert settled.state is IntentState.DELIVERED


async def test_a_change_at_another_place_is_misplaced_and_changes_no_line(path: Path, platform: Acting) -> None:
    async def astray(request: Any) -> Receipt:
        return Receipt(provider_id=request.message_id or "new", address=ELSEWHERE)

    platform.act = astray  # pyright: ignore[reportAttributeAccessIssue]
    place = room()
    async with changing(path, platform) as running:
        await running.change(Action.PIN, "p1", place=place)
        # What creates something has a place of its own.
        await running.change(Action.CHANNEL_CREATE, text="plans", place=place)
        pinned, created = await running.until(IntentSettled, 2)
    assert (pinned.state, created.state) == (IntentState.MISPLACED, IntentState.DELIVERED)


async def test_a_message_that_went_astray_while_its_edit_waited_is_left_alone(path: Path, platform: Acting) -> None:
    send = platform.send

    async def astray(request: Any) -> Receipt:
        return Receipt(provider_id=(await send(request)).provider_id, address=ELSEWHERE)

    platform.hold()
    platform.send = astray  # pyright: ignore[reportAttributeAccessIssue]
    async with changing(path, platform) as running:
        place = room()
        await running.gateway.enqueue(message(place, "old"))
        await running.change(Action.EDIT, "send:k", "new", place=place)
        platform.held.set()
        sent, edit = await running.until(IntentSettled, 2)
    assert (sent.state, edit.state) == (IntentState.MISPLACED, IntentState.FAILED)
    assert edit.reason is Reason.OTHER_CONVERSATION
    assert platform.asked == []


# ---------------------------------------------------------------- hooks


def hooks(change: Any, sent: list[Sent]) -> Hooks:
    async def sending(message: Outgoing) -> object:
        return change(message)

    async def ended(outcome: Sent) -> None:
        sent.append(outcome)

    return Hooks(sending=(SendingHook(name="redact", call=sending),), sent=(SentHook(name="audit", call=ended),))


async def test_hooks_see_and_change_the_new_text_of_an_edit(path: Path, platform: Acting) -> None:
    outcomes: list[Sent] = []
    watching = hooks(lambda message: Change(message.text.replace("secret", "[removed]")), outcomes)
    async with changing(path, platform, hooks=watching) as running:
        await running.send("hi")
        await running.change(Action.EDIT, "send:k", "the secret")
        await running.change(Action.REACT, "send:k", "secret")
        await running.until(IntentSettled, 3)
        [line] = await transcript_of(running.store, KEY)
    assert [request.text for request in platform.carried_out] == ["the [removed]", "secret"]
    assert line.text == "the [removed]"
    assert [(one.intent, one.state) for one in outcomes] == [
        ("send:k", IntentState.DELIVERED),
        ("c1", IntentState.DELIVERED),
    ]


async def test_an_edit_that_a_hook_makes_too_long_is_cancelled(path: Path, platform: Acting) -> None:
    outcomes: list[Sent] = []
    longer = hooks(lambda message: Change("word " * 500) if message.text == "new" else None, outcomes)
    async with changing(path, platform, hooks=longer) as running:
        await running.send("hi")
        await running.change(Action.EDIT, "send:k", "new")
        [_, cancelled] = await running.until(IntentSettled, 2)
        [line] = await transcript_of(running.store, KEY)
    assert (cancelled.state, cancelled.reason) == (IntentState.CANCELLED, Reason.TEXT_TOO_LONG)
    assert (line.text, platform.asked) == ("hi", [])
    assert platform.seen == {(str(ANA), "1"): "hi"}
