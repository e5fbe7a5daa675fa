"""Delivery through a real gateway: two transports, readiness, and adapters that come later."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct
from tests.support.sending import Platform, Tried, message, serving, texts
from trunkline import DeliveryMode, Idempotency, Ready, Receipt, SendRequest, SendStatus, Transport
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, SendFailed
from trunkline.core.events.delivery import AttemptStarted, Fallback, IntentSettled, LaneWaiting, TransportFallback
from trunkline.core.events.gateway import InboundAdmitted, ProcessRecovered
from trunkline.core.events.leases import AdapterInstalled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

FAST: dict[str, Any] = {"backoff": ["1ms"], "not_ready_wait": "5ms", "watch": "5ms"}
DIRECT, GATEWAY = Transport.DIRECT, Transport.GATEWAY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def hybrid(anyio_backend: str) -> Iterator[Tried]:
    tiny = Tried(mode=DeliveryMode.HYBRID)
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- two transports


@pytest.mark.parametrize(
    ("mode", "way"), [(DeliveryMode.DIRECT, DIRECT), (DeliveryMode.GATEWAY, GATEWAY), (DeliveryMode.HYBRID, DIRECT)]
)
async def test_a_mode_has_its_transport(path: Path, anyio_backend: str, mode: DeliveryMode, way: Transport) -> None:
    platform = Tried(mode=mode)
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        assert running.recorded(TransportFallback) == []
    assert platform.ways == [way]
    platform.close()


async def test_what_provably_did_not_leave_takes_the_gateway_path_and_that_is_recorded_first(
    path: Path, hybrid: Tried
) -> None:
    hybrid.errors = [NotSent("no route")]
    async with serving(path, hybrid) as running:
        outcome = await running.gateway.send(message())
        events = list(running.log.events)
        [told] = running.recorded(TransportFallback)
        [settled] = running.recorded(IntentSettled)
    assert (outcome.status, hybrid.ways) == (SendStatus.DELIVERED, [DIRECT, GATEWAY])
    assert len({request.key for request in hybrid.tried}) == 1
    assert (told.instead_of, told.used, told.reason, told.chunk) == (DIRECT, GATEWAY, Reason.GATEWAY_PATH, 0)
    kinds = [event.kind for event in events if event.kind in ("attempt.started", "transport.fallback")]
    assert kinds == ["attempt.started", "transport.fallback", "attempt.started"]
    # It is another way to the same place, and no other place.
    assert [event for event in events if isinstance(event.body, Fallback)] == []
    assert settled.attempts == 2


async def test_the_way_is_durable_before_it_is_taken_and_is_kept_over_a_crash(path: Path, hybrid: Tried) -> None:
    ways: list[str] = []

    class Watched(Tried):
        async def send(self, request: SendRequest) -> Receipt:
            with closing(sqlite3.connect(path)) as db:
                ways.append(db.execute("SELECT transport FROM intents").fetchone()[0])
            if request.transport is DIRECT:
                raise NotSent("no route")
            return await super().send(request)

    watched = Watched(mode=DeliveryMode.HYBRID)
    watched.hold()
    async with serving(path, watched) as running:
        await running.gateway.enqueue(message())
        await watched.arrived.wait()
    watched.held.set()
    async with serving(path, watched) as running:
        await running.until(IntentSettled)
        assert running.recorded(TransportFallback) == []
    assert (ways, watched.ways, texts(watched)) == ([None, "gateway", "gateway"], [GATEWAY, GATEWAY], ["hi"])
    watched.close()


async def test_a_gateway_path_that_fails_is_tried_again_on_the_gateway_path(path: Path, hybrid: Tried) -> None:
    hybrid.errors = [NotSent("no route"), NotSent("no gateway"), NotSent("no gateway")]
    async with serving(path, hybrid, delivery=FAST) as running:
        await running.gateway.send(message())
        assert len(running.recorded(TransportFallback)) == 1
    assert hybrid.ways == [DIRECT, GATEWAY, GATEWAY, GATEWAY]


async def test_each_chunk_begins_on_the_direct_path(path: Path, hybrid: Tried) -> None:
    hybrid.errors = [NotSent("no route")]
    async with serving(path, hybrid, channels={"discord": {"text_limit": 5}}) as running:
        await running.gateway.send(message(text="one two"))
    assert [(request.chunk, request.transport) for request in hybrid.tried] == [(0, DIRECT), (0, GATEWAY), (1, DIRECT)]


@pytest.mark.parametrize("idempotency", [Idempotency.KEY, Idempotency.NONE])
async def test_what_may_have_left_never_takes_another_way(
    path: Path, anyio_backend: str, idempotency: Idempotency
) -> None:
    platform = Tried(mode=DeliveryMode.HYBRID, idempotency=idempotency)
    # After the first one, a proof for the second is no proof for the message.
    platform.errors = [Ambiguous("no answer"), NotSent("no route"), NotSent("no route")]
    async with serving(path, platform, delivery=FAST) as running:
        outcome = await running.gateway.send(message(best_effort=False)) if idempotency is Idempotency.KEY else None
        if outcome is None:
            with pytest.raises(SendFailed, match="it ended as unknown"):
                await running.gateway.send(message())
        assert running.recorded(TransportFallback) == []
    assert platform.ways == [DIRECT] * (4 if idempotency is Idempotency.KEY else 1)
    platform.close()


async def test_a_direct_mode_has_no_other_way(path: Path, anyio_backend: str) -> None:
    platform = Tried(mode=DeliveryMode.DIRECT)
    platform.errors = [NotSent("no route")]
    async with serving(path, platform, delivery=FAST) as running:
        await running.gateway.send(message())
        assert running.recorded(TransportFallback) == []
    assert platform.ways == [DIRECT, DIRECT]
    platform.close()


# ---------------------------------------------------------------- readiness


class Readying(Tried):
    """A platform that says whether it can send."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked = 0

    async def ready(self) -> Ready:
        self.asked += 1
        answer: Any = self.answers.pop(0) if self.answers else Ready(ok=True)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Ready):
            return answer
        await anyio.sleep_forever()
        raise AssertionError


