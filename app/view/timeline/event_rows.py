"""What each event draws on the timeline: an arrow between two lanes, a note on one, or nothing of its own.

The mapping is one table, `_DRAW`. An event that it maps to `None` is internal: it is folded into the visible row before
it, and has a row of its own only when the timeline is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.labels.events import describe
from trunkline.app.view.text.cells import clean, count, quoted, seconds
from trunkline.app.view.timeline.binding_rows import BOUND_ROWS
from trunkline.app.view.timeline.row import Look, Row
from trunkline.app.view.timeline.row_builder import Drawing
from trunkline.core.events import Body, Event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.events.delivery import (
    AttemptEnded,
    BacklogWaiting,
    Fallback,
    HookFailed,
    HookSending,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    MirrorAppended,
    MirrorRefused,
    OperatorActed,
    RecoveryDecided,
    SendJoined,
    SendPreviewed,
    SendRefused,
    SendRequested,
    TransportFallback,
)
from trunkline.core.events.gateway import (
    AdapterFailed,
    ConfigReloaded,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
    InboundAckFailed,
    InboundDropped,
    InboundReceived,
    ProcessRecovered,
    ProcessStarted,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
    StoreFailed,
    ToolRefused,
    TurnEnded,
    TurnStarted,
)
from trunkline.core.events.leases import AdapterInstalled, LeaseAwaited, LeaseGone, LeaseTaken, StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.values import HandOutcome, IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import BugEnabled, ClientTold, FaultFired, ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed, ThreadClosed, ThreadOpened


def visible(draw: Drawing, event: Event) -> Row | None:
    """The row of an event, or none when it is internal."""
    drawn = _DRAW.get(type(event.body))
    return drawn(draw, event, event.body) if drawn else None


def shows(draw: Drawing, event: Event) -> bool:
    """Whether an event has a row of its own. Most can be told by their kind, without the row."""
    kind = type(event.body)
    return visible(draw, event) is not None if kind in _SOMETIMES else kind in _DRAW


def has_label(event: Event) -> bool:
    """Whether an event may draw an arrow, with words in a gap beside the gateway."""
    return type(event.body) in _ARROWS


def _said(draw: Drawing, event: Event, body: PeerSaid) -> Row:
    lane = draw.lanes.of(body.address)
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    look, tags = draw.taken(event, Look.INBOUND)
    return draw.arrow(event, look, lane, draw.lanes.gateway, quoted(body.text), who=who, tags=tags)


def _pushed(draw: Drawing, event: Event, body: PlatformPushed) -> Row | None:
    if not body.replay:
        return None
    lane = draw.lanes.of(body.address)
    said = draw.view.said(body.address.channel, body.original_id)
    text = f"again {quoted(said.text) if said else body.message_id}"
    look, tags = draw.taken(event, Look.RETRY)
    return draw.arrow(event, look, lane, draw.lanes.gateway, text, tags=tags or ("RP",))


def _inbound_dropped(draw: Drawing, event: Event, body: InboundDropped) -> Row:
    received = draw.view.of_inbound(event.inbound, InboundReceived)
    origin = received[0].body if received else None
    lane = draw.lanes.of(origin.address) if isinstance(origin, InboundReceived) else draw.lanes.gateway
    return draw.arrow(event, Look.SUPPRESSED, lane, draw.lanes.gateway, f"dropped: {body.reason}", tags=("✗",))


def _wire_accepted(draw: Drawing, event: Event, body: WireAccepted) -> Row:
    look, tags = draw.accepted(event)
    prepared = draw.view.of_intent(event.intent, IntentPrepared)
    intent = prepared[0].body if prepared else None
    chunks = intent.chunks if isinstance(intent, IntentPrepared) else 1
    part = f"{body.chunk + 1}/{chunks} " if chunks > 1 else ""
    return draw.outbound(event, look, body.address, part + quoted(body.text), *tags)


def _deduplicated(draw: Drawing, event: Event, body: WireDeduplicated) -> Row:
    return draw.outbound(event, Look.SUPPRESSED, body.address, "same key, kept one", "sup")


#: refusals that a later attempt may survive
_MAY_PASS = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT, Reason.IDENTITY_GONE})


def _refused(draw: Drawing, event: Event, body: WireRefused) -> Row:
    look = Look.RETRY if body.reason in _MAY_PASS else Look.DEAD
    return draw.outbound(event, look, body.address, f"refused: {body.reason}", "✗")


def _lost(draw: Drawing, event: Event, body: WireResponseLost) -> Row:
    lane = draw.lanes.of(body.address)
    return draw.arrow(event, Look.UNKNOWN, lane, draw.lanes.gateway, "answer lost", tags=("??",))


def _looked_up(draw: Drawing, event: Event, body: WireLookedUp) -> Row:
    text = "look-up: there" if body.found else "look-up: not there"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.address))


def _attempt_ended(draw: Drawing, event: Event, body: AttemptEnded) -> Row | None:
    address = draw.target(event)
    # What is settled or misplaced has its accept and its end as rows; who speaks instead, a fallback.
    if body.decision in ("settle", "misplaced", "as-bot") or address is None:
        return None
    when = f" at {seconds(body.retry_at)}" if body.retry_at is not None else ""
    if body.decision in ("retry", "fallback"):
        return draw.outbound(event, Look.RETRY, address, f"{body.reason}, again{when}", f"RT{body.attempt}")
    if body.decision == "fail":
        return draw.outbound(event, Look.DEAD, address, f"{body.reason}", "✗!")
    return draw.outbound(event, Look.UNKNOWN, address, f"{body.reason}: {body.decision}", "??")


_SETTLED = {
    IntentState.PARTIAL: ("½", Look.DEAD),
    IntentState.FAILED: ("✗!", Look.DEAD),
    IntentState.DEAD: ("✗!", Look.DEAD),
    IntentState.EXPIRED: ("✗!", Look.DEAD),
    IntentState.CANCELLED: ("sup", Look.SUPPRESSED),
    IntentState.UNKNOWN: ("??", Look.UNKNOWN),
    IntentState.MISPLACED: ("!!", Look.DEAD),
}


def _settled(draw: Drawing, event: Event, body: IntentSettled) -> Row | None:
    if body.state not in _SETTLED:
        return None
    tag, look = _SETTLED[body.state]
    # A state and its reason may go by one word.
    text = f"ended: {body.state}" if str(body.state) == str(body.reason) else f"{body.state}: {body.reason}"
    return draw.note(event, look, text, draw.lanes.of(draw.target(event)), (tag,))


def _suppressed(draw: Drawing, event: Event, body: IntentSuppressed) -> Row:
    turn = draw.view.nearest(event.seq, TurnStarted)
    origin = turn.body.origin if turn and isinstance(turn.body, TurnStarted) else None
    lane = draw.lanes.of(origin)
    return draw.arrow(event, Look.SUPPRESSED, draw.lanes.gateway, lane, f"{body.reason}", tags=("sup",))


def _fallback(draw: Drawing, event: Event, body: Fallback) -> Row:
    return draw.note(event, Look.NOTE, f"fallback: {body.reason}", draw.lanes.of(body.used), ("FB",))


def _other_path(draw: Drawing, event: Event, body: TransportFallback) -> Row:
    text = f"by the {body.used} path, not the {body.instead_of} one"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(draw.target(event)), ("FB",))


def _hooks(draw: Drawing, event: Event, body: HookSending) -> Row | None:
    # What they let pass as it is has its own rows.
    return None if body.verdict == "kept" else draw.note(event, Look.NOTE, describe(draw.view, event))


def _previewed(draw: Drawing, event: Event, body: SendPreviewed) -> Row:
    text = quoted(" ".join(body.chunks)) if body.chunks else count(len(body.media), "file")
    return draw.note(event, Look.SUPPRESSED, f"dry run: {text}", draw.lanes.of(body.address), ("sup",))


def _waiting(draw: Drawing, event: Event, body: LaneWaiting) -> Row:
    return draw.note(event, Look.RETRY, f"waits: {body.reason}", draw.lanes.of(body.address))


def _reopened(draw: Drawing, event: Event, body: IntentReopened) -> Row:
    return draw.note(event, Look.RETRY, f"open again: {body.reason}", draw.lanes.of(draw.target(event)))


def _mirror(draw: Drawing, event: Event, body: MirrorAppended) -> Row | None:
    if draw.view.of_intent(event.intent, WireAccepted):
        return None
    tag = "m" + draw.view.marks.mirrors.get(event.seq, "!")
    return draw.note(event, Look.MISPLACED, f"mirrored, never accepted: {quoted(body.text)}", None, (tag,))


def _hand_started(draw: Drawing, event: Event, body: DelegationStarted) -> Row:
    accepted = draw.view.of_delegation(event.delegation, DelegationAccepted)
    task = accepted[0].body if accepted else None
    text = quoted(task.task) if isinstance(task, DelegationAccepted) else "starts"
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.hand(body.hand), text)


def _hand_finished(draw: Drawing, event: Event, body: DelegationFinished) -> Row:
    good = body.outcome is HandOutcome.OK
    text = quoted(body.text) if good else f"{body.outcome}: {body.reason or clean(body.text)}"
    look, tags = (Look.HAND, ()) if good else (Look.DEAD, ("✗",))
    return draw.arrow(event, look, draw.lanes.hand(body.hand), draw.lanes.gateway, text, tags=tags)


def _hand_ignored(draw: Drawing, event: Event, body: DelegationIgnored) -> Row:
    hand = draw.lanes.hand(body.hand)
    return draw.arrow(event, Look.SUPPRESSED, hand, draw.lanes.gateway, f"ignored: {body.reason}", tags=("sup",))


def _opened(draw: Drawing, event: Event, body: ThreadOpened) -> Row:
    return draw.note(event, Look.NOTE, f"{clean(body.name)} opened", draw.lanes.of(body.address))


def _closed(draw: Drawing, event: Event, body: ThreadClosed) -> Row:
    place = draw.view.places.of(body.address)
    return draw.note(event, Look.NOTE, f"{place.name} {clean(body.how)}", draw.lanes.of(body.address))


def _turn_ended(draw: Drawing, event: Event, body: TurnEnded) -> Row | None:
    if body.outcome != "failed":
        return None
    return draw.note(event, Look.ALARM, f"turn failed: {body.reason or clean(body.detail)}", tags=("✗",))


def _crashed(draw: Drawing, event: Event, body: ProcessCrashed) -> Row:
    return draw.note(event, Look.ALARM, f"CRASH {clean(body.why.removeprefix('crash').strip())}".rstrip(), tags=("✗",))


def _stopped(draw: Drawing, event: Event, body: ProcessStopped) -> Row | None:
    return None if body.why == "end" else draw.note(event, Look.NOTE, f"stopped: {clean(body.why)}")


def _started(draw: Drawing, event: Event, _body: ProcessStarted) -> Row | None:
    if event.generation == 1:
        return None
    how = "restarted" if event.node == "gateway" else "started beside it"
    return draw.note(event, Look.NOTE, f"{how}, process {event.generation}")


def _taken(draw: Drawing, event: Event, _body: LeaseTaken) -> Row | None:
    # One that works from its start on is nothing to be told of.
    return draw.note(event, Look.NOTE, describe(draw.view, event)) if event.generation in draw.stood_by else None


def _told(draw: Drawing, event: Event, _body: Body) -> Row:
    return draw.note(event, Look.NOTE, describe(draw.view, event))


def _recovered(draw: Drawing, event: Event, body: ProcessRecovered) -> Row | None:
    if not (body.inbounds or body.intents or body.delegations):
        return None
    return draw.note(event, Look.NOTE, describe(draw.view, event))


def _recovery(draw: Drawing, event: Event, body: RecoveryDecided) -> Row:
    return draw.note(event, Look.NOTE, f"{body.decision}: {body.reason}")


def _reloaded(draw: Drawing, event: Event, body: ConfigReloaded) -> Row:
    return draw.note(event, Look.NOTE, f"configuration {body.revision}: {', '.join(body.changed) or 'the same'}")


def _session_reset(draw: Drawing, event: Event, body: SessionReset) -> Row:
    return draw.note(event, Look.NOTE, f"session reset, generation {body.generation}")


def _session_moved(draw: Drawing, event: Event, body: SessionMoved) -> Row:
    return draw.note(event, Look.NOTE, f"session moved: {body.reason}")


def _session_left(draw: Drawing, event: Event, body: SessionLeft) -> Row:
    return draw.note(event, Look.NOTE, f"session left: {body.reason}")


def _session_shared(draw: Drawing, event: Event, body: SessionShared) -> Row:
    return draw.note(event, Look.ALARM, f"{body.people} people in one session: {body.reason}")


def _requested(draw: Drawing, event: Event, body: SendRequested) -> Row:
    return draw.note(event, Look.NOTE, f"client: {quoted(body.text)} to {clean(draw.view.places.target(body.target))}")


def _joined(draw: Drawing, event: Event, body: SendJoined) -> Row:
    return draw.note(event, Look.SUPPRESSED, f"same key, one send: {clean(body.key)}", tags=("sup",))


def _send_refused(draw: Drawing, event: Event, body: SendRefused) -> Row:
    return draw.note(event, Look.DEAD, f"send refused: {body.reason}", tags=("✗",))


def _bug(draw: Drawing, event: Event, body: BugEnabled) -> Row:
    return draw.note(event, Look.ALARM, f"defect on: {body.bug}")


def _fault(draw: Drawing, event: Event, body: FaultFired) -> Row:
    return draw.note(event, Look.ALARM, f"fault: {clean(body.fault)} {clean(body.detail)}".rstrip())


def _alarm(draw: Drawing, event: Event, _body: Body) -> Row:
    return draw.note(event, Look.ALARM, describe(draw.view, event))


def _ended(draw: Drawing, event: Event, body: RunEnded) -> Row:
    return draw.note(event, Look.NOTE if body.at_rest else Look.ALARM, describe(draw.view, event))


_DRAW = cast(
    "dict[type[Body], Callable[[Drawing, Event, Body], Row | None]]",
    {
        PeerSaid: _said,
        PlatformPushed: _pushed,
        InboundDropped: _inbound_dropped,
        WireAccepted: _wire_accepted,
        WireDeduplicated: _deduplicated,
        WireRefused: _refused,
        WireResponseLost: _lost,
        WireLookedUp: _looked_up,
        AttemptEnded: _attempt_ended,
        IntentSettled: _settled,
        IntentSuppressed: _suppressed,
        Fallback: _fallback,
        TransportFallback: _other_path,
        HookSending: _hooks,
        HookFailed: _alarm,
        LaneWaiting: _waiting,
        BacklogWaiting: _alarm,
        IntentReopened: _reopened,
        OperatorActed: _told,
        MirrorRefused: _alarm,
        MirrorAppended: _mirror,
        DelegationStarted: _hand_started,
        DelegationFinished: _hand_finished,
        DelegationIgnored: _hand_ignored,
        ThreadOpened: _opened,
        ThreadClosed: _closed,
        TurnEnded: _turn_ended,
        ProcessCrashed: _crashed,
        ProcessStopped: _stopped,
        ProcessStarted: _started,
        ProcessFrozen: _told,
        ProcessThawed: _told,
        LeaseTaken: _taken,
        LeaseAwaited: _told,
        LeaseGone: _alarm,
        ProcessRecovered: _recovered,
        RecoveryDecided: _recovery,
        ConfigReloaded: _reloaded,
        SessionReset: _session_reset,
        SessionMoved: _session_moved,
        SessionLeft: _session_left,
        SessionShared: _session_shared,
        SendRequested: _requested,
        SendJoined: _joined,
        SendRefused: _send_refused,
        SendPreviewed: _previewed,
        ClientTold: _told,
        AdapterInstalled: _told,
        StorePruned: _told,
        StoreFailed: _alarm,
        AdapterFailed: _alarm,
        ToolRefused: _alarm,
        ScriptSkipped: _alarm,
        InboundAckFailed: _alarm,
        BugEnabled: _bug,
        FaultFired: _fault,
        RunEnded: _ended,
        **BOUND_ROWS,
    },
)
#: kinds that have a row of their own only where there is something to tell
_SOMETIMES: frozenset[type[Body]] = frozenset(
    {
        *(PlatformPushed, AttemptEnded, IntentSettled, HookSending, MirrorAppended, TurnEnded),
        *(ProcessStopped, ProcessStarted, LeaseTaken, ProcessRecovered),
    }
)
#: kinds whose rows go from lane to lane
_ARROWS: frozenset[type[Body]] = frozenset(
    {
        *(PeerSaid, PlatformPushed, InboundDropped, WireAccepted, WireDeduplicated, WireRefused),
        *(WireResponseLost, AttemptEnded, IntentSuppressed, FallbackDenied),
        *(DelegationStarted, DelegationFinished, DelegationIgnored),
    }
)
