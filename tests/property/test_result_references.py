"""Long results, whatever happens to their delegations: each is stored exactly as long as somebody may need it."""

import contextlib
import sqlite3
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.factories import delegation, intent, session, work
from tests.support.scale import scaled
from trunkline.core.errors import TrunklineError
from trunkline.core.hands.result_limits import kept_result, reference_of
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, CallbackEvent, CallbackState, HandOutcome
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Admit, EndIntent, FinishTurn, Prune, PurgeIntents, RetryIntent
from trunkline.core.store.delegations import (
    AcceptDelegation,
    BeginCallback,
    ChangeCallback,
    FinishDelegation,
    RetryCallback,
    ShowDelegation,
)
from trunkline.core.store.queries import LoadUnfinished, ShowIntent
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import DelegationId, IntentState, WorkKind

#: few texts, so that delegations share them; the shortest is kept in its row
TEXTS = ["three", "a" * 30, "b" * 30]
INLINE = 10
#: reports whose turn may still run
REACHABLE = (CallbackState.PENDING_TURN, CallbackState.IN_TURN, CallbackState.UNDELIVERABLE)
NAMES = st.sampled_from(["d1", "d2", "d3", "d4"])


class Results(RuleBasedStateMachine):
    """Delegations whose results are stored, reported, retried, given up and removed in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self.raw)
        self.known: dict[str, str] = {}
        self.now = 1.0

    def teardown(self) -> None:
        self.raw.close()

    def do(self, command: Any) -> Any:
        """Run a command as a transaction; a refused one changes nothing."""
        self.now += 1.0
        self.raw.execute("BEGIN")
        try:
            answer = execute(self.raw, command)
        except TrunklineError:
            self.raw.execute("ROLLBACK")
            return None
        self.raw.execute("COMMIT")
        return answer

    @rule(name=NAMES, text=st.sampled_from(TEXTS), reported=st.booleans(), kept=st.booleans())
    def finish(self, name: str, text: str, reported: bool, kept: bool) -> None:
        if name in self.known:
            return
        self.known[name] = text
        self.do(AcceptDelegation(row=delegation(name, accepted_at=self.now)))
        kept_text = kept_result(text, INLINE)
        facts = CallbackFacts(delegation=DelegationId(name), hand="clerk", outcome=HandOutcome.OK)
        back = work(
            f"{name}.back", kind=WorkKind.CALLBACK, callback=facts, text=kept_text.shown, text_ref=kept_text.ref
        )
        admit = Admit(work=back, identity=f"callback/{name}", session=session(), now=self.now)
        done = FinishDelegation(
            delegation=DelegationId(name),
            result=HandResult(outcome=HandOutcome.OK, text=text),
            callback=admit if reported else None,
            intents=[],
            now=self.now,
            keep_text=kept,
            inline=INLINE,
        )
        assert self.do(done).first

    @rule(message=st.booleans(), event=st.sampled_from([CallbackEvent.SUPPRESS, CallbackEvent.FAIL]))
    def run_a_turn(self, message: bool, event: CallbackEvent) -> None:
        works = ask(self.raw, LoadUnfinished()).works
        if not works:
            return
        item, _ = works[0]
        assert item.callback is not None
        begun = self.do(BeginCallback(delegation=item.callback.delegation, work=item))
        # A turn that is due gets its whole text, always.
        assert begun.due
        text = self.known[item.callback.delegation]
        assert begun.text == (None if len(text) <= INLINE else text)
        rows = [intent(f"{item.id}.reply", delegation=item.callback.delegation)] if message else []
        self.do(FinishTurn(work=item, intents=rows, now=self.now, callback=CallbackEvent.ENQUEUE if message else event))

    @rule(name=NAMES, event=st.sampled_from([*CallbackEvent]))
    def change(self, name: str, event: CallbackEvent) -> None:
        if event not in (CallbackEvent.ADMIT, CallbackEvent.POST, CallbackEvent.RERUN, CallbackEvent.ENQUEUE):
            self.do(ChangeCallback(delegation=DelegationId(name), event=event))

    @rule(name=NAMES)
    def retry(self, name: str) -> None:
        self.do(RetryCallback(delegation=DelegationId(name), now=self.now))

    @rule(event=st.sampled_from([DeliveryEvent.REFUSE, DeliveryEvent.EXPIRE, DeliveryEvent.PARK, DeliveryEvent.CANCEL]))
    def end_a_message(self, event: DeliveryEvent) -> None:
        found = self.raw.execute("SELECT id FROM intents WHERE state IN ('prepared', 'sending') LIMIT 1").fetchone()
        if found is None:
            return
        row = ask(self.raw, ShowIntent(intent=found[0])).intent
        self.do(
            EndIntent(
                intent=row,
                event=event,
                reason=Reason.REFUSED,
                mirror=None,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
                now=self.now,
            )
        )

    @rule()
    def retry_a_message(self) -> None:
        found = self.raw.execute("SELECT id FROM intents WHERE state IN ('failed', 'dead', 'expired')").fetchone()
        if found is not None:
            self.do(RetryIntent(intent=found[0], now=self.now))

    @rule(state=st.sampled_from([IntentState.UNKNOWN, IntentState.FAILED, IntentState.CANCELLED]))
    def purge(self, state: IntentState) -> None:
        self.do(PurgeIntents(which=QueueFilter(states=(state,))))

    @precondition(lambda self: self.known)
    @rule()
    def prune(self) -> None:
        self.do(Prune(cutoff=self.now + 1.0))

    @invariant()
    def references_are_counted(self) -> None:
        stored = dict(self.raw.execute("SELECT hash, refs FROM results").fetchall())
        needed = dict(
            self.raw.execute(
                "SELECT result_ref, count(*) FROM delegations WHERE result_ref IS NOT NULL GROUP BY result_ref"
            ).fetchall()
        )
        assert stored == needed
        for ref, text in self.raw.execute("SELECT hash, text FROM results"):
            assert reference_of(text) == ref

    @invariant()
    def what_can_still_be_reported_has_its_text(self) -> None:
        for name, text in self.known.items():
            with contextlib.suppress(TrunklineError):
                row = ask(self.raw, ShowDelegation(delegation=name)).row
                reachable = row.callback in (
                    CallbackState.PENDING_TURN,
                    CallbackState.IN_TURN,
                    CallbackState.UNDELIVERABLE,
                )
                if reachable and len(text) > INLINE:
                    assert row.result_ref == reference_of(text)
                if row.callback is CallbackState.DELIVERED:
                    assert row.result_ref is None
                assert row.callback in CALLBACK_TRANSITIONS


TestResults = Results.TestCase
TestResults.settings = settings(max_examples=scaled(150, 25), stateful_step_count=30, deadline=None)
