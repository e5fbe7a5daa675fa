"""What every store must do with timers, system events, and with what heartbeats have said."""

from collections.abc import Sequence

import msgspec

from tests.contract.store_kit.bench import KEY, Bench, Opened, check, same
from tests.contract.store_kit.session_cases import OLD, migrate, plan, stored
from tests.support.factories import direct, intent, room, session, work
from trunkline.core.keys import Migration, StoredKey
from trunkline.core.records.heartbeat import HeartbeatRun, HeartbeatText
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Admit, FinishTurn
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.schedule import (
    AddSystemEvent,
    FindLastRoute,
    FindSaid,
    Fire,
    ListSystemEvents,
    ListTimers,
    ListWaitingAgents,
    NewSystemEvent,
    SaidBefore,
    SetTimer,
    Timer,
)
from trunkline.core.values import Address, InboundId, IntentKind, Peer, WorkKind

TIMER = Timer(name="heartbeat/main", spec="every 30m", next_at=1800.0)
LATER = msgspec.structs.replace(TIMER, next_at=3600.0, last_at=1800.0)


def beat(name: str = "hb1") -> Work:
    run = HeartbeatRun(wake="interval", due=1800.0, target=direct())
    return msgspec.structs.replace(
        work(name), kind=WorkKind.HEARTBEAT, place=None, reply_to=None, message_id="", heartbeat=run
    )


def admit(item: Work, identity: str = "heartbeat/main/1800") -> Admit:
    return Admit(work=item, identity=identity, session=session(KEY, f"s-{item.id}"), now=1800.0)


def event(name: str, text: str = "backup failed", agent: str = "main") -> NewSystemEvent:
    return NewSystemEvent(identity=name, agent=agent, text=text, source="test")


async def texts(it: Opened, agent: str = "main") -> list[str]:
    return [one.text for one in await it.store.read(ListSystemEvents(agent=agent))]


