"""Takes the deeds of people, for session, question and agent."""

from msgspec import structs

from trunkline.core.decisions import identity_at, identity_in_threads
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.events.gateway import DeedReceived, TranscriptAppended, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.messages import NOTE
from trunkline.core.records.rows import ChangedLine, Work
from trunkline.core.runtime.context import Context, record_admitted
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.store.commands import TakeDeed
from trunkline.core.store.queries import FindSubject
from trunkline.core.values import Deed, Envelope, InboundId, Peer, WorkKind


class DeedHandler:
    """The handler of deeds, in the lanes of the intake: deeds keep their order with the messages of their place."""

    def __init__(self, context: Context, turns: TurnQueue) -> None:
        self._ctx, self._turns = context, turns

    async def take(
        self, envelope: Envelope, deed: Deed, ignored: Reason | None, *, by_bot: bool
    ) -> tuple[int, Reason | None]:
        """Take a deed durably. Answers the seq of the event, and the reason of a drop.

        `ignored`: why nothing comes from its author.
        """
        ctx, place = self._ctx, envelope.address
        mode = ctx.config.channel(place.channel).deeds_of(place.account)
        ignored = ignored or (Reason.DEEDS_IGNORED if mode == "ignore" else None)
        if ignored is not None:
            return self._record(envelope, deed, DeedPlan(outcome="dropped", reason=ignored)), ignored
        # A later deed may name an edited message by the edit.
        identity = identity_at(place, envelope.message_id)
        find = FindSubject(
            place=place,
            message=deed.of,
            identity=identity_at(place, deed.of),
            in_threads=identity_in_threads(place, deed.of),
            deed=identity,
            agents=tuple(ctx.agents),
        )
        subject = await ctx.store.read(find)
        waiting = None if subject is None or subject.work is None else self._turns.find_waiting(subject.work.id)
        plan = ctx.decisions.decide_deed(envelope, deed, subject, waiting)
        if subject is None or plan.outcome == "dropped":
            return self._record(envelope, deed, plan, subject), plan.reason
        wake = None
        if plan.note and mode == "wake" and not by_bot:
            plan = structs.replace(plan, outcome="woken")
            wake = Work(
                id=InboundId(ctx.env.ids.new("deed", *place.lane, envelope.message_id)),
                kind=WorkKind.WAKE,
                agent=subject.agent,
                session_key=subject.session.key,
                peer=Peer(id=NOTE, name=NOTE),
                text=plan.note,
            )
        elif subject.work is not None and not plan.note:
            # Before it is stored, since its turn may begin meanwhile.
            self._turns.revise(subject.work.id, plan.work)
        author = f"{place.channel}:{envelope.peer.id}"
        take = TakeDeed(identity=identity, subject=subject, plan=plan, author=author, wake=wake, now=ctx.env.now())
        return await self._store(envelope, deed, take), None

    async def _store(self, envelope: Envelope, deed: Deed, take: TakeDeed) -> int:
        ctx, subject, plan, session = self._ctx, take.subject, take.plan, take.subject.session

        def story(changed: ChangedLine | None) -> tuple[int, int]:
            seq = last = self._record(envelope, deed, plan, subject)
            if changed is not None:
                ctx.events.record(TranscriptChanged(**structs.asdict(changed)), seq, inbound=subject.ref)
            if plan.note:
                body = TranscriptAppended(session_id=session.id, session_key=session.key, role=NOTE, text=plan.note)
                last = ctx.events.record(body, seq)
            elif subject.work is not None and plan.outcome == "withdrawn":
                ended = TurnEnded(outcome="silent", reason=plan.reason)
                ctx.events.record(ended, seq, inbound=subject.ref, turn=subject.work.turn)
            return seq, last if take.wake is None else record_admitted(ctx, take.wake, session, last)

        def then(seqs: tuple[int, int]) -> None:
            if take.wake is not None:
                self._turns.enqueue(take.wake, session.id, seqs[1])

        return (await ctx.store.write(take, story, then=then))[0]

    def _record(self, envelope: Envelope, deed: Deed, plan: DeedPlan, subject: DeedSubject | None = None) -> int:
        body = DeedReceived(
            address=envelope.address,
            peer=envelope.peer,
            message_id=envelope.message_id,
            deed=deed.kind,
            of=deed.of,
            text=envelope.text,
            outcome=plan.outcome,
            reason=plan.reason,
        )
        work = None if subject is None else subject.work
        return self._ctx.events.record(body, envelope.cause, inbound=None if work is None else work.id)
