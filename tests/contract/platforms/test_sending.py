"""What a fake platform does with a send, and what can go wrong on the wire."""

import anyio
import pytest

from tests.support.contract.stage import ALL, LONG, SPOTS, THREADED, Stage, attempt, given_up, play, request
from tests.support.for_each import for_each
from trunkline.core.errors import Ambiguous, PlaceGone, PlatformError, RateLimited, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Idempotency, Receipt
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.loop import Node

# ---------------------------------------------------------------- sending


@for_each(("platform", "spot"), SPOTS)
def test_a_receipt_says_where_the_message_is(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/{spot}")
        receipt = await stage.adapter(platform).send(request(place, "hello"))
        assert receipt.address == place
        [accepted] = stage.recorded(WireAccepted)
        assert (accepted.address, accepted.requested, accepted.text) == (place, place, "hello")
        assert accepted.provider_id == receipt.provider_id

    play(test)


@for_each("platform", ALL)
def test_two_messages_have_two_ids(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        one = await adapter.send(request(place, key="k1/0"))
        two = await adapter.send(request(place, key="k1/1", chunk=1))
        assert one.provider_id != two.provider_id
        assert [body.chunk for body in stage.recorded(WireAccepted)] == [0, 1]

    play(test)


@for_each("platform", ALL)
@for_each("can", Idempotency)
def test_the_same_key_is_one_message_where_the_platform_knows_keys(platform: str, can: Idempotency) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        assert adapter.capabilities.idempotency is can
        one = await adapter.send(request(place))
        two = await adapter.send(request(place, attempt=2))
        known = can is Idempotency.KEY
        assert (one == two) is known
        assert len(stage.recorded(WireAccepted)) == (1 if known else 2)
        assert [body.provider_id for body in stage.recorded(WireDeduplicated)] == ([one.provider_id] if known else [])

    play(test, {platform: f"idempotency: {can.value}"})


def test_a_key_belongs_to_its_account() -> None:
    async def test(stage: Stage) -> None:
        for account in ("default", "second"):
            await stage.adapter("discord", account).send(request(stage.place(f"discord:{account}/both")))
        assert [body.address.account for body in stage.recorded(WireAccepted)] == ["default", "second"]

    play(test)


@for_each("platform", ALL)
def test_an_unknown_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        nowhere = Address(channel=platform, account="default", kind=ChatKind.GROUP, conversation="none")
        with pytest.raises(Refused, match="no such conversation"):
            await stage.adapter(platform).send(request(nowhere))
        assert stage.recorded(WireAccepted) == []
        [refused] = stage.recorded(WireRefused)
        assert (refused.address, refused.reason) == (nowhere, Reason.REFUSED)

    play(test)


@for_each("platform", ALL)
def test_an_unknown_thread_of_a_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/both")
        lost = Address(
            channel=platform, account="default", kind=place.kind, conversation=place.conversation, thread="404"
        )
        assert isinstance(await attempt(stage.adapter(platform), lost), Refused)
        assert stage.recorded(WireAccepted) == []

    play(test)


@for_each("platform", ALL)
def test_an_account_that_is_no_member_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}/mine")
        outside = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), outside), Refused)

    play(test)


@for_each("platform", ALL)
def test_the_direct_conversation_of_one_account_is_not_the_others(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/@ana")
        other = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), other), Refused)

    play(test)


@for_each("platform", THREADED)
@for_each(("how", "reason"), [("archived", Reason.PLACE_CLOSED), ("deleted", Reason.PLACE_GONE)])
def test_a_thread_that_is_closed_or_gone_takes_nothing_and_its_room_does(
    platform: str, how: str, reason: Reason
) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.close(f"{platform}:default/both/deploy", how)
        with pytest.raises(PlaceGone, match=f"both/deploy is {how}"):
            await adapter.send(request(stage.place(f"{platform}:default/both/deploy")))
        assert [body.reason for body in stage.recorded(WireRefused)] == [reason]
        await adapter.send(request(stage.place(f"{platform}:default/both")))
        assert len(stage.recorded(WireAccepted)) == 1

    play(test)


