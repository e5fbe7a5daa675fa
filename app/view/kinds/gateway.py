"""Labels and rows of what the gateway records: intents and sends, bindings and sessions, hands and heartbeats.

And of what platforms do with its requests, and what agents and hands do.
"""

from trunkline.app.text.cells import count, quoted, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.kinds.registry import FORMATS, alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.lanes import Look, RowBuilder, TimelineRow
from trunkline.core.events import Event, actions, bindings, delivery, gateway, heartbeat
from trunkline.core.events import hands as hand_events
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import IntentState
from trunkline.sim.events import hands as sim_hands
from trunkline.sim.events import script, wire
from trunkline.sim.events.actions import AgentActs, AgentTold, WireActed, WireAnswered
from trunkline.sim.events.world import PeerSaid, WorldSession

# Intents on their way out: prepared, attempted, retried, recovered, settled; where they wait or fall back. And what the
# platforms did with the requests: accepted, recognised, refused, answered into the void, looked up.

#: tag and look of each state that is not a plain success
_SETTLED = {
    **dict.fromkeys((IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED), ("✗!", Look.DEAD)),
    IntentState.PARTIAL: ("½", Look.DEAD),
    IntentState.CANCELLED: ("sup", Look.SUPPRESSED),
    IntentState.UNKNOWN: ("??", Look.UNKNOWN),
    IntentState.MISPLACED: ("!!", Look.DEAD),
}
#: refusals that a later attempt may survive
_MAY_PASS = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT, Reason.IDENTITY_GONE})

label_text(delivery.IntentPrepared, "{intent_kind} prepared for {address:place}: {reason}")
label_text(delivery.IntentSuppressed, "suppressed: {reason}")


@row(delivery.IntentSuppressed, arrow=True)
def _suppressed_row(draw: RowBuilder, event: Event, body: delivery.IntentSuppressed) -> TimelineRow:
    turn = draw.view.nearest(event.seq, gateway.TurnStarted)
    origin = turn.body.origin if turn and isinstance(turn.body, gateway.TurnStarted) else None
    lane = draw.lanes.of(origin)
    return draw.arrow(event, Look.SUPPRESSED, draw.lanes.gateway, lane, f"{body.reason}", tags=("sup",))


label_text(delivery.AttemptStarted, "attempt {attempt} of chunk {chunk:number} to {address:place}")
label_text(delivery.AttemptEnded, "attempt {attempt}: {reason}, so {decision}{retry_at: at …|seconds}{detail: (…)}")


@row(delivery.AttemptEnded, sometimes=True, arrow=True)
def _attempt_ended_row(draw: RowBuilder, event: Event, body: delivery.AttemptEnded) -> TimelineRow | None:
    address = draw.target(event)
    # A settled or misplaced attempt has its accept and its end as rows; one sent as the bot has its fallback.
    if body.decision in ("settle", "misplaced", "as-bot") or address is None:
        return None
    when = f" at {seconds(body.retry_at)}" if body.retry_at is not None else ""
    if body.decision in ("retry", "fallback"):
        return draw.outbound(event, Look.RETRY, address, f"{body.reason}, again{when}", f"RT{body.attempt}")
    if body.decision == "fail":
        return draw.outbound(event, Look.DEAD, address, f"{body.reason}", "✗!")
    return draw.outbound(event, Look.UNKNOWN, address, f"{body.reason}: {body.decision}", "??")


label_text(delivery.RecoveryDecided, "recovery: {decision}, {reason}, after {attempts:count attempt}")
row_text(delivery.RecoveryDecided, "{decision}: {reason}")
label_text(delivery.ChunkAcked, "receipt {provider_id} of chunk {chunk:number} stored: {reason}")
label_text(delivery.IntentSettled, "intent {state}: {reason}{detail: (…)}")


@row(delivery.IntentSettled, sometimes=True)
def _settled_row(draw: RowBuilder, event: Event, body: delivery.IntentSettled) -> TimelineRow | None:
    if body.state not in _SETTLED:
        return None
    tag, look = _SETTLED[body.state]
    # A state and its reason may be the same word.
    text = f"ended: {body.state}" if str(body.state) == str(body.reason) else f"{body.state}: {body.reason}"
    return draw.note(event, look, text, draw.lanes.of(draw.target(event)), (tag,))


