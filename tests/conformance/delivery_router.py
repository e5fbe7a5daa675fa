"""The area of completions: the router, the destination, the order of announcements, and answers in bound threads."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.conformance.upstream.completion_destination import Origin, announce, completion_destination
from tests.conformance.upstream.discord_replies import Reply, ReplyBinding, ReplySend, binding_for, deliver_replies
from trunkline.core.bindings.completion_router import BoundDeliveryRouter
from trunkline.core.decisions import Decisions
from trunkline.core.errors import PlatformError, Refused
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address, ChatKind

Fields = dict[str, Any]
Operation = Callable[[Fields, Profile], Fields]

_CHILD = "agent:main:subagent:child"


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers. Raises `LookupError` for an operation that is not known."""
    given = case["given"]
    operation = OPERATIONS.get(given["op"])
    if operation is None:
        raise LookupError(f"unknown op {given['op']!r}; known: {', '.join(OPERATIONS)}")
    return operation(given, profile)


def _resolve(given: Fields, profile: Profile) -> Fields:
    asked = given["input"]
    records = _records(given["bindings"], _CHILD)
    router = BoundDeliveryRouter(_listing(records), profile_rules(profile)[Decisions].resolve_destination, lambda: 0.0)
    decision = router.resolve_destination(
        asked["event_kind"], asked["target_session_key"], _ref(asked.get("requester")), asked.get("fail_closed", False)
    )
    found = decision.binding
    return {
        "mode": decision.mode,
        "reason": decision.reason.value,
        "binding_id": None if found is None else found.binding_id,
    }


def _complete(given: Fields, profile: Profile) -> Fields:
    asked = given["input"]
    key, told = asked["child_session_key"], asked.get("requester_origin")
    records = _records(given["bindings"], key)
    hook = asked.get("hook_origin")
    found = completion_destination(
        key, None if told is None else _origin(told), records, profile, None if hook is None else _origin(hook)
    )
    to, requester = found.destination, found.requester
    return {
        "mode": found.mode,
        "reason": found.reason.value,
        "requester_conversation": None
        if requester is None
        else {
            "channel": requester.channel,
            "account_id": requester.account_id,
            "conversation_id": requester.conversation_id,
        },
        "destination": None
        if to is None
        else {"channel": to.channel, "account_id": to.account_id, "to": to.to, "thread_id": to.thread_id},
    }


def _dispatch(given: Fields, profile: Profile) -> Fields:
    done = announce(
        _Scripted(given), completion=given["expects_completion_message"], aborted=lambda: given.get("aborted") is True
    )
    return {"delivered": done.delivered, "path": done.path, "phases": list(done.phases)}


class _Scripted:
    """The two ways to announce, as a case has them end."""

    def __init__(self, given: Fields) -> None:
        self._given = given

    def queue(self) -> str:
        return self._given["queue_outcome"]

    def direct(self) -> bool:
        return self._given["direct_delivered"]


def _reply(given: Fields, profile: Profile) -> Fields:
    attempts: list[Fields] = []
    touched: list[str] = []

    async def send(asked: ReplySend) -> None:
        by_webhook = asked.persona is not None
        attempts.append(_attempt(asked))
        if given.get("webhook_fails" if by_webhook else "bot_fails"):
            raise Refused("as the case says")

    binding = binding_for(given["target"], given.get("session_key"), [_bound(one) for one in given["bindings"]])
    replies = [_said(one) for one in given["replies"]]
    mode = given.get("reply_to_mode") or "all"
    delivery = deliver_replies(
        replies, given["target"], binding, send=send, touch=touched.append, reply_to=given.get("reply_to_id"), mode=mode
    )
    try:
        asyncio.run(delivery)
    except PlatformError as error:
        return {"attempts": attempts, "touched": len(touched), "error": str(error)}
    return {"attempts": attempts, "touched": len(touched)}


OPERATIONS: dict[str, Operation] = {
    "resolve_destination": _resolve,
    "completion_destination": _complete,
    "announce_dispatch": _dispatch,
    "bound_reply": _reply,
}


# -------------------------------------------------------------------- values


def _listing(records: Sequence[SessionBindingRecord]) -> Callable[[str], Sequence[SessionBindingRecord]]:
    """What the service answers: the bindings of a session."""
    return lambda key: [record for record in records if record.target_session_key == key]


def _records(bindings: Sequence[Fields], session: str) -> list[SessionBindingRecord]:
    return [
        SessionBindingRecord(
            binding_id=one["binding_id"],
            target_session_key=one.get("target_session_key") or session,
            target_kind=TargetKind.SUBAGENT,
            # Upstream's references have no kind, and the thread is the conversation.
            conversation=Address(
                channel=one["channel"],
                account=one["account_id"],
                kind=ChatKind.CHANNEL,
                conversation=one["conversation_id"],
                parent=one.get("parent_conversation_id"),
            ),
            status=BindingStatus(one.get("status") or "active"),
            bound_at=0.0,
            last_activity_at=0.0,
        )
        for one in bindings
    ]


def _ref(told: Fields | None) -> ConversationRef | None:
    if told is None:
        return None
    return ConversationRef(
        channel=told.get("channel") or "",
        account_id=told.get("account_id") or "",
        conversation_id=told.get("conversation_id") or "",
        parent_conversation_id=told.get("parent_conversation_id"),
    )


def _origin(told: Fields) -> Origin:
    return Origin(
        channel=told.get("channel"),
        account_id=told.get("account_id"),
        to=told.get("to"),
        thread_id=told.get("thread_id"),
    )


def _bound(one: Fields) -> ReplyBinding:
    return ReplyBinding(
        session_key=one["target_session_key"],
        thread=one["thread_id"],
        label=one.get("label") or "",
        agent=one.get("agent_id") or "",
        webhook=one.get("webhook_id"),
        usable=bool(one.get("webhook_token")),
    )


def _said(one: str | Fields) -> Reply:
    """An answer is a text, or has media beside it."""
    if isinstance(one, str):
        return Reply(text=one)
    media = [*(one.get("media_urls") or ()), *([one["media_url"]] if one.get("media_url") else ())]
    return Reply(text=one.get("text") or "", media=tuple(media))


def _attempt(asked: ReplySend) -> Fields:
    if asked.persona is None:
        return {"via": "bot", "to": asked.to, "text": asked.text}
    return {
        "via": "webhook",
        "thread_id": asked.to,
        "username": asked.persona,
        "reply_to": asked.reply_to,
        "text": asked.text,
    }