async def test_waiting_for_readiness_costs_no_attempt_and_is_recorded_once(path: Path, anyio_backend: str) -> None:
    platform = Readying(*[Ready(ok=False, reason="not-linked")] * 3)
    async with serving(path, platform, delivery=FAST) as running:
        await running.gateway.send(message())
        [waiting] = running.recorded(LaneWaiting)
        [settled] = running.recorded(IntentSettled)
        assert len(running.recorded(AttemptStarted)) == 1
    assert (waiting.reason, waiting.detail, waiting.address) == (Reason.NOT_READY, "not-linked", direct())
    assert (settled.state, settled.attempts, platform.asked) == (IntentState.DELIVERED, 1, 4)
    platform.close()


async def test_an_adapter_that_is_ready_is_not_asked_for_each_message(path: Path, anyio_backend: str) -> None:
    platform = Readying()
    async with serving(path, platform, delivery=FAST) as running:
        for n in range(5):
            await running.gateway.send(message(key=f"k{n}"))
        assert platform.asked == 1
        # Until it shows the contrary.
        platform.errors = [NotSent("logged out")]
        platform.answers = [Ready(ok=False, reason="not-linked")] * 2
        await running.gateway.send(message(key="again"))
        assert [body.reason for body in running.recorded(LaneWaiting)] == [Reason.NOT_READY]
    assert (platform.asked, len(platform.sent)) == (4, 6)
    platform.close()


@pytest.mark.parametrize("answer", [RuntimeError("a defect"), "never"], ids=["raises", "hangs"])
async def test_an_adapter_that_cannot_say_is_not_ready(path: Path, anyio_backend: str, answer: object) -> None:
    platform = Readying(answer)
    async with serving(path, platform, delivery={**FAST, "request_timeout": "20ms"}) as running:
        await running.gateway.send(message())
        [waiting] = running.recorded(LaneWaiting)
    assert waiting.detail.startswith("RuntimeError: a defect" if answer != "never" else "TimeoutError")
    platform.close()


