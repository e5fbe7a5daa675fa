"""Every event in one line of words: for the rows of the timeline, the causal path and plain reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.bindings import BOUND_LABELS
from trunkline.app.view.labels.delivery import QUEUE_LABELS
from trunkline.app.view.labels.leases import UPKEEP_LABELS
from trunkline.app.view.text.cells import clean, count, quoted
from trunkline.core.events import Body, Event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    Fallback,
    IntentPrepared,
    IntentSettled,
    IntentSuppressed,
    MirrorAppended,
    RecoveryDecided,
    SendJoined,
    SendRefused,
    SendRequested,
    TargetResolved,
)
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    CompletionPlanned,
    CompletionStep,
    ConfigReloaded,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    ProcessRecovered,
    ProcessStarted,
    RouteDecided,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
    StoreFailed,
    ToolCalled,
    ToolRefused,
    TranscriptAppended,
    TurnEnded,
    TurnStarted,
)
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import BugEnabled, FaultFired, RunPhase, ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.events.world import (
    PeerSaid,
    PlatformConnected,
    PlatformPushed,
    ThreadClosed,
    ThreadOpened,
    WorldAccount,
    WorldLimits,
    WorldPerson,
    WorldPlace,
    WorldSession,
)


def describe(view: RunView, event: Event) -> str:
    """One event in words, without its number and time."""
    label = _LABELS.get(type(event.body))
    return clean(label(view, event, event.body)) if label else event.kind


def _said(view: RunView, _event: Event, body: PeerSaid) -> str:
    who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
    bot = "bot " if body.bot else ""
    copy = f", for {body.stands_for} that it took away" if body.stands_for else ""
    copy += f", which the gateway said by {body.echo_of}" if body.echo_of else ""
    return f"{bot}{who} says {quoted(body.text)} in {view.places.label(body.address)}{copy}"


def _pushed(view: RunView, _event: Event, body: PlatformPushed) -> str:
    again = " again" if body.replay else ""
    renamed = f" under a new id ({body.original_id} before)" if body.message_id != body.original_id else ""
    return f"{body.address.channel} hands over {body.message_id}{again}{renamed}"


def _received(view: RunView, _event: Event, body: InboundReceived) -> str:
    chain = f" (reply chain {body.reply_chain} is no thread)" if body.reply_chain else ""
    return f"the gateway receives {quoted(body.text)}{chain}"


def _route(view: RunView, _event: Event, body: RouteDecided) -> str:
    answers = f", answers → {view.places.label(body.reply_to)}" if body.reply_to else ", no answers"
    return f"route to agent {body.agent} ({body.matched_by}){answers}, session {body.session_key}"


def _admitted(_view: RunView, _event: Event, body: InboundAdmitted) -> str:
    return f"{body.work} admitted to session {body.session_key}"


def _inbound_dropped(_view: RunView, _event: Event, body: InboundDropped) -> str:
    first = f", it repeats {body.first}" if body.first else ""
    return f"dropped: {body.reason}{first}"


def _session(view: RunView, _event: Event, body: SessionCreated) -> str:
    return f"session {body.session_key} created for {view.places.label(body.address)}, by {body.by}"


def _session_reset(_view: RunView, _event: Event, body: SessionReset) -> str:
    return f"session {body.session_key} starts anew, generation {body.generation}"


def _session_moved(_view: RunView, _event: Event, body: SessionMoved) -> str:
    return f"session {body.old_key} is {body.session_key} now: {body.reason}"


def _session_left(_view: RunView, _event: Event, body: SessionLeft) -> str:
    now = f", for {body.session_key}" if body.session_key else ""
    return f"session {body.old_key} is left{now}: {body.reason}"


def _session_shared(_view: RunView, _event: Event, body: SessionShared) -> str:
    return f"{body.people} people share session {body.session_key}, {body.peer.name or body.peer.id} too: {body.reason}"


def _world_session(view: RunView, _event: Event, body: WorldSession) -> str:
    place = f", of {view.places.label(body.address)}" if body.address else ""
    return f"session {body.session_key} is in the store{place}"


def _reloaded(_view: RunView, _event: Event, body: ConfigReloaded) -> str:
    return f"configuration {body.revision} holds from here on: {', '.join(body.changed) or 'nothing'} changed"


def _resolved(view: RunView, _event: Event, body: TargetResolved) -> str:
    return f"target {quoted(body.target)} is {view.places.label(body.address)}, session {body.session_key}"


def _requested(view: RunView, _event: Event, body: SendRequested) -> str:
    where = f" on {body.channel}" if body.channel else ""
    return f"a client asks to send {quoted(body.text)} to {view.places.target(body.target)}{where}, key {body.key}"


def _joined(_view: RunView, _event: Event, body: SendJoined) -> str:
    ended = "its result again" if body.ended else "it waits for the first one"
    return f"send {body.key} came before: {ended} ({body.reason})"


def _send_refused(_view: RunView, _event: Event, body: SendRefused) -> str:
    return f"send {body.key} refused: {body.reason}: {body.detail}"


def _transcript(_view: RunView, _event: Event, body: TranscriptAppended) -> str:
    return f"transcript of {body.session_key}: {body.role} {quoted(body.text)}"


def _turn_started(_view: RunView, _event: Event, body: TurnStarted) -> str:
    return f"agent {body.agent} starts a turn for a {body.work}"


def _turn_ended(_view: RunView, _event: Event, body: TurnEnded) -> str:
    reason = f": {body.reason}" if body.reason else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"turn {body.outcome}{reason}{detail}"


def _tool(_view: RunView, _event: Event, body: ToolCalled) -> str:
    return f"tool {body.tool} {body.detail}".rstrip()


def _delegated(view: RunView, _event: Event, body: DelegationAccepted) -> str:
    origin = f", origin {view.places.label(body.origin)}" if body.origin else ", no origin"
    return f"{quoted(body.task)} for hand {body.hand}{origin}"


def _hand_started(_view: RunView, _event: Event, body: DelegationStarted) -> str:
    return f"hand {body.hand} starts"


def _hand_finished(_view: RunView, _event: Event, body: DelegationFinished) -> str:
    reason = f" ({body.reason})" if body.reason else ""
    return f"hand {body.hand} {body.outcome}{reason} {quoted(body.text)}"


def _hand_ignored(_view: RunView, _event: Event, body: DelegationIgnored) -> str:
    return f"later result of hand {body.hand} ignored: {body.reason}"


def step_words(view: RunView, step: CompletionStep) -> str:
    """One way in which a hand's result is told, in words."""
    return f"{step.mode} → {view.places.label(step.address)} ({step.reason})"


