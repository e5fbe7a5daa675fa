"""What the poll loop asks for, and how it survives an answer that cannot be read."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from tests.support.for_each import for_each
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.telegram.adapter import LongPolling
from trunkline.core.env import system_env
from trunkline.core.errors import Ambiguous, NotSent
from trunkline.core.events import EventLog
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.values import Envelope


class Script:
    """A bot whose polls are answered from a list; after it, with an error."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies = list(bodies)
        self.asked: list[tuple[int | None, int, bool]] = []

    async def call(self, call: Any) -> Any:
        return True

    async def updates(self, offset: int | None, allowed: Any, limit: int, *, hold: bool) -> bytes:
        self.asked.append((offset, limit, hold))
        if not self.bodies:
            raise NotSent("the script is over")
        return self.bodies.pop(0)


class Cursors:
    def __init__(self, value: str | None = None) -> None:
        self.value = value

    async def load(self, name: str) -> str | None:
        return self.value

    async def save(self, name: str, value: str) -> None:
        self.value = value


def message(number: int) -> dict[str, Any]:
    person = {"id": 77, "is_bot": False, "first_name": "Ana"}
    said = {
        "message_id": number,
        "date": 1,
        "chat": {"id": 77, "type": "private"},
        "from": person,
        "text": f"no {number}",
    }
    return {"update_id": number, "message": said}


def answer(*updates: Any) -> bytes:
    return json.dumps({"ok": True, "result": updates}).encode()


def play(
    script: Script, cursors: Cursors, *, acks: bool = True
) -> tuple[list[Envelope], list[UpdateDropped], Exception]:
    """Read until the connection ends."""
    log = EventLog(time.time)
    host = AdapterHost(
        account="default", env=system_env(), cursors=cursors, events=log.recorder("gateway"), folder=Path(), environ={}
    )

    async def read() -> tuple[list[Envelope], Exception]:
        polling, found = LongPolling(script, host, AccountEvents(host, "telegram")), list[Envelope]()  # type: ignore[arg-type] -- a double
        try:
            await polling.open()
            async for envelope in polling.envelopes():
                found.append(envelope)
                if acks:
                    polling.ack(envelope)
        except Exception as error:  # noqa: BLE001 -- judged by the test
            return found, error
        raise AssertionError("the stream ended")

    found, error = asyncio.run(read())
    return found, [event.body for event in log.events if isinstance(event.body, UpdateDropped)], error


def test_each_answer_is_confirmed_by_the_next_poll_and_an_empty_one_by_none() -> None:
    script, cursors = Script(answer(message(5)), answer(message(6)), answer(), answer(message(7))), Cursors()
    found, _, error = play(script, cursors)
    assert [envelope.text for envelope in found] == ["no 5", "no 6", "no 7"]
    assert [offset for offset, _, _ in script.asked] == [None, 6, 7, None, 8]
    assert [hold for _, _, hold in script.asked] == [False, True, True, True, True]
    assert isinstance(error, NotSent)
    assert json.loads(cursors.value or "")[0] == 8


@for_each("value", ["", "{", "[1]", '["a", "b"]', "null", "[1, 2, 3]", '[5, "x"]', "[1.5, 99999999999]"])
def test_a_cursor_that_cannot_be_read_is_none(value: str) -> None:
    script = Script(answer())
    play(script, Cursors(value))
    assert script.asked[0][0] is None


def test_an_update_that_no_json_reader_takes_is_found_and_passed_over() -> None:
    """The answer as a whole cannot be read, so single updates are asked for until the bad one is known."""
    deep = b'{"ok":true,"result":[{"update_id":6,"message":' + b"[" * 200_000 + b"]" * 200_000 + b"}]}"
    both = deep.replace(b'"result":[', b'"result":[' + json.dumps(message(5)).encode() + b",")
    script = Script(both, answer(message(5)), deep, deep, answer(message(7)))
    found, dropped, _ = play(script, Cursors())
    assert [envelope.text for envelope in found] == ["no 5", "no 7"]
    assert [one.update for one in dropped] == ["6"]
    assert [limit for _, limit, _ in script.asked][:2] == [100, 1]
    assert script.asked[-1][0] == 8


def test_an_answer_without_any_number_ends_the_connection() -> None:
    _, _, error = play(Script(b"garbage", b"garbage"), Cursors())
    assert isinstance(error, Ambiguous)


def test_a_full_window_that_nobody_acknowledges_is_asked_for_again() -> None:
    window = answer(*(message(number) for number in range(1, 101)))
    found, _, error = play(Script(window, window), Cursors(), acks=False)
    assert len(found) == 100
    assert isinstance(error, NotSent)
    assert "100 messages wait" in error.facts
