"""A store file as version 1 wrote it: rows in every table, and work left open. Nothing of today's code makes it."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from trunkline.core.store.sqlite.migrate import APPLICATION_ID, migrations

ANA = {"channel": "discord", "account": "default", "kind": "direct", "conversation": "100"}
BEN = {**ANA, "conversation": "200"}
CLEO = {**ANA, "conversation": "300"}
TOPIC = {"channel": "telegram", "account": "default", "kind": "group", "conversation": "-1007", "thread": "10"}
ROOM = {"channel": "discord", "account": "default", "kind": "channel", "conversation": "777", "parent": "500"}
KEY, TOPIC_KEY = "main:discord:default:direct:100", "main:telegram:default:group:-1007:topic:10"
ROOM_KEY, MAIN = "main:discord:default:channel:777", "main:main"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Version1:
    """Writes rows as version 1 did."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._c = connection

    def _insert(self, table: str, **row: object) -> None:
        marks = ", ".join("?" * len(row))
        self._c.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))

    def session(self, key: str, name: str, place: dict[str, str] | None, at: float) -> None:
        where = None if place is None else _json(place)
        values = {"session_key": key, "agent_id": key.partition(":")[0], "session_id": name, "address": where}
        self._insert("session_map", **values, created_at=at, updated_at=at)

    def line(self, session: str, role: str, text: str, ref: str, at: float) -> None:
        self._insert("transcript", session_id=session, role=role, text=text, ref=ref, at=at)

    def work(
        self, name: str, key: str, session: str, place: dict[str, str] | None, at: float, state: str, **fields: Any
    ) -> None:
        """Something that starts a turn, and its line."""
        kind, peer = fields.pop("kind", "message"), fields.pop("peer", {"id": "100", "name": "Äna"})
        agent = key.partition(":")[0]
        item = {"id": name, "kind": kind, "agent": agent, "session_key": key, "peer": peer, "text": f"text of {name}"}
        if place is not None:
            item |= {"message_id": name, "place": place, "reply_to": place}
        values = {"id": name, "identity": f"id-{name}", "kind": kind, "session_key": key, "agent_id": agent}
        body = _json({**item, **fields}).encode()
        self._insert("inbox", **values, state=state, work=body, admitted_at=at)
        self.line(session, "hand" if kind == "callback" else "user", f"text of {name}", name, at)

    def intent(self, name: str, place: dict[str, str], chunks: list[str], acked: int, state: str, **row: Any) -> None:
        receipts = [{"provider_id": f"{900 + n}", "address": place} for n in range(acked)]
        given = {"kind": "reply", "agent_id": "main", "created_at": 3.0, "updated_at": 3.0, **row}
        texts = {"address": _json(place), "chunks": _json(chunks), "receipts": _json(receipts)}
        self._insert("intents", id=name, state=state, acked=acked, **texts, **given)

    def delegation(self, name: str, state: str, **row: Any) -> None:
        given = {"hand": "clerk", "task": "count", "agent_id": "main", "session_key": KEY, "accepted_at": 3.0}
        self._insert(
            "delegations", id=name, state=state, turn_id="t-m1", inbound_id="m1", origin=_json(ANA), **{**given, **row}
        )


def write_version_1(path: Path) -> None:
    """A store in which much has happened, under two configurations, and whose process died."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.executescript(
            f"BEGIN;{migrations()[0][1]};PRAGMA user_version=1;PRAGMA application_id={APPLICATION_ID};COMMIT"
        )
        _fill(Version1(raw))


def _fill(v1: Version1) -> None:
    # At first everybody shared the main session, and the agent woke up in it.
    v1.session(MAIN, "s-main", ANA, 1.0)
    v1.work("old1", MAIN, "s-main", ANA, 1.0, "done")
    v1.work("old2", MAIN, "s-main", BEN, 1.1, "done", peer={"id": "200", "name": "Ben"})
    v1.work("wake1", MAIN, "s-main", None, 1.2, "pending", kind="wake", peer={"id": "schedule", "name": "schedule"})
    # Then everybody had a session of their own.
    v1.session(KEY, "s-ana", ANA, 2.0)
    v1.work("m1", KEY, "s-ana", ANA, 2.0, "done")
    v1.intent("m1.reply", ANA, ["one", "two"], 1, "prepared", mirror_key=KEY, turn_id="t-m1", inbound_id="m1")
    v1.work("m2", KEY, "s-ana", ANA, 2.2, "pending")
    v1.session(TOPIC_KEY, "s-topic", TOPIC, 2.3)
    v1.work("m3", TOPIC_KEY, "s-topic", TOPIC, 2.3, "pending", reply_reason="reply-to-origin")
    # Of another agent, Ana left the shared session, and Ben is the last there; with a third one Ben was always alone.
    v1.session("ops:main", "s-ops", ANA, 2.4)
    v1.work("ops1", "ops:main", "s-ops", ANA, 2.4, "done")
    v1.work("ops2", "ops:main", "s-ops", BEN, 2.5, "done", peer={"id": "200", "name": "Ben"})
    v1.session("ops:discord:default:direct:100", "s-ops-ana", ANA, 2.6)
    v1.work("ops3", "ops:discord:default:direct:100", "s-ops-ana", ANA, 2.6, "done")
    v1.session("dev:main", "s-dev", BEN, 2.7)
    v1.work("dev1", "dev:main", "s-dev", None, 2.7, "done", kind="wake", peer={"id": "schedule", "name": "schedule"})
    v1.work("dev2", "dev:main", "s-dev", BEN, 2.8, "done", peer={"id": "200", "name": "Ben"})
    v1.session("own:main", "s-own", BEN, 2.9)
    v1.work("own1", "own:main", "s-own", BEN, 2.9, "done", peer={"id": "200", "name": "Ben"})
    # The agent spoke in a room that nobody has spoken in, and is about to speak again.
    v1.session(ROOM_KEY, "s-room", ROOM, 3.0)
    v1.line("s-room", "assistant", "news", "m1.send1", 3.0)
    v1.intent("m1.send1", ROOM, ["news"], 1, "delivered", kind="tool", mirror_key=ROOM_KEY, reason="accepted")
    v1.intent("m1.send2", ROOM, ["more"], 0, "sending", kind="tool", mirror_key=ROOM_KEY, attempts=1)
    v1.intent("m1.send3", CLEO, ["psst"], 0, "prepared", kind="tool", mirror_key=None, next_at=9.0, reason="not-sent")
    v1.delegation("m1.hand1", "accepted")
    v1.delegation("m1.hand2", "running")
    v1.delegation("m1.hand3", "finished", outcome="ok", result="three", finished_at=4.0)
    back = {"delegation": "m1.hand3", "hand": "clerk", "outcome": "ok"}
    v1.work("m1.hand3.back", KEY, "s-ana", ANA, 4.0, "pending", kind="callback", callback=back)
    v1.delegation("m1.hand4", "told", outcome="ok", result="four", finished_at=4.0)
