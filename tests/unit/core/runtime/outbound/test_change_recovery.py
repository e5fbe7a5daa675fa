"""Changes over a crash: nothing is done twice that may not be, nothing is lost, nothing overtakes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.changing import Acting, Changing, acting, changing
from tests.support.small_gateway import ANA
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.events.delivery import IntentSettled, RecoveryDecided
from trunkline.core.reasons import Reason
from trunkline.core.values import Idempotency, IntentState, Receipt

pytestmark = pytest.mark.anyio

ONE = (str(ANA), "1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@asynccontextmanager
async def dying(path: Path, platform: Acting, **config: Any) -> AsyncGenerator[Changing, None]:
    """A process that ends while a request of a change is on its way, which arrives nevertheless."""
    platform.act_held, platform.act_arrived = anyio.Event(), anyio.Event()
    async with changing(path, platform, **config) as running:
        yield running
        await platform.act_arrived.wait()
    platform.act_held.set()


async def test_a_repeatable_change_is_made_again_after_the_time_in_flight(path: Path, anyio_backend: str) -> None:
    platform = acting(in_flight_seconds=0.4)
    async with changing(path, platform) as running:
        await running.send("old")
    async with dying(path, platform) as running:
        await running.change(Action.EDIT, "send:k", "new")
        await running.change(Action.EDIT, "send:k", "newer")
    async with changing(path, platform) as running:
        begun = anyio.current_time()
        await running.until(IntentSettled)
        assert anyio.current_time() - begun >= 0.35
        await running.until(IntentSettled, 2)
        assert running.recorded(RecoveryDecided)[0].decision == "resend"
    platform.close()
    assert platform.seen == {ONE: "newer"}
    assert [request.text for request in platform.asked] == ["new", "new", "newer"]
    assert platform.asked[0].key == platform.asked[1].key


async def test_any_other_change_is_parked_if_it_may_have_been_made(path: Path, anyio_backend: str) -> None:
    platform = acting()
    async with dying(path, platform) as running:
        await running.change(Action.THREAD_CREATE, text="plans")
        await running.change(Action.THREAD_CREATE, text="more plans")
    async with changing(path, platform) as running:
        parked, made = await running.until(IntentSettled, 2)
    platform.close()
    assert [parked.state, made.state] == [IntentState.UNKNOWN, IntentState.DELIVERED]
    assert [request.text for request in platform.asked] == ["plans", "more plans"]


async def test_what_was_stored_and_not_asked_for_yet_is_done_by_the_next_process(
    path: Path, anyio_backend: str
) -> None:
    platform = acting()
    platform.hold()
    async with changing(path, platform) as running:
        await running.enqueue("old")
        await platform.arrived.wait()
        await running.change(Action.EDIT, "send:k", "new")
        await running.change(Action.THREAD_CREATE, text="plans")
        await running.change(Action.DELETE, "send:k")
    platform.held.set()
    async with changing(path, platform) as running:
        settled = await running.until(IntentSettled, 4)
    platform.close()
    assert {body.state for body in settled} == {IntentState.DELIVERED}
    assert [request.action for request in platform.carried_out] == [Action.EDIT, Action.THREAD_CREATE, Action.DELETE]
    assert platform.seen == {}


class SecondHeld(Acting):
    """A platform that never answers the second request of a change, in its first process."""

    def __init__(self) -> None:
        super().__init__(idempotency=Idempotency.KEY)
        self.second = anyio.Event()

    async def act(self, request: ActionRequest) -> Receipt:
        if len(self.carried_out) == 1 and not self.second.is_set():
            self.second.set()
            await anyio.sleep_forever()
        return await super().act(request)


async def test_a_deletion_in_parts_goes_on_with_the_part_that_is_left(path: Path, anyio_backend: str) -> None:
    platform = SecondHeld()
    async with changing(path, platform) as running:
        await running.send("word " * 1000)
        await running.send("more", "k2")
        await running.change(Action.DELETE, "send:k")
        with anyio.fail_after(10):
            await platform.second.wait()
    async with changing(path, platform) as running:
        [settled] = await running.until(IntentSettled)
    platform.close()
    assert settled.state is IntentState.DELIVERED
    assert [request.message_id for request in platform.carried_out] == ["1", "2", "3"]
    assert platform.seen == {(str(ANA), "4"): "more"}


async def test_a_change_during_which_processes_end_is_still_made_under_its_key(path: Path, anyio_backend: str) -> None:
    platform = acting()
    soon = {"backoff": ["1ms"]}
    async with dying(path, platform, delivery=soon) as running:
        await running.change(Action.REACT, "p1", "👍")
    for _ in range(2):
        async with dying(path, platform, delivery=soon):
            pass
    async with changing(path, platform, delivery=soon) as running:
        [settled] = await running.until(IntentSettled)
    platform.close()
    assert (settled.state, settled.reason) == (IntentState.DELIVERED, Reason.ACCEPTED)
    assert len({request.key for request in platform.asked}) == 1
    assert platform.reactions == {(str(ANA), "p1"): {"👍"}}