label_text(delivery.IntentReopened, "reopened (was {before}), from chunk {chunk:number} on: {reason}")
row_text(delivery.IntentReopened, "reopened: {reason}", look=Look.RETRY, at="intent")
label_text(delivery.Fallback, "fallback: {used:place} instead of {asked:place} ({reason})")
row_text(delivery.Fallback, "fallback: {reason}", at="used", tags=("FB",))
label_text(delivery.TransportFallback, "sent by the {used} path instead of the {instead_of} path: {reason}")
row_text(delivery.TransportFallback, "by the {used} path, not the {instead_of} one", at="intent", tags=("FB",))
label_text(delivery.LaneWaiting, "{address:place} waits until {until:seconds}: {reason}{detail: (…)}")
row_text(delivery.LaneWaiting, "waits: {reason}", look=Look.RETRY, at="address")
label_text(delivery.BacklogWaiting, "the queue is full, {open} of {limit} open: new messages wait", row=alarm)


@label(wire.WireAccepted)
def _accepted(view: RunView, _event: Event, body: wire.WireAccepted) -> str:
    misplaced = body.requested.lane != body.address.lane
    requested = f", requested for {view.places.label(body.requested)}" if misplaced else ""
    place = view.places.short(view.places.of(body.address))
    who = f", as {body.identity}" if body.identity else ""
    return f"{body.address.channel} accepts {quoted(body.text)} in {place}{requested}{who}"


@row(wire.WireAccepted, arrow=True)
def _accepted_row(draw: RowBuilder, event: Event, body: wire.WireAccepted) -> TimelineRow:
    look, tags = draw.accepted_look(event)
    prepared = draw.view.prepared(event)
    chunks = prepared.chunks if prepared is not None else 1
    part = f"{body.chunk + 1}/{chunks} " if chunks > 1 else ""
    return draw.outbound(event, look, body.address, part + quoted(body.text), *tags)


label_text(
    wire.WireDeduplicated, "{address.channel} recognises the key and repeats the first receipt; nothing new is visible"
)
row_text(wire.WireDeduplicated, "same key, kept one", look=Look.SUPPRESSED, at="address", tags=("sup",), arrow="out")
label_text(wire.WireRefused, "{address.channel} refuses{action: …}: {reason}{detail: (…)}")
row_text(
    wire.WireRefused,
    "refused: {reason}",
    look=lambda _draw, body: Look.RETRY if body.reason in _MAY_PASS else Look.DEAD,
    at="address",
    tags=("✗",),
    arrow="out",
)
label_text(wire.WireResponseLost, "the response of {address.channel}{action: to …} is lost")
row_text(wire.WireResponseLost, "response lost", look=Look.UNKNOWN, at="address", tags=("??",), arrow="in")
label_text(wire.WireLookedUp, "look-up on {address.channel}: {found:?found|not found}")
row_text(wire.WireLookedUp, "look-up: {found:?found|not found}", at="address")


# What is to be sent: requests of clients and operators, the message tool of agents, and the message hooks.

label_text(script.OperatorAsked, "a program asks for {what} of agent {agent}: {text:quoted}")
label_text(script.ClientRequested, "a client asks for {dry_run:?a dry run|a send}, key {key}")
label_text(
    script.ClientAnswered,
    "the client gets its result: {status}{provider_id:, message …}{cached:?, as before}{detail: (…)}",
    row=note,
)
label_text(delivery.SendRequested, "a client asks to send {text:quoted} to {target:target}{channel: on …}, key {key}")
row_text(delivery.SendRequested, "client: {text:quoted} to {target:target}")
label_text(
    delivery.TargetResolved,
    "target {target:quoted} is {address:place}, session {session_key}{answered_by:; answers go to the agent …}",
)
label_text(
    delivery.SendJoined,
    "send {key} is a repeat: {ended:?it gets the first result|it waits for the first result} ({reason})",
)
row_text(delivery.SendJoined, "same key, one send: {key}", look=Look.SUPPRESSED, tags=("sup",))
label_text(delivery.SendRefused, "send {key} refused: {reason}: {detail}")
row_text(delivery.SendRefused, "send refused: {reason}", look=Look.DEAD, tags=("✗",))
label_text(
    delivery.SendPreviewed,
    "dry run of {key}: {chunks:quotes}{media: with …|count file} to {address:place}"
    "{session_key:, session …}{session_key:?|, not mirrored}",
)


