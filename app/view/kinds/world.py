"""Labels and rows of what happens around the gateway: people and platforms, processes and faults, foreign gateways."""

from trunkline.app.text.cells import count, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import FORMATS, alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.lanes import Look, RowBuilder, TimelineRow
from trunkline.core.events import Event, RunEnded, adapters, gateway, leases
from trunkline.core.reasons import Reason
from trunkline.sim.events import actions, attach, model, processes, script, wire, world

# Acts of people: messages posted, delivered, received, routed, admitted or dropped, and their turns; and what else.
# They react, vote, edit and delete, and they call and hear what is said to them.

label_text(
    world.PeerSaid,
    "{bot:?bot |}{body:author} {pressed:?|says}{pressed:presses a button of message …,} {text:quoted}"
    "{files: with …|quotes} in {address:place}{stands_for:, replacing …}{echo_of:, an echo of the gateway's …}",
)


def _post_row(draw: RowBuilder, event: Event, body: world.PeerSaid | gateway.InboundReceived) -> TimelineRow:
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    look, tags = draw.inbound_look(event, Look.INBOUND)
    lane = draw.lanes.of(body.address)
    words = body.words if isinstance(body, world.PeerSaid) else " ".join(filter(None, (body.text, *body.parts)))
    return draw.arrow(event, look, lane, draw.lanes.gateway, quoted(words), who=who, tags=tags)


row(world.PeerSaid, arrow=True)(_post_row)


@label(world.PlatformPushed)
def _pushed(_view: RunView, _event: Event, body: world.PlatformPushed) -> str:
    again = " again" if body.replay else ""
    renamed = f" under a new id (was {body.original_id})" if body.message_id != body.original_id else ""
    return f"{body.address.channel} delivers {body.message_id}{again}{renamed}"


@row(world.PlatformPushed, sometimes=True, arrow=True)
def _pushed_row(draw: RowBuilder, event: Event, body: world.PlatformPushed) -> TimelineRow | None:
    if not body.replay:
        return None
    lane = draw.lanes.of(body.address)
    said = draw.view.said(body.address.channel, body.original_id)
    text = f"again {quoted(said.text) if said else body.message_id}"
    look, tags = draw.inbound_look(event, Look.RETRY)
    return draw.arrow(event, look, lane, draw.lanes.gateway, text, tags=tags or ("RP",))


label_text(
    gateway.InboundReceived,
    "the gateway receives {text:quoted}{parts: with …|quotes}{reply_chain: (reply chain … is no thread)}",
)


@row(gateway.InboundReceived, sometimes=True, arrow=True)
def _received_row(draw: RowBuilder, event: Event, body: gateway.InboundReceived) -> TimelineRow | None:
    """Only where nobody but the gateway says what people posted."""
    return None if draw.view.visible.witnessed else _post_row(draw, event, body)


@label(gateway.SenderEscaped)
def _escaped(_view: RunView, _event: Event, body: gateway.SenderEscaped) -> str:
    names = f" ({quoted(body.peer.name)}, shown as {quoted(body.shown.name)})" if body.peer.name else ""
    return f"sender {quoted(body.peer.id)} is shown to agents as {quoted(body.shown.id)}{names}: {body.reason}"


row_text(gateway.SenderEscaped, "sender shown as {shown.id:quoted}: {reason}")
label_text(gateway.InboundAckFailed, "the message could not be acknowledged to the platform: {detail}", row=alarm)
label_text(
    gateway.RouteDecided,
    "route to agent {agent} ({matched_by}), {reply_to:answers → …|place}{reply_to:?|no answers}, session {session_key}",
)
label_text(gateway.InboundAdmitted, "{work} admitted to session {session_key}")


@label(gateway.InboundDropped)
def _dropped(_view: RunView, _event: Event, body: gateway.InboundDropped) -> str:
    if body.reason is Reason.PART_OF_ACT:
        return f"taken with {body.first}: one question in several messages"
    first, detail = f", it repeats {body.first}" if body.first else "", f" ({body.detail})" if body.detail else ""
    return f"dropped: {body.reason}{first}{detail}"


