"""Tasks that clients give to hands, outside of any turn: once per key, with an origin that is fixed at the request."""

import anyio

from trunkline.core.errors import DelegationRefused, UnknownName, UsageError
from trunkline.core.events.delivery import OperatorActed
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.hands.admission import AdmissionFacts
from trunkline.core.hands.port import ClientTask, Delegated, DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind
from trunkline.core.records.origin import Origin
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.records.rows import SessionRow
from trunkline.core.routing.scopes import place_key
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver, ToolSend
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.delegation.known_hands import admit, hands_for, kind_of
from trunkline.core.store.commands import EnsureSession
from trunkline.core.store.delegations import FindDelegation
from trunkline.core.store.queries import FindSession
from trunkline.core.untrusted import check_texts
from trunkline.core.values import Address, DelegationId, InboundId, SessionId, TurnId, WorkKind

#: of requests, in events
DELEGATE = "delegate"
_LONGEST_KEY = 500


def id_of(key: str) -> DelegationId:
    return DelegationId(f"client:{key}")


class ClientTasks:
    def __init__(self, context: Context, runner: DelegationRunner, targets: TargetResolver) -> None:
        self._ctx = context
        self._runner = runner
        self._targets = targets
        #: requests in work, by key
        self._busy: dict[str, anyio.Lock] = {}

    async def delegate(self, asked: ClientTask, *, by: str = "operator", cause: int | None = None) -> Delegated:
        """Give a task to a hand, once per key; durable on return, and its result comes in a callback turn.

        That turn belongs to the session of the place `to`, as if a person there had asked. Raises `DelegationRefused`
        with a reason, also for a key that was used for another task; `UnknownName` for an unknown agent; and what a
        target raises that names no place.
        """
        await self._ctx.until_up()
        _check(asked)
        lock = self._busy.setdefault(asked.key, anyio.Lock())
        try:
            async with lock:
                before = await self._ctx.store.read(FindDelegation(delegation=id_of(asked.key)))
                return await self._new(asked, by, cause) if before is None else _same(asked, before)
        finally:
            if not lock.statistics().tasks_waiting:
                self._busy.pop(asked.key, None)

    async def _new(self, asked: ClientTask, by: str, cause: int | None) -> Delegated:
        ctx = self._ctx
        ids = {"delegation": id_of(asked.key)}
        # The task itself is in `delegation.accepted`: logs show details, and no text.
        detail = f"{by}: {asked.hand}"
        called = ctx.events.record(OperatorActed(verb=DELEGATE, detail=detail), cause, **ids)
        try:
            agent = self._agent(asked)
            aim = await self._targets.aim(
                agent, ToolSend(running=SessionId(""), to=asked.to, channel=asked.channel), None, called, ids
            )
            assert aim is not None
            kind = await self._admit(asked, agent, aim.address)
        except UsageError as error:
            reason: Reason = getattr(error, "reason", Reason.BAD_TARGET)
            ctx.events.record(ToolRefused(tool=DELEGATE, reason=reason, detail=error.facts), called, **ids)
            raise
        session = await self._session(agent, aim.address, called)
        row = self._row(asked, agent, aim.address, session, kind)
        await self._runner.accept(row, called, _as_it_is)
        return Delegated(delegation=row.id, hand=row.hand)

    def _agent(self, asked: ClientTask) -> str:
        config = self._ctx.config
        agent, known = asked.agent or config.default_agent, [configured.id for configured in config.agents]
        if agent not in known:
            raise UnknownName(f"no agent {agent!r}; there are: {', '.join(known)}")
        return agent

    async def _session(self, agent: str, place: Address, cause: int) -> SessionRow:
        """The session of the place, or a new session: there the answer is expected."""
        ctx = self._ctx
        session = ctx.new_session(ctx.key_text(place_key(agent, place, ctx.config)), agent, place)

        def story(row: SessionRow) -> SessionRow:
            ctx.record_session(row, agent, place, "outbound", cause)
            return row

        return await ctx.store.write(EnsureSession(session=session, now=ctx.env.now()), story)

    async def _admit(self, asked: ClientTask, agent: str, place: Address) -> HandKind:
        ctx, opened = self._ctx, self._runner.open
        session = await ctx.store.read(FindSession(key=ctx.key_text(place_key(agent, place, ctx.config))))
        facts = AdmissionFacts(
            agent=agent,
            kind=None if asked.hand == agent else kind_of(ctx, asked.hand),
            known=hands_for(ctx, agent),
            in_session=0 if session is None else opened.count_of(session.id),
            in_all=len(opened),
        )
        request = DelegationRequest(hand=asked.hand, task=asked.task, timeout=asked.timeout, label=asked.label)
        return admit(ctx, request, facts)

    def _row(self, asked: ClientTask, agent: str, place: Address, session: SessionRow, kind: HandKind) -> DelegationRow:
        config, now, name = self._ctx.config.hands, self._ctx.env.now(), id_of(asked.key)
        # No message and no turn asked for it: both ids name the request.
        inbound, turn = InboundId(name), TurnId(f"t-{name}")
        origin = Origin(
            agent=agent,
            session_key=session.key,
            session=session.id,
            work=WorkKind.WAKE,
            inbound=inbound,
            turn=turn,
            place=place,
            reply_to=place,
            asked_by=None if asked.asked_by is None else as_person(asked.asked_by),
            at=now,
        )
        return DelegationRow(
            id=name,
            kind=kind,
            hand=asked.hand,
            task=asked.task,
            label=asked.label,
            agent=agent,
            session_key=session.key,
            session=session.id,
            turn=turn,
            inbound=inbound,
            reply_to=place,
            origin=origin,
            timeout=config.of(asked.hand).deadline if asked.timeout is None else asked.timeout,
            max_result=config.limits.max_result,
            accepted_at=now,
        )


def _check(asked: ClientTask) -> None:
    if not asked.key.strip() or len(asked.key) > _LONGEST_KEY:
        facts = f"the key has {len(asked.key)} characters: give each task one of 1 to {_LONGEST_KEY}"
        raise DelegationRefused(facts, Reason.BAD_IDEMPOTENCY_KEY)
    peer = asked.asked_by
    texts = [("key", asked.key), ("hand", asked.hand), ("task", asked.task), ("label", asked.label)]
    if peer is not None:
        texts += [("asked_by.id", peer.id), ("asked_by.name", peer.name)]
    wrong = check_texts(texts)
    if wrong:
        raise DelegationRefused(wrong, Reason.BAD_ARGUMENT)


def _same(asked: ClientTask, before: DelegationRow) -> Delegated:
    """The delegation that the key has already. Raises `DelegationRefused` if that is another task."""
    if (asked.hand, asked.task) != (before.hand, before.task):
        facts = f"the key {asked.key!r} was used for another task of {before.hand}: give this one its own"
        raise DelegationRefused(facts, Reason.CALL_CHANGED)
    return Delegated(delegation=before.id, hand=before.hand)


async def _as_it_is(row: DelegationRow) -> DelegationRow:
    return row