@row(delivery.SendPreviewed)
def _previewed_row(draw: RowBuilder, event: Event, body: delivery.SendPreviewed) -> TimelineRow:
    text = quoted(" ".join(body.chunks)) if body.chunks else count(len(body.media), "file")
    return draw.note(event, Look.SUPPRESSED, f"dry run: {text}", draw.lanes.of(body.address), ("sup",))


@label(delivery.HookSending)
def _sending(view: RunView, _event: Event, body: delivery.HookSending) -> str:
    hooks = ", ".join(body.by)
    if body.verdict == "kept":
        return "the hooks leave it unchanged"
    done = "cancel it" if body.verdict == "cancelled" else "change it"
    what = "" if body.verdict == "cancelled" or body.changed in ((), ("text",)) else f", {', '.join(body.changed)}"
    where = "" if body.to is None else f" {view.places.label(body.to)}"
    return f"hooks {done}{f' ({hooks})' if hooks else ''}{what}{where}: {body.reason}"


@row(delivery.HookSending, sometimes=True)
def _sending_row(draw: RowBuilder, event: Event, body: delivery.HookSending) -> TimelineRow | None:
    # A message that the hooks leave unchanged has its own rows.
    return None if body.verdict == "kept" else note(draw, event, body)


label_text(delivery.HookFailed, "hook {hook} fails at {phase}: {reason} ({detail})", row=alarm)
label_text(
    delivery.ChunkerFailed,
    "the chunker of {channel}:{account} fails, a built-in one splits the text: {detail}",
    row=alarm,
)
label_text(delivery.HookSent, "the hooks are notified: {state}, {reason}{provider_id:, message …}")
label_text(delivery.OperatorActed, "operator: {verb}{detail:, …}", row=note)


@label(WireActed)
def _acted(view: RunView, event: Event, body: WireActed) -> str:
    what = f" {quoted(body.text)}" if body.text else ""
    old = f", {quoted(body.before)} until now" if body.before and not body.repeated else ""
    again = ", which was so already" if body.repeated else ""
    return f"{body.address.channel} carries out {body.action.value}{what}{_of(view, event, body)}{old}{again}"


def _of(view: RunView, event: Event, body: WireActed) -> str:
    """The message that a change concerns: the event that made it visible, else its id."""
    if body.message_id is None:
        return ""
    prepared = view.prepared(event)
    for accepted, made in typed(view.of_intent(prepared.of), wire.WireAccepted) if prepared is not None else ():
        if accepted.seq < event.seq and made.provider_id == body.message_id:
            return f" of #{accepted.seq}"
    said = view.visible.posted(body.address.channel, body.message_id)
    if said is not None and isinstance(said.body, PeerSaid) and said.body.address.lane[2:] == body.address.lane[2:]:
        return f" of #{said.seq}"
    return f" of message {body.message_id}"


@row(WireActed, arrow=True)
def _acted_row(draw: RowBuilder, event: Event, body: WireActed) -> TimelineRow:
    what = f" {quoted(body.text)}" if body.text else ""
    text = f"{body.action.value}{what}{_of(draw.view, event, body)}"
    return draw.change(event, body.address, text, repeated=body.repeated)