async def test_an_account_that_is_not_ready_holds_up_no_other(path: Path, anyio_backend: str) -> None:
    platform, telegram = Readying(*[Ready(ok=False)] * 10_000), Platform("telegram")
    async with serving(path, platform, telegram, delivery={**FAST, "lanes": 1}) as running:
        await running.gateway.enqueue(message(channel="discord"))
        await running.until(LaneWaiting)
        await running.gateway.send(message("42", channel="telegram", key="k2"))
        assert platform.sent == []
        platform.answers = []
        await running.until(IntentSettled, 2)
    assert (texts(telegram), texts(platform)) == (["hi"], ["hi"])
    for one in (platform, telegram):
        one.close()


async def test_what_waits_too_long_for_readiness_expires_without_an_attempt(path: Path, anyio_backend: str) -> None:
    platform = Readying(*[Ready(ok=False)] * 10_000)
    async with serving(path, platform, delivery={**FAST, "max_age": "30ms"}) as running:
        with pytest.raises(SendFailed, match="it ended as expired"):
            await running.gateway.send(message())
        [settled] = running.recorded(IntentSettled)
    assert (settled.reason, settled.attempts, platform.tried) == (Reason.TOO_OLD, 0, [])
    platform.close()


# ---------------------------------------------------------------- adapters that come later


async def left_for(path: Path, absent: Platform) -> None:
    """End a process while an account has three messages to send."""
    absent.hold()
    async with serving(path, absent) as running:
        for n in range(3):
            await running.gateway.enqueue(message("42", f"old {n}", f"old{n}", channel=absent.channel))
        await absent.arrived.wait()
    absent.held.set()


async def test_what_waits_for_an_adapter_goes_on_when_it_comes(path: Path, anyio_backend: str) -> None:
    absent, other = Platform("telegram"), Platform()
    await left_for(path, absent)
    async with serving(path, other) as running:
        [waiting] = await running.until(LaneWaiting)
        # It holds up nobody, and nothing is lost.
        await running.gateway.send(message(key="k2"))
        assert (len(running.recorded(AttemptStarted)), absent.sent) == (1, [])
        running.gateway.install(absent)
        await running.until(IntentSettled, 4)
        [installed] = running.recorded(AdapterInstalled)
        # And it is listened to.
        absent.say("m1", direct("42", channel="telegram"))
        await running.until(InboundAdmitted)
        await running.until(IntentSettled, 5)
        with pytest.raises(ConfigError, match="telegram:default has an adapter already"):
            running.gateway.install(absent)
    assert (waiting.reason, waiting.address.channel) == (Reason.NO_ADAPTER, "telegram")
    assert (installed.channel, installed.account) == ("telegram", "default")
    assert texts(absent) == ["old 0", "old 1", "old 2", "you said hello"]
    for one in (absent, other):
        one.close()


async def test_what_waits_for_an_adapter_survives_another_restart(path: Path, anyio_backend: str) -> None:
    absent, other = Platform("telegram"), Platform()
    await left_for(path, absent)
    for _ in range(3):
        async with serving(path, other) as running:
            await running.until(LaneWaiting)
            assert [body.intents for body in running.recorded(ProcessRecovered)] == [3]
    async with serving(path, absent) as running:
        settled = await running.until(IntentSettled, 3)
        # The waiting has cost none of the attempts; the one that the first process made may count.
        assert max(body.attempts for body in settled) <= 2
    assert texts(absent) == ["old 0", "old 1", "old 2"]
    for one in (absent, other):
        one.close()


async def test_what_waits_too_long_for_an_adapter_ends_visibly(path: Path, anyio_backend: str) -> None:
    absent, other = Platform("telegram"), Platform()
    await left_for(path, absent)
    async with serving(path, other, delivery={**FAST, "max_age": "1ms"}) as running:
        settled = await running.until(IntentSettled, 3)
    assert {body.reason for body in settled} == {Reason.TOO_OLD}
    # The first was on its way when its process ended; the others surely were not.
    assert [body.state for body in settled] == [IntentState.UNKNOWN, IntentState.EXPIRED, IntentState.EXPIRED]
    for one in (absent, other):
        one.close()