def _planned(view: RunView, _event: Event, body: CompletionPlanned) -> str:
    steps = "; ".join(step_words(view, step) for step in body.steps)
    return f"completion plan: {steps or 'tell nobody'}"


def _prepared(view: RunView, _event: Event, body: IntentPrepared) -> str:
    return f"{body.intent_kind} prepared for {view.places.label(body.address)}: {body.reason}"


def _suppressed(_view: RunView, _event: Event, body: IntentSuppressed) -> str:
    return f"nothing said: {body.reason}"


def _attempt(view: RunView, _event: Event, body: AttemptStarted) -> str:
    return f"attempt {body.attempt} on chunk {body.chunk + 1} to {view.places.label(body.address)}"


def _attempt_ended(_view: RunView, _event: Event, body: AttemptEnded) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    when = f" at {body.retry_at:.3f}" if body.retry_at is not None else ""
    return f"attempt {body.attempt}: {body.reason}, so {body.decision}{when}{detail}"


def _recovery(_view: RunView, _event: Event, body: RecoveryDecided) -> str:
    return f"recovery: {body.decision}, {body.reason}, after {count(body.attempts, 'attempt')}"


def _accepted(view: RunView, _event: Event, body: WireAccepted) -> str:
    asked = f", asked for {view.places.label(body.requested)}" if body.requested.lane != body.address.lane else ""
    place = view.places.short(view.places.of(body.address))
    who = f", said by {body.identity}" if body.identity else ""
    return f"{body.address.channel} accepts {quoted(body.text)} in {place}{asked}{who}"