label_text(AgentTold, "the tool answers {agent} for {action}: {status}{reason:, …}")
label_text(AgentActs, "the agent asks for {action}{message: on …}")
row_text(AgentActs, "{action} {message}")
label_text(WireAnswered, "{address.channel} answers {action}")
row_text(WireAnswered, "answers {action}", at="address")
label_text(
    actions.PolicyDecided,
    "the cross-context policy {allowed:?allows|denies} {action} to {target}{mark:, marked …|quoted} ({reason})",
)
row_text(
    actions.PolicyDecided,
    "policy: {action} {allowed:?allowed|denied}",
    look=lambda _draw, body: Look.NOTE if body.allowed else Look.SUPPRESSED,
)
label_text(actions.ActionPreviewed, "dry run of {action} on {channel}; nothing is stored or sent")
row_text(actions.ActionPreviewed, "dry run: {action}")
label_text(actions.ActionAnswered, "{channel} answers {action}{reason: (…)}")
row_text(actions.ActionAnswered, "{action} answered")
label_text(actions.TranscriptChanged, "a line of the transcript of {session_key} changes")
row_text(actions.TranscriptChanged, "transcript line changed")


# Bindings and sessions: bound, ended, made, moved; transcripts, the completion router, identities, chat commands.


def command(name: str) -> str:
    """A chat command as people type it."""
    return f"/{name.removeprefix('/')}"


FORMATS["command"] = lambda _view, name: command(name)

label_text(
    bindings.BindingBound,
    "{event.binding:binding} binds {conversation:place} to session {session_key}{label: (…)}, by {by}"
    "{instead_of:, instead of …|binding}",
)
row_text(bindings.BindingBound, "{event.binding:binding} → {label|session_key}", at="conversation")
label_text(
    bindings.BindingTouched, "{event.binding:binding} touched by an {by} message{expires_at:, expires at …|seconds}"
)
label_text(bindings.BindingEnding, "{event.binding:binding} is ending, with {under_way:count item} in flight: {reason}")
row_text(bindings.BindingEnding, "{event.binding:binding} ending: {reason}", at="conversation")
label_text(
    bindings.BindingEnded,
    "{event.binding:binding} has ended{by:, by …}: {reason}{detail: (…)}, {conversation:place} is free",
)
row_text(bindings.BindingEnded, "{event.binding:binding} ended: {reason}", at="conversation")
label_text(
    bindings.BindingRefused,
    "{verb}{conversation: of …|target}{session_key: with session …} refused: {reason}{detail: (…)}",
    row=alarm,
)
label_text(
    bindings.BindingDegraded,
    "{event.binding:binding} has lost {identity} after {fallbacks:count send} as the bot: {reason}",
)


@row(bindings.BindingDegraded)
def _degraded_row(draw: RowBuilder, event: Event, body: bindings.BindingDegraded) -> TimelineRow:
    binding = draw.view.bindings.row(event.binding, event.seq)
    lane = draw.lanes.of(binding.conversation) if binding else None
    text = f"{draw.view.bindings.name(event.binding)}: only the bot now, {body.reason}"
    return draw.note(event, Look.ALARM, text, lane)


FORMATS["spaced"] = lambda _view, word: word.replace("_", " ")
label_text(
    bindings.RouterDecided,
    "router: {conversation:?the|no bound conversation for the} {event_kind:spaced} of session {target_session_key}"
    "{conversation: goes to …|place}: {reason}",
)
row_text(
    bindings.RouterDecided,
    "router{conversation: → …|place_alone}: {conversation:?|nowhere bound, }{reason}",
    look=lambda _draw, body: Look.NOTE if body.conversation else Look.ALARM,
)
label_text(
    bindings.FallbackDenied,
    "fallback denied: not to {refused:place} instead of {asked:…|place}{asked:?|its place, which is gone} ({reason}), "
    "{notice:?only a notice goes there|nothing goes there}",
)


@row(bindings.FallbackDenied, arrow=True)
def _denied_row(draw: RowBuilder, event: Event, body: bindings.FallbackDenied) -> TimelineRow:
    text = f"denied: {body.reason}"
    if body.refused is None:
        return draw.note(event, Look.SUPPRESSED, text, draw.lanes.of(body.asked), ("sup",))
    return draw.outbound(event, Look.SUPPRESSED, body.refused, text, "sup")


