"""The area of sends through the gateway: the real `Sends`, on ports that behave as the world of a case says.

Requests come one after another. With ``overlap`` each comes while those before it are being delivered, and all
deliveries end together.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import anyio

from tests.conformance.upstream.transcript_append import names_or_text
from trunkline.core.channels import Resolved, known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import SendFailed, TargetError, UsageError
from trunkline.core.events import EventLog
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import CHANNELS, agent_id
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import SendRow, send_intent
from trunkline.core.runtime.client_sends.planner import SendResult, StoredSend
from trunkline.core.runtime.client_sends.sends import Sends
from trunkline.core.runtime.client_sends.target_resolution import DirectoryAnswer
from trunkline.core.sends.api import SendMessage, SendPlan, named_session
from trunkline.core.values import Address, ChatKind, Receipt, SessionEntry

Fields = dict[str, Any]

#: what upstream's directories call the kinds
_KINDS = {"user": ChatKind.DIRECT, "group": ChatKind.GROUP, "channel": ChatKind.CHANNEL}
#: the channels that can be named; the web chat is internal
_KNOWN = tuple(sorted({*known_channels(), *CHANNELS} - {"webchat"}))
#: parts of a world that go away when it is healed
_FAULTS = ("target_error", "delivery_error", "delivery_results", "entry_write_fails", "selection_error")


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    return asyncio.run(_run(case["given"], profile))


async def _run(given: Fields, profile: Profile) -> Fields:
    world = _World(given.get("world") or {}, profile)
    up = anyio.Event()
    up.set()
    sends = Sends(world, EventLog(lambda: 0.0).recorder("gateway"), up)
    requests = list(enumerate(given["requests"], 1))
    if given.get("overlap"):
        responses = await _side_by_side(sends, world, requests)
    else:
        world.open_gate()
        responses = [await _ask(sends, world, number, request) for number, request in requests]
    return {"responses": responses, "deliveries": world.deliveries, "session_entries": world.entries}


async def _side_by_side(sends: Sends, world: "_World", requests: Sequence[tuple[int, Fields]]) -> list[Fields]:
    tasks: list[asyncio.Task[Fields]] = []
    for number, request in requests:
        tasks.append(asyncio.create_task(_ask(sends, world, number, request)))
        await anyio.wait_all_tasks_blocked()
    world.open_gate()
    return [await task for task in tasks]


async def _ask(sends: Sends, world: "_World", number: int, request: Fields) -> Fields:
    """The response to a request."""
    message = _message(request)
    world.begin(message, number, heal=request.get("heal") is True)
    try:
        outcome = await sends.send(message)
    except SendFailed as error:
        return {"ok": False, "error_code": "UNAVAILABLE", "cached": error.cached}
    except UsageError:
        return {"ok": False, "error_code": "INVALID_REQUEST", "cached": False}
    payload = {"run_id": outcome.key, "message_id": outcome.message_id, "channel": outcome.channel}
    return {"ok": True, "payload": payload, "cached": outcome.cached}


def _message(request: Fields) -> SendMessage:
    media = [one for one in request.get("media_urls") or () if isinstance(one, str)]
    return SendMessage(
        to=request["to"],
        text=request.get("message") or "",
        media=(*media, *([request["media_url"]] if request.get("media_url") else ())),
        channel=request.get("channel"),
        account=request.get("account_id"),
        thread=request.get("thread_id"),
        agent=request.get("agent_id"),
        session_key=request.get("session_key"),
        key=request["idempotency_key"],
    )


class _World:
    """`trunkline.core.runtime.client_sends.sends.SendPorts` of a case."""

    def __init__(self, given: Fields, profile: Profile) -> None:
        self.config = _config(given, profile)
        self.decisions = self.config.rules[Decisions]
        self.deliveries: list[Fields] = []
        self.entries: list[Fields] = []
        self._given = dict(given)
        self._fates: dict[str, SendResult] = {}
        self._gate = anyio.Event()
        self._asked: SendMessage | None = None
        self._number = 0

    def begin(self, message: SendMessage, number: int, *, heal: bool) -> None:
        """The next request comes."""
        self._asked, self._number = message, number
        for fault in _FAULTS if heal else ():
            self._given.pop(fault, None)

    def open_gate(self) -> None:
        """Let deliveries end."""
        self._gate.set()

    @property
    def channels(self) -> tuple[str, ...]:
        """A named channel may be any; one that is not named is the one that is configured."""
        assert self._asked is not None
        selected = self._given.get("selected_channel")
        unnamed = not (self._asked.channel or "").strip()
        return (selected,) if unnamed and selected and not self._given.get("selection_error") else _KNOWN

    def session(self, text: str | None) -> tuple[str, str] | None:
        return named_session(text, self.config)

    def account(self, channel: str, named: str | None) -> str | None:
        return (named or "").strip() or None

    def bound(self, address: Address) -> SessionBindingRecord | None:
        """No case has bound conversations."""
        return None

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        if self._given.get("target_error"):
            raise TargetError(self._given["target_error"])
        hit = self._given.get("directory_hit")
        if hit is None:
            return DirectoryAnswer()
        return DirectoryAnswer(resolved=Resolved(target=hit["to"], kind=_KINDS.get(hit.get("kind") or "")))

    async def fate(self, key: str) -> SendResult | None:
        return self._fates.get(key)

    async def store(self, plan: SendPlan, cause: int | None) -> StoredSend:
        intent, known = send_intent(plan.message.key, 1), self._fates.get(plan.message.key)
        new = known is None
        if new:
            if plan.entry is not None:
                # That it cannot be written stops nothing.
                self.entries.append(_entry(plan.session_key, plan.entry))
            assert self._asked is not None
            self.deliveries.append(_delivery(plan, self._asked))
        send = SendRow(key=plan.message.key, intent=intent, tries=1, session_key=plan.session_key, channel=plan.channel)
        return StoredSend(plan=plan, send=send, new=new, fate=known)

    async def wait_for_end(self, stored: StoredSend) -> SendResult:
        number, plan = self._number, stored.plan
        await self._gate.wait()
        message_id, detail = self._result(number)
        place = Address(channel=plan.channel, account="default", kind=ChatKind.DIRECT, conversation=plan.target)
        fate = self._fates[plan.message.key] = SendResult(
            tries=stored.send.tries,
            receipt=None if message_id is None else Receipt(provider_id=message_id, address=place),
            channel=plan.channel,
            session_key=plan.session_key,
            detail=detail,
        )
        return fate

    def forget_sessions(self) -> None:
        raise NotImplementedError("no case erases anybody")

    def preview(self, plan: SendPlan) -> tuple[Address, tuple[str, ...]]:
        raise NotImplementedError("no case asks for a dry run")

    def _result(self, number: int) -> tuple[str | None, str]:
        """The platform's id of the last message, or how the delivery failed."""
        if self._given.get("delivery_error"):
            return None, self._given["delivery_error"]
        results = self._given.get("delivery_results")
        if results is None:
            return f"m{number}", ""
        if not results:
            return None, "no delivery result"
        last = results[-1]
        return str(last.get("message_id") if isinstance(last, dict) else last), ""