def _deduplicated(view: RunView, _event: Event, body: WireDeduplicated) -> str:
    return f"{body.address.channel} knows the key: the first receipt again, nothing new is visible"


def _refused(view: RunView, _event: Event, body: WireRefused) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    return f"{body.address.channel} refuses: {body.reason}{detail}"


def _lost(view: RunView, _event: Event, body: WireResponseLost) -> str:
    return f"the answer of {body.address.channel} is lost"


def _looked_up(_view: RunView, _event: Event, body: WireLookedUp) -> str:
    return f"{body.address.channel} is asked: {'it has it' if body.found else 'it does not have it'}"


def _acked(_view: RunView, _event: Event, body: ChunkAcked) -> str:
    return f"receipt {body.provider_id} of chunk {body.chunk + 1} stored: {body.reason}"


def _settled(_view: RunView, _event: Event, body: IntentSettled) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    return f"intent {body.state}: {body.reason}{detail}"


def _mirror(_view: RunView, _event: Event, body: MirrorAppended) -> str:
    part = " (in part)" if body.partial else ""
    return f"mirrored into {body.session_key}{part}"


def _fallback(view: RunView, _event: Event, body: Fallback) -> str:
    return f"fallback: {view.places.label(body.used)} instead of {view.places.label(body.asked)} ({body.reason})"


def _recovered(_view: RunView, _event: Event, body: ProcessRecovered) -> str:
    found = [
        count(number, noun)
        for number, noun in ((body.inbounds, "inbound"), (body.intents, "intent"), (body.delegations, "delegation"))
        if number
    ]
    return f"recovered: {', '.join(found) or 'nothing unfinished'}"


def _crashed(_view: RunView, _event: Event, body: ProcessCrashed) -> str:
    return f"CRASH {body.why.removeprefix('crash').strip()}".rstrip()


def _stopped(_view: RunView, _event: Event, body: ProcessStopped) -> str:
    return f"process stopped: {body.why}"


def _started(_view: RunView, event: Event, _body: ProcessStarted) -> str:
    return f"process {event.generation} started"


def _adapter(_view: RunView, _event: Event, body: AdapterFailed) -> str:
    return f"connection of {body.channel} {body.account} failed: {body.detail}, again in {body.retry_in:g} s"


def _adapter_ended(_view: RunView, _event: Event, body: AdapterEnded) -> str:
    return f"connection of {body.channel} {body.account} ended"


def _ack_failed(_view: RunView, _event: Event, body: InboundAckFailed) -> str:
    return f"the platform could not be told that the message is safe: {body.detail}"


def _skipped(_view: RunView, _event: Event, body: ScriptSkipped) -> str:
    return f"step skipped: {body.step}: {body.why}"


def _tool_refused(_view: RunView, _event: Event, body: ToolRefused) -> str:
    return f"tool {body.tool} refused: {body.reason} {body.detail}".rstrip()


def _store(_view: RunView, _event: Event, body: StoreFailed) -> str:
    return f"store: {body.error}; again in {body.retry_in:g} s"


def _ended(_view: RunView, _event: Event, body: RunEnded) -> str:
    return "at rest" if body.at_rest else f"never came to rest: {', '.join(body.open)}"


def _phase(_view: RunView, _event: Event, body: RunPhase) -> str:
    return f"phase: {body.phase}"