label_text(bindings.IdentityFallback, "chunk {chunk:number} goes out as {used} instead of {instead_of}: {reason}")
row_text(bindings.IdentityFallback, "as {used}: {reason}", at="intent", tags=("FB",))
label_text(bindings.PlaceReopened, "the gateway unarchives {address:place} to post there")
row_text(bindings.PlaceReopened, "{address:place_name} unarchived by the gateway", at="address")
label_text(bindings.ControlCalled, "{command:command}{argument: …}, sent by {by}")
label_text(bindings.ControlEnded, "{command:command} {outcome}{reason:: …}{detail: (…)}")
row_text(bindings.ControlEnded, "{command:command} {outcome}{reason:: …}")

label_text(gateway.SessionCreated, "session {session_key} created for {address:place}, by {by}")
label_text(WorldSession, "session {session_key} is in the store{address:, of …|place}")
label_text(gateway.SessionReset, "session {session_key} is reset, generation {generation}")
row_text(gateway.SessionReset, "session reset, generation {generation}")
label_text(gateway.SessionMoved, "session {old_key} moves to {session_key}: {reason}")
row_text(gateway.SessionMoved, "session moved: {reason}")
label_text(gateway.SessionLeft, "session {old_key} is left{session_key:, for …}: {reason}")
row_text(gateway.SessionLeft, "session left: {reason}")
label_text(
    gateway.SessionShared, "{people} people share session {session_key}, {peer.name|peer.id} is the newest: {reason}"
)
row_text(gateway.SessionShared, "{people} people in one session: {reason}", look=Look.ALARM)
label_text(gateway.DeedReceived, "{deed} of message {of} in {address:place}: {outcome}{reason:, …}")
row_text(gateway.DeedReceived, "{deed} {outcome}{reason:: …}", at="address")
label_text(gateway.TranscriptAppended, "transcript of {session_key}: {role} {text:quoted}")
label_text(delivery.MirrorAppended, "mirrored into {session_key}{partial:? (in part)}")


@row(delivery.MirrorAppended, sometimes=True, arrow=True)
def _mirrored_row(draw: RowBuilder, event: Event, body: delivery.MirrorAppended) -> TimelineRow | None:
    """Only a mirror of what no platform accepted; and where none says so, the text that was sent."""
    text = quoted(body.text)
    if draw.view.of_intent(event.intent, wire.WireAccepted):
        return None
    if draw.view.visible.witnessed:
        tag = "m" + draw.view.marks.mirrors.get(event.seq, "!")
        return draw.note(event, Look.MISPLACED, f"mirrored, never accepted: {text}", None, (tag,))
    target = draw.target(event)
    return draw.outbound(event, Look.DELIVERED, target, text) if target else draw.note(event, Look.NOTE, text)


label_text(
    delivery.MirrorRefused, "mirroring into {session_key} failed and will be retried: {reason} ({detail})", row=alarm
)


# Work that the gateway delegates to hands, how its completion is announced, and what the hands did and saw.

#: shape, word and tone of a callback, and what the report of its delegation has come to
CALLBACK_LOOKS: dict[CallbackState, tuple[str, str, Tone, str]] = {
    CallbackState.WAITING: ("·", "waiting", Tone.DIM, "the work has not ended"),
    CallbackState.PENDING_TURN: ("○", "TURN DUE", Tone.PLAIN, "its turn is due"),
    CallbackState.IN_TURN: ("↻", "IN TURN", Tone.PLAIN, "the agent that delegated works on it"),
    CallbackState.QUEUED: ("◐", "QUEUED", Tone.WARN, "its message is in the queue"),
    CallbackState.PARKED: ("?", "PARKED", Tone.WARN, "its message waits"),
    CallbackState.DELIVERED: ("✓", "DELIVERED", Tone.GOOD, "the platform has accepted it"),
    CallbackState.UNDELIVERABLE: ("✗", "UNDELIVERABLE", Tone.BAD, "nobody gets it"),
    CallbackState.SUPPRESSED: ("–", "SUPPRESSED", Tone.DIM, "deliberately nothing is sent"),
}
#: callbacks of which people get nothing: look and tags of the row
_UNSEEN_CALLBACKS = {
    CallbackState.PARKED: (Look.UNKNOWN, ("?",)),
    CallbackState.UNDELIVERABLE: (Look.DEAD, ("✗",)),
    CallbackState.SUPPRESSED: (Look.SUPPRESSED, ("sup",)),
}
FORMATS["callback"] = lambda _view, state: CALLBACK_LOOKS[state][3]
FORMATS["origin"] = lambda view, body: (
    f"origin {view.places.label(body.origin)}" if body.origin else "for another hand" if body.depth else "no origin"
)
FORMATS["kind_of_hand"] = lambda _view, kind: f"{kind} " if kind in ("agent", "worker") else ""
FORMATS["steps"] = lambda view, steps: "; ".join(step_label(view, step) for step in steps)


