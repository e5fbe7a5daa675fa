"""What the HTTP API speaks for: the running gateway and its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from trunkline.core.env import Env
from trunkline.core.events import EventLog, EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.http.accounts import AccountStates
from trunkline.core.http.administration import Administration
from trunkline.core.http.chat.outcome_watch import OutcomeWatch
from trunkline.core.http.metrics.metrics import Metrics
from trunkline.core.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The running gateway, as the routes see it."""

    gateway: Gateway
    store: Store
    log: EventLog
    events: EventSink
    env: Env
    #: what the process offers
    admin: Administration = field(default_factory=Administration)
    #: set when the server stops: streams end then
    stopping: anyio.Event = field(default_factory=anyio.Event)
    #: what is counted from now on
    metrics: Metrics = field(init=False)
    #: the accounts, and which of them are connected
    accounts: AccountStates = field(init=False)
    #: who waits for what comes of inbound messages
    outcomes: OutcomeWatch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "accounts", AccountStates(self.gateway.adapters, self.log))
        object.__setattr__(self, "metrics", Metrics(self))
        object.__setattr__(self, "outcomes", OutcomeWatch(self.log, self.store, self.stopping))
