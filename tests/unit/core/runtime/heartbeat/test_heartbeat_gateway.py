"""Heartbeats through a gateway on a store file: adapters, agents and callers that misbehave, and a restart."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.channels import Ready
from trunkline.core.errors import InvalidCall, UnknownName
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted
from trunkline.core.reasons import Reason
from trunkline.core.store.schedule import MOST_EVENTS
from trunkline.core.values import WorkKind

pytestmark = pytest.mark.anyio

HEARTBEAT: dict[str, Any] = {"every": "1h", "target": "discord", "to": "user:100"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator["Named"]:
    tiny = Named()
    yield tiny
    tiny.close()


class Named(TinyPlatform):
    """A platform whose account names the people to write to, and says whether it is ready; either may misbehave."""

    def __init__(self) -> None:
        super().__init__()
        self.people: object = ()
        self.readiness: object = Ready(ok=True)

    async def resolve_recipients(self) -> Any:
        return _answer(self.people)

    async def ready(self) -> Any:
        return _answer(self.readiness)


def _answer(value: object) -> object:
    if isinstance(value, Exception):
        raise value
    return value


def says(text: str | None) -> Echo:
    async def act(turn: Turn) -> str | None:
        return text if turn.work is WorkKind.HEARTBEAT else "hello"

    return Echo(act)


async def test_an_alert_is_delivered_once_over_a_restart(path: Path, platform: Named) -> None:
    found: list[tuple[str, Reason | None]] = []
    for _ in range(2):
        async with serving(path, platform, says("the disk is full"), heartbeat=HEARTBEAT) as running:
            await running.gateway.wake_heartbeat("main")
            (ended,) = await running.until(HeartbeatEnded)
            found.append((ended.status, ended.reason))
    assert found == [("sent", None), ("skipped", Reason.DUPLICATE)]
    assert [request.text for request in platform.sent] == ["the disk is full"]


async def test_an_acknowledgement_is_not_delivered(path: Path, platform: Named) -> None:
    async with serving(path, platform, says("HEARTBEAT_OK"), heartbeat=HEARTBEAT) as running:
        await running.gateway.wake_heartbeat("main")
        (ended,) = await running.until(HeartbeatEnded)
    assert (ended.status, platform.sent) == ("ok-token", [])


@pytest.mark.parametrize(
    ("readiness", "detail"),
    [
        (Ready(ok=False, reason="whatsapp-not-linked"), "whatsapp-not-linked"),
        (RuntimeError("boom"), "boom"),
        ("yes", ""),
        (None, ""),
    ],
)
async def test_an_account_that_does_not_say_that_it_is_ready_delivers_nothing(
    path: Path, platform: Named, readiness: object, detail: str
) -> None:
    async with serving(path, platform, says("the disk is full"), heartbeat=HEARTBEAT) as running:
        platform.readiness = readiness
        await running.gateway.wake_heartbeat("main")
        (ended,) = await running.until(HeartbeatEnded)
        assert (ended.status, ended.reason) == ("skipped", Reason.NOT_READY)
        assert detail in ended.detail
        # Nothing was said, so it may be said.
        platform.readiness = Ready(ok=True)
        await running.gateway.wake_heartbeat("main")
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["the disk is full"]


@pytest.mark.parametrize("people", [RuntimeError("boom"), None, "user:100", ["user:100"], (None, 5), ("",)])
async def test_an_adapter_that_names_nobody_leaves_no_route(path: Path, platform: Named, people: object) -> None:
    platform.people = people
    async with serving(path, platform, says("the disk is full"), heartbeat={"every": "1h"}) as running:
        await running.gateway.wake_heartbeat("main")
        (skipped,) = await running.until(HeartbeatSkipped)
    assert (skipped.reason, skipped.detail) == (Reason.NO_ROUTE, "")


async def test_owners_who_cannot_be_proven_to_be_people_are_named(path: Path, platform: Named) -> None:
    settings: dict[str, Any] = {"heartbeat": {"every": "1h"}, "control": {"owners": ["telegram:somebody"]}}
    async with serving(path, platform, says("the disk is full"), **settings) as running:
        await running.gateway.wake_heartbeat("main")
        (skipped,) = await running.until(HeartbeatSkipped)
    assert skipped.reason is Reason.NO_ROUTE
    assert "telegram:somebody" in skipped.detail


async def test_events_that_one_run_cannot_take_wake_another(path: Path, platform: Named) -> None:
    async with serving(path, platform, says("HEARTBEAT_OK"), heartbeat={"every": "1h", "target": "none"}) as running:
        for number in range(MOST_EVENTS + 1):
            await running.gateway.system_event("main", f"event {number}", "test", wake=False)
        await running.gateway.wake_heartbeat("main")
        (started,) = await running.until(HeartbeatStarted)
        (waits,) = await running.until(HeartbeatSkipped)
    assert started.events == MOST_EVENTS
    assert (waits.wake, waits.reason) == ("wake:more events", Reason.MIN_SPACING)


@pytest.mark.parametrize("answer", [RuntimeError("boom"), 5, b"bytes"])
async def test_an_agent_that_misbehaves_in_a_heartbeat_is_its_outcome(
    path: Path, platform: Named, answer: object
) -> None:
    async def act(turn: Turn) -> Any:
        return _answer(answer)

    misbehaving: Callable[[Turn], Awaitable[str | None]] = act
    async with serving(path, platform, Echo(misbehaving), heartbeat=HEARTBEAT) as running:
        await running.gateway.wake_heartbeat("main")
        (ended,) = await running.until(HeartbeatEnded)
        assert ended.status == "failed"
        # The next one runs.
        await running.gateway.wake_heartbeat("main")
        await running.until(HeartbeatEnded, 2)
    assert platform.sent == []


@pytest.mark.parametrize(
    ("channel", "to", "reason"), [("telegram", "5", Reason.UNKNOWN_CHANNEL), ("discord", "general", Reason.BAD_TARGET)]
)
async def test_a_target_that_names_no_place_is_reported_after_the_run(
    path: Path, platform: Named, channel: str, to: str, reason: Reason
) -> None:
    heartbeat = {"every": "1h", "target": channel, "to": to}
    async with serving(path, platform, says("the disk is full"), heartbeat=heartbeat) as running:
        await running.gateway.wake_heartbeat("main")
        (ended,) = await running.until(HeartbeatEnded)
    assert (ended.status, ended.reason, ended.preview) == ("skipped", reason, "the disk is full")


async def test_callers_with_unusable_values_get_an_error_and_nothing_is_stored(path: Path, platform: Named) -> None:
    async with serving(path, platform, heartbeat=HEARTBEAT) as running:
        gateway = running.gateway
        with pytest.raises(UnknownName, match="agent 'nobody' has no heartbeat; those with one: main"):
            await gateway.wake_heartbeat("nobody")
        with pytest.raises(UnknownName):
            await gateway.system_event("nobody", "text")
        for text in ("", " ", None, 5, "\ud800"):
            with pytest.raises(InvalidCall):
                await gateway.system_event("main", text)  # type: ignore[arg-type] -- what callers may pass
        with pytest.raises(InvalidCall):
            await gateway.wake_heartbeat("main", None)  # type: ignore[arg-type] -- what callers may pass
        await anyio.sleep(0.4)
        assert running.recorded(HeartbeatEnded, HeartbeatSkipped) == []
