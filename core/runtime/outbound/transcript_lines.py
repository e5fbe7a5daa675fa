"""The transcript lines that a delivery leaves: the mirror of what was accepted, and the note about a bad end.

Lines that the store refuses are stored later: they stop neither the receipt nor the end of an intent.
"""

from collections.abc import Callable, Sequence

from msgspec import structs

from trunkline.core.delivery.notes import delivery_note, work_about
from trunkline.core.errors import StoreError
from trunkline.core.events import actions, delivery, gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NOTE
from trunkline.core.records.rows import IntentRow, NewSession, Settlement, StoredIntent, Work
from trunkline.core.runtime.context import Context, ids_of, record_admitted
from trunkline.core.runtime.intent_drafts import mirror_at
from trunkline.core.store.commands import StoreMirror
from trunkline.core.store.queries import ListDueMirrors
from trunkline.core.values import Address, IntentId, IntentState, Receipt, SessionId
from trunkline.core.well_formed import well_formed

#: work with its session and the seq of its admission
Woken = tuple[Work, SessionId, int]


class TranscriptLines:
    def __init__(self, context: Context, start_turn: Callable[[Work, SessionId, int], None]) -> None:
        self._ctx = context
        self._start_turn = start_turn
        #: whether lines are due; see `store_due`
        self.due = False
        #: seq of the event that each due line follows from, of this process
        self._causes: dict[IntentId, int] = {}

    def mirror(self, row: IntentRow) -> NewSession | None:
        if row.mirror_key is None:
            return None
        return self._ctx.new_session(row.mirror_key, row.agent, _place(row))

    def mirror_astray(self, row: IntentRow, receipt: Receipt) -> NewSession | None:
        """The session that mirrors a misplaced text: that of the place where people see it."""
        if row.mirror_key is None:
            return None
        key = mirror_at(self._ctx, receipt.address, None, kind=row.kind, agent=row.agent, running=row.mirror_key)
        return None if key is None else self._ctx.new_session(key, row.agent, receipt.address)

    def note(self, row: IntentRow, state: IntentState, reason: Reason) -> str | None:
        """The note about the bad end of an intent, if so."""
        return delivery_note(row, state, reason)

    def wake(self, row: IntentRow, note: str | None) -> Work | None:
        return work_about(row, note) if note is not None and self._ctx.config.delivery.notify_agent else None

    def record_mirror(self, row: IntentRow, settled: Settlement, cause: int | None, receipt: Receipt | None) -> None:
        """Record a mirror, or the line that a change has changed. `receipt`: that of a misplaced text."""
        changed = settled.changed
        if changed is not None:
            self._ctx.events.record(actions.TranscriptChanged(**structs.asdict(changed)), cause, **ids_of(row))
        session = settled.mirror
        if session is None:
            return
        if session.created or session.moved_from is not None or session.left is not None:
            place = _place(row) if receipt is None else receipt.address
            self._ctx.record_session(session, row.agent, place, "outbound", cause)
        body = delivery.MirrorAppended(
            session_id=session.id,
            session_key=session.key,
            text=settled.mirror_text,
            partial=row.progress.acked < len(row.content.chunks),
        )
        self._ctx.events.record(body, cause, **ids_of(row))

    def record_note(self, row: IntentRow, settled: Settlement, cause: int | None) -> tuple[Woken, ...]:
        noted = settled.noted
        if noted is None:
            return ()
        session = noted.session
        body = gateway.TranscriptAppended(session_id=session.id, session_key=session.key, role=NOTE, text=noted.text)
        seq = self._ctx.events.record(body, cause, **ids_of(row))
        if noted.woken is None:
            return ()
        return ((noted.woken, session.id, record_admitted(self._ctx, noted.woken, session, seq)),)

    def start_work(self, woken: Sequence[Woken]) -> None:
        for work, session, cause in woken:
            self._start_turn(work, session, cause)

    def postpone(self, intent: IntentId, cause: int) -> None:
        """Lines of an intent are due, by a committed write."""
        self._causes[intent] = cause
        self.due = True

    def record_refusal(self, row: IntentRow, error: Exception, cause: int | None) -> None:
        body = delivery.MirrorRefused(
            session_key=row.mirror_key or "",
            reason=Reason.MIRROR_REFUSED,
            detail=well_formed(f"{type(error).__name__}: {error}"),
        )
        self._ctx.events.record(body, cause, **ids_of(row))

    async def store_due(self) -> None:
        """Store the lines that were refused earlier; some may be refused again."""
        self.due = False
        for due in await self._ctx.store.read(ListDueMirrors()):
            await self._store(due)

    async def _store(self, due: StoredIntent) -> None:
        ctx, row, cause = self._ctx, due.row, self._causes.get(due.row.id)
        astray = due.receipts[-1] if row.progress.state is IntentState.MISPLACED and due.receipts else None
        note = self.note(row, row.progress.state, row.progress.reason or Reason.RECOVERED)
        store = StoreMirror(
            intent=row,
            mirror=self.mirror(row) if astray is None else self.mirror_astray(row, astray),
            note=note,
            wake=self.wake(row, note),
            now=ctx.env.now(),
        )

        def story(settled: Settlement) -> tuple[Woken, ...]:
            self.record_mirror(row, settled, cause, astray)
            return self.record_note(row, settled, cause)

        try:
            await ctx.store.write(store, story, then=self.start_work)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- refused again: it stays due
            self.record_refusal(row, error, cause)
            self.due = True
        else:
            self._causes.pop(row.id, None)


def _place(row: IntentRow) -> Address | None:
    """The place of the mirror session; None for a bound session or one that the caller named."""
    return None if row.named_session or row.bound.binding is not None else row.address
