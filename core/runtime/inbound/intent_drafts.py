"""Creates drafts: intents with destination, mirror session, identity and notice address, but without their text."""

from __future__ import annotations

import msgspec

from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.decisions import MirrorQuestion
from trunkline.core.keys.text_form import read_key
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.runtime.context import Context
from trunkline.core.store.records import DelegationRow, IntentRow, Work
from trunkline.core.values import Address, Identity, IntentId, IntentKind, SessionId, WorkKind


class TurnMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a turn. `session`: key and agent of the session that the caller named to mirror it."""

    kind: IntentKind
    id: IntentId
    text: str
    to: Address
    route: OutboundRoute | None = None
    session: tuple[str, str] | None = None


class IntentDrafts:
    """Creates drafts; preparation adds the text."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    def of_turn(self, work: Work, session: SessionId, what: TurnMessage) -> IntentRow:
        """The draft of a turn's message; its destination and mirror are final."""
        ctx = self._ctx
        # A callback belongs to the session that delegated, but its messages to a bound conversation to the bound one.
        home = work.place if work.kind is WorkKind.CALLBACK else work.reply_to
        bound = ctx.bindings.speaking(what.to, work.binding)
        question = MirrorQuestion(
            kind=what.kind,
            agent=work.agent,
            running=work.session_key,
            origin=home,
            target=what.to,
            route=what.route,
            bound=None if bound is None else bound.target_session_key,
        )
        mirror, named = ctx.decisions.plan_mirror(question, ctx.config), what.session
        return IntentRow(
            id=what.id,
            kind=what.kind,
            address=what.to,
            chunks=(),
            agent=work.agent if named is None else named[1],
            mirror_key=mirror.key if named is None else named[0],
            session=session if mirror.own and named is None else None,
            named_session=named is not None,
            turn=work.turn,
            inbound=work.id,
            delegation=None if work.callback is None else work.callback.delegation,
            reply_to=self._reference(work, what.kind, what.to),
            open_on=work.open_on if what.to == work.reply_to else None,
            binding=None if bound is None else bound.binding_id,
            identity=identity_of(bound),
            notice_to=self._instead(work, what.to),
            created_at=ctx.env.now(),
        )

    def _reference(self, work: Work, kind: IntentKind, to: Address) -> str | None:
        """The message that an answer quotes, if any."""
        quotes = self._ctx.config.channel(to.channel).reply_reference and kind is IntentKind.REPLY
        same_place = work.place is not None and work.place.lane == to.lane
        return work.message_id if quotes and same_place and work.kind is WorkKind.MESSAGE else None

    def _instead(self, work: Work, to: Address) -> Address | None:
        """The place for a notice, if the answer to a message goes elsewhere and cannot be delivered there."""
        place = work.place
        if place is None or to != work.reply_to or place.lane == to.lane:
            return None
        return place if self._ctx.config.channel(to.channel).thread_bindings.notice else None

    def announcement(self, row: DelegationRow, to: Address, n: int, binding: str | None = None) -> IntentRow:
        """The draft of a hand's result, mirrored into the session of its destination."""
        draft = self._draft(IntentKind.ANNOUNCE, f"{row.id}.post{n}", row.agent, to, binding, running=row.session_key)
        notice = self._ctx.config.channel(to.channel).thread_bindings.notice
        elsewhere = binding is not None and row.origin is not None and row.origin.lane != to.lane
        return msgspec.structs.replace(
            draft,
            turn=row.turn,
            inbound=row.inbound,
            delegation=row.id,
            notice_to=row.origin if elsewhere and notice else None,
        )

    def notice(self, like: IntentRow, to: Address) -> IntentRow:
        """The draft of a notice at another place, instead of an undeliverable intent."""
        draft = self._draft(IntentKind.NOTICE, f"{like.id}.notice", like.agent, to)
        return msgspec.structs.replace(draft, turn=like.turn, inbound=like.inbound, delegation=like.delegation)

    def farewell(self, record: SessionBindingRecord) -> IntentRow:
        """The draft of the message for an expired binding."""
        config = self._ctx.config
        agent = read_key(record.target_session_key, config.profile, config.session.main_key).agent
        return self._draft(IntentKind.NOTICE, f"{record.binding_id}.farewell", agent, record.conversation)

    def _draft(
        self, kind: IntentKind, name: str, agent: str, to: Address, binding: str | None = None, *, running: str = ""
    ) -> IntentRow:
        """A draft outside of any turn, mirrored into the session of its place."""
        ctx = self._ctx
        bound = ctx.bindings.speaking(to, binding)
        question = MirrorQuestion(
            kind=kind,
            agent=agent,
            running=running,
            origin=None,
            target=to,
            bound=None if bound is None else bound.target_session_key,
        )
        return IntentRow(
            id=IntentId(name),
            kind=kind,
            address=to,
            chunks=(),
            agent=agent,
            mirror_key=ctx.decisions.plan_mirror(question, ctx.config).key,
            binding=None if bound is None else bound.binding_id,
            identity=identity_of(bound),
            created_at=ctx.env.now(),
        )


def identity_of(record: SessionBindingRecord | None) -> Identity | None:
    """The webhook identity for a binding; None: the bot posts."""
    return None if record is None or record.degraded is not None else record.identity
