"""Which events of a gateway get a line in the log, and at which level.

Worth a line is what an operator has to know: the life of the process, what is lost or waits for a decision, and what
fails and is tried again. The messages themselves are not: their texts are only written at the level ``debug``, where
every event has a line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.events.delivery import (
    BacklogWaiting,
    IntentSettled,
    MirrorRefused,
    OperatorActed,
)
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    ConfigReloaded,
    InboundDropped,
    ProcessRecovered,
    ProcessStarted,
    SessionShared,
    StoreFailed,
    TurnEnded,
)
from trunkline.core.events.leases import AdapterInstalled, LeaseAwaited, LeaseGone, LeaseTaken, StorePruned
from trunkline.core.events.trace import encode_event
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

LOG = logging.getLogger("trunkline.gateway")
_INFO, _WARNING, _ERROR = logging.INFO, logging.WARNING, logging.ERROR
#: messages that are dropped for a defect, not because they came twice or were empty
_BAD_MESSAGES = frozenset({Reason.BAD_ENVELOPE, Reason.UNDECIDABLE})
#: ends of messages that nobody has to look at
_GOOD_ENDS = frozenset({IntentState.DELIVERED, IntentState.CANCELLED})

#: level and text of an entry; none: no entry
Line = tuple[int, str] | None


def _settled(body: IntentSettled) -> Line:
    if body.state in _GOOD_ENDS:
        return None
    waits = "; it waits for an operator" if body.state is IntentState.UNKNOWN else ""
    return _WARNING, f"a message ended as {body.state.value}: {body.reason.value}{waits}"


def _turn_ended(body: TurnEnded) -> Line:
    if body.outcome != "failed":
        return None
    return _WARNING, f"a turn failed: {body.reason.value if body.reason else 'no reason'}"


def _dropped(body: InboundDropped) -> Line:
    return (_WARNING, f"a message was refused: {body.reason.value}") if body.reason in _BAD_MESSAGES else None


_LINES: dict[type[Body], Callable[[Any], Line]] = {
    ProcessStarted: lambda body: (_INFO, f"the gateway starts, with configuration {body.revision}"),
    LeaseTaken: lambda _: (_INFO, "this process holds the store"),
    LeaseAwaited: lambda body: (_WARNING, f"{body.holder} holds the store: this process stands by until it stops"),
    LeaseGone: lambda _: (_ERROR, "another process has taken over the store"),
    ProcessRecovered: lambda body: (
        _INFO,
        f"unfinished work of an earlier process goes on: {body.inbounds} turns, {body.intents} messages,"
        f" {body.delegations} delegations",
    ),
    ConfigReloaded: lambda body: (_INFO, f"the gateway follows configuration {body.revision}"),
    StoreFailed: lambda body: (_ERROR, f"the store refused a write, tried again in {body.retry_in:g} s: {body.error}"),
    AdapterFailed: lambda body: (
        _WARNING,
        f"the connection of {body.channel}:{body.account} failed, opened again in {body.retry_in:g} s",
    ),
    AdapterEnded: lambda body: (_WARNING, f"{body.channel}:{body.account} ended: nothing more is received from it"),
    AdapterInstalled: lambda body: (_INFO, f"{body.channel}:{body.account} was added"),
    AdapterConnected: lambda body: (_INFO, f"{body.channel}:{body.account} is connected"),
    UpdateDropped: lambda body: (
        _WARNING,
        f"an update of {body.channel}:{body.account} was dropped: {body.reason.value}",
    ),
    WebhookRefused: lambda body: (
        _WARNING,
        f"a webhook of {body.channel}:{body.account} was refused: {body.reason.value}"
        + (f", and {body.before} requests before it" if body.before else ""),
    ),
    DeliveryFailed: lambda body: (
        _WARNING,
        f"{body.channel}:{body.account} reports that it could not deliver an accepted message",
    ),
    StorePruned: lambda body: (_INFO, f"old rows were removed: {body.inbounds} inbound, {body.intents} outbound"),
    BacklogWaiting: lambda body: (_WARNING, f"the queue is full with {body.open} messages: new ones wait"),
    OperatorActed: lambda body: (_INFO, f"an operator's command: {body.verb}"),
    MirrorRefused: lambda body: (_WARNING, f"a transcript could not be written: {body.reason.value}"),
    SessionShared: lambda body: (_WARNING, f"{body.people} people who are not linked share one session"),
    IntentSettled: _settled,
    TurnEnded: _turn_ended,
    InboundDropped: _dropped,
}
#: names under which an entry has the ids of its event
_IDS = ("inbound", "turn", "intent", "delegation", "binding")


class EventLogLines:
    """Writes lines about the events of a log."""

    def __init__(self, log: EventLog, level: int) -> None:
        self._log = log
        self._all = False
        log.subscribe(self._see, *_LINES)
        self.set_level(level)

    def set_level(self, level: int) -> None:
        """Follow a new level. Every event is only looked at once that was asked for."""
        if level <= logging.DEBUG and not self._all:
            self._all = True
            self._log.subscribe(self._see_any)

    def _see(self, event: Event) -> None:
        line = _LINES[type(event.body)](event.body)
        if line is not None and LOG.isEnabledFor(line[0]):
            LOG.log(line[0], line[1], extra=_fields(event))

    def _see_any(self, event: Event) -> None:
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("%s", encode_event(event).decode("utf-8", "replace"))


def _fields(event: Event) -> dict[str, object]:
    found: dict[str, object] = {"event": event.kind, "seq": event.seq}
    for name in _IDS:
        if (value := getattr(event, name)) is not None:
            found[name] = value
    detail: object = getattr(event.body, "detail", "")
    if detail:
        found["detail"] = detail
    return found
