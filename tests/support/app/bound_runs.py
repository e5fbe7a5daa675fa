"""A run made by hand with session bindings, in every state that they can have: see `_traces`."""

from tests.support.app.author import ANA, AUDIT, BO, DEPLOY, DM, IDLE, KEYS, OPS, RELEASE, Author
from tests.support.app.traces import verdicts
from trunkline.app.runs.model import Run
from trunkline.core.events.bindings import (
    BindingBound,
    BindingDegraded,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    BindingTouched,
    ControlCalled,
    ControlEnded,
    FallbackDenied,
    IdentityFallback,
    PlaceReopened,
    RouterCandidate,
    RouterDecided,
)
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, RouteDecided, ToolCalled
from trunkline.core.events.hands import (
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events.world import (
    CredentialRotated,
    PeerSaid,
    ThreadClosed,
    ThreadOpened,
    ThreadReopened,
    WebhookGone,
)

#: the session of delegated work, and the one that an operator binds
CHILD = KEYS[RELEASE]
NIGHT = "jeeves:discord:main:channel:502"
HOOK = "webhook w7 as codex"
PLACES: list[tuple[Address, str, str | None]] = [
    (OPS, "#ops", None),
    (IDLE, "#random", None),
    (DEPLOY, "deploy", "#ops"),
    (AUDIT, "audit", "#ops"),
    (DM, "@bo", None),
]


def bind(
    author: Author,
    binding: str,
    place: Address,
    key: str,
    *,
    cause: int | None = None,
    by: str = "operator",
    label: str = "",
    identity: str | None = None,
    idle: float = 0.0,
    age: float = 0.0,
    instead_of: str | None = None,
) -> int:
    """A conversation belongs to a session from now on."""
    ends = [author.now + limit for limit in (idle, age) if limit]
    body = BindingBound(
        conversation=place,
        session_key=key,
        target_kind="subagent" if "subagent" in key else "session",
        placement="child" if by == "spawn" else "current",
        by=by,
        label=label,
        idle_timeout=idle,
        max_age=age,
        expires_at=min(ends, default=None),
        identity=identity,
        instead_of=instead_of,
    )
    return author.gateway.record(body, cause, binding=binding)


def touch(author: Author, binding: str, *, by: str = "inbound", ends: float | None = None) -> int:
    """Something is said in a bound conversation."""
    body = BindingTouched(by=by, last_activity_at=author.now, expires_at=ends)
    return author.gateway.record(body, binding=binding)


def end(author: Author, binding: str, place: Address, key: str, reason: Reason, *, by: str | None = None) -> int:
    """A binding is over."""
    body = BindingEnded(conversation=place, session_key=key, reason=reason, by=by)
    return author.gateway.record(body, binding=binding)


def heard(author: Author, place: Address, peer: Peer, text: str, key: str, binding: str | None) -> tuple[int, str]:
    """Somebody speaks, in a bound conversation or, without a binding, in another: its session is given it."""
    message, inbound = author.id("message"), author.id("inbound")
    said = author.platform(place).record(PeerSaid(address=place, peer=peer, message_id=message, text=text))
    author.wait(0.02)
    received = author.gateway.record(
        InboundReceived(address=place, peer=peer, message_id=message, text=text), said, inbound=inbound
    )
    route = author.gateway.record(
        RouteDecided(
            agent="jeeves",
            session_key=key,
            matched_by="binding.session" if binding else "default",
            binding=binding,
            candidates=(),
            reply_to=place,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        ),
        received,
        inbound=inbound,
        binding=binding,
    )
    author.session(place, key, route)
    admitted = author.gateway.record(
        InboundAdmitted(work=WorkKind.MESSAGE, session_id="s-" + key, session_key=key), route, inbound=inbound
    )
    return admitted, inbound


def decide(author: Author, cause: int, delegation: str, chosen: Address | None, reason: Reason) -> int:
    """The router looks at the bindings of a session."""
    body = RouterDecided(
        event_kind="task_completion",
        target_session_key=CHILD,
        requester=OPS,
        fail_closed=True,
        mode="bound" if chosen else "fallback",
        reason=reason,
        conversation=chosen,
        candidates=(
            RouterCandidate(
                binding="b1",
                conversation=RELEASE,
                status="active" if chosen else "ended",
                chosen=chosen is not None,
                reason=reason if chosen else Reason.NOT_ACTIVE,
            ),
            RouterCandidate(binding="b3", conversation=DM, status="active", chosen=False, reason=Reason.IDLE_EXPIRED),
        ),
    )
    return author.gateway.record(body, cause, delegation=delegation)


def bound_threads() -> Run:
    """A task gets a thread of its own, bound to its session; others are bound, expire, are moved and end."""
    author = Author()
    author.world(PLACES)
    author.wait(0.5)
    running, delegation = spawned(author)
    author.wait(0.5)
    bind(author, "b2", AUDIT, NIGHT, label="audit", age=6.0)
    bind(author, "b3", DM, CHILD, label="bo's view", idle=2.0)
    author.wait(1.0)
    talked(author)
    author.wait(1.0)
    commanded(author)
    author.wait(1.0)
    finished(author, running, delegation)
    author.wait(1.0)
    lost(author, running)
    author.wait(1.0)
    author.rest()
    return Run(trace=author.trace("bound-threads", title="Threads that belong to a task"), verdicts=verdicts())


def spawned(author: Author) -> tuple[int, str]:
    admitted, inbound = author.say(OPS, ANA, "ship release 41")
    started, turn = author.turn(OPS, admitted, inbound)
    tool = author.gateway.record(ToolCalled(tool="delegate", detail="codex"), started, turn=turn)
    opened = author.platform(OPS).record(ThreadOpened(address=RELEASE, name="release 41"), tool)
    delegation = author.id("delegation")
    bind(author, "b1", RELEASE, CHILD, cause=opened, by="spawn", label="codex", identity=HOOK, idle=4.0)
    body = DelegationAccepted(hand="codex", task="deploy release 41", origin=OPS, session_key=KEYS[OPS])
    accepted = author.gateway.record(body, tool, turn=turn, delegation=delegation)
    running = author.gateway.record(DelegationStarted(hand="codex"), accepted, delegation=delegation)
    return running, delegation


def talked(author: Author) -> None:
    heard(author, RELEASE, BO, "which commit?", CHILD, "b1")
    touch(author, "b1", ends=author.now + 4.0)
    author.wait(0.4)
    touch(author, "b1", by="outbound", ends=author.now + 4.0)
    author.wait(0.6)
    ending = BindingEnding(conversation=AUDIT, session_key=NIGHT, reason=Reason.UNBOUND, under_way=1)
    author.gateway.record(ending, binding="b2")
    author.wait(1.0)
    end(author, "b2", AUDIT, NIGHT, Reason.UNBOUND, by="operator")


def commanded(author: Author) -> None:
    called = author.gateway.record(ControlCalled(command="focus", argument="nobody", by="discord:9001"))
    refused = BindingRefused(
        verb="bind",
        conversation=str(IDLE),
        session_key="jeeves:nobody",
        reason=Reason.UNKNOWN_SESSION,
        detail="there is no session jeeves:nobody",
        by="discord:9001",
    )
    author.gateway.record(refused, called)
    ended = ControlEnded(command="focus", outcome="refused", reason=Reason.UNKNOWN_SESSION)
    author.gateway.record(ended, called)
    bind(author, "b4", IDLE, KEYS[OPS], by="discord:9001", label="ops")
    author.wait(0.3)
    end(author, "b4", IDLE, KEYS[OPS], Reason.REBOUND, by="discord:9001")
    bind(author, "b5", IDLE, NIGHT, by="discord:9001", label="night", instead_of="b4")


def finished(author: Author, running: int, delegation: str) -> None:
    """The result goes into the bound thread, as the bot, since its webhook is gone."""
    author.platform(OPS).record(WebhookGone(channel="discord", webhook="w7", how="deleted"))
    author.platform(OPS).record(CredentialRotated(channel="discord", account="main", number=2))
    done = DelegationFinished(hand="codex", outcome=HandOutcome.OK, text="release 41 shipped")
    result = author.gateway.record(done, running, delegation=delegation)
    decided = decide(author, result, delegation, RELEASE, Reason.REQUESTER_MATCH)
    step = CompletionStep(mode="direct", reason=Reason.BOUND_DESTINATION, address=RELEASE)
    plan = CompletionPlanned(steps=(step,), requester_busy=False)
    planned = author.gateway.record(plan, decided, delegation=delegation)
    text = "release 41 shipped"
    intent = author.prepare(
        RELEASE,
        text,
        planned,
        kind=IntentKind.ANNOUNCE,
        reason=Reason.BOUND_DESTINATION,
        delegation=delegation,
        binding="b1",
    )
    author.gateway.record(PlaceReopened(address=RELEASE), planned, intent=intent, binding="b1")
    author.platform(RELEASE).record(ThreadReopened(address=RELEASE))
    fallback = IdentityFallback(chunk=0, attempt=1, instead_of=HOOK, used="the bot", reason=Reason.IDENTITY_GONE)
    author.gateway.record(fallback, author.prepared, intent=intent, binding="b1")
    author.attempt(RELEASE, intent)
    wire = author.accept(RELEASE, text, intent)
    author.settle(RELEASE, text, intent, wire)
    touch(author, "b1", by="outbound", ends=author.now + 4.0)
    lost_voice = BindingDegraded(identity=HOOK, reason=Reason.IDENTITY_GONE, fallbacks=1)
    author.gateway.record(lost_voice, fallback_seq(author), binding="b1")


def fallback_seq(author: Author) -> int:
    return next(event.seq for event in author.log.events if isinstance(event.body, IdentityFallback))


def lost(author: Author, running: int) -> None:
    """The thread is deleted while a second result is on its way: it goes nowhere, and a notice says so."""
    author.platform(RELEASE).record(ThreadClosed(address=RELEASE, how="deleted"))
    ended = end(author, "b1", RELEASE, CHILD, Reason.THREAD_GONE)
    decided = decide(author, ended, "d2", None, Reason.NO_ACTIVE_BINDING)
    denied = FallbackDenied(asked=RELEASE, refused=OPS, reason=Reason.NO_ACTIVE_BINDING, notice=True)
    told = author.gateway.record(denied, decided, delegation="d2")
    notice = "The result of codex could not be told where it belongs."
    author.send(OPS, notice, told, kind=IntentKind.NOTICE, reason=Reason.THREAD_NOTICE, delegation="d2")
