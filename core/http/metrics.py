"""Metrics of the gateway, by its events, and of the API, by its requests."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from trunkline.core.events import Body, Event, EventLog, bindings, delivery, hands
from trunkline.core.events import gateway as gateway_events
from trunkline.core.gateway import Gateway
from trunkline.core.http.accounts import AccountState, AccountStates
from trunkline.core.http.clients import RequestSeen

# Counters, gauges and histograms, and the text format of Prometheus (version 0.0.4).

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
#: maximum label sets per family; more are counted under `OTHER`. Labels never contain untrusted text.
_MOST = 500
#: the value of each label beyond that
OTHER = "other"

Labels = tuple[str, ...]


class Family:
    """A metric: samples for each set of labels."""

    kind: ClassVar[str]

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = tuple(labels)

    def lines(self) -> Iterator[str]:
        raise NotImplementedError


class Counter(Family):
    """A counter for each set of labels. Safe to use from any thread."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._lock = threading.Lock()
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        with self._lock:
            known = _known(labels, self._values)
            self._values[known] = self._values.get(known, 0.0) + by

    def lines(self) -> Iterator[str]:
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield sample(self.name, self.labels, labels, value)


class CounterView(Family):
    """A counter whose values another object keeps; it is read when metrics are scraped."""

    kind = "counter"
    #: set by the object that keeps the values
    read: Callable[[], Mapping[Labels, float]] = dict

    def lines(self) -> Iterator[str]:
        for labels, value in sorted(self.read().items()):
            yield sample(self.name, self.labels, labels, value)


class GaugeView(CounterView):
    """A gauge for each set of labels, whose values another object keeps."""

    kind = "gauge"


