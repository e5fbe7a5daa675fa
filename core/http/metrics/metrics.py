"""Metrics of the gateway, by its events, and of the API, by its requests."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.events import Event, EventLog
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import AttemptEnded, BacklogWaiting, IntentPrepared, IntentSettled
from trunkline.core.events.gateway import (
    AdapterFailed,
    InboundAdmitted,
    InboundDropped,
    StoreFailed,
    TurnEnded,
    TurnStarted,
)
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.gateway import Gateway
from trunkline.core.http.accounts import AccountState, AccountStates
from trunkline.core.http.clients import RequestSeen
from trunkline.core.http.metrics.families import (
    OTHER,
    Counter,
    CounterView,
    Family,
    Gauge,
    GaugeView,
    Histogram,
    Labels,
    render,
)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: seconds
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one process, counted from its start."""

    def __init__(self, log: EventLog, gateway: Gateway, accounts: AccountStates, *, started: float) -> None:
        self._inbound = Counter(
            "trunkline_inbound_total", "Inbound messages, by what became of them.", ["status", "reason"]
        )
        self._turns_started = Counter("trunkline_turns_started_total", "Turns that began to run.")
        self._turns = Counter("trunkline_turns_total", "Turns that have ended, by outcome.", ["outcome", "reason"])
        self._prepared = Counter("trunkline_intents_prepared_total", "Outbound messages queued.", ["kind"])
        self._settled = Counter("trunkline_intents_total", "Outbound messages that have ended, by state.", ["state"])
        self._attempts = Counter(
            "trunkline_attempts_total", "Attempts to send, by what was decided after them.", ["decision", "reason"]
        )
        self._backlog = Counter("trunkline_backlog_waits_total", "Times that the queue was full and senders waited.")
        self._accepted = Counter("trunkline_delegations_accepted_total", "Tasks given to hands.")
        self._finished = Counter("trunkline_delegations_total", "Delegations that have ended, by outcome.", ["outcome"])
        self._bindings = Counter("trunkline_bindings_total", "Conversations bound to sessions.")
        self._store = Counter("trunkline_store_failures_total", "Writes that the store refused and that are retried.")
        self._adapters = Counter("trunkline_adapter_failures_total", "Connections of accounts that failed.", ["reason"])
        self._accounts = _account_families(accounts)
        self._requests = Counter(
            "trunkline_http_requests_total", "HTTP requests, by route and status.", ["method", "route", "status"]
        )
        self._latency = Histogram(
            "trunkline_http_request_seconds", "Time from a request to the end of its answer.", _LATENCIES, ["route"]
        )
        #: how many clients follow the events, and how many sockets of the web chat are open; set by those who know
        self.event_streams: Callable[[], int] = int
        self.chat_sockets: Callable[[], int] = int
        #: what agents have used of their models
        self.model_answers = CounterView("trunkline_model_answers_total", "Complete answers of models.", ["agent"])
        self.model_tokens = CounterView(
            "trunkline_model_tokens_total",
            "Tokens of these answers (`completion`) and of their requests (`prompt`), as far as endpoints say.",
            ["agent", "kind"],
        )
        self._gauges = [
            Gauge("trunkline_event_streams_open", "Clients that follow the events.", self._event_streams),
            Gauge("trunkline_chat_sockets_open", "Open WebSockets of the web chat.", self._chat_sockets),
            Gauge("trunkline_serving", "1 while the gateway holds its store and takes work.", lambda: gateway.serving),
            Gauge("trunkline_intents_open", "Outbound messages in the queue.", lambda: gateway.load[0]),
            Gauge("trunkline_delegations_open", "Delegations without a result.", lambda: gateway.load[1]),
            Gauge("trunkline_start_time_seconds", "When the process began, since the epoch.", lambda: started),
        ]
        log.subscribe(self._see, *_COUNTED)

    def _event_streams(self) -> int:
        return self.event_streams()

    def _chat_sockets(self) -> int:
        return self.chat_sockets()

    def count_request(self, seen: RequestSeen) -> None:
        """Count a request that has ended."""
        method = seen.method if seen.method in _METHODS else OTHER
        self._requests.add(method, seen.route, str(seen.status))
        if not seen.stream:
            self._latency.observe(seen.seconds, seen.route)

    def families(self) -> list[Family]:
        """All families, by name."""
        counted = [value for value in vars(self).values() if isinstance(value, Counter | CounterView | Histogram)]
        families: list[Family] = [*counted, *self._gauges, *self._accounts]
        return sorted(families, key=lambda family: family.name)

    def text(self) -> str:
        """All families in the text format."""
        return render(self.families())

    def _see(self, event: Event) -> None:
        # Called by the thread that records, for each event that is counted.
        match event.body:
            case InboundAdmitted():
                self._inbound.add("admitted", "")
            case InboundDropped(reason=reason):
                self._inbound.add("dropped", str(reason))
            case TurnStarted():
                self._turns_started.add()
            case TurnEnded(outcome=outcome, reason=reason):
                self._turns.add(outcome, str(reason or ""))
            case IntentPrepared(intent_kind=kind):
                self._prepared.add(str(kind))
            case IntentSettled(state=state):
                self._settled.add(str(state))
            case AttemptEnded(decision=decision, reason=reason):
                self._attempts.add(decision, str(reason))
            case BacklogWaiting():
                self._backlog.add()
            case DelegationAccepted():
                self._accepted.add()
            case DelegationFinished(outcome=outcome):
                self._finished.add(str(outcome))
            case BindingBound():
                self._bindings.add()
            case StoreFailed():
                self._store.add()
            case AdapterFailed(reason=reason):
                self._adapters.add(str(reason))
            case _:
                pass


def _account_families(accounts: AccountStates) -> tuple[CounterView, ...]:
    """The families with a value for each account of a platform. Account names are those of the configuration."""
    labels = ["channel", "account"]
    connected = GaugeView("trunkline_account_connected", "1 while an account is connected to its platform.", labels)
    dropped = CounterView("trunkline_updates_dropped_total", "Updates of platforms that could not be read.", labels)
    refused = CounterView(
        "trunkline_webhooks_refused_total", "Requests to webhooks that were not from their platforms.", labels
    )
    failed = CounterView(
        "trunkline_deliveries_failed_total", "Accepted messages that their platforms could not deliver.", labels
    )
    connected.read = _reading(accounts, lambda account: account.connected)
    dropped.read = _reading(accounts, lambda account: account.dropped_updates)
    refused.read = _reading(accounts, lambda account: account.refused_webhooks)
    failed.read = _reading(accounts, lambda account: account.failed_deliveries)
    return connected, dropped, refused, failed


def _reading(accounts: AccountStates, read: Callable[[AccountState], float]) -> Callable[[], dict[Labels, float]]:
    return lambda: {(state.channel, state.account): read(state) for state in accounts.all() if not state.mailbox}


#: the events that are counted
_COUNTED = (
    InboundAdmitted,
    InboundDropped,
    TurnStarted,
    TurnEnded,
    IntentPrepared,
    IntentSettled,
    AttemptEnded,
    BacklogWaiting,
    DelegationAccepted,
    DelegationFinished,
    BindingBound,
    StoreFailed,
    AdapterFailed,
)