def _bug(_view: RunView, _event: Event, body: BugEnabled) -> str:
    return f"defect on: {body.bug}. {body.sentence}"


def _fault(_view: RunView, _event: Event, body: FaultFired) -> str:
    return f"fault: {body.fault} {body.detail}".rstrip()


def _account(_view: RunView, _event: Event, body: WorldAccount) -> str:
    return f"account {body.account} on {body.channel}"


def _limits(_view: RunView, _event: Event, body: WorldLimits) -> str:
    rate = "" if body.recovery_rate is None else f", recovered ones at {body.recovery_rate:g}/s"
    doubt = "parked" if body.mark is None else "sent once more, marked"
    return f"at most {body.max_attempts} attempts, within {body.max_age:g} s{rate}; what is in doubt is {doubt}"


def _person(_view: RunView, _event: Event, body: WorldPerson) -> str:
    return f"{body.peer.name or body.peer.id} is on {body.channel}"


def _place(view: RunView, _event: Event, body: WorldPlace) -> str:
    return f"place {view.places.label(body.address)}"


def _connected(_view: RunView, _event: Event, body: PlatformConnected) -> str:
    return f"connected to {body.channel} as {body.account}"


def _opened(view: RunView, _event: Event, body: ThreadOpened) -> str:
    return f"thread {body.name} opened in {body.address.channel}"


def _closed(view: RunView, _event: Event, body: ThreadClosed) -> str:
    return f"{view.places.label(body.address)} {body.how}"


_LABELS = cast(
    "dict[type[Body], Callable[[RunView, Event, Body], str]]",
    {
        RunPhase: _phase,
        RunEnded: _ended,
        BugEnabled: _bug,
        FaultFired: _fault,
        WorldLimits: _limits,
        WorldAccount: _account,
        WorldPerson: _person,
        WorldPlace: _place,
        WorldSession: _world_session,
        PeerSaid: _said,
        PlatformPushed: _pushed,
        PlatformConnected: _connected,
        ThreadOpened: _opened,
        ThreadClosed: _closed,
        WireAccepted: _accepted,
        WireDeduplicated: _deduplicated,
        WireRefused: _refused,
        WireResponseLost: _lost,
        WireLookedUp: _looked_up,
        ProcessStarted: _started,
        ProcessRecovered: _recovered,
        ProcessCrashed: _crashed,
        ProcessStopped: _stopped,
        ConfigReloaded: _reloaded,
        StoreFailed: _store,
        ToolRefused: _tool_refused,
        ScriptSkipped: _skipped,
        AdapterFailed: _adapter,
        AdapterEnded: _adapter_ended,
        InboundAckFailed: _ack_failed,
        InboundReceived: _received,
        RouteDecided: _route,
        InboundAdmitted: _admitted,
        InboundDropped: _inbound_dropped,
        SessionCreated: _session,
        SessionReset: _session_reset,
        SessionMoved: _session_moved,
        SessionLeft: _session_left,
        SessionShared: _session_shared,
        TranscriptAppended: _transcript,
        TurnStarted: _turn_started,
        TurnEnded: _turn_ended,
        ToolCalled: _tool,
        DelegationAccepted: _delegated,
        DelegationStarted: _hand_started,
        DelegationFinished: _hand_finished,
        DelegationIgnored: _hand_ignored,
        CompletionPlanned: _planned,
        TargetResolved: _resolved,
        SendRequested: _requested,
        SendJoined: _joined,
        SendRefused: _send_refused,
        IntentPrepared: _prepared,
        IntentSuppressed: _suppressed,
        AttemptStarted: _attempt,
        AttemptEnded: _attempt_ended,
        RecoveryDecided: _recovery,
        ChunkAcked: _acked,
        IntentSettled: _settled,
        MirrorAppended: _mirror,
        Fallback: _fallback,
        **BOUND_LABELS,
        **QUEUE_LABELS,
        **UPKEEP_LABELS,
    },
)