def _config(given: Fields, profile: Profile) -> GatewayConfig:
    agents: dict[str, Fields] = {}
    for agent in given.get("agents") or ():
        name = agent_id(agent.get("id"))
        agents.setdefault(name, {"id": name, "default": agent.get("default") is True})
    session: Fields = {
        # Upstream's default, where ours isolates peers.
        "dm_scope": given.get("dm_scope") or "main",
        "identity_links": given.get("identity_links") or {},
    }
    return GatewayConfig.model_validate({"profile": profile, "agents": list(agents.values()), "session": session})


def _entry(session_key: str | None, entry: SessionEntry) -> Fields:
    return {
        "session_key": session_key,
        "from": entry.sender,
        "to": entry.to,
        "chat_type": entry.chat_type.value,
        "provider": entry.provider,
        "surface": entry.surface,
        "account_id": entry.account,
        "thread_id": entry.thread,
        "originating_channel": entry.originating_channel,
        "originating_to": entry.originating_to,
    }


def _delivery(plan: SendPlan, asked: SendMessage) -> Fields:
    mirror = None
    if plan.session_key is not None:
        mirror = {
            "session_key": plan.session_key,
            "agent_id": plan.agent,
            # What is nothing but a name of media stays in the text as well.
            "text": plan.message.text or asked.text.strip(),
            "media_urls": list(plan.message.media),
            "idempotency_key": plan.message.key,
            "transcript_text": names_or_text(plan.message.text, plan.message.media) or "",
        }
    return {
        "channel": plan.channel,
        "to": plan.target,
        "account_id": plan.account,
        "thread_id": plan.thread,
        "agent_id": plan.agent,
        "mirror": mirror,
    }
