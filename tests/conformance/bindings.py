"""The area of session bindings: upstream's dispatcher with the adapters that a case registers, step after step.

``scripted`` adapters keep bindings in memory and do as the case says; ``discord_thread`` is upstream's Discord adapter
on the real manager of threads, over a Discord of this module; ``generic_current`` is the store of August.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.conformance.upstream.bindings import (
    Declared,
    Key,
    UpstreamBind,
    UpstreamBindings,
    UpstreamRecord,
    error_code,
    normal_ref,
)
from tests.conformance.upstream.discord_bindings import DAY, DiscordBindings, ThreadBindings
from tests.conformance.upstream.generic_bindings import GenericBindings
from trunkline.core.channels.bindings.discord_threads import DiscordChannel, ThreadManagers, ThreadSettings, Webhook
from trunkline.core.errors import BindingError, PlaceGone, PlatformError
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import account_id
from trunkline.core.records.bindings import ConversationRef

Fields = dict[str, Any]

#: words and codes for a thread that is not there or may not be seen
_GONE = ("deleted", "gone", "missing", "unknown", "unknown_channel", "not_found", "forbidden", 403, 404, 10003)
_OPEN = ("open", "active", "ok", None)


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers to each step."""
    return {"steps": asyncio.run(_World(case["given"], profile).run())}


