"""Delivery through a real gateway: what nobody can tell, answers that are no receipts, and best effort."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.sending import Tried, message, serving, stored
from trunkline import Capabilities, Capability, Idempotency, Receipt, SendRequest, SendStatus
from trunkline.core.errors import Ambiguous, InvalidSend, NotSent, PlaceGone, SendFailed
from trunkline.core.events.delivery import AttemptEnded, IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

FAST: dict[str, Any] = {"backoff": ["1ms"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def careless(anyio_backend: str) -> Iterator[Tried]:
    """A platform that can tell nothing of a send whose response was lost."""
    tiny = Tried(idempotency=Idempotency.NONE)
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- what nobody can tell


async def test_a_chunk_in_doubt_is_sent_once_more_with_a_mark_where_that_is_the_policy(
    path: Path, careless: Tried
) -> None:
    careless.errors = [Ambiguous("no answer")]
    async with serving(path, careless, delivery={**FAST, "ambiguous": "resend-marked"}) as running:
        await running.gateway.send(message())
        ended = running.recorded(AttemptEnded)
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "hi")]
    assert [request.text for request in careless.tried] == ["hi", "[may be a repeat] hi"]
    assert [body.decision for body in ended] == ["retry", "settle"]


async def test_it_is_sent_once_more_and_no_third_time(path: Path, careless: Tried) -> None:
    careless.errors = [Ambiguous("no answer"), Ambiguous("no answer")]
    async with serving(path, careless, delivery={**FAST, "ambiguous": "resend-marked"}) as running:
        with pytest.raises(SendFailed, match="it ended as unknown"):
            await running.gateway.send(message())
    assert len(careless.tried) == 2


async def test_a_proof_after_the_mark_is_no_proof_for_the_first_try(path: Path, careless: Tried) -> None:
    careless.errors = [Ambiguous("no answer"), *[NotSent("no route")] * 10]
    async with serving(path, careless, delivery={**FAST, "ambiguous": "resend-marked"}) as running:
        with pytest.raises(SendFailed, match="it ended as unknown"):
            await running.gateway.send(message())
    assert {request.text for request in careless.tried[1:]} == {"[may be a repeat] hi"}


async def test_a_crash_in_doubt_is_marked_too_and_a_crash_with_the_mark_is_parked(path: Path, careless: Tried) -> None:
    policy = {**FAST, "ambiguous": "resend-marked"}
    for _ in range(2):
        careless.hold()
        careless.arrived = anyio.Event()
        async with serving(path, careless, delivery=policy) as running:
            if not careless.tried:
                await running.gateway.enqueue(message())
            await careless.arrived.wait()
    careless.held.set()
    async with serving(path, careless, delivery=policy) as running:
        [settled] = await running.until(IntentSettled)
    assert (settled.state, careless.sent) == (IntentState.UNKNOWN, [])
    assert [request.text for request in careless.tried] == ["hi", "[may be a repeat] hi"]


@pytest.mark.parametrize("name", ["", " \t"])
async def test_an_answer_that_names_no_message_is_no_receipt(path: Path, careless: Tried, name: str) -> None:
    class Polite(Tried):
        async def send(self, request: SendRequest) -> Receipt:
            return Receipt(provider_id=name, address=(await super().send(request)).address)

    polite = Polite(idempotency=Idempotency.NONE)
    async with serving(path, polite) as running:
        with pytest.raises(SendFailed, match="it ended as unknown") as caught:
            await running.gateway.send(message())
        [ended] = running.recorded(AttemptEnded)
    assert (ended.reason, ended.decision, caught.value.final) == (Reason.NO_RECEIPT, "park", True)
    polite.capabilities = Capabilities(can=frozenset({Capability.TEXT}), idempotency=Idempotency.NONE)
    async with serving(path, polite) as running:
        # One that never names its messages means it.
        outcome = await running.gateway.send(message(key="k2"))
    assert (outcome.status, outcome.message_id) == (SendStatus.DELIVERED, name)
    polite.close()


# ---------------------------------------------------------------- best effort


BEST: list[Any] = [
    pytest.param([PlaceGone("archived")], "failed", 1, id="refused"),
    pytest.param([NotSent("no route")] * 9, "dead", 1, id="not sent"),
    pytest.param([Ambiguous("no answer")] * 9, "unknown", 1, id="in doubt"),
]


@pytest.mark.parametrize(("errors", "state", "tries"), BEST)
async def test_best_effort_is_one_try_and_never_called_a_success(
    path: Path, careless: Tried, errors: list[Exception], state: str, tries: int
) -> None:
    careless.errors = list(errors)
    async with serving(path, careless, delivery=FAST) as running:
        outcome = await running.gateway.send(message(best_effort=True))
        again = await running.gateway.send(message(best_effort=True)) if state == "unknown" else None
        [settled] = running.recorded(IntentSettled)
    assert (outcome.status, outcome.message_id) == (SendStatus.NOT_DELIVERED, None)
    assert outcome.detail.startswith(f"it ended as {state}")
    assert (settled.state.value, len(careless.tried)) == (state, tries)
    assert again is None or (again.status, again.cached) == (SendStatus.NOT_DELIVERED, True)


async def test_best_effort_that_succeeds_is_a_success(path: Path, careless: Tried) -> None:
    async with serving(path, careless) as running:
        outcome = await running.gateway.send(message(best_effort=True))
    assert (outcome.status, outcome.message_id, outcome.detail) == (SendStatus.DELIVERED, "1", "")


async def test_best_effort_is_refused_like_any_other_send_for_its_own_fault(path: Path, careless: Tried) -> None:
    async with serving(path, careless) as running:
        with pytest.raises(InvalidSend):
            await running.gateway.send(message(text="", best_effort=True))
        assert not any(stored(path).values())


# ---------------------------------------------------------------- notices


NOTICED: dict[str, Any] = {**FAST, "doubt_notice": "It may not have arrived."}


async def test_a_notice_in_doubt_is_sent_again_where_an_answer_is_parked(path: Path, careless: Tried) -> None:
    careless.errors = [Ambiguous("no answer")] * 2
    async with serving(path, careless, delivery=NOTICED) as running:
        careless.say("m1")
        ends = [(body.state, body.reason) for body in await running.until(IntentSettled, 2)]
    assert [request.text for request in careless.tried] == ["you said hello", *["It may not have arrived."] * 2]
    assert len({request.key for request in careless.tried}) == 2
    assert ends == [(IntentState.UNKNOWN, Reason.PARKED), (IntentState.DELIVERED, Reason.ACCEPTED)]


@pytest.mark.parametrize("ambiguous", ["park", "resend-marked"])
async def test_nobody_reads_a_notice_three_times(path: Path, careless: Tried, ambiguous: str) -> None:
    careless.errors = [Ambiguous("no answer")] * 9
    marked = {**NOTICED, "ambiguous": ambiguous, "mark": "[again] "}
    async with serving(path, careless, delivery=marked) as running:
        careless.say("m1")
        ends = [(body.state, body.reason) for body in await running.until(IntentSettled, 2)]
    texts = [request.text for request in careless.tried if "you said" not in request.text]
    assert texts == ["It may not have arrived."] * 2
    assert ends == [(IntentState.UNKNOWN, Reason.PARKED)] * 2


async def test_a_kill_while_a_notice_is_sent_does_not_leave_its_person_without_a_word(
    path: Path, careless: Tried
) -> None:
    careless.errors = [Ambiguous("no answer")]
    async with serving(path, careless, delivery=NOTICED) as running:
        careless.say("m1")
        await running.until(IntentSettled)
        careless.hold()
        careless.arrived = anyio.Event()
        await careless.arrived.wait()
    careless.held.set()
    async with serving(path, careless, delivery=NOTICED) as running:
        [settled] = await running.until(IntentSettled)
    assert settled.state is IntentState.DELIVERED
    assert [request.text for request in careless.sent] == ["It may not have arrived."]
