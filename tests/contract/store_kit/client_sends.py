"""What every store must do with the sends of clients."""

from typing import Any

import msgspec

from tests.contract.store_kit.bench import ELSEWHERE_KEY, KEY, Bench, Opened, all_at_once, check, same
from tests.support.factories import intent, session
from trunkline.core.records.rows import NewSession, SendAdmission, SendRow, send_intent
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import BeginSend
from trunkline.core.store.queries import FindSend, FindSession
from trunkline.core.values import IntentState


def send(key: str = "k1", tries: int = 1, **fields: Any) -> SendRow:
    given = {"session_key": KEY, "channel": "discord", **fields}
    return SendRow(key=key, tries=tries, intent=send_intent(key, tries), **given)


async def begin(it: Opened, row: SendRow, *, entry: NewSession | None = None, again: bool = False) -> SendAdmission:
    """Ask for the first try of a send. `again`: whatever became of the try before, there may be another."""
    first = msgspec.structs.replace(row, tries=1, intent=send_intent(row.key, 1))
    prepared = intent(first.intent, mirror_key=row.session_key)
    return await it.store.write(
        BeginSend(send=first, intent=prepared, entry=entry, again=lambda _: again, now=2.0), same
    )


@check
async def a_send_is_stored_with_its_intent(bench: Bench) -> None:
    async with bench.opened() as it:
        begun = await begin(it, send())
        assert (begun.new, begun.send, begun.fate) == (True, send(), None)
        repeated = await begin(it, send(session_key=None))
        assert (repeated.new, repeated.send, repeated.intent) == (False, send(), None)
        assert repeated.fate is not None
        assert repeated.fate.state is IntentState.PREPARED
    async with bench.opened() as it:
        assert await it.store.read(FindSend(key="k1")) == send()
        assert [one.id for one in await it.open_rows()] == ["send:k1"]
        assert await it.store.read(FindSend(key="k2")) is None


@check
async def a_send_is_stored_with_the_session_that_it_goes_to(bench: Bench) -> None:
    async with bench.opened() as it:
        begun = await begin(it, send(), entry=session())
        assert begun.session is not None
        assert begun.session.created
        assert (await it.store.read(FindSession(key=KEY))) == msgspec.structs.replace(begun.session, created=False)
        again = await begin(it, send("k2"), entry=session())
        assert again.session == msgspec.structs.replace(begun.session, created=False)


@check
async def the_latest_try_of_a_send_counts(bench: Bench) -> None:
    async with bench.opened() as it:
        await begin(it, send())
        second = send(tries=2, session_key=ELSEWHERE_KEY, channel="telegram")
        begun = await begin(it, second, again=True)
        assert begun.intent is not None
        assert (begun.new, begun.send, begun.intent.id) == (True, second, "send:k1+2")
        assert await it.store.read(FindSend(key="k1")) == second
        third = send(tries=3, session_key=None)
        await begin(it, third, again=True)
        assert await it.store.read(FindSend(key="k1")) == third


@check
async def whether_a_send_may_be_tried_again_is_asked_of_its_state(bench: Bench) -> None:
    async with bench.opened() as it:
        begun = await begin(it, send())
        assert begun.intent is not None
        await it.end(begun.intent, DeliveryEvent.REFUSE)
        asked: list[IntentState] = []

        def again(state: IntentState) -> bool:
            asked.append(state)
            return False

        row = send()
        refused = await it.store.write(
            BeginSend(send=row, intent=intent(row.intent), entry=None, again=again, now=2.0), same
        )
        assert (refused.new, asked) == (False, [IntentState.FAILED])


@check
async def sends_with_one_key_at_once_make_one_intent(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(*[lambda: begin(it, send())] * 10)
        assert [begun.new for begun in answers].count(True) == 1
        assert len(await it.open_rows()) == 1