class _World:
    """What a case acts on."""

    def __init__(self, given: Fields, profile: Profile) -> None:
        self._steps: Sequence[Fields] = given["steps"]
        self._now: int = given.get("clock_start", 0)
        self._generic = GenericBindings(self._clock)
        self._service = UpstreamBindings(profile, self._generic)
        self._rest = _Rest()
        self._managers = ThreadManagers(self._rest)
        self._threads = ThreadBindings()
        self._discord: dict[str, DiscordBindings] = {}
        self._scripted: dict[tuple[Key, str | None], _Scripted] = {}

    def _clock(self) -> int:
        return self._now

    async def run(self) -> list[Fields]:
        return [await self._step(step) for step in self._steps]

    async def _step(self, step: Fields) -> Fields:
        do: Callable[[Fields], Awaitable[Fields]] | None = getattr(self, f"_do_{step['op']}", None)
        if do is None:
            raise LookupError(f"unknown op {step['op']!r}")
        return await do(step)

    # ------------------------------------------------------------ adapters

    async def _do_register(self, step: Fields) -> Fields:
        channel, account = step["channel"], step["account_id"]
        match step["adapter"]:
            case "scripted":
                adapter = _Scripted(step, self._clock)
                self._scripted[_key(step), step.get("name")] = adapter
                self._service.register(channel, account, adapter)
                return {"ok": True}
            case "discord_thread":
                return self._register_discord(step)
            case "generic_current":
                self._generic.serve(*_key(step))
                return {"ok": True}
            case other:
                raise LookupError(f"unknown adapter {other!r}")

    def _register_discord(self, step: Fields) -> Fields:
        account = account_id(step["account_id"])
        settings = ThreadSettings(
            idle_timeout=_duration(step, "idle_timeout_ms", DAY), max_age=_duration(step, "max_age_ms", 0)
        )
        manager = self._managers.create(account, step.get("token"), settings)
        known = self._discord.get(account)
        if known is None or known.manager is not manager:
            known = self._discord[account] = DiscordBindings(manager, self._threads, self._clock)
            self._service.register(step["channel"], account, known)
        return {"ok": True, "idle_timeout_ms": known.idle, "max_age_ms": known.max_age}

    async def _do_unregister(self, step: Fields) -> Fields:
        key, name = _key(step), step.get("name")
        discord = self._discord.get(key[1]) if key[0] == "discord" and name is None else None
        if discord is not None:
            # Stopping drops the adapter and the token, not the records.
            self._managers.stop(key[1])
            del self._discord[key[1]]
            self._service.unregister(*key, discord)
        elif name is None:
            self._service.unregister(*key)
        elif (adapter := self._scripted.get((key, name))) is not None:
            self._service.unregister(*key, adapter)
        return {"ok": True}

    async def _do_capabilities(self, step: Fields) -> Fields:
        found = self._service.capabilities(step["channel"], step["account_id"])
        return {
            "adapter_available": found.adapter_available,
            "bind_supported": found.bind_supported,
            "unbind_supported": found.unbind_supported,
            "placements": list(found.placements),
        }

    # ------------------------------------------------------------ the service

    async def _do_bind(self, step: Fields) -> Fields:
        asked = UpstreamBind(
            target_session_key=step["target_session_key"],
            target_kind=step["target_kind"],
            conversation=_ref(step["conversation"]),
            placement=step.get("placement"),
            ttl=None if step.get("ttl_ms") is None else int(step["ttl_ms"]),
            metadata={name: value for name, value in (step.get("metadata") or {}).items() if isinstance(value, str)},
        )
        try:
            record = await self._service.bind(asked)
        except BindingError as error:
            return {"error": error_code(error), "placement": error.placement}
        return {"record": _record(record)}

    async def _do_resolve(self, step: Fields) -> Fields:
        found = self._service.resolve_by_conversation(_ref(step["conversation"]))
        if found is None:
            return {"binding": None}
        names = ("binding_id", "target_session_key", "expires_at")
        return {"binding": {name: getattr(found, name) for name in names}}

    async def _do_list(self, step: Fields) -> Fields:
        return {"binding_ids": [one.binding_id for one in self._service.list_by_session(step["target_session_key"])]}

    async def _do_touch(self, step: Fields) -> Fields:
        self._service.touch(step["binding_id"], step.get("at"), _scope(step))
        return {"ok": True}

    async def _do_unbind(self, step: Fields) -> Fields:
        removed = await self._service.unbind(step.get("binding_id"), step.get("target_session_key"), _scope(step))
        return {"removed": [one.binding_id for one in removed]}

    async def _do_advance(self, step: Fields) -> Fields:
        self._now += step["ms"]
        return {"now": self._now}

    # ------------------------------------------------------------ Discord

    async def _do_sweep(self, step: Fields) -> Fields:
        swept = await self._discord[account_id(step.get("account_id"))].sweep()
        return {
            "removed_threads": [one.thread for one in swept],
            "farewell_sent_by": ["bot" for one in swept if one.farewell],
        }

    async def _do_thread_state(self, step: Fields) -> Fields:
        self._rest.states[step["thread_id"]] = step["state"]
        return {"ok": True}

    async def _do_webhook_state(self, step: Fields) -> Fields:
        webhook = self._discord[account_id(step.get("account_id"))].webhook_of(step["thread_id"])
        return {"webhook_id": webhook, "webhooks_created": self._rest.webhooks_made}

    async def _do_rest_token(self, step: Fields) -> Fields:
        return {"last_token": self._rest.last_token}

    async def _do_echo_suppressed(self, step: Fields) -> Fields:
        discord = self._discord[account_id(step.get("account_id"))]
        return {"suppressed": discord.is_echo(step["thread_id"], step["webhook_id"])}


