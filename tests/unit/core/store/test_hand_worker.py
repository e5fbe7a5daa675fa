"""A worker on the store file of a gateway that may or may not run."""

import contextlib
import sqlite3
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

import trunkline
from tests.support.factories import delegation
from trunkline import AnswerRefused, HandOutcome, HandWorker
from trunkline.core.env import Env, system_env
from trunkline.core.errors import InvalidCall, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind
from trunkline.core.records.origin import Origin
from trunkline.core.store.delegations import AcceptDelegation, PostVerb, ReadPosts, ShowDelegation
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import InboundId, Peer, TurnId

NOW = 1_700_000_000.0


@contextlib.contextmanager
def writing(path: Path) -> Generator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


@pytest.fixture
def env() -> Env:
    real = system_env()
    return Env(now=lambda: NOW, ids=real.ids, seed="test")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one task, for which Ana has asked."""
    path = tmp_path / "store #1.db"
    origin = Origin(
        agent="main", session_key="k", inbound=InboundId("m1"), turn=TurnId("t-m1"), asked_by=Peer(id="100", name="Ana")
    )
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        row = delegation(kind=HandKind.WORKER, origin=origin, label="mail", deadline=NOW + 60, max_result=100)
        execute(raw, AcceptDelegation(row=row))
    return path


def posts(path: Path) -> list[tuple[str, str]]:
    with writing(path) as raw:
        return [(one.verb.value, one.text) for one in ask(raw, ReadPosts())]


def test_it_is_a_part_of_the_public_api() -> None:
    assert {"HandWorker", "AnswerRefused", "HandOutcome", "HandTask"} <= set(trunkline.__all__)


def test_a_worker_takes_a_task_reports_and_answers(store: Path, env: Env) -> None:
    worker = HandWorker(store, name="w1", env=env)
    task = worker.take("clerk")
    assert task is not None
    assert (task.delegation, task.hand, task.task, task.label) == ("m1.hand1", "clerk", "count", "mail")
    assert task.asked_by == Peer(id="100", name="Ana")
    assert task.timeout == 60.0
    assert task.ticket
    assert worker.take("clerk") is None
    anyio.run(task.progress, "half")
    assert worker.answer(task.delegation, task.ticket, "three") is True
    assert worker.answer(task.delegation, task.ticket, "four") is False
    assert posts(store) == [("taken", ""), ("progress", "half"), ("answer", "three"), ("answer", "four")]


def test_a_worker_that_was_restarted_answers_with_its_ticket(store: Path, env: Env) -> None:
    task = HandWorker(store, env=env).take("clerk")
    assert task is not None
    again = HandWorker(str(store), name="w2", env=env)
    assert again.answer(task.delegation, task.ticket, "no mailbox", outcome=HandOutcome.ERROR) is True
    with writing(store) as raw:
        last = ask(raw, ReadPosts())[-1]
    assert (last.verb, last.outcome, last.by, last.at) == (PostVerb.ANSWER, HandOutcome.ERROR, "w2", NOW)


def test_a_ticket_is_not_in_what_is_printed(store: Path, env: Env) -> None:
    task = HandWorker(store, env=env).take("clerk")
    assert task is not None and task.ticket is not None
    assert HandWorker(store, env=env).answer(task.delegation, task.ticket, "three")
    with writing(store) as raw:
        row, post = ask(raw, ShowDelegation(delegation="m1.hand1")).row, ask(raw, ReadPosts())[-1]
    assert (row.ticket, post.ticket) == (task.ticket, task.ticket)
    for one in (task, row, post):
        assert task.ticket not in repr(one)
        assert "ticket='…'" in repr(one)
    assert "ticket=None" in repr(delegation())


def test_every_ticket_is_another_one(store: Path, env: Env) -> None:
    with writing(store) as raw:
        execute(raw, AcceptDelegation(row=delegation("m2.hand1", kind=HandKind.WORKER)))
    tasks = [HandWorker(store, env=env).take("clerk") for _ in range(2)]
    assert len({task.ticket for task in tasks if task is not None}) == 2


@pytest.mark.parametrize(
    ("name", "ticket", "text", "reason"),
    [
        ("m1.hand1", "another", "three", Reason.WRONG_TICKET),
        ("m1.hand1", None, "three", Reason.WRONG_TICKET),
        ("m1.hand1", "mine", "x" * 101, Reason.RESULT_TOO_LARGE),
        ("f", "mine", "three", Reason.NOT_A_WORKER),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    name: str, ticket: str | None, text: str, reason: Reason, store: Path, env: Env
) -> None:
    with writing(store) as raw:
        execute(raw, AcceptDelegation(row=delegation("f")))
    worker = HandWorker(store, env=env)
    task = worker.take("clerk")
    assert task is not None
    with pytest.raises(AnswerRefused) as error:
        worker.answer(name, task.ticket if ticket == "mine" else ticket, text)
    assert error.value.reason is reason
    assert posts(store) == [("taken", "")]


def test_bad_input_is_a_typed_error(store: Path, env: Env, tmp_path: Path) -> None:
    worker = HandWorker(store, env=env)
    with pytest.raises(UnknownName, match="no delegation 'nobody'"):
        worker.answer("nobody", "t", "three")
    with pytest.raises(InvalidCall, match="a worker answers with ok or error"):
        worker.answer("m1.hand1", "t", "three", outcome=HandOutcome.LOST)
    with pytest.raises(InvalidCall, match="the text is a int instead of a str"):
        worker.answer("m1.hand1", "t", 3)  # pyright: ignore[reportArgumentType]
    for path in (tmp_path / "nowhere.db", tmp_path):
        with pytest.raises(StoreError):
            HandWorker(path, env=env).take("clerk")
    assert not (tmp_path / "nowhere.db").exists()


def test_texts_that_utf_8_cannot_encode_are_made_storable(store: Path, env: Env) -> None:
    worker = HandWorker(store, name="w\ud800", env=env)
    task = worker.take("clerk")
    assert task is not None
    worker.answer(task.delegation, task.ticket, "a\udcffb\x00c")
    assert posts(store)[-1] == ("answer", "a?b\x00c")
    with writing(store) as raw:
        assert ask(raw, ShowDelegation(delegation="m1.hand1")).row.worker == "w?"
