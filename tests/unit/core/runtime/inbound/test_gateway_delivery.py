"""What the gateway delivers when sends fail, on a real store file and the wall clock."""

from pathlib import Path

import pytest

from tests.support.factories import room
from tests.support.small_gateway import KEY, Echo, TinyPlatform, serving
from trunkline import Capabilities, Idempotency, Turn
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, RateLimited
from trunkline.core.events.delivery import AttemptEnded, IntentSettled
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio


async def test_an_answer_that_could_not_be_sent_goes_out_after_a_restart_under_the_same_key(
    path: Path, platform: TinyPlatform
) -> None:
    platform.errors = [NotSent("no network")]
    async with serving(path, platform, delivery={"backoff": ["1s"]}) as running:
        platform.say("m1")
        await running.until(AttemptEnded)
        await running.until(InboundAdmitted)
        assert platform.sent == []
    async with serving(path, platform) as running:
        [settled] = await running.until(IntentSettled)
        assert settled.state is IntentState.DELIVERED
    [request] = platform.sent
    assert request.key == f"{request.intent}/0"


async def test_a_failure_before_the_platform_is_tried_again(path: Path, platform: TinyPlatform) -> None:
    platform.errors = [NotSent("no network")]
    async with serving(path, platform, delivery={"backoff": ["1ms"]}) as running:
        platform.say("m1")
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.attempts) == (IntentState.DELIVERED, 2)
    assert len(platform.sent) == 1


async def test_a_wait_longer_than_the_age_limit_expires_what_was_marked_as_sending(
    path: Path, platform: TinyPlatform
) -> None:
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [RateLimited(retry_after=1e6)]
    async with serving(path, platform) as running:
        platform.say("m1", text="one")
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.reason) == (IntentState.EXPIRED, Reason.TOO_OLD)
        platform.say("m2", text="two")
        await running.until(IntentSettled, 3)
    assert [request.text for request in platform.sent] == [DeliveryConfig().failed_notice, "you said two"]


async def test_an_ambiguous_send_without_key_or_look_up_is_parked_and_the_next_goes_on(
    path: Path, platform: TinyPlatform
) -> None:
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    async with serving(path, platform) as running:
        platform.say("m1", text="one")
        platform.say("m2", text="two")
        parked, *delivered = await running.until(IntentSettled, 3)
        assert (parked.state, parked.reason) == (IntentState.UNKNOWN, Reason.PARKED)
        assert [settled.state for settled in delivered] == [IntentState.DELIVERED] * 2
    assert [request.text for request in platform.sent] == [DeliveryConfig().doubt_notice, "you said two"]


async def test_a_place_that_is_gone_is_not_tried_again_and_nothing_goes_elsewhere(
    path: Path, platform: TinyPlatform
) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform) as running:
        platform.say("m1", room("777", parent="500"))
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.reason) == (IntentState.FAILED, Reason.PLACE_GONE)
        await running.until(IntentSettled, 2)
    # Only the notice, without the answer, for the room of the thread.
    [notice] = platform.sent
    assert (notice.text, notice.address) == (DeliveryConfig().failed_notice, room("500"))


async def test_a_long_answer_is_sent_in_order_and_kept_as_one(path: Path, platform: TinyPlatform) -> None:
    async def recite(_: Turn) -> str:
        return "one two three"

    async with serving(path, platform, Echo(recite), channels={"discord": {"text_limit": 5}}) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        assert (await running.transcript(KEY))[-1] == ("assistant", "one\ntwo\nthree")
    assert [(request.chunk, request.text) for request in platform.sent] == [(0, "one"), (1, "two"), (2, "three")]
    assert len({request.key for request in platform.sent}) == 3
