"""Records the requests to a webhook that are refused: anybody may make them, so they must not fill the log."""

from __future__ import annotations

from trunkline.core.adapters.port import AdapterHost
from trunkline.core.events.adapters import WebhookRefused
from trunkline.core.reasons import Reason

#: events in a period of so many seconds; further requests are counted by the next event
MOST, PERIOD = 10, 60.0


class WebhookRefusals:
    """The refused requests of one account: at most ten a minute are events of their own."""

    def __init__(self, host: AdapterHost, channel: str) -> None:
        self._host = host
        self._channel = channel
        self._began = 0.0
        #: events in this period
        self._events = 0
        #: requests since the last event
        self._counted = 0

    def refused(self, reason: Reason, detail: str) -> None:
        """Record a refused request, or count it."""
        now = self._host.env.steady()
        if not self._events or now - self._began >= PERIOD:
            self._began, self._events = now, 0
        if self._events == MOST:
            self._counted += 1
            return
        self._events += 1
        before, self._counted = self._counted, 0
        self._host.events.record(
            WebhookRefused(
                channel=self._channel, account=self._host.account, reason=reason, detail=detail, before=before
            )
        )
