"""The SQL of timers, system events and last routes. `sql.heartbeat_texts` has what heartbeats said."""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.heartbeat.run import SystemEvent
from trunkline.core.store.records import Admission, Work
from trunkline.core.store.schedule import (
    AddSystemEvent,
    FindLastRoute,
    Fire,
    LastRoute,
    ListSystemEvents,
    ListTimers,
    ListWaitingAgents,
    NewSystemEvent,
    SetTimer,
    Timer,
)
from trunkline.core.store.sqlite.sql.work import admit

_work = msgspec.json.Decoder(Work).decode


def set_timer(c: sqlite3.Connection, command: SetTimer) -> None:
    """Handle `SetTimer`."""
    _store(c, command.timer)


def _store(c: sqlite3.Connection, timer: Timer) -> None:
    c.execute(
        "INSERT OR REPLACE INTO timers (name, spec, next_at, last_at) VALUES (?, ?, ?, ?)",
        (timer.name, timer.spec, timer.next_at, timer.last_at),
    )


def fire(c: sqlite3.Connection, command: Fire) -> Admission | None:
    """Handle `Fire`."""
    if command.timer is not None:
        _store(c, command.timer)
    if command.event is not None:
        _add(c, command.event, command.now)
    if command.admit is None:
        return None
    admission = admit(c, command.admit)
    if admission.session is not None and command.taken:
        agent = command.admit.work.agent
        c.execute("DELETE FROM system_events WHERE agent_id = ? AND n <= ?", (agent, command.taken))
    return admission


def add_system_event(c: sqlite3.Connection, command: AddSystemEvent) -> bool:
    """Handle `AddSystemEvent`."""
    return _add(c, command.event, command.now)


def _add(c: sqlite3.Connection, event: NewSystemEvent, now: float) -> bool:
    done = c.execute(
        "INSERT INTO system_events (identity, agent_id, text, source, at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (event.identity, event.agent, event.text, event.source, now),
    )
    return done.rowcount == 1


def list_timers(c: sqlite3.Connection, _: ListTimers) -> tuple[Timer, ...]:
    """Handle `ListTimers`."""
    rows = c.execute("SELECT name, spec, next_at, last_at FROM timers ORDER BY name")
    return tuple(Timer(name=row[0], spec=row[1], next_at=row[2], last_at=row[3]) for row in rows)


def list_system_events(c: sqlite3.Connection, query: ListSystemEvents) -> tuple[SystemEvent, ...]:
    """Handle `ListSystemEvents`."""
    rows = c.execute(
        "SELECT n, text, source, at FROM system_events WHERE agent_id = ? ORDER BY n LIMIT ?",
        (query.agent, query.limit),
    )
    return tuple(SystemEvent(n=row[0], text=row[1], source=row[2], at=row[3]) for row in rows)


def list_waiting_agents(c: sqlite3.Connection, _: ListWaitingAgents) -> tuple[str, ...]:
    """Handle `ListWaitingAgents`."""
    return tuple(agent for (agent,) in c.execute("SELECT DISTINCT agent_id FROM system_events ORDER BY agent_id"))


def find_last_route(c: sqlite3.Connection, query: FindLastRoute) -> LastRoute | None:
    """Handle `FindLastRoute`. It goes back from the newest message, and needs no index that every message would pay."""
    mine, values = "agent_id = ?", [query.agent]
    if query.session_key is not None:
        mine, values = f"{mine} AND session_key = ?", [*values, query.session_key]
    sql = f"SELECT work FROM inbox WHERE {mine} AND kind = 'message' ORDER BY n DESC"  # noqa: S608 -- fixed texts
    for (body,) in c.execute(sql, values):
        try:
            work = _work(body)
        except (ValueError, TypeError):
            continue
        place = work.reply_to or work.place
        if place is not None:
            return LastRoute(address=place, peer=work.peer)
    return None
