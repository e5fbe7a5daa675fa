"""The state that all parts of the runtime share: configuration, ports, decisions and caches; stories of many writes."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVarTuple

import anyio.abc
import msgspec

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.delivery.prepare import Recipe, beside, captioned, own_pieces, pieces, recipe_for
from trunkline.core.env import Env
from trunkline.core.errors import ChunkerError, UnknownName
from trunkline.core.events import Body, EventSink, delivery, gateway, hands
from trunkline.core.hands.port import HandRunner
from trunkline.core.keys import KeyCodec, SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, IntentRow, NewSession, Participant, SessionRow, Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.scopes import place_key
from trunkline.core.runtime.lease_keeper import LeaseKeeper
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.sessions.entries import new_session, session_created, session_moved
from trunkline.core.store.port import Store
from trunkline.core.text.chunking.own_chunker import Split, own_chunker
from trunkline.core.text.mirror_text import media_name, said
from trunkline.core.values import Address, Capabilities, Idempotency, Piece, WorkKind
from trunkline.core.well_formed import describe

Arguments = TypeVarTuple("Arguments")


class LastActivity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Seconds on the gateway's clock; None: no message since the process started."""

    inbound_at: float | None = None
    outbound_at: float | None = None


#: size of the cache of new sessions
_MOST_KNOWN = 20_000
_Accounts = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class _Memo:
    config: GatewayConfig
    adapters: Mapping[_Accounts, ChannelAdapter]
    #: each account's recipe, and the chunker of its own, if it has one
    recipes: dict[_Accounts, tuple[Recipe, Split | None]] = field(
        default_factory=dict[_Accounts, tuple[Recipe, Split | None]]
    )
    sessions: dict[tuple[str, str, Address | None], NewSession] = field(
        default_factory=dict[tuple[str, str, Address | None], NewSession]
    )


@dataclass(slots=True, kw_only=True)
class Context:
    """Configuration, ports and decisions of one gateway process. Configuration and adapters may be replaced."""

    config: GatewayConfig
    store: Store
    adapters: Mapping[tuple[str, str], ChannelAdapter]
    agents: Mapping[str, Agent]
    hands: HandRunner
    env: Env
    events: EventSink
    decisions: Decisions
    lease: LeaseKeeper
    bindings: LiveBindings
    #: when each account got and sent its last message, by channel and account
    inbound_at: dict[_Accounts, float] = field(default_factory=dict[_Accounts, float])
    outbound_at: dict[_Accounts, float] = field(default_factory=dict[_Accounts, float])
    #: heartbeats that this process has started, by their work: when, on the wall clock
    heartbeats: dict[str, float] = field(default_factory=dict[str, float])
    memo: _Memo | None = None
    #: the tasks of the gateway, while it serves
    group: anyio.abc.TaskGroup | None = None
    #: set once the unfinished work of an earlier process is queued; new work may be queued from then on
    up: anyio.Event = field(default_factory=anyio.Event)

    async def until_up(self) -> None:
        """Wait until new work may be queued: what is stored earlier would be recovered too, and so be done twice."""
        if not self.up.is_set():
            await self.up.wait()

    def run_apart(
        self, work: Callable[[*Arguments], Coroutine[Any, Any, object]], *arguments: *Arguments, name: str
    ) -> None:
        """Run something in a separate task."""
        assert self.group is not None
        self.group.start_soon(work, *arguments, name=name)

    def new_session(
        self, key: str, agent: str, address: Address | None, *, person: Participant | None = None
    ) -> NewSession:
        """The session to create for a key without a session."""
        if person is not None:
            return self._new_session(key, agent, address, person)
        memo = self._memo()
        known = memo.sessions.get((key, agent, address))
        if known is None:
            known = self._new_session(key, agent, address, None)
            if len(memo.sessions) >= _MOST_KNOWN:
                memo.sessions.clear()
            memo.sessions[key, agent, address] = known
        return known

    def _new_session(self, key: str, agent: str, address: Address | None, person: Participant | None) -> NewSession:
        config = self.config

        def key_of(place: Address) -> str:
            return config_key(place_key(agent, place, config), config)

        return new_session(self.env, key, agent, address, key_of, person=person, codec=config.rules[KeyCodec].name)

    def _memo(self) -> _Memo:
        memo = self.memo
        if memo is None or memo.config is not self.config or memo.adapters is not self.adapters:
            memo = self.memo = _Memo(config=self.config, adapters=self.adapters)
        return memo

    def key_text(self, key: SessionKey) -> str:
        return config_key(key, self.config)

    def accounts(self, channel: str) -> tuple[str, ...]:
        return tuple(sorted(account for name, account in self.adapters if name == channel))

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(sorted({channel for channel, _ in self.adapters}))

    @property
    def default_accounts(self) -> dict[str, str]:
        return {channel: self._default_account(channel) for channel in self.channels}

    def _default_account(self, channel: str) -> str:
        accounts = self.accounts(channel)
        try:
            return self.decisions.choose_account(channel, None, None, accounts, self.config)
        except UnknownName:
            return accounts[0]

    def pieces(self, text: str, draft: IntentRow) -> tuple[Piece, ...]:
        """The chunks of a text for the place of a draft; empty for a text without visible characters."""
        to = draft.address
        recipes, account = self._memo().recipes, (to.channel, to.account)
        found = recipes.get(account)
        if found is None:
            split = own_chunker(self.adapters.get(account), rules_for(to.channel))
            found = recipes[account] = self._recipe(to.channel, to.account), split
        whole, split = found
        parts = draft.extra.parts
        files, buttons = bool(draft.content.media), parts is not None and bool(parts.buttons)
        recipe = beside(whole, files=files, buttons=buttons)
        made = pieces(text, recipe) if split is None else self._own_pieces(text, recipe, split, draft)
        return captioned(made, recipe) if files else made

    def _own_pieces(self, text: str, recipe: Recipe, split: Split, draft: IntentRow) -> tuple[Piece, ...]:
        """The chunks that an adapter's or a channel's own chunker makes; if it fails, those of a built-in one."""
        try:
            with UserCode():
                return own_pieces(text, recipe, split)
        except Exception as error:  # noqa: BLE001 -- any error of a chunker is recorded, and the text is split anyway
            detail = error.facts if isinstance(error, ChunkerError) else describe(error)
            at, why = draft.address, Reason.CHUNKER_FAILED
            body = delivery.ChunkerFailed(channel=at.channel, account=at.account, reason=why, detail=detail)
            self.events.record(body, None, **ids_of(draft))
            return pieces(text, recipe)

    def _recipe(self, channel: str, account: str) -> Recipe:
        adapter = self.adapters.get((channel, account))
        can = _UNKNOWN if adapter is None else adapter.capabilities
        recipe = recipe_for(channel, account, self.config, can)
        if can.idempotency is not Idempotency.NONE or self.config.delivery.ambiguous != "resend-marked":
            return recipe
        # Leave room for the mark of a chunk that is resent.
        taken = len(self.config.delivery.mark)
        return msgspec.structs.replace(
            recipe,
            limit=max(recipe.limit - taken, 1),
            caption=None if recipe.caption is None else max(recipe.caption - taken, 1),
            button_text=None if recipe.button_text is None else max(recipe.button_text - taken, 1),
        )

    def record_session(self, row: SessionRow, agent: str, address: Address | None, by: str, cause: int | None) -> None:
        """Record what a write did to a session: created it, moved it to a new key, or left the previous one behind."""
        if row.moved_from is not None:
            self.bindings.note_move(row.moved_from, row.key)
            self.events.record(session_moved(row, row.moved_from, row.id), cause)
        if row.left is not None:
            left = gateway.SessionLeft(
                old_key=row.left.key,
                old_session_id=row.left.id,
                session_key=row.key,
                reason=Reason.SCOPE_CHANGED,
                detail="other conversations share it, or the new key has a session already",
            )
            self.events.record(left, cause)
        if row.created:
            self.events.record(session_created(row, agent, address, by), cause)

    def record_prepared(self, intent: IntentRow, *, targeted: bool, reason: Reason, cause: int | None) -> int:
        """Record that an intent is durable: prepared, or cancelled by a hook. Returns the seq."""
        if intent.is_cancelled:
            progress = intent.progress
            assert progress.reason is not None
            body: Body = delivery.IntentSettled(state=progress.state, reason=progress.reason, attempts=0)
        else:
            body = prepared_event(intent, targeted=targeted, reason=reason)
        return self.events.record(body, cause, binding=intent.bound.binding, **ids_of(intent))


