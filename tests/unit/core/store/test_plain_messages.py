"""A message that belongs to no delegation costs nothing for delegations."""

import contextlib
import sqlite3
from typing import Any

from tests.support.factories import delegation, intent, receipt, session, work
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, Admit, EndIntent, FinishTurn, RetryIntent
from trunkline.core.store.delegations import AcceptDelegation
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import DelegationId


def statements(row: IntentRow) -> list[str]:
    """What the store runs for a message, its answer, its receipt, and for another answer that fails and is retried."""
    other = intent("other", delegation=row.delegation)
    end = EndIntent(
        intent=other,
        event=DeliveryEvent.REFUSE,
        reason=Reason.REFUSED,
        mirror=None,
        note=None,
        wake=None,
        mirror_due=False,
        notice=None,
        now=3.0,
    )
    commands: list[Any] = [
        Admit(work=work(), identity="id-m1", session=session(), now=1.0),
        FinishTurn(work=work(), intents=[row, other], now=2.0),
        AckChunk(intent=row, receipt=receipt(), mirror=session(), mirror_due=False, now=3.0),
        end,
        RetryIntent(intent="other", now=4.0),
    ]
    run: list[str] = []
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        execute(raw, AcceptDelegation(row=delegation()))
        raw.set_trace_callback(run.append)
        for command in commands:
            execute(raw, command)
        raw.set_trace_callback(None)
    return run


def test_a_plain_message_asks_nothing_about_delegations() -> None:
    run = statements(intent())
    assert [one for one in run if "delegations" in one or "results" in one] == []
    # What it costs is written down here, so that another statement is noticed.
    assert len(run) == PLAIN


def test_a_message_of_a_report_follows_it_in_the_same_writes() -> None:
    run = statements(intent(delegation=DelegationId("m1.hand1")))
    assert len(run) > PLAIN


#: statements of the five commands above, as before there were reports to follow
PLAIN = 17
