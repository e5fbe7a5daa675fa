"""What every store must do when a person is erased."""

from typing import Any

import pytest

from tests.contract.store_kit.bench import KEY, Bench, Opened, bring, check, same
from tests.support.factories import room, session, work
from trunkline.core.errors import IllegalTransition
from trunkline.core.store.commands import Admit, FinishTurn
from trunkline.core.store.operators.erasure import ErasePerson, Erasure, ListErasures
from trunkline.core.values import IntentState, Peer

ROOM_KEY = "main:discord:default:channel:500"


async def erase(it: Opened, person: str = "100") -> Erasure:
    return await it.store.write(ErasePerson(channel="discord", person=person, by="boss", now=9.0), same)


async def finish(it: Opened, name: str, **fields: Any) -> None:
    await it.store.write(FinishTurn(work=work(name, **fields), intents=(), now=3.0), same)


async def talk(it: Opened) -> None:
    """A person writes in a direct chat and in a room, and somebody else in the room."""
    await it.admit("m1")
    await finish(it, "m1")
    await bring(it, "m1.reply", IntentState.DELIVERED, "hello back")
    for name, who in (("r1", "100"), ("r2", "200")):
        item = work(name, session_key=ROOM_KEY, peer=Peer(id=who), place=room(), reply_to=room())
        asked = session(ROOM_KEY, "s-room", address=room())
        await it.store.write(Admit(work=item, identity=name, session=asked, now=2.0), same)
        await finish(it, name)


@check
async def a_person_is_erased_and_a_record_stays(bench: Bench) -> None:
    async with bench.opened() as it:
        await talk(it)
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "m1.reply"]
        done = await erase(it)
        assert (done.at, done.by) == (9.0, "boss")
        assert await it.lines(KEY) == []
        assert [ref for _, _, ref, _ in await it.lines(ROOM_KEY)] == ["r2"]
        await it.store.scrub()
    async with bench.opened() as it:
        assert await it.store.read(ListErasures()) == (done,)
        assert (await erase(it)).rows == {}
        assert (await it.admit("m1")).session is not None, "nothing knows the message"


@check
async def nothing_is_erased_while_a_turn_is_open(bench: Bench) -> None:
    async with bench.opened() as it:
        await talk(it)
        await it.admit("m2")
        with pytest.raises(IllegalTransition, match="open work: turn m2"):
            await erase(it)
        assert len(await it.lines()) == 3
        assert await it.store.read(ListErasures()) == ()