@row(gateway.InboundDropped, arrow=True)
def _dropped_row(draw: RowBuilder, event: Event, body: gateway.InboundDropped) -> TimelineRow:
    received = draw.view.of_inbound(event.inbound, gateway.InboundReceived)
    origin = received[0].body if received else None
    lane = draw.lanes.of(origin.address) if isinstance(origin, gateway.InboundReceived) else draw.lanes.gateway
    if body.reason is Reason.PART_OF_ACT:
        return draw.arrow(event, Look.NOTE, lane, draw.lanes.gateway, "taken with the message before it")
    return draw.arrow(event, Look.SUPPRESSED, lane, draw.lanes.gateway, f"dropped: {body.reason}", tags=("✗",))


label_text(gateway.TurnStarted, "agent {agent} starts a turn for a {work}")
label_text(gateway.TurnEnded, "turn {outcome}{reason:: …}{detail: (…)}")
row_text(
    gateway.TurnEnded,
    "turn failed: {reason|detail}",
    look=Look.ALARM,
    tags=("✗",),
    when=lambda body: body.outcome == "failed",
)
label_text(gateway.ToolCalled, "tool {tool}{detail: …}")
label_text(gateway.ToolRefused, "tool {tool} refused: {reason}{detail: …}", row=alarm)

_Acted = world.PeerDeleted | world.PeerEdited | world.PeerReacted | world.PeerVoted


def _what(body: _Acted) -> str:
    match body:
        case world.PeerReacted():
            return f"takes back {body.emoji}" if body.removed else f"reacts with {body.emoji}"
        case world.PeerVoted():
            return f"votes for {', '.join(body.options)}" if body.options else "withdraws a vote"
        case world.PeerEdited():
            return f"edits to {quoted(body.text)}"
        case world.PeerDeleted():
            return f"deletes {quoted(body.before)}"


def _acted(view: RunView, _event: Event, body: _Acted) -> str:
    who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
    return f"{who} {_what(body)}, message {body.message_id} in {view.places.label(body.address)}"


def _acted_row(draw: RowBuilder, event: Event, body: _Acted) -> TimelineRow:
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    return draw.note(event, Look.NOTE, f"{who} {_what(body)}", draw.lanes.of(body.address))


for _kind in (world.PeerReacted, world.PeerVoted, world.PeerEdited, world.PeerDeleted):
    label(_kind)(_acted)
    row(_kind)(_acted_row)

label_text(world.CallStarted, "{peer.name} calls: {address:place} rings")
row_text(world.CallStarted, "{peer.name} calls: {address:place_name} rings", at="address")
label_text(world.CallChanged, "the call {address:place} is {state}{why: (…)}")
row_text(world.CallChanged, "{address:place_name} {state}{why: (…)}", at="address")
label_text(world.SpeechHeard, "{text:quoted}{whole:?|, and no more,} is heard in {address:place} for {seconds:g} s")
row_text(
    world.SpeechHeard,
    "{whole:?heard|cut off} after {seconds:g} s: {text:quoted}",
    look=lambda _draw, body: Look.NOTE if body.whole else Look.ALARM,
    at="address",
)


# The simulated world and its script: accounts, people, places, threads, credentials; phases, faults and the end.

label_text(
    world.WorldHeartbeat, "agent {agent} has a heartbeat every {every:g} s{target:, to …}{start:, from …}{end: to …}"
)
label_text(world.WorldAccount, "account {account} on {channel}")


label_text(
    world.WorldLimits,
    "at most {max_attempts} attempts, within {max_age:g} s{recovery_rate:, recovered ones at …/s|g}; "
    "uncertain sends are {mark:?resent with a mark|parked}",
)
label_text(world.WorldPerson, "{peer.name|peer.id} is on {channel}")
label_text(world.WorldPlace, "place {address:place}")
label_text(world.PlatformConnected, "connected to {channel} as {account}")
label_text(world.ThreadOpened, "thread {name} opened in {address.channel}")
row_text(world.ThreadOpened, "{name} opened", at="address")
label_text(world.ThreadRequestAbandoned, "the request for a thread {key} in {address:place} was given up", row=note)
label_text(world.ThreadClosed, "{address:place} {how}")
row_text(world.ThreadClosed, "{address:place_name} {how}", at="address")
label_text(world.ThreadReopened, "{address:place} accepts messages again")
row_text(world.ThreadReopened, "{address:place_name} open again", at="address")
label_text(
    world.CredentialRotated,
    "account {account} on {channel} has a new token, number {number}: older ones are refused",
    row=note,
)
label_text(world.WebhookGone, "webhook {webhook} on {channel} is {how}", row=alarm)