def step_label(view: RunView, step: hand_events.CompletionStep) -> str:
    return f"{step.mode} → {view.places.label(step.address)} ({step.reason})"


label_text(
    hand_events.DelegationAccepted,
    "{task:quoted} for {hand_kind:kind_of_hand}hand {hand}{label:, label …|quoted}, {body:origin}",
)
label_text(hand_events.DelegationStarted, "hand {hand} starts{worker:, taken by worker …}")


@row(hand_events.DelegationStarted, arrow=True)
def _started_row(draw: RowBuilder, event: Event, body: hand_events.DelegationStarted) -> TimelineRow:
    accepted = draw.view.of_delegation(event.delegation, hand_events.DelegationAccepted)
    task = accepted[0].body if accepted else None
    text = quoted(task.task) if isinstance(task, hand_events.DelegationAccepted) else "starts"
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.hand(body.hand), text)


label_text(hand_events.DelegationProgressed, "hand {hand} reports its progress: {text:quoted}")
row_text(hand_events.DelegationProgressed, "progress: {text:quoted}", at="hand", arrow="in")
label_text(hand_events.DelegationFinished, "hand {hand} {outcome}{reason: (…)}{by: by …} {text:quoted}")


@row(hand_events.DelegationFinished, arrow=True)
def _finished_row(draw: RowBuilder, event: Event, body: hand_events.DelegationFinished) -> TimelineRow:
    good = body.outcome is HandOutcome.OK
    text = quoted(body.text) if good else f"{body.outcome}: {body.reason or body.text}"
    look, tags = (Look.HAND, ()) if good else (Look.DEAD, ("✗",))
    return draw.arrow(event, look, draw.lanes.hand(body.hand), draw.lanes.gateway, text, tags=tags)


label_text(hand_events.DelegationIgnored, "later result of hand {hand} ignored{by:, from …}: {reason}")
row_text(hand_events.DelegationIgnored, "ignored: {reason}", look=Look.SUPPRESSED, at="hand", arrow="in", tags=("sup",))
label_text(hand_events.AnswerTurnedAway, "{verb}{by: by …} refused: {reason}{detail: (…)}", row=alarm)
label_text(hand_events.CallbackChanged, "callback {before} → {state}{reason: (…)}: {state:callback}")


@row(hand_events.CallbackChanged, sometimes=True)
def _callback_row(draw: RowBuilder, event: Event, body: hand_events.CallbackChanged) -> TimelineRow | None:
    """Only what people do not get: the turn and the message have rows of their own."""
    if body.state not in _UNSEEN_CALLBACKS:
        return None
    look, tags = _UNSEEN_CALLBACKS[body.state]
    text = f"callback {body.state}" + (f": {body.reason}" if body.reason else "")
    return draw.note(event, look, text, tags=tags)


label_text(hand_events.CompletionPlanned, "completion plan: {steps:steps}{steps:?|no announcement}")

