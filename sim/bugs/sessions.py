"""Defects of sessions: keys that collide, sessions and bindings lost or shared, and who speaks where they are bound."""

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.decisions import identify
from trunkline.core.env import Env
from trunkline.core.errors import IdentityGone, PlaceGone, PlatformError
from trunkline.core.events import Body, EventSink, gateway, hands
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import SessionRow, StoredBindings
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store import Store
from trunkline.core.store.commands import AckChunk, Admit, FinishTurn, MigrateKeys, TurnFinish
from trunkline.core.store.delegations import AcceptDelegation
from trunkline.core.store.queries import FindRequester, FindSession, ListBindings
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql, execute
from trunkline.core.values import Address, Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, changing_write, deciding, gateway_part, making, replacing_read, replacing_write
from trunkline.sim.bugs.routing import to_main_channel
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, swallowing, wrapping
from trunkline.sim.platforms import FakeAdapter
from trunkline.sim.store.rewired import RewiredStore

_COLUMNS = "session_key, agent_id, session_id, generation, address, entry, codec, created_at, updated_at"


@bug("keys-joined-by-colons", deciding("resolve_route"), reports=("B076",), caught_by=("S3",))
def _joined_by_colons(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Key parts are joined by colons without escaping, so two conversations share a session."""
    decision = resolve_route(envelope, config)
    place, key = envelope.address, decision.key
    if place.thread is None or key.is_main:
        return decision
    joined = f"{place.conversation}:{place.thread}"
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(key, peer=joined, thread=None))


@bug("one-session-for-all", deciding("resolve_route"), reports=("B078",), caught_by=("S3", "P1"))
def _one_for_all(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """One shared session serves direct chats and groups, and answers a group with private content."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=SessionKey(agent=decision.agent))


@bug("topics-share-a-session", deciding("resolve_route"), reports=("B079",), caught_by=("S3",))
def _without_topic(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """The thread is not part of the key for groups: all topics share one session."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(decision.key, thread=None))


@bug("links-ignored", deciding("resolve_route"), caught_by=("S3",))
def _links_ignored(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Identity links are applied to outbound keys only: a linked person has two sessions."""
    session = config.session.model_copy(update={"identity_links": {}})
    return resolve_route(envelope, config.model_copy(update={"session": session}))


@bug("shared-in-silence", swallowing, reports=("B081",), caught_by=("S3",))
def _sharing(body: Body) -> bool:
    """The default scope shares one session between all users, and nobody is warned."""
    return isinstance(body, gateway.SessionShared)


def _lose(c: sqlite3.Connection, where: str, *values: object) -> None:
    """Remove sessions from the map; their ids are never used again."""
    gone = f"SELECT session_id, session_key, generation, 'lost', 0 FROM session_map {where}"  # noqa: S608
    c.execute(f"INSERT OR IGNORE INTO session_history {gone}", values)
    c.execute(f"DELETE FROM session_map {where}", values)  # noqa: S608


@bug("old-keys-left-behind", replacing_write(MigrateKeys), reports=("B071",), caught_by=("S1",))
async def _skip_migration(store: RewiredStore, command: MigrateKeys, story: Any, then: Any) -> Any:
    """The form of keys changed, and stored ones were not migrated: history is lost after the upgrade."""
    return story(None)


@bug("scope-change-abandons", changing_write(Admit), reports=("B072",), caught_by=("S1",))
def _admit_by_key_only(command: Admit) -> Admit:
    """After a change of scope the new key is looked up exactly, and the old session is abandoned silently."""
    return msgspec.structs.replace(command, session=msgspec.structs.replace(command.session, key_of=None))


@bug("first-messages-fork", replacing_write(Admit), reports=("B074",), caught_by=("S4",))
async def _admit_in_two_steps(store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
    """Looking a session up and creating it are two steps: two first messages at once make two sessions."""
    missing = await store.inner.read(FindSession(key=command.session.key)) is None

    def write(c: sqlite3.Connection) -> Any:
        if missing:
            _lose(c, "WHERE session_key = ?", command.session.key)
        return execute(c, command)

    return await store.inner.write(RunSql(op=write), story, then)


class _Snapshot:
    """Reads the whole session map at an admission, and writes it back at the end of the turn."""

    rows: list[tuple[Any, ...]] | None = None

    async def admit(self, store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
        """Take a snapshot, if there is none."""
        if self.rows is None:
            sql = f"SELECT {_COLUMNS} FROM session_map"  # noqa: S608 -- the text above
            self.rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql).fetchall()))
        return await store.inner.write(command, story, then)

    async def finish_turn(self, store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        """Write the snapshot back, with only the turn's own entry up to date: what others wrote is gone."""
        snapshot, self.rows = self.rows or [], None

        def write(c: sqlite3.Connection) -> TurnFinish:
            own = c.execute(
                f"SELECT {_COLUMNS} FROM session_map WHERE session_key = ?",  # noqa: S608
                (command.work.session_key,),
            ).fetchall()
            _lose(c, "")
            marks = ", ".join("?" * len(_COLUMNS.split(",")))
            rows = f"INSERT OR REPLACE INTO session_map ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
            c.executemany(rows, [*snapshot, *own])
            return execute(c, command)

        return await store.inner.write(RunSql(op=write), story, then)


@bug("stale-snapshot-write", reports=("B075",), caught_by=("S4",))
def _install_snapshot(wiring: Wiring) -> None:
    """The whole session map is written back from an old snapshot, over what others wrote meanwhile."""
    snapshot = _Snapshot()
    wiring.replace_write(Admit, snapshot.admit)
    wiring.replace_write(FinishTurn, snapshot.finish_turn)


@bug("turns-at-once", making("gateway"), caught_by=("S4",))
class _TurnsAtOnce(Gateway):
    """Each message of a session gets its turn at once, also while another one runs."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        lanes = self._turn_queue.lanes
        put = lanes.put
        lanes.put = lambda lane, item: put(f"{lane}/{item.work.id}", item)


async def _session_of_same_key(store: RewiredStore, query: FindRequester) -> SessionRow | None:
    """The session that has the key now, when the one asked for was reset."""
    found = await store.inner.read(query)
    sql = "SELECT session_key FROM session_history WHERE session_id = ?"
    rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql, (query.session,)).fetchall()))
    return await store.inner.read(FindSession(key=rows[0][0])) if found is None and rows else found


@bug("callback-into-new-session", reports=("B094",), caught_by=("S4",))
def _install_unfenced_delegations(wiring: Wiring) -> None:
    """A hand's result is given to whichever session has the requester's key now, also after a reset."""
    wiring.replace_read(FindRequester, _session_of_same_key)
    wiring.change_write(
        AcceptDelegation,
        lambda command: msgspec.structs.replace(command, row=msgspec.structs.replace(command.row, session=None)),
    )


@bug("inline-without-thread", wrapping, reports=("B056",), caught_by=("R2",))
class _InlineWithoutThread(AdapterWrapper):
    """Where the thread of an answer cannot be opened, the answer is posted in the channel, in silence."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._inline: set[str] = set()

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        try:
            return await self.inner.open_thread(place, message_id, title)
        except PlatformError:
            self._inline.add(place.conversation)
            return place

    async def send(self, request: SendRequest) -> Receipt:
        inline = request.address.conversation in self._inline
        return await self.inner.send(to_main_channel(request) if inline else request)


@bug("prefixed-id-to-platform", wrapping, reports=("B130",), caught_by=("B1",))
class _AsksForThePrefixedId(AdapterWrapper):
    """The platform is asked for an id with its prefix: binding fails, and the new thread is left behind."""

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        opened = await super().open_child(parent, title, key)
        raise PlaceGone(f"there is no channel 'channel:{opened.conversation}'")


@bug("ended-bindings-revived", replacing_read(ListBindings), reports=("B131",), caught_by=("B1",))
async def _revive(store: RewiredStore, query: ListBindings) -> StoredBindings:
    """Ended bindings are revived at each start, and take the messages of their conversations."""
    found = await store.inner.read(ListBindings(ended=True))
    return StoredBindings(rows=tuple(msgspec.structs.replace(row, status=BindingStatus.ACTIVE) for row in found.rows))


class _IndexByThread(BindingIndex):
    """Finds conversations by the id of their thread alone."""

    def at(self, address: Address) -> SessionBindingRecord | None:
        if address.thread is None:
            return super().at(address)
        found = [binding for binding in self if binding.conversation.thread == address.thread]
        return found[-1] if found else None


@bug("binding-by-thread-alone", gateway_part("bindings_type"), reports=("B133",), caught_by=("B1",))
class _BoundByThread(LiveBindings):
    """Bindings are looked up by the id of the thread alone, which two channels may share."""

    def __init__(self, store: Store, env: Env, events: EventSink) -> None:
        super().__init__(store, env, events, _IndexByThread())


@bug("other-account-answers", gateway_part("bindings_type"), reports=("B132",), caught_by=("B1",))
class _EachAccountForItself(LiveBindings):
    """In a bound conversation each account of the gateway answers, since a binding counts for its own account only."""

    def owner_of(self, place: Address, accounts: Container[tuple[str, str]]) -> None:
        """None: the conversation belongs to no other account."""
        return


@bug("first-output-to-requester", reports=("B137",), caught_by=("R1",))
def _install_first_output(wiring: Wiring) -> None:
    """The first completion of bound work is posted where the work was requested, not in its thread."""
    completed: set[str] = set()

    def plan(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        if done.routed is None or done.session_key in completed:
            return plan_completion(done, config)
        completed.add(done.session_key)
        return plan_completion(msgspec.structs.replace(done, routed=None), config)

    wiring.replace(plan_completion=plan)


@bug("completion-to-requester-too", deciding("plan_completion"), caught_by=("D2", "R1"))
def _requester_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """The completion of bound work is posted in its thread, and in the requester's channel as well."""
    plan = plan_completion(done, config)
    if done.routed is None or done.routed.binding is None or done.reply_to is None:
        return plan
    extra = hands.CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.reply_to)
    return CompletionPlan(steps=(*plan.steps, extra))


@bug("bot-instead-in-silence", wrapping, reports=("B134",), caught_by=("R2",))
class _BotInstead(AdapterWrapper):
    """A webhook that is gone is swallowed before the bot posts: the speaker changes without an event."""

    async def send(self, request: SendRequest) -> Receipt:
        """Send as the webhook, or else as the bot."""
        try:
            return await self.inner.send(request)
        except IdentityGone:
            return await self.inner.send(msgspec.structs.replace(request, identity=None))


@bug("proxied-twice", deciding("identify"), reports=("B136",), caught_by=("D7",))
def _identify_by_own_id(envelope: Envelope, can: Capabilities) -> str:
    """A message that a proxy posts again has another author and id, and is handled as another message."""
    return identify(msgspec.structs.replace(envelope, stands_for=None), can)


@bug("proxied-unknown-by-id", deciding("also_known_as"), caught_by=("D7",))
def _known_by_nothing_else(_envelope: Envelope, _can: Capabilities) -> tuple[str, ...]:
    """Where ids change, a message is not known by its id, by which a proxy names the message that it posts again."""
    return ()


@bug("webhooks-dropped", gateway_part("bindings_type"), reports=("B136",), caught_by=("D8",))
class _HearsNoWebhook(LiveBindings):
    """To keep its own echoes out, the gateway drops whatever comes by a webhook, of relays too."""

    def is_echo(self, envelope: Envelope) -> bool:
        """True for any webhook."""
        return envelope.webhook is not None


@bug("deaf-to-reopened", making("adapter"), reports=("B139",), caught_by=("L1",))
class _DeafAdapter(FakeAdapter):
    """Threads that are archived at the start are not joined, and reopening one has no handler."""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        """Connect, without the messages of threads that were archived at the start."""
        archived = frozenset(self._archived())
        async with super().connect() as envelopes:
            yield self._without(envelopes, archived)

    async def _without(self, envelopes: AsyncIterator[Envelope], archived: frozenset[str]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            if envelope.address.conversation in archived:
                # To the platform it is delivered.
                await self.ack(envelope)
            else:
                yield envelope

    def _archived(self) -> list[str]:
        rooms = (self._platform.room_named(self.account, name) for name in self._platform.spec.rooms)
        threads = (thread for room in rooms if room is not None for thread in self._platform.rooms_under(room))
        return [thread.conversation for thread in threads if thread.closed == "archived"]


@bug("echo-is-inbound", gateway_part("bindings_type"), caught_by=("D8",))
class _HearsItself(LiveBindings):
    """The gateway's own webhook message comes back, and is taken for somebody else's."""

    def is_echo(self, envelope: Envelope) -> bool:
        """Never true."""
        return False


@bug("stale-token", making("adapter"), caught_by=("B2",))
class _FirstTokenAdapter(FakeAdapter):
    """A reused thread manager keeps the token that it was created with."""

    def renew(self, token: int) -> None:
        """Give the new token to the bot, and not to the manager of its threads and webhooks."""
        self._token = max(token, self._token)


@bug("missing-activity", changing_write(AckChunk), caught_by=("B2",))
def _without_binding(command: AckChunk) -> AckChunk:
    """Webhook messages do not count as activity: a thread in use expires."""
    intent, bound = command.intent, command.intent.bound
    if bound.identity is None:
        return command
    unbound = msgspec.structs.replace(intent, bound=msgspec.structs.replace(bound, binding=None))
    return msgspec.structs.replace(command, intent=unbound)
