"""The SQL of timers, system events, last routes, and of what heartbeats said. `sql.work` fires timers."""

import sqlite3

import msgspec

from trunkline.core.records.heartbeat import HeartbeatText, SystemEvent
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.states.intent import OPEN
from trunkline.core.store import schedule
from trunkline.core.store.sqlite.sql.session_lookup import lane_text
from trunkline.core.values import IntentState

_work = msgspec.json.Decoder(Work).decode
#: seconds after which a text is forgotten
_REMEMBERED = 86_400.0


def set_timer(c: sqlite3.Connection, command: schedule.SetTimer) -> None:
    store_timer(c, command.timer)


def store_timer(c: sqlite3.Connection, timer: schedule.Timer) -> None:
    c.execute(
        "INSERT OR REPLACE INTO timers (name, spec, next_at, last_at) VALUES (?, ?, ?, ?)",
        (timer.name, timer.spec, timer.next_at, timer.last_at),
    )


def add_system_event(c: sqlite3.Connection, command: schedule.AddSystemEvent) -> bool:
    return add_event(c, command.event, command.now)


def add_event(c: sqlite3.Connection, event: schedule.NewSystemEvent, now: float) -> bool:
    """Store a system event, unless its identity is taken; whether it is new."""
    done = c.execute(
        "INSERT INTO system_events (identity, agent_id, text, source, wakes, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (event.identity, event.agent, event.text, event.source, int(event.wakes), now),
    )
    return done.rowcount == 1


def list_timers(c: sqlite3.Connection, _: schedule.ListTimers) -> tuple[schedule.Timer, ...]:
    rows = c.execute("SELECT name, spec, next_at, last_at FROM timers ORDER BY name")
    return tuple(schedule.Timer(name=row[0], spec=row[1], next_at=row[2], last_at=row[3]) for row in rows)


def list_system_events(c: sqlite3.Connection, query: schedule.ListSystemEvents) -> tuple[SystemEvent, ...]:
    rows = c.execute(
        "SELECT n, text, source, at FROM system_events WHERE agent_id = ? ORDER BY n LIMIT ?",
        (query.agent, query.limit),
    )
    return tuple(SystemEvent(n=row[0], text=row[1], source=row[2], at=row[3]) for row in rows)


def list_waiting_agents(c: sqlite3.Connection, _: schedule.ListWaitingAgents) -> tuple[tuple[str, str], ...]:
    first = "SELECT min(n) FROM system_events WHERE wakes = 1 GROUP BY agent_id"
    rows = c.execute(f"SELECT agent_id, source FROM system_events WHERE n IN ({first}) ORDER BY agent_id")  # noqa: S608
    return tuple((agent, source) for agent, source in rows)


def find_last_route(c: sqlite3.Connection, query: schedule.FindLastRoute) -> schedule.LastRoute | None:
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
            return schedule.LastRoute(address=place, peer=work.peer)
    return None


def note_text(c: sqlite3.Connection, said: HeartbeatText, now: float) -> None:
    """Remember that a text is queued, and forget what was said too long ago to matter."""
    c.execute("DELETE FROM heartbeat_texts WHERE at <= ?", (now - _REMEMBERED,))
    c.execute("DELETE FROM heartbeat_texts WHERE at IS NULL AND intent_id NOT IN (SELECT id FROM intents)")
    c.execute(
        "INSERT OR REPLACE INTO heartbeat_texts (agent_id, lane, text, intent_id) VALUES (?, ?, ?, ?)",
        (said.agent, lane_text(said.address), said.text, said.intent),
    )


def note_accepted(c: sqlite3.Connection, intent: IntentRow, now: float) -> None:
    """Remember when the first chunk of a heartbeat's text was accepted."""
    c.execute("UPDATE heartbeat_texts SET at = ? WHERE intent_id = ? AND at IS NULL", (now, intent.id))


def find_said(c: sqlite3.Connection, query: schedule.FindSaid) -> schedule.SaidBefore | None:
    row = c.execute(
        "SELECT t.at, i.state, i.acked, i.updated_at FROM heartbeat_texts t LEFT JOIN intents i ON i.id = t.intent_id"
        " WHERE t.agent_id = ? AND t.lane = ? AND t.text = ?",
        (query.agent, lane_text(query.address), query.text),
    ).fetchone()
    if row is None:
        return None
    at, state, acked, changed_at = row
    if at is not None:
        return schedule.SaidBefore(at=at)
    if state is None:
        return None
    if IntentState(state) in OPEN:
        return schedule.SaidBefore(at=None)
    # What is in doubt may have been read, and an operator may have confirmed it.
    said = acked or IntentState(state) is IntentState.UNKNOWN
    return schedule.SaidBefore(at=changed_at) if said else None