label_text(sim_hands.HandBegan, "hand {hand} begins {task:quoted}")
label_text(sim_hands.HandProgressed, "hand {hand} reports {text:quoted}")
label_text(sim_hands.AgentDelegated, "agent {agent} gives {task:quoted} to hand {hand}{refused:, refused: …}")
label_text(sim_hands.AgentChecked, "agent {agent} asks for its hands ({call}): {answer:quoted}")
label_text(
    sim_hands.AgentGiven,
    "agent {agent} is given {text:quoted} by {peer.id}{asked_by:, for …|person}{prompts:, with …|count prompt}",
)
label_text(sim_hands.AgentAnswered, "agent {agent} returns{text: …|quoted}{failed:, fails: …}")
label_text(sim_hands.AgentSends, "agent {agent} wants {text:quoted} said{to: at …}")
label_text(sim_hands.AgentReasoned, "agent {agent} thinks aloud, which is for nobody")
label_text(sim_hands.AgentQuotes, "agent {agent} says that it answers {message}")
label_text(sim_hands.WorkerTook, "worker {worker} takes {task:quoted} for hand {hand}", row=note)
label_text(sim_hands.WorkerDied, "worker {worker} dies with a task of hand {hand}", row=note)


@label(sim_hands.HandAnswered)
def _answered(_view: RunView, _event: Event, body: sim_hands.HandAnswered) -> str:
    return f"hand {body.hand} returns {'nothing' if body.silent else quoted(body.text)} ({body.outcome})"


label_text(sim_hands.WorkerReported, "worker {worker} reports {text:quoted} of {named}{reason:, refused: …}", row=note)
label_text(
    sim_hands.WorkerAnswered,
    "worker {worker} answers {named}{ticket_right:?| with a wrong ticket}: {outcome} {text:quoted}"
    "{reason|detail:, refused: …}",
    row=note,
)


# Heartbeats and the schedule: due, skipped by a guard, started, and how they ended.


def _guards(_view: RunView, guards: tuple[heartbeat.GuardResult, ...]) -> str:
    """The answer of the guard that stopped it; the Why pane has the others."""
    said = [f"{guard.guard} says {guard.reason.value}" for guard in guards if guard.reason is not None]
    return f"; {', '.join(said)}" if said else ""


def _why(_view: RunView, body: heartbeat.HeartbeatEnded) -> str:
    """The reason of an end, unless its status says it already."""
    return f" ({body.reason.value})" if body.reason is not None and body.reason.value != body.status else ""


FORMATS.update({"guards": _guards, "why_ended": _why})
label_text(heartbeat.HeartbeatScheduled, "the heartbeat of {agent} is scheduled{next_at: for …|seconds}")
row_text(heartbeat.HeartbeatScheduled, "heartbeat of {agent} scheduled")
label_text(heartbeat.HeartbeatDue, "the heartbeat of {agent} is due: {reason}{wake:, …}")
label_text(heartbeat.HeartbeatSkipped, "the heartbeat of {agent} is skipped: {reason}{detail: (…)}{guards:guards}")
row_text(heartbeat.HeartbeatSkipped, "heartbeat of {agent} skipped: {reason}", look=Look.SUPPRESSED)
label_text(
    heartbeat.HeartbeatStarted,
    "the heartbeat of {agent} starts, {to:answers → …|place}{to:?|no answers}{reason: (…)}{events:, … events}"
    "{detail:, …}{guards:guards}",
)
row_text(heartbeat.HeartbeatStarted, "heartbeat of {agent} ({wake})")
label_text(
    heartbeat.HeartbeatEnded,
    "the heartbeat of {agent} ends: {status}{to: to …|place}{body:why_ended}{detail: …}{preview:: …|quoted}",
)
row_text(
    heartbeat.HeartbeatEnded,
    "heartbeat {status}{body:why_ended}",
    look=lambda _, body: Look.ALARM if body.status == "failed" else Look.SUPPRESSED if body.silent else Look.NOTE,
)
label_text(heartbeat.SystemEventAdded, "the next heartbeat of {agent} will deal with {text:quoted}{source:, from …}")
row_text(heartbeat.SystemEventAdded, "event for {agent}: {text:quoted}")
label_text(heartbeat.CronScheduled, "entry {entry} of the schedule is planned{next_at: for …|seconds}{reason: (…)}")
row_text(heartbeat.CronScheduled, "schedule: {entry} planned")
label_text(heartbeat.CronDue, "entry {entry} of the schedule fires ({reason}) and starts a {starts} of {agent}")
row_text(heartbeat.CronDue, "schedule: {entry} fires")
label_text(heartbeat.CronEnded, "the turn of entry {entry} of the schedule ends: {outcome}{reason: (…)}")
