"""The log: one line for each entry, nothing secret, and nothing that a terminal obeys."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from trunkline.app.serve.logs import LineFormatter, LineHandler
from trunkline.app.serve.redaction import MARK, Redaction, secrets_of
from trunkline.app.serve.server import EventLogLines
from trunkline.app.serve.settings import load_settings
from trunkline.core.events import EventLog
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, TurnEnded
from trunkline.core.events.leases import LeaseAwaited
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentState, Peer, WorkKind

SECRET = "s3cret-token-of-the-owner"
#: a title for the terminal, an overriding direction, a line end, and half of a character
HOSTILE = "\x1b]0;x\x07 \u202eabc\nfake line \ud800"


def entry(message: str, *arguments: object, error: Exception | None = None, **more: object) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error is not None else None
    made = logging.LogRecord("trunkline.http", logging.WARNING, "file", 1, message, arguments, info)
    vars(made).update(more)
    return made


def line_of(made: logging.LogRecord, *, as_json: bool) -> str:
    return LineFormatter(Redaction([SECRET]), as_json=as_json).format(made)


@pytest.mark.parametrize("as_json", [False, True])
def test_no_secret_and_nothing_that_a_terminal_obeys(as_json: bool) -> None:
    line = line_of(entry("said %s to %s", HOSTILE, SECRET, peer=HOSTILE, token=f"Bearer {SECRET}"), as_json=as_json)
    assert SECRET not in line
    assert line.count(MARK) == 2
    assert line.isprintable()
    line.encode()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_traceback_has_no_secret(as_json: bool) -> None:
    try:
        raise ValueError(f"no key {SECRET} {HOSTILE}")
    except ValueError as error:
        line = line_of(entry("failed", error=error), as_json=as_json)
    assert SECRET not in line
    assert "test_logs.py" in line
    assert all(part.isprintable() for part in line.split("\n"))
    assert as_json == ("\n" not in line)


def test_an_entry_as_json() -> None:
    found = json.loads(line_of(entry("%s %d", "GET", 200, request_id="r-1", status=200, empty=""), as_json=True))
    assert found["time"].endswith("Z")
    del found["time"]
    assert found == {
        "level": "warning",
        "logger": "trunkline.http",
        "message": "GET 200",
        "request_id": "r-1",
        "status": 200,
    }


def test_an_entry_as_text() -> None:
    line = line_of(entry("stopped", request_id="r-1", detail='say "a"=b'), as_json=False)
    assert line.endswith(r'warning trunkline.http: stopped request_id=r-1 detail="say \"a\"=b"')


def test_a_bad_argument_ends_nobody() -> None:
    reading, writing = os.pipe()
    handler = LineHandler(writing)
    handler.setFormatter(LineFormatter(Redaction(), as_json=False))
    handler.emit(entry("%d", "not a number"))
    handler.emit(entry("next"))
    handler.close()
    os.close(writing)
    with os.fdopen(reading) as file:
        lines = file.read().splitlines()
    assert lines[0].startswith("log: an entry of trunkline.http cannot be written (TypeError: %d format: a real number")
    assert lines[1].endswith("next")


def test_who_does_not_read_holds_up_nobody() -> None:
    reading, writing = os.pipe()
    handler = LineHandler(writing, room=50)
    handler.setFormatter(LineFormatter(Redaction(), as_json=False))
    for n in range(20_000):
        handler.emit(entry("entry %d %s", n, "x" * 200))
    assert len(handler._lines) <= 50  # pyright: ignore[reportPrivateUsage]
    with os.fdopen(reading) as file:
        # Now somebody reads.
        import threading

        found = list[str]()
        reader = threading.Thread(target=lambda: found.extend(file))
        reader.start()
        handler.close()
        os.close(writing)
        reader.join(10)
    lost = [int(line.split()[1]) for line in found if line.startswith("log: ")]
    assert sum(lost) + len(found) - len(lost) == 20_000
    assert sum(lost) > 0


def test_secrets_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("key-from-a-file\n")
    path = tmp_path / "gateway.yaml"
    path.write_text(
        "http: {tokens: [{name: ci, scopes: [read], token: {env: CI}}, {name: x, scopes: [read], token: {env: NO}}]}\n"
        "agents: {main: {openai: {model: m, base_url: 'http://127.0.0.1:1/v1', api_key: {file: key}}}}\n"
    )
    settings = load_settings(path, environ={"CI": "token-from-the-environment"})
    assert sorted(secrets_of(settings)) == ["key-from-a-file", "token-from-the-environment"]
    assert "token-from" not in repr(settings) + repr(settings.config)


def test_which_events_have_a_line(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(lambda: 1.0, keep=False)
    lines = EventLogLines(log, logging.INFO)
    gateway = log.recorder("gateway")
    ana = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="ana")
    received = InboundReceived(address=ana, peer=Peer(id="ana"), message_id="1", text="my secret wish")
    with caplog.at_level(logging.INFO, "trunkline"):
        gateway.record(received)
        gateway.record(
            InboundAdmitted(work=WorkKind.MESSAGE, session_id="s", session_key="agent:main:main"), inbound="1"
        )
        gateway.record(LeaseAwaited(holder="other:12", until=5.0, reason=Reason.LEASE_HELD))
        gateway.record(TurnEnded(outcome="replied"), turn="t-1")
        gateway.record(TurnEnded(outcome="failed", reason=Reason.AGENT_RAISED, detail="no"), turn="t-2")
        gateway.record(IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1), intent="i-1")
        gateway.record(IntentSettled(state=IntentState.UNKNOWN, reason=Reason.RESPONSE_LOST, attempts=1), intent="i-2")
    assert [record.getMessage() for record in caplog.records] == [
        "a message came for agent:main:main",
        "other:12 holds the store: this process stands by until it stops",
        "a turn failed: agent-raised",
        "a message was delivered",
        "a message ended as unknown: response-lost; it waits for an operator",
    ]
    assert [vars(record).get("turn") for record in caplog.records] == [None, None, "t-2", None, None]
    assert vars(caplog.records[0])["inbound"] == "1"
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "trunkline"):
        lines.set_level(logging.DEBUG)
        gateway.record(received)
    assert ["my secret wish" in record.getMessage() for record in caplog.records] == [True]


if sys.platform != "win32":

    def test_a_full_disk_behind_standard_error_ends_nobody() -> None:
        full = os.open("/dev/full", os.O_WRONLY)
        handler = LineHandler(full)
        handler.setFormatter(LineFormatter(Redaction(), as_json=False))
        handler.emit(entry("one"))
        handler.close()
        os.close(full)
        assert not handler._thread.is_alive()  # pyright: ignore[reportPrivateUsage]
