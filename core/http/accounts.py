"""The accounts of a running gateway: whether each is connected to its platform, and what failed last."""

import threading
from collections.abc import Mapping
from typing import get_args

import msgspec

from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.channels import ChannelAdapter
from trunkline.core.events import Event, EventLog
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.events.gateway import AdapterEnded, AdapterFailed


class LastFailure(msgspec.Struct, frozen=True, kw_only=True):
    #: seconds since 1970
    at: float
    #: a reason code, as events have it
    reason: str
    detail: str


class AccountState(msgspec.Struct, frozen=True, kw_only=True):
    """An account of the gateway, now."""

    channel: str
    account: str
    #: its people are reached through the API, so that there is nothing to connect to
    mailbox: bool
    connected: bool
    #: since when it is connected, in seconds since 1970; none for mailboxes
    since: float | None = None
    #: how it receives, e.g. ``polling``, ``webhook`` or ``socket``
    by: str = ""
    #: the last failure of its connection since the process began; it may be connected again
    failure: LastFailure | None = None
    #: updates of its platform that could not be read
    dropped_updates: int = 0
    #: requests to its webhook that were not from its platform
    refused_webhooks: int = 0
    #: messages that its platform has accepted, and then reported as not delivered
    failed_deliveries: int = 0


AccountBody = AdapterConnected | AdapterFailed | AdapterEnded | UpdateDropped | WebhookRefused | DeliveryFailed


class AccountStates:
    """The accounts of a gateway, followed by its events, which come from several threads."""

    def __init__(self, adapters: Mapping[tuple[str, str], ChannelAdapter], log: EventLog) -> None:
        self._lock = threading.Lock()
        self._states = {(adapter.channel, adapter.account): _begin(adapter) for adapter in adapters.values()}
        log.subscribe(self._see, *get_args(AccountBody))

    def all(self) -> tuple[AccountState, ...]:
        with self._lock:
            return tuple(self._states[name] for name in sorted(self._states))

    @property
    def disconnected(self) -> int:
        return sum(not account.connected for account in self.all())

    def _see(self, event: Event) -> None:
        body = event.body
        if not isinstance(body, AccountBody):
            return
        with self._lock:
            before = self._states.get((body.channel, body.account))
            if before is not None:
                self._states[body.channel, body.account] = _after(before, event.at, body)


def _begin(adapter: ChannelAdapter) -> AccountState:
    mailbox = isinstance(adapter, MailboxAdapter)
    return AccountState(channel=adapter.channel, account=adapter.account, mailbox=mailbox, connected=mailbox)


def _after(state: AccountState, at: float, body: AccountBody) -> AccountState:
    change = msgspec.structs.replace
    match body:
        case AdapterConnected(by=by):
            return change(state, connected=True, since=at, by=by)
        case AdapterFailed(reason=reason, detail=detail):
            failure = LastFailure(at=at, reason=str(reason), detail=detail)
            return change(state, connected=False, since=None, failure=failure)
        case AdapterEnded():
            return change(state, connected=False, since=None)
        case UpdateDropped():
            return change(state, dropped_updates=state.dropped_updates + 1)
        case WebhookRefused(before=before):
            return change(state, refused_webhooks=state.refused_webhooks + 1 + before)
        case DeliveryFailed():
            return change(state, failed_deliveries=state.failed_deliveries + 1)
