"""What a platform says of a message after its receipt: whose it is, and when it may be acted on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.factories import direct
from tests.support.sending import Platform, message, serving
from tests.support.small_gateway import Running
from trunkline.core.channels import LateOutcome
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.reasons import Reason
from trunkline.core.runtime.outbound import late_outcomes
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.values import Address, IntentId, IntentState

pytestmark = pytest.mark.anyio

HERE = direct("100")


class Telling(Platform):
    """A platform that says what becomes of messages."""

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self.tell = call

    def lose(self, message_id: str, place: Address = HERE, **fields: Any) -> None:
        """Say that a message was deleted, or what `fields` say."""
        outcome = LateOutcome(place=place, message_id=message_id, reason=Reason.DELETED_BY_OTHERS)
        self.tell(msgspec.structs.replace(outcome, **fields))


@pytest.fixture
def platform(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Telling]:
    monkeypatch.setattr(late_outcomes, "_LONGEST", 0.05)
    tiny = Telling()
    yield tiny
    tiny.close()


async def state_of(running: Running, intent: str) -> IntentState | None:
    fate = await running.store.read(FindIntentFate(intent=IntentId(intent)))
    return None if fate is None else fate.state


def failures(running: Running) -> list[tuple[str, str, IntentState | None]]:
    bodies = [(event.intent or "", event.body) for event in running.log.events]
    return [(intent, body.message_id, body.state) for intent, body in bodies if isinstance(body, DeliveryFailed)]


async def failed(running: Running, count: int) -> None:
    """Wait for so many failures."""
    seen = anyio.Event()

    def look(_: object) -> None:
        if len(failures(running)) >= count:
            seen.set()

    running.log.subscribe(look, DeliveryFailed)
    look(None)
    with anyio.fail_after(5):
        await seen.wait()


async def test_only_the_message_that_is_meant_is_lost_and_once(tmp_path: Path, platform: Telling) -> None:
    async with serving(tmp_path / "store.db", platform) as running:
        for key in ("one", "two"):
            await running.gateway.send(message(key=key))
        # Somebody else's message, and one with the same id in another conversation.
        platform.lose("99")
        platform.lose("1", direct("200"))
        platform.lose("1")
        platform.lose("1")
        # A report of failure may spell the recipient in another way, and may be about nothing that is known.
        platform.lose("2", direct("+100"), reason=Reason.REFUSED, recipient="+100")
        platform.lose("77", reason=Reason.REFUSED)
        await failed(running, 3)
        await anyio.sleep(0.1)
        assert [await state_of(running, f"send:{key}") for key in ("one", "two")] == [IntentState.FAILED] * 2
        assert sorted(failures(running)) == [
            ("", "77", None),
            ("send:one", "1", IntentState.FAILED),
            ("send:two", "2", IntentState.FAILED),
        ]
    assert len(platform.sent) == 2


async def test_a_report_that_overtakes_the_receipt_waits_for_it(tmp_path: Path, platform: Telling) -> None:
    async with serving(tmp_path / "store.db", platform) as running:
        platform.hold()
        await running.gateway.enqueue(message(key="one"))
        await platform.arrived.wait()
        platform.lose("1")
        await anyio.sleep(0.02)
        assert failures(running) == []
        platform.held.set()
        await failed(running, 1)
        assert await state_of(running, "send:one") is IntentState.FAILED
