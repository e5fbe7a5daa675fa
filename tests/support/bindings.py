"""A platform whose conversations can be bound, and a gateway whose clock stands still until it is moved."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from tests.support.sending import Platform
from trunkline import Address, Env
from trunkline.core.env import system_env
from trunkline.core.records.bindings import Placement, PlaceState, SessionBindingRecord
from trunkline.core.values import Identity

#: a session, made with its binding
KEY = "ops:discord:default:channel:900"


class Binder(Platform):
    """Its answers can be errors, or be kept back."""

    def __init__(self, channel: str = "discord") -> None:
        super().__init__(channel)
        self.placements: tuple[Placement, ...] = (Placement.CURRENT, Placement.CHILD)
        self.state: PlaceState | Exception = PlaceState.OPEN
        self.child: Address | Exception | None = None
        self.speaker: Identity | Exception | None = None
        #: what was asked, and under which key
        self.asked: list[tuple[str, Address, str]] = []
        self.answering = anyio.Event()
        self.answering.set()
        self.called = anyio.Event()

    async def _answer(self, what: str, place: Address, about: str = "") -> None:
        self.asked.append((what, place, about))
        self.called.set()
        await self.answering.wait()

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        await self._answer("open_child", parent, key)
        if isinstance(self.child, Exception):
            raise self.child
        if self.child is not None:
            return self.child
        return Address(
            channel=parent.channel,
            account=parent.account,
            kind=parent.kind,
            conversation=f"{parent.conversation}-{key}",
            parent=parent.conversation,
        )

    async def inspect(self, place: Address) -> PlaceState:
        await self._answer("inspect", place)
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    async def reopen(self, place: Address) -> None:
        await self._answer("reopen", place)

    async def identity(self, place: Address, name: str) -> Identity | None:
        await self._answer("identity", place, name)
        if isinstance(self.speaker, Exception):
            raise self.speaker
        return self.speaker


class Clock:
    """Time that is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def env(self) -> Env:
        return Env(now=lambda: self.now, ids=system_env().ids, seed="tests")

    def __iadd__(self, seconds: float) -> "Clock":
        self.now += seconds
        return self


def ids(records: tuple[SessionBindingRecord, ...]) -> list[str]:
    return [record.binding_id for record in records]


def bound_rows(path: Path) -> list[tuple[Any, ...]]:
    """What a store holds of bindings."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT id, session_key, status, last_activity_at FROM bindings ORDER BY n").fetchall()


async def reached(wanted: Callable[[], bool]) -> None:
    """Wait for what changes without an event of its own."""
    with anyio.fail_after(10):
        while not wanted():  # noqa: ASYNC110 -- nobody tells of it
            await anyio.sleep(0.001)
