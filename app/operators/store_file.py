"""A gateway through its store file, beside the running gateway or without one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import msgspec

from trunkline.app.operators.port import NotPossible
from trunkline.core.errors import AnswerRefused, IllegalTransition, InvariantBroken, StoreError, UsageError
from trunkline.core.hands.port import HandTask
from trunkline.core.http.clients import Caller, Scope
from trunkline.core.http.endpoint import Verb, VerbCall
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.runtime.queue_admin import QueueAdmin
from trunkline.core.store.commands import PurgeIntents
from trunkline.core.store.delegations import HandPost
from trunkline.core.store.operators.hands import HandPosted
from trunkline.core.store.operators.holder import FindHolder
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges
from trunkline.core.store.operators.sessions import EVERY_VERSION
from trunkline.core.store.queries import Read
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.offline import bindings_file
from trunkline.core.store.sqlite.offline.hand_worker import HandWorker, leave
from trunkline.core.store.sqlite.offline.opening import in_transaction, open_to_change, open_to_read, reading
from trunkline.core.store.sqlite.sql.queue import note_purge

A = TypeVar("A")
_CALLER = Caller(name="operator", scopes=frozenset(Scope))


class FileGateway(QueueAdmin):
    """The store file of a gateway (see `OperatedGateway`). Nothing waits: each method is one short transaction.

    The process that works the store finds a note of each change.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def queue(self) -> QueueAdmin:
        return self

    def now(self) -> float:
        return time.time()

    async def read(self, query: Read[A]) -> A:
        try:
            opened = reading(self._path) if type(query) in EVERY_VERSION else open_to_read(self._path)
            with opened as connection:
                return ask(connection, query)
        except StoreError as error:
            raise UsageError(error.facts) from error

    @contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        opened = False
        try:
            with open_to_change(self._path) as connection:
                opened = True
                with in_transaction(connection):
                    yield connection
        except StoreError as error:
            raise NotPossible(error.facts) if opened else UsageError(error.facts) from error

    async def _change(self, command: ChangeQueue) -> QueueChanges:
        with self._changing() as connection:
            return execute(connection, command)

    async def _remove(self, command: PurgeIntents) -> int:
        with self._changing() as connection:
            removed = execute(connection, command)
            if removed:
                note_purge(connection, command.which, removed)
        return removed

    async def retry_all(self, which: QueueFilter) -> QueueChanges:
        done = await super().retry_all(which)
        return msgspec.structs.replace(done, holder=await self.read(FindHolder(now=self.now())))

    async def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        with self._changing() as connection:
            return bindings_file.unbind(connection, binding, now=self.now(), reason=reason)

    async def post(self, post: HandPost) -> HandPosted:
        with self._changing() as connection:
            return leave(connection, post)

    async def take(self, hand: str, worker: str) -> HandTask | None:
        try:
            return HandWorker(self._path, name=worker).take(hand)
        except StoreError as error:
            raise UsageError(error.facts) from error


class StoreFileOperator:
    """Answers verbs from a store file (see `Operator`), by the handlers that also answer them over HTTP."""

    acts_at_once = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gateway = FileGateway(path)

    @property
    def option(self) -> str:
        return f"--store {quote(str(self._path))}"

    def ask(self, verb: Verb[A], given: msgspec.Struct | None = None, **path: str) -> A:
        call = VerbCall(operated=self._gateway, caller=_CALLER, path=path, query=given, body=given)
        try:
            return _result(verb.run(call))
        except (IllegalTransition, AnswerRefused) as error:
            raise NotPossible(error.facts) from error


def _result(answering: Coroutine[Any, Any, A]) -> A:
    """The result of a handler that waits for nothing, without an event loop."""
    try:
        answering.send(None)
    except StopIteration as ended:
        return ended.value
    raise InvariantBroken("a verb waits for something that a store file does not have")