class Gauge(Family):
    """A gauge without labels, read when metrics are scraped."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, count: Callable[[], float] = int) -> None:
        super().__init__(name, help_text)
        self.count = count

    def lines(self) -> Iterator[str]:
        yield sample(self.name, (), (), self.count())


class Histogram(Family):
    """A histogram for each set of labels: counts of values by upper bounds. Safe to use from any thread."""

    kind = "histogram"

    def __init__(self, name: str, help_text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._bounds = tuple(bounds)
        self._lock = threading.Lock()
        #: the counts of each bound and of what is above all, and the sum of the values
        self._values: dict[Labels, tuple[list[int], float]] = {}

    def observe(self, value: float, *labels: str) -> None:
        with self._lock:
            known = _known(labels, self._values)
            counts, total = self._values.get(known) or ([0] * (len(self._bounds) + 1), 0.0)
            counts[bisect_left(self._bounds, value)] += 1
            self._values[known] = (counts, total + value)

    def lines(self) -> Iterator[str]:
        with self._lock:
            values = sorted((labels, (list(counts), total)) for labels, (counts, total) in self._values.items())
        for labels, (counts, total) in values:
            below = 0
            for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
                below += count
                yield sample(f"{self.name}_bucket", (*self.labels, "le"), (*labels, number(bound)), below)
            yield sample(f"{self.name}_sum", self.labels, labels, total)
            yield sample(f"{self.name}_count", self.labels, labels, below)


def _known(labels: Labels, values: Mapping[Labels, object]) -> Labels:
    """The labels under which a value counts."""
    return labels if labels in values or len(values) < _MOST else (OTHER,) * len(labels)


def render(families: Sequence[Family]) -> str:
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.help_text)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines.extend(family.lines())
    return "\n".join([*lines, ""])


def sample(name: str, names: Sequence[str], values: Sequence[str], value: float) -> str:
    labels = ",".join(f'{label}="{_quoted(text)}"' for label, text in zip(names, values, strict=True))
    return f"{name}{{{labels}}} {number(value)}" if labels else f"{name} {number(value)}"


def number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of a process, counted from the start."""

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
        self.refused = Counter("trunkline_http_refused_total", "Connections refused, or closed for others.", ["reason"])
        self._latency = Histogram(
            "trunkline_http_request_seconds", "Time from a request to the end of its answer.", _LATENCIES, ["route"]
        )
        #: how many clients follow the events, and how many sockets of the web chat are open; set by those who know
        self.event_streams = Gauge("trunkline_event_streams_open", "Clients that follow the events.")
        self.chat_sockets = Gauge("trunkline_chat_sockets_open", "Open WebSockets of the web chat.")
        #: what agents have used of their models
        self.model_answers = CounterView("trunkline_model_answers_total", "Complete answers of models.", ["agent"])
        self.model_tokens = CounterView(
            "trunkline_model_tokens_total",
            "Tokens of these answers (`completion`) and of their requests (`prompt`), as far as endpoints say.",
            ["agent", "kind"],
        )
        self._gauges = [
            Gauge("trunkline_serving", "1 while the gateway holds its store and takes work.", lambda: gateway.serving),
            Gauge("trunkline_intents_open", "Outbound messages in the queue.", lambda: gateway.load[0]),
            Gauge("trunkline_delegations_open", "Delegations without a result.", lambda: gateway.load[1]),
            Gauge("trunkline_start_time_seconds", "When the process began, since the epoch.", lambda: started),
        ]
        self._counting: dict[type[Body], Callable[[Any], None]] = {
            gateway_events.InboundAdmitted: lambda _: self._inbound.add("admitted", ""),
            gateway_events.InboundDropped: lambda body: self._inbound.add("dropped", str(body.reason)),
            gateway_events.TurnStarted: lambda _: self._turns_started.add(),
            gateway_events.TurnEnded: lambda body: self._turns.add(body.outcome, str(body.reason or "")),
            delivery.IntentPrepared: lambda body: self._prepared.add(str(body.intent_kind)),
            delivery.IntentSettled: lambda body: self._settled.add(str(body.state)),
            delivery.AttemptEnded: lambda body: self._attempts.add(body.decision, str(body.reason)),
            delivery.BacklogWaiting: lambda _: self._backlog.add(),
            hands.DelegationAccepted: lambda _: self._accepted.add(),
            hands.DelegationFinished: lambda body: self._finished.add(str(body.outcome)),
            bindings.BindingBound: lambda _: self._bindings.add(),
            gateway_events.StoreFailed: lambda _: self._store.add(),
            gateway_events.AdapterFailed: lambda body: self._adapters.add(str(body.reason)),
        }
        log.subscribe(self._see, *self._counting)

    def count_request(self, seen: RequestSeen) -> None:
        method = seen.method if seen.method in _METHODS else OTHER
        self._requests.add(method, seen.route, str(seen.status))
        if not seen.stream:
            self._latency.observe(seen.seconds, seen.route)

    def families(self) -> list[Family]:
        counted = [value for value in vars(self).values() if isinstance(value, Family)]
        return sorted([*counted, *self._gauges, *self._accounts], key=lambda family: family.name)

    def text(self) -> str:
        return render(self.families())

    def _see(self, event: Event) -> None:
        # Called by the thread that records, for each event that is counted.
        self._counting[type(event.body)](event.body)


def _account_families(accounts: AccountStates) -> tuple[CounterView, ...]:
    """The families with a value for each account of a platform. Account names are those of the configuration."""
    labels = ["channel", "account"]
    connected = GaugeView("trunkline_account_connected", "1 while an account is connected to its platform.", labels)
    dropped = CounterView("trunkline_updates_dropped_total", "Updates of platforms that could not be read.", labels)
    refused = CounterView(
        "trunkline_webhooks_refused_total", "Requests to webhooks that were not from their platforms.", labels
    )
    failed = CounterView(
        "trunkline_deliveries_failed_total", "Accepted messages that their platforms took back.", labels
    )
    connected.read = _reading(accounts, lambda account: account.connected)
    dropped.read = _reading(accounts, lambda account: account.dropped_updates)
    refused.read = _reading(accounts, lambda account: account.refused_webhooks)
    failed.read = _reading(accounts, lambda account: account.failed_deliveries)
    return connected, dropped, refused, failed


def _reading(accounts: AccountStates, read: Callable[[AccountState], float]) -> Callable[[], dict[Labels, float]]:
    return lambda: {(state.channel, state.account): read(state) for state in accounts.all() if not state.mailbox}
