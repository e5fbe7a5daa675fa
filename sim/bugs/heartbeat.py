"""Defects of heartbeats: what they say, when they run, and what they leave behind."""

import sqlite3
from typing import Any

import msgspec

from trunkline.core.heartbeat.guards import GuardFacts, RunDecision, decide_run
from trunkline.core.heartbeat.reply import ReplyDecision, ReplyFacts, decide_reply
from trunkline.core.heartbeat.token import TOKEN
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import Enqueue, FinishTurn
from trunkline.core.store.port import answer
from trunkline.core.store.schedule import FindLastRoute, FindSaid, Fire, LastRoute, ListTimers, SaidBefore, Timer
from trunkline.core.store.sqlite.handlers import RunSql
from trunkline.core.values import Address, Peer
from trunkline.sim.bugs.base import bug, changing_write, deciding, replacing_read, replacing_write
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore

_OK = (Reason.OK_TOKEN, Reason.OK_EMPTY)


@bug("heartbeat-token-shown", deciding("decide_reply"), reports=("B117",), caught_by=("H1",))
def _shows_the_token(reply: str | None, facts: ReplyFacts) -> ReplyDecision:
    """The final text of a heartbeat skips the step that takes the token away, so people see it each time."""
    decision = decide_reply(reply, facts)
    if decision.reason not in _OK or facts.undeliverable is not None:
        return decision
    return msgspec.structs.replace(decision, text=TOKEN)


@bug("heartbeat-forgets-what-it-said", replacing_read(FindSaid), caught_by=("H2",))
async def _forgets(_store: RewiredStore, _query: FindSaid) -> SaidBefore | None:
    """What a heartbeat said is remembered by nobody, so the same alert comes with every run."""
    return None


@bug("heartbeat-forgets-its-sends", changing_write(Enqueue), caught_by=("H2",))
def _forgets_sends(command: Enqueue) -> Enqueue:
    """The sends of a heartbeat with the message tool are not remembered, only the returned text is."""
    return msgspec.structs.replace(command, said=None)


@bug("heartbeat-dedupe-without-place", reports=("B121",), caught_by=("H2",))
def _install_without_place(wiring: Wiring) -> None:
    """Only the text of an alert is compared, so a new destination never gets it."""
    said: set[str] = set()

    async def find(_store: RewiredStore, query: FindSaid) -> SaidBefore | None:
        return SaidBefore(at=None) if query.text in said else None

    def note(command: FinishTurn) -> FinishTurn:
        if command.said is not None:
            said.add(command.said.text)
        return command

    wiring.replace_read(FindSaid, find)
    wiring.change_write(FinishTurn, note)


@bug("heartbeat-without-hours", deciding("decide_run"), reports=("B124",), caught_by=("H3",))
def _at_any_hour(facts: GuardFacts) -> RunDecision:
    """A wake-up does not look at the active hours."""
    return decide_run(msgspec.structs.replace(facts, active=True))


@bug("heartbeat-timer-from-boot", replacing_read(ListTimers), reports=("B123",), caught_by=("H4",))
async def _from_boot(_store: RewiredStore, _query: ListTimers) -> tuple[Timer, ...]:
    """The interval counts from the start of the process, so restarts put a heartbeat off for ever."""
    return ()


@bug("heartbeat-due-again", replacing_write(Fire), caught_by=("H4",))
async def _due_again(store: RewiredStore, command: Fire, story: Any, then: Any) -> Any:
    """The timer of a heartbeat moves in memory only, and its runs have no identity, so a restart repeats them."""
    if command.timer is None or command.admit is None:
        return await store.inner.write(command, story, then)
    work = command.admit.work.id

    def forget(c: sqlite3.Connection) -> None:
        c.execute(
            "UPDATE inbox SET id = id || '~', identity = identity || '~' WHERE id = ? AND state = 'done'", (work,)
        )
        c.execute("UPDATE transcript SET ref = ref || '~' WHERE ref = ?", (work,))

    await store.inner.write(RunSql(op=forget), answer)
    timer = msgspec.structs.replace(command.timer, next_at=command.timer.last_at)
    return await store.inner.write(msgspec.structs.replace(command, timer=timer), story, then)


@bug("heartbeat-moves-route", reports=("B083",), caught_by=("H5",))
def _install_moves_route(wiring: Wiring) -> None:
    """What an agent sends during a heartbeat counts as the last place of its conversation with a person."""
    last: list[Address] = []

    def note(command: Enqueue) -> Enqueue:
        if (command.intent.inbound or "").startswith("heartbeat"):
            last[:] = [command.intent.address]
        return command

    async def find(store: RewiredStore, query: FindLastRoute) -> Any:
        return LastRoute(address=last[0], peer=Peer(id="heartbeat")) if last else await store.inner.read(query)

    wiring.change_write(Enqueue, note)
    wiring.replace_read(FindLastRoute, find)
