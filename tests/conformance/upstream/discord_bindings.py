"""Upstream's Discord adapter: bound threads as its manager keeps them (the `openclaw` profiles).

Facts on routing, section 6, and the table `bindings`. It runs on the manager, the webhooks and the tokens of
`core.channels.bindings.discord_threads`; what differs: ids are passed on as they come, an expired binding routes
until it is swept, a bind's ttl is ignored, and a thread that is archived is unbound instead of being unarchived. Times
are milliseconds.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from tests.conformance.upstream.bindings import Clock, Declared, UpstreamBind, UpstreamRecord
from trunkline.core.channels.bindings.discord_threads import ThreadManager
from trunkline.core.errors import PlaceGone, PlatformError
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement

DAY = 86_400_000
#: a webhook's message comes back as an inbound one; for this long after unbinding it counts as an echo
ECHO_SECONDS = 30.0
_DIRECT = re.compile(r"\A(?:user|channel):", re.IGNORECASE)
_SUBAGENT = "subagent"


class OwnEchoes:
    """Webhooks of bindings that have ended: for a while, what they said may still come back (upstream's rule)."""

    def __init__(self, seconds: float = ECHO_SECONDS) -> None:
        self._seconds = seconds
        self._until: dict[str, tuple[str, float]] = {}

    def unbound(self, thread: str, webhook: str | None, now: float) -> None:
        """A thread was unbound that this webhook spoke in."""
        if webhook is not None:
            self._until[thread] = webhook, now + self._seconds

    def bound(self, thread: str) -> None:
        """A thread is bound: nothing of before counts."""
        self._until.pop(thread, None)

    def suppresses(self, thread: str, webhook: str, now: float) -> bool:
        """Whether what this webhook says in a thread is an echo of ours."""
        self._until = {name: (own, until) for name, (own, until) in self._until.items() if now < until}
        return self._until.get(thread, (None,))[0] == webhook


class BoundThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread and the session that it is bound to."""

    account: str
    room: str
    thread: str
    session_key: str
    target_kind: str
    label: str = ""
    agent: str = ""
    webhook: str | None = None
    bound_at: int
    last_activity_at: int
    idle: int
    max_age: int

    @property
    def deadlines(self) -> dict[Reason, int]:
        """When it is over, and why; 0 is never."""
        ends: dict[Reason, int] = {}
        if self.idle > 0:
            ends[Reason.IDLE_EXPIRED] = self.last_activity_at + self.idle
        if self.max_age > 0:
            ends[Reason.MAX_AGE_EXPIRED] = self.bound_at + self.max_age
        return ends

    @property
    def record(self) -> UpstreamRecord:
        """As the dispatcher tells of it."""
        ref = ConversationRef(
            channel="discord", account_id=self.account, conversation_id=self.thread, parent_conversation_id=self.room
        )
        return UpstreamRecord(
            binding_id=f"{self.account}:{self.thread}",
            target_session_key=self.session_key,
            target_kind=self.target_kind,
            conversation=ref,
            bound_at=self.bound_at,
            expires_at=min(self.deadlines.values(), default=None),
            last_activity_at=self.last_activity_at,
        )


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """A thread that a sweep unbound; a farewell is said by the bot."""

    thread: str
    reason: Reason
    farewell: bool


class ThreadBindings:
    """The bound threads of all accounts. They outlive the managers, as they do upstream."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, str], BoundThread] = {}
        self.echoes = OwnEchoes()


class DiscordBindings:
    """`tests.conformance.upstream.bindings.UpstreamAdapter` of one account, over its manager."""

    declared = Declared(placements=(Placement.CURRENT.value, Placement.CHILD.value))
    can_bind = True
    can_unbind = True

    def __init__(self, manager: ThreadManager, bindings: ThreadBindings, now: Clock) -> None:
        self.manager = manager
        self._bindings = bindings
        self._now = now
        self.idle = round(manager.settings.idle_timeout * 1000)
        self.max_age = round(manager.settings.max_age * 1000)

    # ------------------------------------------------------------ the adapter

    async def bind(self, asked: UpstreamBind) -> UpstreamRecord | None:
        """Bind a thread, a new one with the placement ``child``. None for whatever goes wrong."""
        key = asked.target_session_key.strip()
        if asked.conversation.channel != "discord" or not key:
            return None
        room, thread = await self._where(asked)
        if not room or not thread:
            return None
        now, account = self._now(), self.manager.account
        bound = BoundThread(
            account=account,
            room=room,
            thread=thread,
            session_key=key,
            target_kind=_SUBAGENT if asked.target_kind == _SUBAGENT else "session",
            label=asked.metadata.get("label", "").strip(),
            agent=asked.metadata.get("agentId", "").strip(),
            webhook=None if _direct(room, thread) else await self._webhook(room),
            bound_at=now,
            last_activity_at=now,
            idle=self.idle,
            max_age=self.max_age,
        )
        # The thread's binding of before, if any, is replaced: it has moved.
        self._bindings.of[account, thread] = bound
        self._bindings.echoes.bound(self._echo(thread))
        return bound.record

    async def _where(self, asked: UpstreamBind) -> tuple[str | None, str | None]:
        """The channel and the thread of a binding."""
        room, here = asked.conversation.parent_conversation_id, asked.conversation.conversation_id or None
        if asked.placement != Placement.CHILD.value:
            return room or await self._room(here), here
        room = room or await self._room(here)
        if room is None:
            return None, None
        name = asked.metadata.get("threadName", "").strip() or asked.metadata.get("label", "").strip() or "agent"
        try:
            return room, await self.manager.new_thread(room, name)
        except PlatformError:
            return room, None

    async def _room(self, thread: str | None) -> str | None:
        if thread is None or _direct(thread):
            return thread
        try:
            return await self.manager.room_of(thread)
        except PlatformError:
            return None

    async def _webhook(self, room: str) -> str | None:
        """The webhook of a channel: that of any binding there, else the manager's. Without one the bot speaks."""
        for bound in self._own():
            if bound.room == room and bound.webhook is not None:
                return bound.webhook
        try:
            return (await self.manager.webhook(room)).id
        except PlatformError:
            return None

    async def unbind(self, binding_id: str | None, session_key: str | None) -> Sequence[UpstreamRecord]:
        """All of a session, else one by its id. Where both are given the session counts."""
        if session_key is not None:
            return self._remove(bound for bound in self._own() if bound.session_key == session_key)
        return self._remove(self._by_id(binding_id or ""))

    def list_by_session(self, session_key: str) -> Sequence[UpstreamRecord]:
        """Those of a session, expired ones too until they are swept."""
        return [bound.record for bound in self._own() if bound.session_key == session_key]

    def resolve(self, ref: ConversationRef) -> UpstreamRecord | None:
        """That of a thread, expired or not."""
        bound = self._bindings.of.get((self.manager.account, ref.conversation_id))
        return None if bound is None else bound.record

    def touch(self, binding_id: str, at: int | None) -> None:
        """Something was said; the last activity never moves back."""
        for bound in self._by_id(binding_id):
            when = max(bound.last_activity_at, self._now() if at is None else at)
            self._bindings.of[bound.account, bound.thread] = msgspec.structs.replace(bound, last_activity_at=when)

    # ------------------------------------------------------------ sweep

    async def sweep(self) -> tuple[Swept, ...]:
        """Unbind what is over, and what the platform says is archived or gone. Other failures keep a binding."""
        found = [swept for bound in self._own() if (swept := await self._judge(bound)) is not None]
        for swept in found:
            self._remove((self._bindings.of[self.manager.account, swept.thread],))
        return tuple(found)

    async def _judge(self, bound: BoundThread) -> Swept | None:
        over = {reason: end for reason, end in bound.deadlines.items() if end <= self._now()}
        if over:
            # The earlier deadline names the reason.
            return Swept(thread=bound.thread, reason=min(over, key=over.__getitem__), farewell=True)
        if _direct(bound.room, bound.thread):
            return None
        try:
            known = await self.manager.channel(bound.thread)
        except PlaceGone:
            return Swept(thread=bound.thread, reason=Reason.THREAD_GONE, farewell=False)
        except PlatformError:
            return None
        archived = Swept(thread=bound.thread, reason=Reason.THREAD_ARCHIVED, farewell=True)
        return archived if known.archived else None

    # ------------------------------------------------------------ facts

    def webhook_of(self, thread: str) -> str | None:
        """The webhook that speaks in a bound thread."""
        bound = self._bindings.of.get((self.manager.account, thread))
        return None if bound is None else bound.webhook

    def is_echo(self, thread: str, webhook: str) -> bool:
        """Whether what a webhook says in a thread that was unbound is an echo of ours."""
        return self._bindings.echoes.suppresses(self._echo(thread), webhook, self._now() / 1000)

    def _own(self) -> list[BoundThread]:
        return [bound for (account, _), bound in self._bindings.of.items() if account == self.manager.account]

    def _by_id(self, binding_id: str) -> tuple[BoundThread, ...]:
        """Its own binding with an id; ids of other accounts do not count."""
        account, colon, thread = binding_id.partition(":")
        bound = self._bindings.of.get((account, thread)) if colon and account == self.manager.account else None
        return () if bound is None else (bound,)

    def _remove(self, bounds: Iterable[BoundThread]) -> list[UpstreamRecord]:
        removed = list(bounds)
        for bound in removed:
            del self._bindings.of[bound.account, bound.thread]
            self._bindings.echoes.unbound(self._echo(bound.thread), bound.webhook, self._now() / 1000)
        return [bound.record for bound in removed]

    def _echo(self, thread: str) -> str:
        """Accounts of one process keep their echoes apart."""
        return f"{self.manager.account}:{thread}"


def _direct(*names: str) -> bool:
    """Whether an id is that of a direct conversation, as upstream writes those: never probed, and without webhook."""
    return any(_DIRECT.match(name.strip()) for name in names)
