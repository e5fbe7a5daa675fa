"""A gateway process that edits, reacts, kicks and deletes, with a platform that is a file; and its death on cue.

Started as a program with a `Life` as JSON. The platform does what arrives at once, and writes it down before it
answers: so the file has everything that people see, whenever the process dies.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import msgspec

from trunkline import (
    Address,
    Capabilities,
    ChatKind,
    Envelope,
    Event,
    EventLog,
    Gateway,
    GatewayConfig,
    Idempotency,
    Peer,
    Receipt,
    SendRequest,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import NotSent
from trunkline.core.hands.port import HandTask

ANA = Address(channel="discord", account="default", kind=ChatKind.DIRECT, conversation="100")
#: number of messages that Ana writes
MESSAGES = 4
#: edits of each first answer
EDITS = 3
_CONFIG = {
    "delivery": {"backoff": [0.005], "request_timeout": 1.0},
    "turns": {"max_attempts": 1000},
    "channels": {"discord": {"actions": {"moderation": True}}},
}
_ACTIONS = frozenset({Action.EDIT, Action.REACT, Action.DELETE, Action.KICK})


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is given at its start."""

    store: str
    platform: str
    #: it kills itself in the moment in which it records the `count`-th event of this kind; empty: it does not
    kind: str = ""
    count: int = 1


class Seen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the platform's file: ``send``, ``ack``, or an action."""

    what: str
    key: str
    message: str = ""
    text: str = ""


def seen(path: Path) -> list[Seen]:
    """Everything that arrived."""
    return [msgspec.json.decode(line, type=Seen) for line in path.read_bytes().splitlines()] if path.exists() else []


class FilePlatform:
    """The adapter of a platform that is a file; it knows keys of messages, and none of changes."""

    channel, account = "discord", "default"
    capabilities = Capabilities(idempotency=Idempotency.KEY, in_flight_seconds=0.02, actions=_ACTIONS)

    def __init__(self, path: Path) -> None:
        self._path = path

    def _write(self, line: Seen) -> None:
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        yield self._envelopes()

    async def _envelopes(self) -> AsyncGenerator[Envelope, None]:
        known = {line.key for line in seen(self._path) if line.what == "ack"}
        for n in range(MESSAGES):
            if f"m{n}" not in known:
                person = Peer(id="100", name="Ana")
                yield Envelope(address=ANA, peer=person, message_id=f"m{n}", text=str(n), sent_at=float(n))
        await anyio.sleep_forever()

    async def ack(self, envelope: Envelope) -> None:
        self._write(Seen(what="ack", key=envelope.message_id))

    async def send(self, request: SendRequest) -> Receipt:
        sent = [line for line in seen(self._path) if line.what == "send"]
        before = next((line for line in sent if line.key == request.key), None)
        number = f"9{len(sent)}" if before is None else before.message
        if before is None:
            self._write(Seen(what="send", key=request.key, message=number, text=request.text))
        return Receipt(provider_id=number, address=request.address)

    async def act(self, request: ActionRequest) -> Receipt:
        message = request.message_id or request.fields or ""
        self._write(Seen(what=request.action.value, key=request.key, message=message, text=request.text))
        return Receipt(provider_id=request.message_id or "done", address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        raise NotSent("this platform has no look-up")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return place


class Corrector:
    """An agent that corrects what it says, three times, and takes something back."""

    async def turn(self, turn: Turn) -> str:
        n = turn.text
        first = await turn.message({"action": "send", "message": f"draft {n}"})
        for k in range(1, EDITS + 1):
            await turn.message({"action": "edit", "messageId": first.intent, "message": f"edit {n}.{k}"})
        await turn.message({"action": "react", "messageId": f"m{n}", "emoji": "👍"})
        await turn.message({"action": "kick", "guildId": "g1", "userId": f"u{n}"})
        second = await turn.message({"action": "send", "message": f"wrong {n}"})
        await turn.message({"action": "delete", "messageId": second.intent})
        return f"done {n}"


class NoHands:
    """There is no hand."""

    def has(self, hand: str) -> bool:
        return False

    async def run(self, task: HandTask) -> str:
        raise NotImplementedError


async def live(life: Life) -> None:
    """Work until everything is done, or until the fuse."""
    env = system_env()
    log = EventLog(env.now)
    recorder = log.recorder("gateway")
    left = life.count

    def burn(event: Event) -> None:
        nonlocal left
        if event.body.kind == life.kind:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if life.kind:
        log.subscribe(burn)
    platform = FilePlatform(Path(life.platform))
    gateway = Gateway(
        config=GatewayConfig.model_validate(_CONFIG),
        store=SqliteStore(lambda: connect_file(Path(life.store)), recorder),
        adapters=[platform],
        agents={"main": Corrector()},
        hands=NoHands(),
        env=env,
        events=recorder,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.run)
        with anyio.fail_after(60):
            while not _is_done(Path(life.store), Path(life.platform)):  # noqa: ASYNC110 -- it shows in two files
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()


def _is_done(store: Path, platform: Path) -> bool:
    """Whether every turn has said its last word, and nothing is queued."""
    said = {line.text for line in seen(platform) if line.what == "send"}
    if not all(f"done {n}" in said for n in range(MESSAGES)):
        return False
    with closing(sqlite3.connect(store)) as db:
        sql = "SELECT count(*) FROM intents WHERE state IN ('prepared', 'sending') OR mirror_due"
        return db.execute(sql).fetchone() == (0,)


if __name__ == "__main__":
    anyio.run(live, msgspec.json.decode(sys.argv[1], type=Life))
