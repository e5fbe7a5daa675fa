"""A gateway through its store, a file or on a server, beside the running gateway or without one."""

import sqlite3
import time
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import msgspec

from trunkline.app.operators.port import NotPossible
from trunkline.core import errors
from trunkline.core.hands.port import HandTask
from trunkline.core.http.clients import Caller, Scope
from trunkline.core.http.endpoint import Verb, VerbCall
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.runtime.queue_admin import QueueAdmin
from trunkline.core.store.commands import PurgeIntents
from trunkline.core.store.delegations import HandPost
from trunkline.core.store.opening import open_store
from trunkline.core.store.operators.erasure import Erased, ErasePerson
from trunkline.core.store.operators.hands import HandPosted
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges
from trunkline.core.store.operators.sessions import EVERY_VERSION
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.queries import FindHolder, Read
from trunkline.core.store.queue_admin import PurgedBatch, QueueFilter
from trunkline.core.store.sqlite.offline.opening import in_transaction, open_to_change, open_to_read, reading
from trunkline.core.store.sqlite.operator_queries import OPERATOR_QUERIES

A = TypeVar("A")
_CALLER = Caller(name="operator", scopes=frozenset(Scope))


class FileGateway(QueueAdmin):
    """The store file of a gateway (see `OperatedGateway`). Nothing waits: each method is one short transaction.

    The process that works the store finds a note of each change.
    """

    def __init__(self, store: Path | str) -> None:
        #: a file, or the address of a store on a server
        self._store = store

    @property
    def queue(self) -> QueueAdmin:
        return self

    def now(self) -> float:
        if isinstance(self._store, Path):
            return time.time()
        from trunkline.core.store.postgres.migrate import server_time

        return server_time(self._store)

    async def read(self, query: Read[A]) -> A:
        try:
            with self._opened(change=False, today=type(query) not in EVERY_VERSION) as connection:
                return _ask(connection, query)
        except errors.StoreError as error:
            raise _refused(error) from error

    def _opened(self, *, change: bool, today: bool = True) -> AbstractContextManager[sqlite3.Connection]:
        return open_store(self._store, open_to_change if change else open_to_read if today else reading)

    @contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        opened = False
        try:
            with self._opened(change=True) as connection:
                opened = True
                with in_transaction(connection):
                    yield connection
        except errors.StoreError as error:
            raise _refused(error, NotPossible if opened else errors.UsageError) from error

    async def _change(self, command: ChangeQueue) -> QueueChanges:
        from trunkline.core.store.sqlite.handlers import execute

        with self._changing() as connection:
            return execute(connection, command)

    async def _remove(self, command: PurgeIntents) -> PurgedBatch:
        from trunkline.core.store.sqlite.handlers import execute
        from trunkline.core.store.sqlite.sql.queue import note_purge

        with self._changing() as connection:
            done = execute(connection, command)
            if done.removed:
                note_purge(connection, command.which, done.removed)
        return done

    async def retry_all(self, which: QueueFilter) -> QueueChanges:
        done = await super().retry_all(which)
        return msgspec.structs.replace(done, holder=await self.read(FindHolder(now=self.now())))

    async def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        from trunkline.core.store.sqlite.offline import bindings_file

        with self._changing() as connection:
            return bindings_file.unbind(connection, binding, now=self.now(), reason=reason)

    async def post(self, post: HandPost) -> HandPosted:
        from trunkline.core.store.hand_worker import leave

        with self._changing() as connection:
            return leave(connection, post)

    async def erase(self, channel: str, person: str, by: str) -> Erased:
        """See the port. A running gateway is asked itself: it has words in its memory."""
        from trunkline.core.store.sqlite.handlers import execute
        from trunkline.core.store.sqlite.sql.operators.erasure import scrub

        if isinstance(self._store, str):
            from trunkline.core.store.postgres.store import rewrite_tables as scrub

        now = self.now()
        with self._changing() as connection:
            if (holder := _ask(connection, FindHolder(now=now))) is not None:
                raise errors.IllegalTransition(
                    f"{holder} works the store: ask it, with `--url` instead of `--store`, or stop it"
                )
            erasure = execute(connection, ErasePerson(channel=channel, person=person, by=by, now=now))
        try:
            with self._opened(change=True) as connection:
                scrub(connection)
        except errors.StoreError as error:
            raise errors.UsageError(error.facts) from error
        return Erased(erasure=erasure)

    async def take(self, hand: str, worker: str) -> HandTask | None:
        try:
            from trunkline.core.store.hand_worker import HandWorker

            return HandWorker(self._store, name=worker).take(hand)
        except errors.StoreError as error:
            raise _refused(error) from error


def _ask(connection: sqlite3.Connection, query: Read[A]) -> A:
    handle = OPERATOR_QUERIES.get(type(query))
    if handle is None:
        from trunkline.core.store.sqlite import handlers

        return handlers.ask(connection, query)
    return handle(connection, query)


def _refused(error: errors.StoreError, kind: type[NotPossible | errors.UsageError] = errors.UsageError) -> Exception:
    """Reports of commands about a store file. Damage has the same words everywhere."""
    return error if isinstance(error, errors.StoreDamaged) else kind(error.facts)


class StoreFileOperator:
    """Answers verbs from a store file (see `Operator`), by the handlers that also answer them over HTTP."""

    acts_at_once = False

    def __init__(self, store: Path | str) -> None:
        self._gateway = FileGateway(store)
        self._shown = str(store) if isinstance(store, Path) else server_address(store).shown

    @property
    def option(self) -> str:
        return f"--store {quote(self._shown)}"

    def ask(self, verb: Verb[A], given: msgspec.Struct | None = None, **path: str) -> A:
        call = VerbCall(operated=self._gateway, caller=_CALLER, path=path, query=given, body=given)
        try:
            return _result(verb.run(call))
        except (errors.IllegalTransition, errors.AnswerRefused) as error:
            raise NotPossible(error.facts) from error


def _result(answering: Coroutine[Any, Any, A]) -> A:
    """The result of a handler that waits for nothing, without an event loop."""
    try:
        answering.send(None)
    except StopIteration as ended:
        return ended.value
    raise errors.InvariantBroken("a verb waits for something that a store file does not have")