@for_each("platform", ALL)
def test_a_text_over_the_limit_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        limit = adapter.capabilities.text_limit
        assert isinstance(await attempt(adapter, place, text="x" * (limit + 1)), Refused)
        assert isinstance(await attempt(adapter, place, text="x" * limit, key="k2/0"), Receipt)

    play(test)


# ---------------------------------------------------------------- what goes wrong on the wire


@for_each("platform", ALL)
@for_each(
    ("do", "error", "reason"),
    [
        ("refuse", Refused, Reason.REFUSED),
        ("rate-limit", RateLimited, Reason.RATE_LIMITED),
        ("error", PlatformError, Reason.PLATFORM_ERROR),
    ],
)
def test_a_refusal_is_reported_by_its_class_and_nothing_is_visible(
    platform: str, do: str, error: type[PlatformError], reason: Reason
) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault(do, **{"for": "7s"} if do == "rate-limit" else {})
        with pytest.raises(PlatformError) as refused:
            await adapter.send(request(place))
        assert type(refused.value) is error
        assert not isinstance(refused.value, Ambiguous)
        assert refused.value.retry_after == (7.0 if do == "rate-limit" else None)
        assert stage.recorded(WireAccepted) == []
        assert [body.reason for body in stage.recorded(WireRefused)] == [reason]
        await adapter.send(request(place, attempt=2))
        assert len(stage.recorded(WireAccepted)) == 1

    play(test)


@for_each("platform", ALL)
def test_a_lost_response_leaves_the_message_visible(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("lose-response")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert len(stage.recorded(WireAccepted)) == 1
        assert len(stage.recorded(WireResponseLost)) == 1

    play(test)


@for_each("platform", ALL)
def test_a_dropped_request_leaves_nothing(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("drop")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        await anyio.sleep(LONG)
        assert stage.recorded(WireAccepted) == []

    play(test)


@for_each("platform", ALL)
def test_a_slow_request_arrives_after_its_sender_gave_up(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("slow", **{"for": "20s"})
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert stage.recorded(WireAccepted) == []
        await anyio.sleep(LONG)
        assert len(stage.recorded(WireAccepted)) == 1

    play(test)


@for_each("platform", ALL)
def test_a_request_on_the_wire_outlives_its_process(platform: str) -> None:
    async def test(stage: Stage) -> None:
        node = Node("gateway", 1)
        adapter, place = stage.adapter(platform, node=node), stage.place(f"{platform}/mine")
        with anyio.move_on_after(0.001):
            await adapter.send(request(place))
        node.kill()
        assert stage.recorded(WireAccepted) == []
        await anyio.sleep(LONG)
        assert len(stage.recorded(WireAccepted)) == 1

    play(test)


# ---------------------------------------------------------------- look-up


def test_a_send_is_found_by_its_key_once_it_was_accepted() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert await adapter.find(place, "k1/0") is None
        receipt = await adapter.send(request(place))
        assert await adapter.find(place, "k1/0") == receipt
        assert await adapter.find(place, "k1/1") is None
        assert [body.found for body in stage.recorded(WireLookedUp)] == [False, True, False]

    play(test, {"telegram": "idempotency: lookup"})


def test_a_send_whose_response_was_lost_is_found() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("lose-response")
        await given_up(adapter, place)
        [accepted] = stage.recorded(WireAccepted)
        found = await adapter.find(place, "k1/0")
        assert found == Receipt(provider_id=accepted.provider_id, address=place)

    play(test, {"telegram": "idempotency: lookup"})


def test_a_look_up_that_fails_is_an_error_and_no_answer() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        await adapter.send(request(place))
        stage.fault("error", on="lookup")
        with pytest.raises(PlatformError, match="the look-up failed"):
            await adapter.find(place, "k1/0")
        assert await adapter.find(place, "k1/0") is not None

    play(test, {"telegram": "idempotency: lookup"})
