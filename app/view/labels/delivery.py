"""Words for what happens to messages beside their attempts: hooks, dry runs, waiting, operators, clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.text.cells import count, quoted, seconds
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    BacklogWaiting,
    HookFailed,
    HookSending,
    HookSent,
    IntentReopened,
    LaneWaiting,
    MirrorRefused,
    OperatorActed,
    SendPreviewed,
    TransportFallback,
)
from trunkline.core.events.leases import AdapterInstalled, StorePruned
from trunkline.sim.events.script import ClientAsked, ClientTold


def _asked(_view: RunView, _event: Event, body: ClientAsked) -> str:
    return f"a client asks for {'a dry run' if body.dry_run else 'a send'}, key {body.key}"


def _told(_view: RunView, _event: Event, body: ClientTold) -> str:
    receipt = f", message {body.provider_id}" if body.provider_id else ""
    again = ", as before" if body.cached else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"the client is told: {body.status}{receipt}{again}{detail}"


def _previewed(view: RunView, _event: Event, body: SendPreviewed) -> str:
    files = f" with {count(len(body.media), 'file')}" if body.media else ""
    session = f", session {body.session_key}" if body.session_key else ", remembered by no session"
    texts = " ".join(quoted(chunk) for chunk in body.chunks)
    return f"dry run of {body.key}: {texts}{files} to {view.places.label(body.address)}{session}"


def _sending(_view: RunView, _event: Event, body: HookSending) -> str:
    hooks = ", ".join(body.by)
    if body.verdict == "kept":
        return "the hooks leave it as it is"
    done = "cancel it" if body.verdict == "cancelled" else "change it"
    return f"hooks {done}{f' ({hooks})' if hooks else ''}: {body.reason}"


def _failed(_view: RunView, _event: Event, body: HookFailed) -> str:
    return f"hook {body.hook} fails at {body.phase}: {body.reason} ({body.detail})"


def _sent(_view: RunView, _event: Event, body: HookSent) -> str:
    receipt = f", message {body.provider_id}" if body.provider_id else ""
    return f"the hooks are told: {body.state}, {body.reason}{receipt}"


def _reopened(_view: RunView, _event: Event, body: IntentReopened) -> str:
    return f"open again, {body.before} before, from chunk {body.chunk + 1} on: {body.reason}"


def _operator(_view: RunView, _event: Event, body: OperatorActed) -> str:
    return f"an operator says {body.verb}{f': {body.detail}' if body.detail else ''}"


def _other_path(_view: RunView, _event: Event, body: TransportFallback) -> str:
    return f"by the {body.used} path instead of the {body.instead_of} one: {body.reason}"


def _waiting(view: RunView, _event: Event, body: LaneWaiting) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    return f"{view.places.label(body.address)} waits until {seconds(body.until)}: {body.reason}{detail}"


def _backlog(_view: RunView, _event: Event, body: BacklogWaiting) -> str:
    return f"the queue is full, {body.open} of {body.limit} open: who wants to say something waits"


def _unmirrored(_view: RunView, _event: Event, body: MirrorRefused) -> str:
    return f"transcript of {body.session_key} refuses the line, it is tried again: {body.reason} ({body.detail})"


def _pruned(_view: RunView, _event: Event, body: StorePruned) -> str:
    kinds = ((body.intents, "intent"), (body.inbounds, "inbound"), (body.sends, "send"))
    return f"removed: {', '.join(count(number, noun) for number, noun in kinds if number)}: {body.reason}"


def _installed(_view: RunView, _event: Event, body: AdapterInstalled) -> str:
    return f"the adapter of {body.channel} {body.account} is there"


#: by the type of the body; see `trunkline.app.view.labels.events`
QUEUE_LABELS = cast(
    "dict[type[Body], Callable[[RunView, Event, Body], str]]",
    {
        ClientAsked: _asked,
        ClientTold: _told,
        SendPreviewed: _previewed,
        HookSending: _sending,
        HookFailed: _failed,
        HookSent: _sent,
        IntentReopened: _reopened,
        OperatorActed: _operator,
        TransportFallback: _other_path,
        LaneWaiting: _waiting,
        BacklogWaiting: _backlog,
        MirrorRefused: _unmirrored,
        StorePruned: _pruned,
        AdapterInstalled: _installed,
    },
)