@check
async def a_timer_is_what_was_stored_last(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.read(ListTimers()) == ()
        await it.store.write(SetTimer(timer=TIMER), answer)
        await it.store.write(SetTimer(timer=msgspec.structs.replace(TIMER, name="cron/daily", next_at=None)), answer)
    async with bench.opened() as it:
        await it.store.write(SetTimer(timer=LATER), answer)
        daily, main = await it.store.read(ListTimers())
        assert (daily.name, daily.next_at) == ("cron/daily", None)
        assert main == LATER


@check
async def a_timer_moves_with_the_work_that_it_starts_and_both_count_once(bench: Bench) -> None:
    async with bench.opened() as it:
        first = await it.store.write(Fire(timer=LATER, admit=admit(beat()), now=1800.0), same)
        assert first is not None
        assert first.session is not None
        again = await it.store.write(Fire(timer=LATER, admit=admit(beat("hb2")), now=1800.0), same)
        assert again is not None
        assert (again.session, again.first) == (None, "hb1")
    async with bench.opened() as it:
        assert await it.store.read(ListTimers()) == (LATER,)
        ((left, _),) = (await it.store.read(LoadUnfinished())).works
        assert left == beat()


@check
async def the_events_of_a_run_go_with_its_admission_and_later_ones_stay(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.write(AddSystemEvent(event=event("e1", "one"), now=1.0), same) is True
        assert await it.store.write(AddSystemEvent(event=event("e1", "one"), now=2.0), same) is False
        await it.store.write(AddSystemEvent(event=event("e2", "two", "ops"), now=2.0), answer)
        await it.store.write(Fire(timer=None, event=event("e3", "three"), now=3.0), same)
        quiet = msgspec.structs.replace(event("e4", "four", "lab"), wakes=False)
        await it.store.write(AddSystemEvent(event=quiet, now=3.0), answer)
        assert await texts(it, "lab") == ["four"]
        assert await texts(it) == ["one", "three"]
        assert await it.store.read(ListWaitingAgents()) == (("main", "test"), ("ops", "test"))
        first, _ = await it.store.read(ListSystemEvents(agent="main"))
        await it.store.write(Fire(timer=None, admit=admit(beat()), taken=first.n, now=4.0), same)
        assert await texts(it) == ["three"]
        assert await texts(it, "ops") == ["two"]
        # A run that is known already takes nothing.
        await it.store.write(Fire(timer=None, admit=admit(beat("hb2")), taken=first.n + 2, now=5.0), same)
        assert await texts(it) == ["three"]


@check
async def the_last_route_is_that_of_the_last_message_of_a_person(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.read(FindLastRoute(agent="main")) is None
        await it.admit("m1", peer=Peer(id="7", name="ana"))
        await it.admit("m2", key="main:discord:default:channel:5", place=room("5"), reply_to=room("5"))
        await it.store.write(Fire(timer=None, admit=admit(beat()), now=4.0), same)
        last = await it.store.read(FindLastRoute(agent="main"))
        assert last is not None
        assert last.address == room("5")
        own = await it.store.read(FindLastRoute(agent="main", session_key=KEY))
        assert own is not None
        assert (own.address, own.peer.name) == (direct(), "ana")
        assert await it.store.read(FindLastRoute(agent="ops")) is None


async def say(it: Opened, name: str, text: str, to: Address, *, now: float = 2.0) -> IntentRow:
    """End a heartbeat that says a text in a place; the intent."""
    row = msgspec.structs.replace(intent(name, text), kind=IntentKind.HEARTBEAT, address=to)
    said = HeartbeatText(agent="main", address=to, text=text, intent=row.id)
    await it.store.write(FinishTurn(work=beat(InboundId(name)), intents=[row], now=now, said=said), same)
    return row


@check
async def a_text_counts_as_said_from_its_queueing_to_a_day_after_its_acceptance(bench: Bench) -> None:
    asked = FindSaid(agent="main", address=direct(), text="disk full")
    async with bench.opened() as it:
        assert await it.store.read(asked) is None
        row = await say(it, "h1", "disk full", direct())
        assert await it.store.read(asked) == SaidBefore(at=None)
        await it.ack(row)
        assert await it.store.read(asked) == SaidBefore(at=3.0)
        assert await it.store.read(msgspec.structs.replace(asked, address=room("5"))) is None
        assert await it.store.read(msgspec.structs.replace(asked, text="disk empty")) is None
        assert await it.store.read(msgspec.structs.replace(asked, agent="ops")) is None
        await say(it, "h2", "other", direct(), now=3.0 + 86_399.9)
        assert await it.store.read(asked) == SaidBefore(at=3.0)
        await say(it, "h3", "more", direct(), now=3.0 + 86_400.0)
        assert await it.store.read(asked) is None


@check
async def a_text_that_reached_nobody_was_not_said(bench: Bench) -> None:
    asked = FindSaid(agent="main", address=direct(), text="disk full")
    async with bench.opened() as it:
        row = await say(it, "h1", "disk full", direct())
        await it.end(row, DeliveryEvent.REFUSE)
        assert await it.store.read(asked) is None
        parked = await say(it, "h2", "disk full", direct())
        await it.end(parked, DeliveryEvent.PARK)
        # Somebody may have read it.
        assert await it.store.read(asked) == SaidBefore(at=3.0)


@check
async def a_heartbeat_is_no_use_of_its_session(bench: Bench) -> None:
    seen: list[list[float]] = []

    def look(rows: Sequence[StoredKey]) -> Migration:
        seen.append([row.updated_at for row in rows])
        return plan(rows)

    async with bench.opened() as it:
        await stored(it, OLD, "a", 3.0)
        run = msgspec.structs.replace(beat("heartbeat-main-1800"), session_key=OLD)
        await it.store.write(
            Fire(timer=None, admit=Admit(work=run, identity="h", session=session(OLD, "s-a"), now=50.0), now=50.0),
            answer,
        )
        await migrate(it, look)
    assert seen[0] == [3.0]


@check
async def a_message_is_use_of_its_session(bench: Bench) -> None:
    seen: list[list[float]] = []

    def look(rows: Sequence[StoredKey]) -> Migration:
        seen.append([row.updated_at for row in rows])
        return plan(rows)

    async with bench.opened() as it:
        await stored(it, OLD, "a", 3.0)
        await it.store.write(
            Admit(work=work("m1", session_key=OLD), identity="m1", session=session(OLD, "s-a"), now=50.0), answer
        )
        await migrate(it, look)
    assert seen[0] == [50.0]