label_text(script.RunPhase, "phase: {phase}")
label_text(script.BugEnabled, "defect on: {bug}. {sentence}")
row_text(script.BugEnabled, "defect on: {bug}", look=Look.ALARM)
label_text(script.FaultFired, "fault: {fault}{detail: …}", row=alarm)
label_text(script.SaidTwice, "{by} says {text:quoted} again, by itself", row=note)
label_text(script.TextDenied, "{by} may not say {text:quoted}, and says it nowhere", row=note)
label_text(script.HookRewrote, "{by} makes it {text:quoted}", row=note)
label_text(script.HookCancelled, "{by} withdraws it", row=note)
label_text(script.HookRedirected, "{by} reroutes it{to:, to …}{target:, to …}{quotes:, quotes …}", row=note)
label_text(script.ScriptSkipped, "step skipped: {step}: {why}", row=alarm)
label_text(script.ScriptMissed, "not exercised: nothing reached {part}", row=alarm)


@label(RunEnded)
def _ended(_view: RunView, _event: Event, body: RunEnded) -> str:
    if body.cut:
        return f"cut {body.cut}: what the end shows is not judged"
    rests = f"at rest; {', '.join(body.waiting)} waits" if body.waiting else "at rest"
    return rests if body.at_rest else f"never came to rest: {', '.join(body.open)}"


@row(RunEnded)
def _ended_row(draw: RowBuilder, event: Event, body: RunEnded) -> TimelineRow:
    return note(draw, event, body) if body.at_rest else alarm(draw, event, body)


# Gateway processes: their start, end and leases, their configuration, store and adapters.

label_text(gateway.ProcessStarted, "process {event.generation} started")


@row(gateway.ProcessStarted, sometimes=True)
def _started_row(draw: RowBuilder, event: Event, _body: gateway.ProcessStarted) -> TimelineRow | None:
    if event.generation == 1:
        return None
    how = "restarted" if event.node == "gateway" else "started beside it"
    return draw.note(event, Look.NOTE, f"{how}, process {event.generation}")


def _counted(**numbers: int) -> str:
    """Numbers of things: ``2 intents, 1 send``."""
    return ", ".join(count(number, noun) for noun, number in numbers.items() if number)


def _recovered(body: gateway.ProcessRecovered) -> str:
    return _counted(inbound=body.inbounds, intent=body.intents, delegation=body.delegations)


FORMATS["recovered"] = lambda _view, body: _recovered(body) or "nothing unfinished"
FORMATS["pruned"] = lambda _view, body: _counted(intent=body.intents, inbound=body.inbounds, send=body.sends)
label_text(gateway.ProcessRecovered, "recovered: {body:recovered}")
row_text(gateway.ProcessRecovered, "recovered: {body:recovered}", when=lambda body: bool(_recovered(body)))


@label(processes.ProcessCrashed)
def _crashed(_view: RunView, _event: Event, body: processes.ProcessCrashed) -> str:
    return f"CRASH {body.why.removeprefix('crash').strip()}".rstrip()


@row(processes.ProcessCrashed)
def _crashed_row(draw: RowBuilder, event: Event, body: processes.ProcessCrashed) -> TimelineRow:
    return draw.note(event, Look.ALARM, _crashed(draw.view, event, body), tags=("✗",))


label_text(processes.ProcessStopped, "process stopped: {why}")
row_text(processes.ProcessStopped, "stopped: {why}", when=lambda body: body.why != "end")
label_text(processes.ProcessFrozen, "{event.generation:process} freezes: {why}")
row_text(
    processes.ProcessFrozen,
    "{event.generation:process} freezes: {why}",
    look=lambda draw, _body: Look.ALARM if draw.view.wire_side else Look.NOTE,
)
label_text(processes.ProcessThawed, "{event.generation:process} resumes", row=note)
label_text(leases.LeaseTaken, "process {event.generation} takes the store's lease{before: after …}: {reason}")


