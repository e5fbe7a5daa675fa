"""A gateway through its store file, beside the running gateway or without one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

import msgspec

from trunkline.app.operators.port import NotPossible
from trunkline.core.errors import AnswerRefused, IllegalTransition, StoreError, UsageError
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.store.delegations import DelegationFilter, HandPost
from trunkline.core.store.operators.bindings import BindingsOverview, ReadBindingsOverview
from trunkline.core.store.operators.hands import (
    HandInspection,
    HandPosted,
    HandsOverview,
    InspectDelegation,
    ReadHandsOverview,
    TakenTask,
)
from trunkline.core.store.operators.queue import (
    InspectIntent,
    IntentInspection,
    QueueChanges,
    QueueOverview,
    ReadQueueOverview,
    check_purge,
)
from trunkline.core.store.operators.sessions import ReadSessions, ReadTranscriptPage, SessionSummary, TranscriptPage
from trunkline.core.store.queries import CountPurgeable
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.store.sqlite.handlers import ask
from trunkline.core.store.sqlite.offline import bindings_file, queue_file
from trunkline.core.store.sqlite.offline.hand_worker import HandWorker
from trunkline.core.store.sqlite.offline.hands_file import post as leave
from trunkline.core.store.sqlite.offline.reading import reading
from trunkline.core.values import DelegationId, IntentState

#: rows of a page
_PAGE = 500


class StoreFileOperator:
    """Answers from a store file (see `Operator`). Changes are short transactions, of which the gateway finds a note."""

    acts_at_once = False

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def option(self) -> str:
        return f"--store {quote(str(self._path))}"

    # ------------------------------------------------------------ queue

    def queue(self, which: QueueFilter, *, limit: int) -> QueueOverview:
        with self._reading() as connection:
            return ask(connection, ReadQueueOverview(which=which, limit=limit, now=time.time()))

    def intent(self, intent: str) -> IntentInspection:
        with self._reading() as connection:
            return ask(connection, InspectIntent(intent=intent, now=time.time()))

    def retry(self, intents: Sequence[str]) -> QueueChanges:
        with self._changing() as connection:
            return queue_file.retry(connection, intents, now=time.time())

    def retry_all(self, which: QueueFilter) -> QueueChanges:
        with self._changing() as connection:
            return queue_file.retry_all(connection, which, now=time.time())

    def resolve(self, intent: str, verdict: QueueVerdict, *, message_id: str = "") -> QueueChanges:
        with self._changing() as connection:
            return queue_file.resolve(connection, intent, verdict, now=time.time(), provider_id=message_id)

    def purgeable(self, which: QueueFilter, *, older_than: float | None) -> Mapping[IntentState, int]:
        try:
            check_purge(which)
        except IllegalTransition as error:
            raise NotPossible(error.facts) from error
        with self._reading() as connection:
            return ask(connection, CountPurgeable(which=_older(which, older_than)))

    def purge(self, which: QueueFilter, *, older_than: float | None) -> int:
        with self._changing() as connection:
            return queue_file.purge(connection, _older(which, older_than))

    # ------------------------------------------------------------ bindings, sessions

    def bindings(self, *, ended: bool) -> BindingsOverview:
        with self._reading() as connection:
            return ask(connection, ReadBindingsOverview(ended=ended, now=time.time()))

    def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        with self._changing() as connection:
            return bindings_file.unbind(connection, binding, now=time.time(), reason=reason)

    def sessions(self) -> Iterator[SessionSummary]:
        cursor = ""
        with self._any_version() as connection:
            while True:
                page = ask(connection, ReadSessions(cursor=cursor, limit=_PAGE))
                yield from page.sessions
                if page.next is None:
                    return
                cursor = page.next

    def transcript(self, name: str) -> Iterator[TranscriptPage]:
        cursor = ""
        # No transaction stays open between two pages, so a slow reader does not block the gateway's checkpoints.
        with self._any_version() as connection:
            while True:
                page = ask(connection, ReadTranscriptPage(name=name, cursor=cursor, limit=_PAGE))
                yield page
                if not page.more or page.newer is None:
                    return
                # The session of this key may be another one by now.
                name, cursor = page.session.session_id, page.newer

    # ------------------------------------------------------------ hands

    def hands(self, which: DelegationFilter, *, before: DelegationId | None, limit: int) -> HandsOverview:
        with self._reading() as connection:
            return ask(connection, ReadHandsOverview(which=which, before=before, limit=limit, now=time.time()))

    def delegation(self, delegation: str) -> HandInspection:
        with self._reading() as connection:
            return ask(connection, InspectDelegation(delegation=delegation, now=time.time()))

    def post(self, post: HandPost) -> HandPosted:
        with self._changing() as connection:
            return leave(connection, msgspec.structs.replace(post, at=time.time()))

    def take(self, hand: str, worker: str) -> TakenTask | None:
        try:
            task = HandWorker(self._path, name=worker).take(hand)
        except StoreError as error:
            raise UsageError(error.facts) from error
        if task is None or task.ticket is None:
            return None
        return TakenTask(
            delegation=task.delegation,
            ticket=task.ticket,
            hand=task.hand,
            task=task.task,
            label=task.label,
            asked_by=task.asked_by,
            timeout=task.timeout,
        )

    # ------------------------------------------------------------ the file

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection, None, None]:
        try:
            with queue_file.open_to_read(self._path) as connection:
                yield connection
        except StoreError as error:
            raise UsageError(error.facts) from error

    @contextmanager
    def _any_version(self) -> Generator[sqlite3.Connection, None, None]:
        """Open a store of any version, without a transaction that stays open."""
        try:
            with reading(self._path) as connection:
                yield connection
        except StoreError as error:
            raise UsageError(error.facts) from error

    @contextmanager
    def _changing(self) -> Generator[sqlite3.Connection, None, None]:
        opened = False
        try:
            with queue_file.open_to_change(self._path) as connection:
                opened = True
                yield connection
        except (IllegalTransition, AnswerRefused) as error:
            raise NotPossible(error.facts) from error
        except StoreError as error:
            raise NotPossible(error.facts) if opened else UsageError(error.facts) from error


def _older(which: QueueFilter, older_than: float | None) -> QueueFilter:
    return which if older_than is None else msgspec.structs.replace(which, before=time.time() - older_than)
