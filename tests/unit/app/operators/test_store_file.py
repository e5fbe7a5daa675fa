"""Verbs that are answered from a store file."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.cli.queues import S, bring, made, writing
from tests.support.factories import delegation
from tests.support.paths import ROOT
from trunkline.app.operators import port
from trunkline.app.operators.port import NotPossible
from trunkline.app.operators.store_file import StoreFileOperator
from trunkline.core.errors import InvariantBroken
from trunkline.core.http.endpoint import VerbCall
from trunkline.core.http.routes import hands, queue
from trunkline.core.store.delegations import AcceptDelegation
from trunkline.core.store.operators.queue import QueueOverview
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Five intents that are dead, and five delegations."""
    path = tmp_path / "store.db"
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        for n in range(5):
            bring(raw, made(f"dead{n}"), S.DEAD)
            execute(raw, AcceptDelegation(row=delegation(f"d{n}")))
    return path


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_a_list_of_several_pages_is_one_list(store: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    operator = StoreFileOperator(store)
    whole = port.intents(operator, queue.QueueQuery(), limit=limit)
    delegations = port.delegations(operator, hands.HandsQuery(), limit=limit)
    monkeypatch.setattr(port, "_PAGE", 2)
    paged = port.intents(operator, queue.QueueQuery(), limit=limit)
    assert [row.id for row in paged.rows] == [f"dead{n}" for n in range(5)][:limit]
    assert (paged.rows, paged.counts, paged.more) == (whole.rows, whole.counts, whole.more)
    again = port.delegations(operator, hands.HandsQuery(), limit=limit)
    assert [row.id for row in again.page.rows] == ["d4", "d3", "d2", "d1", "d0"][:limit]
    assert (again.page, again.more) == (delegations.page, delegations.more)


def test_a_refused_change_is_not_possible(store: Path) -> None:
    with pytest.raises(NotPossible, match="is still to be sent"):
        StoreFileOperator(store).ask(queue.purge, queue.PurgeBody(state=(S.PREPARED,)))


def test_a_handler_that_waits_for_something_is_a_defect(store: Path) -> None:
    class Never:
        def __await__(self):
            yield

    async def wait(call: VerbCall) -> QueueOverview:
        await Never()
        raise AssertionError

    with pytest.raises(InvariantBroken):
        StoreFileOperator(store).ask(replace(queue.list_intents, run=wait), queue.QueueQuery())


def test_commands_on_a_store_file_need_no_extra() -> None:
    commands = ("queue", "bindings", "hands", "transcript")
    code = "\n".join(
        [
            "import sys, trunkline.app.operators.store_file",
            *(f"import trunkline.app.cli.store.{name}" for name in commands),
            "print(*({'httpx', 'starlette', 'uvicorn', 'websockets'} & sys.modules.keys()))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