class _Scripted:
    """An adapter that keeps its bindings in memory and does as a case says."""

    def __init__(self, given: Fields, now: Callable[[], int]) -> None:
        placements = given.get("placements")
        self.declared = Declared(
            bind=given.get("bind_supported"),
            unbind=given.get("unbind_supported"),
            placements=None if placements is None else tuple(placements),
        )
        self.can_bind = given.get("can_bind", True)
        self.can_unbind = given.get("can_unbind", True)
        self._fails = given.get("bind_fails", False)
        self._prefix = given.get("binding_prefix")
        self._now = now
        self._children = 0
        self._records: dict[str, UpstreamRecord] = {}

    async def bind(self, asked: UpstreamBind) -> UpstreamRecord | None:
        if self._fails:
            return None
        ref, now = asked.conversation, self._now()
        if asked.placement == "child":
            self._children += 1
            ref = ConversationRef(
                channel=ref.channel,
                account_id=ref.account_id,
                conversation_id=f"child-{self._children}",
                parent_conversation_id=ref.parent_conversation_id,
            )
        record = UpstreamRecord(
            binding_id=f"{self._prefix or ref.account_id}:{ref.conversation_id}",
            target_session_key=asked.target_session_key,
            target_kind=asked.target_kind,
            conversation=ref,
            bound_at=now,
            expires_at=None if asked.ttl is None else now + asked.ttl,
            last_activity_at=now,
        )
        self._records[record.binding_id] = record
        return record

    async def unbind(self, binding_id: str | None, session_key: str | None) -> Sequence[UpstreamRecord]:
        removed = [
            one
            for one in self._records.values()
            if one.binding_id == binding_id or (session_key is not None and one.target_session_key == session_key)
        ]
        for one in removed:
            del self._records[one.binding_id]
        return removed

    def list_by_session(self, session_key: str) -> Sequence[UpstreamRecord]:
        return [one for one in self._records.values() if one.target_session_key == session_key]

    def resolve(self, ref: ConversationRef) -> UpstreamRecord | None:
        found = (one for one in self._records.values() if one.conversation.conversation_id == ref.conversation_id)
        return next(found, None)

    def touch(self, binding_id: str, at: int | None) -> None:
        """Nothing that a case looks at changes."""


class _Rest:
    """Discord: every id is a thread unless a case says what it is."""

    def __init__(self) -> None:
        self.states: dict[str, object] = {}
        self.webhooks_made = 0
        self.last_token: str | None = None
        self._threads: dict[str, str] = {}
        self._webhooks: dict[str, list[Webhook]] = {}

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        self.last_token = token
        thread = f"thread-{len(self._threads) + 1}"
        self._threads[thread] = parent
        return thread

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        raise NotImplementedError("upstream lists no threads")

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        self.last_token = token
        state = self.states.get(channel)
        if state in _GONE:
            raise PlaceGone(str(state))
        if state != "archived" and state not in _OPEN:
            raise PlatformError(str(state))
        parent = self._threads.get(channel)
        return DiscordChannel(id=channel, thread=parent is not None, parent=parent, archived=state == "archived")

    async def unarchive(self, token: str, thread: str) -> None:
        raise NotImplementedError("upstream unarchives nothing")

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:
        self.last_token = token
        self.webhooks_made += 1
        made = Webhook(id=f"wh{self.webhooks_made}", name=name, secret="secret")
        self._webhooks.setdefault(channel, []).append(made)
        return made

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        return self._webhooks.get(channel, [])


# -------------------------------------------------------------------- values


def _key(step: Fields) -> Key:
    ref = normal_ref(ConversationRef(channel=step["channel"], account_id=step["account_id"], conversation_id=""))
    return ref.channel, ref.account_id


def _scope(step: Fields) -> Key | None:
    """August lets a caller say which channel and account are meant."""
    return _key(step) if step.get("channel") and step.get("account_id") else None


def _duration(step: Fields, name: str, default: int) -> float:
    """Seconds; what is missing or negative is the default, 0 is never."""
    value = step.get(name)
    return (default if value is None or value < 0 else int(value)) / 1000


def _ref(told: Fields) -> ConversationRef:
    return ConversationRef(
        channel=told.get("channel") or "",
        account_id=told.get("account_id") or "",
        conversation_id=told.get("conversation_id") or "",
        parent_conversation_id=told.get("parent_conversation_id"),
    )


def _record(record: UpstreamRecord) -> Fields:
    place = record.conversation
    return {
        "binding_id": record.binding_id,
        "target_session_key": record.target_session_key,
        "target_kind": record.target_kind,
        "conversation": {
            "channel": place.channel,
            "account_id": place.account_id,
            "conversation_id": place.conversation_id,
            "parent_conversation_id": place.parent_conversation_id,
        },
        "status": record.status.value,
        "bound_at": record.bound_at,
        "expires_at": record.expires_at,
        "last_activity_at": record.last_activity_at,
    }
