"""What is stored and shown of callbacks whose turn runs again, and of those that end in another result."""

import contextlib
import sqlite3

from tests.support.factories import delegation
from trunkline.app.report.hands import row_json
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Work
from trunkline.core.states.delegation import CallbackState
from trunkline.core.store.delegations import AcceptDelegation, BeginCallback
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import InboundId, Peer, WorkKind


def test_a_turn_that_runs_again_changes_nothing() -> None:
    row = delegation()
    work = Work(
        id=InboundId(f"{row.id}.back"),
        kind=WorkKind.CALLBACK,
        agent="main",
        session_key="k",
        peer=Peer(id="hand:clerk"),
        text="done",
    )
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        execute(raw, AcceptDelegation(row=row))
        raw.execute("UPDATE delegations SET state = 'succeeded', callback = 'pending_turn'")
        raw.execute(
            "INSERT INTO inbox (id, identity, kind, session_key, agent_id, state, work, admitted_at)"
            " VALUES (?, 'callback', 'callback', 'k', 'main', 'pending', '{}', 1.0)",
            (work.id,),
        )
        first = execute(raw, BeginCallback(delegation=row.id, work=work))
        again = execute(raw, BeginCallback(delegation=row.id, work=work))
    assert first.due and first.change is not None
    assert (first.change.before, first.change.state) == (CallbackState.PENDING_TURN, CallbackState.IN_TURN)
    assert again.due and again.change is None


def test_a_result_that_went_into_that_of_the_parent_is_shown_as_passed_on() -> None:
    row = delegation(callback=CallbackState.SUPPRESSED, callback_reason=Reason.PASSED_ON, parent="m1.hand0")
    assert row_json(row, row.accepted_at)["sentence"].startswith("Passed on to its parent")