@row(leases.LeaseTaken, sometimes=True)
def _taken_row(draw: RowBuilder, event: Event, body: leases.LeaseTaken) -> TimelineRow | None:
    # Only a process that had to wait for the lease is worth a row.
    return note(draw, event, body) if event.generation in draw.stood_by else None


label_text(
    leases.LeaseAwaited, "process {event.generation} stands by, {holder} holds the store's lease: {reason}", row=note
)
label_text(leases.LeaseGone, "process {event.generation} has lost the store's lease: {reason}", row=alarm)
label_text(
    gateway.RunJoined,
    "joined while it went on: the store as it was after event {after}{left_out:; not shown: …|list}",
    row=note,
)
label_text(gateway.ConfigReloaded, "configuration {revision} takes effect: {changed:list}{changed:?|nothing} changed")
row_text(gateway.ConfigReloaded, "configuration {revision}: {changed:list}{changed:?|the same}")
label_text(leases.StoreWarned, "store: {detail}", row=alarm)
label_text(gateway.StoreFailed, "store: {error}; again in {retry_in:g} s", row=alarm)

label_text(leases.PersonErased, "a person was erased for {by}: {rows} rows removed", row=note)
label_text(leases.StorePruned, "removed: {body:pruned}: {reason}", row=note)
label_text(leases.AdapterInstalled, "the adapter of {channel} {account} is installed", row=note)
label_text(
    gateway.AdapterFailed, "connection of {channel} {account} failed: {detail}, again in {retry_in:g} s", row=alarm
)
label_text(adapters.AdapterConnected, "{channel} {account} is connected", row=note)
label_text(adapters.UpdateDropped, "an update of {channel} {account} was dropped: {reason}", row=alarm)
label_text(adapters.WebhookRefused, "a webhook of {channel} {account} was refused: {reason}", row=alarm)
label_text(
    adapters.DeliveryFailed, "{channel} {account} takes an accepted message back: {reason}{detail: (…)}", row=alarm
)
label_text(gateway.AdapterEnded, "connection of {channel} {account} ended")


# A gateway that is not ours: its start and end, the requests that arrive on the wire, and what its model is asked.

#: what becomes of a send or a change on the platform
OUTCOMES = (
    wire.WireAccepted,
    wire.WireEdited,
    wire.WireDeleted,
    wire.WireDeduplicated,
    wire.WireRefused,
    actions.WireActed,
    wire.WireResponseLost,
)

#: fields of requests that their place says already, and their method and message
_PLACES = frozenset(
    {"account", "channel", "chat_id", "message_id", "message_thread_id", "method", "room", "thread_ts", "type"}
)

label_text(
    attach.GatewayAttached, "only the wire of {gateway}{version: …} is recorded; an answer may take {patience:g} s"
)


@label(attach.GatewayLaunched, row=note)
def _launched(view: RunView, _event: Event, body: attach.GatewayLaunched) -> str:
    return f"{view.header.gateway or 'the gateway'} starts{f', start {body.number}' if body.number > 1 else ''}"


label_text(attach.GatewayReady, "the gateway is connected, {after:g} s after its start", row=note)


@label(attach.GatewayExited, row=alarm)
def _exited(_view: RunView, _event: Event, body: attach.GatewayExited) -> str:
    how = f"signal {-body.code}" if body.code < 0 else f"code {body.code}"
    said = f"; the end of its log: {quoted(body.log[-1])}" if body.log else ""
    return f"THE GATEWAY EXITS by itself, {how}{said}"


@label(attach.GatewayReachedOut, row=alarm)
def _reached_out(_view: RunView, _event: Event, body: attach.GatewayReachedOut) -> str:
    where = f"{body.address}, port {body.port} ({body.protocol})" if body.address else ""
    whom = f"asks {where} for the name {quoted(body.name)}" if where and body.name else where or quoted(body.name)
    return f"THE GATEWAY REACHES OUT: {whom}" + ("" if body.stopped else "; NOTHING STOPS IT")


