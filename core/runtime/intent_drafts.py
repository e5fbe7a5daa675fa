"""Creates drafts: intents with destination, mirror session, identity and notice address, but without their text."""

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.decisions import MirrorQuestion
from trunkline.core.delivery.answers import without_files
from trunkline.core.delivery.notes import NOTICE_SUFFIX
from trunkline.core.message_parts import MessageParts
from trunkline.core.message_tool.references import named
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import BoundPart, ContentPart, ExtraPart, IntentRow, ProgressPart, Work
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.runtime.context import Context
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.text.model_text import CURRENT_MESSAGE, ModelText
from trunkline.core.values import Address, Capability, IntentId, IntentKind, SessionId, WorkKind


class TurnMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    kind: IntentKind
    id: IntentId
    text: str
    to: Address
    route: OutboundRoute | None = None
    #: key and agent of the session that the caller named to mirror it
    session: tuple[str, str] | None = None
    #: in addition to the text; without `reply_to` it quotes what is configured
    content: ContentPart = ContentPart()
    parts: MessageParts | None = None
    best_effort: bool = False
    #: see `ExtraPart`
    unless: tuple[IntentId, ...] = ()


class IntentDrafts:
    """Creates drafts; preparation adds the text."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    def of_turn(self, work: Work, session: SessionId, what: TurnMessage) -> IntentRow:
        """The draft of a turn's message; destination and mirror are final."""
        ctx = self._ctx
        # A callback belongs to the session that delegated, but its messages to a bound conversation to the bound one.
        home = work.home
        to, open_on = (what.to, None) if home is None else _opened(what.to, home, work.open_on)
        instead = self._instead(work, to, open_on)
        bound = ctx.bindings.speaking(to, work.binding)
        question = MirrorQuestion(
            kind=what.kind,
            agent=work.agent,
            running=work.session_key,
            origin=home,
            target=to,
            route=what.route,
            bound=None if bound is None else bound.target_session_key,
        )
        mirror, named = ctx.decisions.plan_mirror(question, ctx.config), what.session
        quoted = what.content.reply_to or self._reference(work, what.kind, to)
        return IntentRow(
            id=what.id,
            kind=what.kind,
            address=to,
            agent=work.agent if named is None else named[1],
            mirror_key=mirror.key if named is None else named[0],
            session=session if mirror.own and named is None else None,
            named_session=named is not None,
            best_effort=what.best_effort,
            turn=work.turn,
            inbound=work.id,
            delegation=None if work.callback is None else work.callback.delegation,
            created_at=ctx.env.now(),
            content=msgspec.structs.replace(what.content, reply_to=quoted),
            progress=ProgressPart(open_on=open_on),
            bound=msgspec.structs.replace(
                bound_part(bound),
                notice_to=instead,
                notice_open_on=work.open_on if instead is not None and instead == home else None,
            ),
            extra=ExtraPart(
                parts=what.parts, recipient=None if work.callback is None else work.asked_by, unless=what.unless
            ),
        )

    async def make_answer(
        self,
        work: Work,
        answer: ModelText,
        to: Address,
        kind: IntentKind = IntentKind.REPLY,
        unless: tuple[IntentId, ...] = (),
    ) -> TurnMessage:
        """The message with the answer of a turn. What the answer asks for and cannot have, it goes without."""
        said, quoted = self.sendable(answer, to), await self._find_answered(work, answer.reply_to, to)
        content = ContentPart(media=said.media, reply_to=quoted)
        name = IntentId(f"{work.id}.reply")
        return TurnMessage(kind=kind, id=name, text=said.text, to=to, content=content, unless=unless)

    def sendable(self, answer: ModelText, to: Address) -> ModelText:
        """The answer in the form of a place: without files where there are none."""
        adapter = self._ctx.adapters.get((to.channel, to.account))
        if not answer.media or adapter is None or Capability.MEDIA in adapter.capabilities.can:
            return answer
        return ModelText(text=without_files(answer.text, answer.media), reply_to=answer.reply_to)

    async def _find_answered(self, work: Work, name: str | None, to: Address) -> str | None:
        """The platform's id of the message to quote; None: none is named, or it is elsewhere."""
        if name == CURRENT_MESSAGE:
            return work.current_message
        fate = None if name is None else await self._ctx.store.read(FindIntentFate(intent=IntentId(name)))
        if fate is None:
            return name
        ours = [receipt for receipt in fate.receipts if named(receipt) and receipt.address.lane == to.lane]
        return ours[-1].provider_id if ours else None

    def _reference(self, work: Work, kind: IntentKind, to: Address) -> str | None:
        quotes = self._ctx.config.channel(to.channel).reply_reference and kind is IntentKind.REPLY
        same_place = work.place is not None and work.place.lane == to.lane
        return work.message_id if quotes and same_place and work.kind is WorkKind.MESSAGE else None

    def _instead(self, work: Work, to: Address, open_on: str | None) -> Address | None:
        """The place for a notice, if the answer to a message goes elsewhere and cannot be delivered there."""
        if open_on is not None:
            return self._above(to)
        place = work.place
        if place is None or to != work.reply_to or place.lane == to.lane:
            return None
        return place if self._notices(to) else None

    def _above(self, thread: Address) -> Address | None:
        """The place for a notice if a thread cannot be opened: the conversation of its message."""
        return rules_for(thread.channel).room_above(thread) if self._notices(thread) else None

    def _notices(self, place: Address) -> bool:
        return self._ctx.config.channel(place.channel).thread_bindings.notice

    def announcement(self, row: DelegationRow, to: Address, n: int, binding: str | None = None) -> IntentRow:
        """The draft of a hand's result, mirrored into the session of the destination."""
        origin = row.reply_to
        to, open_on = (to, None) if origin is None else _opened(to, origin, row.open_on)
        draft = self._draft(IntentKind.ANNOUNCE, f"{row.id}.post{n}", row.agent, to, binding, running=row.session_key)
        elsewhere = binding is not None and origin is not None and origin.lane != to.lane
        instead = origin if elsewhere and self._notices(to) else None
        return msgspec.structs.replace(
            draft,
            turn=row.turn,
            inbound=row.inbound,
            delegation=row.id,
            progress=ProgressPart(open_on=open_on),
            bound=msgspec.structs.replace(
                draft.bound,
                notice_to=instead if open_on is None else self._above(to),
                notice_open_on=row.open_on if instead is not None and open_on is None else None,
            ),
            extra=ExtraPart(recipient=None if row.origin is None else row.origin.asked_by),
        )

    def notice(self, like: IntentRow, to: Address, suffix: str = NOTICE_SUFFIX) -> IntentRow:
        """The draft of a notice at another place, instead of an intent that cannot be delivered where it belongs."""
        draft = self._draft_about(like, IntentKind.NOTICE, f"{like.id}{suffix}", to)
        return draft.with_progress(open_on=like.bound.notice_open_on)

    def second(self, like: IntentRow, to: Address) -> IntentRow:
        """The draft of the same words on the second channel of a person whose call has ended."""
        return self._draft_about(like, IntentKind.SECOND, f"{like.id}.second", to)

    def _draft_about(self, like: IntentRow, kind: IntentKind, name: str, to: Address) -> IntentRow:
        """A draft that belongs to the same turn, delegation and person as another intent."""
        return msgspec.structs.replace(
            self._draft(kind, name, like.agent, to),
            turn=like.turn,
            inbound=like.inbound,
            delegation=like.delegation,
            extra=ExtraPart(recipient=like.extra.recipient),
        )

    def farewell(self, record: SessionBindingRecord) -> IntentRow:
        config = self._ctx.config
        agent = read_config_key(record.target_session_key, config).agent
        return self._draft(IntentKind.NOTICE, f"{record.binding_id}.farewell", agent, record.conversation)

    def _draft(
        self, kind: IntentKind, name: str, agent: str, to: Address, binding: str | None = None, *, running: str = ""
    ) -> IntentRow:
        """A draft outside of any turn, mirrored into the session of the place."""
        ctx = self._ctx
        bound = ctx.bindings.speaking(to, binding)
        return IntentRow(
            id=IntentId(name),
            kind=kind,
            address=to,
            agent=agent,
            mirror_key=mirror_at(ctx, to, bound, kind=kind, agent=agent, running=running),
            created_at=ctx.env.now(),
            bound=bound_part(bound),
        )


def mirror_at(
    ctx: Context, to: Address, bound: SessionBindingRecord | None, *, kind: IntentKind, agent: str, running: str = ""
) -> str | None:
    """The key of the session that mirrors a message outside of any turn: that of the binding, else of the place."""
    key = None if bound is None else bound.target_session_key
    question = MirrorQuestion(kind=kind, agent=agent, running=running, origin=None, target=to, bound=key)
    return ctx.decisions.plan_mirror(question, ctx.config).key


def _opened(to: Address, home: Address, open_on: str | None) -> tuple[Address, str | None]:
    """A destination, and the message to open its thread on if it is the thread of `home`.

    The caller may not know the parent of the thread, which opening it needs.
    """
    return (home, open_on) if open_on is not None and to.lane == home.lane else (to, None)


def bound_part(record: SessionBindingRecord | None) -> BoundPart:
    """The binding of a place, as its intents keep it. No identity: the bot posts."""
    if record is None:
        return BoundPart()
    identity = None if record.degraded is not None else record.identity
    return BoundPart(binding=record.binding_id, identity=identity)
