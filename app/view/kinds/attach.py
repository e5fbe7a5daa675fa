"""A gateway that is not ours: its start and end, the requests that arrive on the wire, and what its model is asked."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.labels.templates import FORMATS
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.attach import (
    GatewayAttached,
    GatewayExited,
    GatewayLaunched,
    GatewayReachedOut,
    GatewayReady,
)
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.wire import (
    WireAccepted,
    WireCalled,
    WireDeduplicated,
    WireDeleted,
    WireEdited,
    WireRefused,
    WireResponded,
    WireResponseLost,
)
from trunkline.sim.events.world import PlatformConfirmed, PlatformConfirming

#: what becomes of a send or a change on the platform
OUTCOMES = (WireAccepted, WireEdited, WireDeleted, WireDeduplicated, WireRefused, WireActed, WireResponseLost)

label_text(
    GatewayAttached,
    "only the wire of {gateway}{version: …} is recorded; an answer may take {patience:g} s",
)


@label(GatewayLaunched, row=note)
def _launched(view: RunView, _event: Event, body: GatewayLaunched) -> str:
    return f"{view.header.gateway or 'the gateway'} starts{f', start {body.number}' if body.number > 1 else ''}"


label_text(GatewayReady, "the gateway is connected, {after:g} s after its start", row=note)


@label(GatewayExited, row=alarm)
def _exited(_view: RunView, _event: Event, body: GatewayExited) -> str:
    how = f"signal {-body.code}" if body.code < 0 else f"code {body.code}"
    said = f"; the end of its log: {quoted(body.log[-1])}" if body.log else ""
    return f"THE GATEWAY EXITS by itself, {how}{said}"


@label(GatewayReachedOut, row=alarm)
def _reached_out(_view: RunView, _event: Event, body: GatewayReachedOut) -> str:
    where = f"{body.address}, port {body.port} ({body.protocol})" if body.address else ""
    whom = f"asks {where} for the name {quoted(body.name)}" if where and body.name else where or quoted(body.name)
    return f"THE GATEWAY REACHES OUT: {whom}" + ("" if body.stopped else "; NOTHING STOPS IT")


# ---------------------------------------------------------------- requests


@label(WireCalled)
def _called(view: RunView, _event: Event, body: WireCalled) -> str:
    if body.address is None:
        return f"the gateway calls {body.method} of {body.channel}"
    what = body.action.value if body.action is not None else body.what
    text = f" {quoted(body.text)}" if body.text else ""
    of = f" message {body.message_id}" if body.message_id else ""
    return f"a request to {what}{of}{text} arrives, for {view.places.label(body.address)}"


@row(WireCalled, sometimes=True, arrow=True)
def _called_row(draw: RowBuilder, event: Event, body: WireCalled) -> TimelineRow | None:
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


@label(WireEdited)
def _edited(view: RunView, _event: Event, body: WireEdited) -> str:
    now = "has this text already" if body.repeated else f"reads {quoted(body.text)} from now on"
    return f"message {body.message_id} of {view.places.label(body.address)} {now}"


@row(WireEdited, arrow=True)
def _edited_row(draw: RowBuilder, event: Event, body: WireEdited) -> TimelineRow:
    return draw.change(event, body.address, f"edit {quoted(body.text)}", repeated=body.repeated)


@label(WireDeleted)
def _deleted(view: RunView, _event: Event, body: WireDeleted) -> str:
    gone = "was gone already" if body.repeated else f"is deleted; it read {quoted(body.before)}"
    return f"message {body.message_id} of {view.places.label(body.address)} {gone}"


row_text(WireDeleted, "delete {before:quoted}", look=Look.DELIVERED, at="address", arrow="out")
label_text(WireResponded, "{channel} answers {method} with {status}")
label_text(PlatformConfirming, "a confirmation of message {message_id} of {address:place} arrives")
label_text(
    PlatformConfirmed,
    "the gateway {dropped:?has the platform discard|confirms} message {message_id} of {address:place}",
)


# ---------------------------------------------------------------- the model


def _prompt(view: RunView, body: ModelAsked) -> str:
    """The questions in a prompt, without what the gateway wrote around them."""
    known = view.wire.questions if view.wire is not None else {}
    asked = [quoted(known[mark].body.text) for mark in body.marks if mark in known]
    return ", ".join(asked or map(quoted, body.said)) or "nothing new"


FORMATS["prompt"] = _prompt
label_text(ModelAsked, "the model is asked{beside:? beside a turn}: {body:prompt}")


@label(ModelAnswered)
def _answered(_view: RunView, _event: Event, body: ModelAnswered) -> str:
    return f"the model answers{'' if body.status == 200 else f' with {body.status}'}: {quoted(body.text)}"


@row(ModelAsked, sometimes=True, arrow=True)
def _asked_row(draw: RowBuilder, event: Event, body: ModelAsked) -> TimelineRow | None:
    if not draw.view.wire_side:
        return note(draw, event, body)
    if body.beside:
        return None
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.model, _prompt(draw.view, body))


@row(ModelAnswered, sometimes=True, arrow=True)
def _answered_row(draw: RowBuilder, event: Event, body: ModelAnswered) -> TimelineRow | None:
    view = draw.view
    if not view.wire_side:
        return note(draw, event, body)
    asked = view.event(event.cause).body if event.cause else None
    if isinstance(asked, ModelAsked) and asked.beside:
        return None
    failed = body.status != 200
    text = f"{body.status} " if failed else ""
    look = Look.ALARM if failed else Look.HAND
    return draw.arrow(event, look, draw.lanes.model, draw.lanes.gateway, f"{text}{quoted(body.text)}")