@label(wire.WireCalled)
def _called(view: RunView, _event: Event, body: wire.WireCalled) -> str:
    if body.address is None:
        return f"the gateway calls {body.method} of {body.channel}"
    what = body.action.value if body.action is not None else body.what
    text = f" {quoted(body.text)}" if body.text else ""
    of = f" message {body.message_id}" if body.message_id else ""
    more = ", ".join(f"{name}={value}" for name, value in body.fields.items() if name not in _PLACES)
    said = f"a request to {what}{of}{text} arrives, for {view.places.label(body.address)}"
    return f"{said}; {more}" if more else said


@row(wire.WireCalled, sometimes=True, arrow=True)
def _called_row(draw: RowBuilder, event: Event, body: wire.WireCalled) -> TimelineRow | None:
    """A send or a change without an outcome: the connection or the gateway died before the platform took it."""
    if body.address is None or body.what not in ("send", "act"):
        return None
    children = (draw.view.event(seq).body for seq in draw.view.causes.children(event.seq))
    if any(isinstance(child, OUTCOMES) for child in children):
        return None
    action = f"{body.action.value} " if body.action is not None else ""
    goes_on = draw.view.growing and draw.view.ended is None
    what = f"{'on its way' if goes_on else 'not taken'}: {action}{quoted(body.text)}"
    return draw.outbound(event, Look.UNKNOWN, body.address, what, *(() if goes_on else ("??",)))


@label(wire.WireEdited)
def _edited(view: RunView, _event: Event, body: wire.WireEdited) -> str:
    now = "has this text already" if body.repeated else f"reads {quoted(body.text)} from now on"
    return f"message {body.message_id} of {view.places.label(body.address)} {now}"


@row(wire.WireEdited, arrow=True)
def _edited_row(draw: RowBuilder, event: Event, body: wire.WireEdited) -> TimelineRow:
    return draw.change(event, body.address, f"edit {quoted(body.text)}", repeated=body.repeated)


@label(wire.WireDeleted)
def _deleted(view: RunView, _event: Event, body: wire.WireDeleted) -> str:
    gone = "was gone already" if body.repeated else f"is deleted; it read {quoted(body.before)}"
    return f"message {body.message_id} of {view.places.label(body.address)} {gone}"


row_text(wire.WireDeleted, "delete {before:quoted}", look=Look.DELIVERED, at="address", arrow="out")
label_text(wire.WireLost, "message {provider_id} of {address:place} is not there any more: {reason}", row=alarm)
label_text(wire.WireResponded, "{channel} answers {method} with {status}")
label_text(world.PlatformConfirming, "a confirmation of message {message_id} of {address:place} arrives")
label_text(
    world.PlatformConfirmed,
    "the gateway {dropped:?has the platform discard|confirms} message {message_id} of {address:place}",
)


def _prompt(view: RunView, body: model.ModelAsked) -> str:
    """The questions in a prompt, without what the gateway wrote around them."""
    known = view.wire.questions if view.wire is not None else {}
    asked = [quoted(known[mark].body.text) for mark in body.marks if mark in known]
    return ", ".join(asked or map(quoted, body.said)) or "nothing new"


FORMATS["prompt"] = _prompt
label_text(model.ModelAsked, "the model is asked{beside:? beside a turn}: {body:prompt}")


@label(model.ModelAnswered)
def _answered(_view: RunView, _event: Event, body: model.ModelAnswered) -> str:
    return f"the model answers{'' if body.status == 200 else f' with {body.status}'}: {quoted(body.text)}"


@row(model.ModelAsked, sometimes=True, arrow=True)
def _asked_row(draw: RowBuilder, event: Event, body: model.ModelAsked) -> TimelineRow | None:
    if not draw.view.wire_side:
        return note(draw, event, body)
    if body.beside:
        return None
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.model, _prompt(draw.view, body))


@row(model.ModelAnswered, sometimes=True, arrow=True)
def _answered_row(draw: RowBuilder, event: Event, body: model.ModelAnswered) -> TimelineRow | None:
    view = draw.view
    if not view.wire_side:
        return note(draw, event, body)
    asked = view.event(event.cause).body if event.cause else None
    if isinstance(asked, model.ModelAsked) and asked.beside:
        return None
    failed = body.status != 200
    text = f"{body.status} " if failed else ""
    look = Look.ALARM if failed else Look.HAND
    return draw.arrow(event, look, draw.lanes.model, draw.lanes.gateway, f"{text}{quoted(body.text)}")
