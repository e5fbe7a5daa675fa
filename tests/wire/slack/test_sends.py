"""Sends: what each failure on the socket proves, threads, direct conversations, files and buttons."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.wire.slack import SlackBench, listening_to, on_slack
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Ambiguous, NotSent, PlaceArchived, PlaceGone, PlatformError, RateLimited, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, IntentId, Receipt
from trunkline.sim.events.wire import WireAccepted


class Impatient(SlackBench):
    """A request may take half a second."""

    config = {**SlackBench.config, "request_timeout": 0.5}  # noqa: RUF012 -- as in the base


def texts(bench: SlackBench) -> list[str]:
    return [body.text for body in bench.events(WireAccepted)]


@pytest.mark.parametrize(
    ("do", "error", "accepted"),
    [
        ("reset", Ambiguous, 1),
        ("reset-before", Ambiguous, 0),
        ("half-answer", Ambiguous, 1),
        ("html", Ambiguous, 0),
        ("lose-response", Ambiguous, 1),
        ("drop", Ambiguous, 0),
        ("rate-limit", RateLimited, 0),
        ("refuse", Refused, 0),
        ("error", PlatformError, 0),
    ],
)
def test_a_failure_proves_what_it_proves(do: str, error: type[PlatformError], accepted: int) -> None:
    async def test(bench: SlackBench) -> None:
        bench.fault(do, **({"for": "6400ms"} if do == "rate-limit" else {}))
        with pytest.raises(error) as raised:
            await bench.real.send(bench.message("hello"))
        assert raised.value.ambiguous is (error is Ambiguous)
        assert raised.value.retryable is (error is not Refused)
        if do == "rate-limit":
            # In whole seconds, and none too few.
            assert raised.value.retry_after == 7.0
        await asyncio.sleep(0.2)
        assert texts(bench) == ["hello"] * accepted
        await bench.real.send(bench.message("next"))
        assert texts(bench) == ["hello"] * accepted + ["next"]

    on_slack(test, Impatient)


def test_a_response_byte_by_byte_is_a_response() -> None:
    async def test(bench: SlackBench) -> None:
        bench.fault("slow-loris", **{"for": "1s"})
        assert (await bench.real.send(bench.message("hello"))).provider_id

    on_slack(test)


def test_a_refused_connection_is_certainly_not_sent() -> None:
    async def test(bench: SlackBench) -> None:
        await bench.listener.close()
        with pytest.raises(NotSent):
            await bench.real.send(bench.message("hello"))

    on_slack(test)


@pytest.mark.parametrize(("closed", "error"), [("archived", PlaceArchived), ("deleted", PlaceGone)])
def test_a_room_that_is_gone_refuses_the_send_and_says_what_it_is(closed: str, error: type[PlatformError]) -> None:
    async def test(bench: SlackBench) -> None:
        room = bench.server.platform.room_at(bench.places[0])
        assert room is not None
        bench.server.platform.threads.close(room, closed, None)
        with pytest.raises(error):
            await bench.real.send(bench.message("hello"))
        state = await bench.real.inspect(bench.places[0])  # pyright: ignore[reportAttributeAccessIssue]
        assert state is {"archived": PlaceState.ARCHIVED, "deleted": PlaceState.GONE}[closed]

    on_slack(test)


def test_a_bot_that_was_removed_from_a_room() -> None:
    async def test(bench: SlackBench) -> None:
        room = bench.server.platform.room_at(bench.places[0])
        assert room is not None
        room.left.add("default")
        with pytest.raises(PlaceGone):
            await bench.real.send(bench.message("hello"))
        # Nobody else is affected.
        assert (await bench.real.send(bench.message("hello", bench.places[2]))).provider_id
        state = await bench.real.inspect(bench.places[0])  # pyright: ignore[reportAttributeAccessIssue]
        assert state is PlaceState.GONE

    on_slack(test)


def test_a_direct_conversation_has_the_users_id_whatever_slack_calls_it() -> None:
    async def test(bench: SlackBench) -> None:
        direct = bench.places[1]
        first = await bench.real.send(bench.message("to the user", direct))
        # From the first response on, Slack's own id of the conversation is used.
        second = await bench.real.send(bench.message("again", direct))
        assert first.address == second.address == direct
        async with listening_to(bench) as there:
            await bench.say(direct, "back")
            await there.brings("back")
            assert there.envelopes[0].address == direct
        changed = await bench.real.act(change(Action.EDIT, second, "better"))  # pyright: ignore[reportAttributeAccessIssue]
        assert changed.address == direct

    on_slack(test)


def change(action: Action, of: Receipt, text: str = "", **more: Any) -> ActionRequest:
    return ActionRequest(
        action=action,
        address=of.address,
        key=f"{action.value}-{text}",
        intent=IntentId("i"),
        attempt=1,
        message_id=of.provider_id,
        text=text,
        **more,
    )


def test_a_message_in_a_thread_comes_from_the_thread_and_with_its_author() -> None:
    async def test(bench: SlackBench) -> None:
        assert bench.thread is not None
        async with listening_to(bench) as there:
            await bench.say(bench.thread, "a < b & c > d")
            await there.brings("a < b & c > d")
        [envelope] = there.envelopes
        assert envelope.address == bench.thread
        assert envelope.peer.name == "ana"
        assert envelope.team == "T0TRUNKLINE"
        assert await bench.real.inspect(bench.thread) is PlaceState.OPEN  # pyright: ignore[reportAttributeAccessIssue]
        gone = msgspec.structs.replace(bench.thread, thread="1.000001")
        assert await bench.real.inspect(gone) is PlaceState.GONE  # pyright: ignore[reportAttributeAccessIssue]

    on_slack(test)


def test_a_button_is_pressed() -> None:
    async def test(bench: SlackBench) -> None:
        rows = ((Button(text="Yes", value="y"), Button(text="Look", url="https://example.org/")),)
        receipt = await bench.real.send(bench.message("sure?", parts=MessageParts(buttons=rows)))
        [seen] = bench.server.platform.board.sent
        assert seen.request.parts == MessageParts(buttons=rows)
        async with listening_to(bench) as there:
            peer = next(iter(bench.server.platform.server.members.values())).peer
            bench.server.platform.people.press("p1", peer, (), seen, "Yes")
            await there.brings("y")
        [press] = there.envelopes
        assert (press.pressed, press.address, press.peer.id) == (receipt.provider_id, bench.places[0], peer.id)

    on_slack(test)


def test_an_image_without_a_text() -> None:
    async def test(bench: SlackBench) -> None:
        await bench.real.send(bench.message("", media=("https://example.org/lamp.png",)))
        [seen] = bench.server.platform.board.sent
        assert (seen.text, seen.media) == ("", ("https://example.org/lamp.png",))

    on_slack(test)


def test_no_connection_is_kept_for_the_next_send() -> None:
    async def test(bench: SlackBench) -> None:
        await bench.real.send(bench.message("hello"))
        await asyncio.sleep(0.1)
        assert bench.listener.break_connections() == 0

    on_slack(test)


def test_names_and_ids_are_looked_up() -> None:
    async def test(bench: SlackBench) -> None:
        room, direct = bench.places[0], bench.places[1]
        for text, target in {
            "#one": f"channel:{room.conversation}",
            "slack:channel:one": f"channel:{room.conversation}",
            room.conversation: f"channel:{room.conversation}",
            "@ana": f"user:{direct.conversation}",
            f"<@{direct.conversation}>": f"user:{direct.conversation}",
            bench.server.platform.alias("default", direct.conversation): f"user:{direct.conversation}",
        }.items():
            found = await bench.real.resolve_target(text)  # pyright: ignore[reportAttributeAccessIssue]
            assert found is not None, text
            assert found.target == target
        assert await bench.real.resolve_target("#nowhere") is None  # pyright: ignore[reportAttributeAccessIssue]

    on_slack(test)


def test_history_and_people_are_asked_for() -> None:
    async def test(bench: SlackBench) -> None:
        receipt = await bench.real.send(bench.message("hello"))
        person = next(iter(bench.server.platform.server.members))

        async def ask(action: Action, place: Address = bench.places[0], **more: Any) -> Any:
            return await bench.real.ask(ActionQuery(action=action, address=place, **more))  # pyright: ignore[reportAttributeAccessIssue]

        [message] = await ask(Action.READ)
        assert (message["messageId"], message["text"]) == (receipt.provider_id, "hello")
        assert (await ask(Action.MEMBER_INFO, fields=f'{{"userId": "{person}"}}'))["name"] == "ana"
        assert await ask(Action.EMOJI_LIST) == []
        with pytest.raises(Refused):
            await ask(Action.DOWNLOAD_FILE, fields='{"fileId": "F404"}')

    on_slack(test)