_UNKNOWN = Capabilities()


def prepared_event(intent: IntentRow, *, targeted: bool, reason: Reason) -> delivery.IntentPrepared:
    content, part = intent.content, intent.extra.action
    return delivery.IntentPrepared(
        intent_kind=intent.kind,
        address=intent.address,
        targeted=targeted,
        text=said(content.chunks if part is None else content.chunks[:1]),
        chunks=len(content.chunks),
        key=intent.id,
        reason=reason,
        mirror_key=intent.mirror_key,
        named_session=intent.named_session,
        media=tuple([media_name(path) for path in content.media]) if content.media else (),
        identity=None if intent.bound.identity is None else str(intent.bound.identity),
        best_effort=intent.best_effort,
        action=None if part is None else part.action,
        message_id=None if part is None else part.message_id,
        of=None if part is None else part.of,
    )


def ids_of(row: IntentRow) -> dict[str, str | None]:
    """The correlation ids of an intent's events."""
    return {"intent": row.id, "turn": row.turn, "inbound": row.inbound, "delegation": row.delegation}


def record_admitted(ctx: Context, work: Work, session: SessionRow, cause: int | None) -> int:
    """Record the session, admission and transcript line of admitted work; returns the seq of the admission."""
    ctx.record_session(session, work.agent, None if work.binding else work.reply_to, "inbound", cause)
    if session.people:
        shared = gateway.SessionShared(
            session_key=session.key, reason=Reason.SHARED_MAIN, peer=work.peer, people=session.people
        )
        cause = ctx.events.record(shared, cause, inbound=work.id)
    admitted = ctx.events.record(
        gateway.InboundAdmitted(work=work.kind, session_id=session.id, session_key=session.key),
        cause,
        inbound=work.id,
        delegation=None if work.callback is None else work.callback.delegation,
    )
    role = "hand" if work.kind is WorkKind.CALLBACK else "user"
    ctx.events.record(
        gateway.TranscriptAppended(session_id=session.id, session_key=session.key, role=role, text=work.text),
        admitted,
        inbound=work.id,
    )
    return admitted


def record_callback(
    events: EventSink, change: CallbackChange | None, cause: int | None, **ids: str | None
) -> int | None:
    """Record a change of a callback; returns its seq, or `cause` where nothing has changed.

    `ids`: what it belongs to in addition to the delegation.
    """
    if change is None:
        return cause
    body = hands.CallbackChanged(before=change.before, state=change.state, reason=change.reason)
    return events.record(body, cause, **{**ids, "delegation": change.delegation})
