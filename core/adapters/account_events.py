"""The events of an account of a real platform: connections, dropped updates, failed deliveries, refused webhooks."""

from __future__ import annotations

from trunkline.core.adapters.port import AdapterHost
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import well_formed

#: refused webhooks in a period of so many seconds that are events; the next event counts the others
MOST, PERIOD = 10, 60.0
#: characters of a text from outside
_LONGEST = 300


class AccountEvents:
    """Records what happens to an account. Texts from outside are cut and made storable here.

    Anybody may call a webhook, so refused calls must not fill the log: at most ten a minute are events of their own.
    """

    def __init__(self, host: AdapterHost, channel: str) -> None:
        self._host = host
        self._channel = channel
        self._began = 0.0
        #: refused webhooks in this period that are events, and those since the last event that are not
        self._refused = self._counted = 0

    def record_connection(self, by: str) -> None:
        """Record the start of receiving. `by`: how the account receives, e.g. ``polling``."""
        self._host.events.record(AdapterConnected(channel=self._channel, account=self._host.account, by=by))

    def record_drop(self, update: str, detail: str, reason: Reason = Reason.BAD_UPDATE) -> None:
        """Record a dropped update. `update`: the platform's id of the update."""
        body = UpdateDropped(
            channel=self._channel,
            account=self._host.account,
            reason=reason,
            update=_storable(update),
            detail=_storable(detail),
        )
        self._host.events.record(body)

    def record_failure(self, message_id: str, recipient: str, *, code: str, detail: str) -> None:
        """Record a failed delivery of an accepted message to a recipient."""
        body = DeliveryFailed(
            channel=self._channel,
            account=self._host.account,
            reason=Reason.REFUSED,
            message_id=message_id,
            recipient=recipient,
            code=code,
            detail=detail,
        )
        self._host.events.record(body)

    def record_refusal(self, reason: Reason, detail: str) -> None:
        """Record a refused call of the webhook, or count the call."""
        now = self._host.env.steady()
        if not self._refused or now - self._began >= PERIOD:
            self._began, self._refused = now, 0
        if self._refused == MOST:
            self._counted += 1
            return
        self._refused += 1
        before, self._counted = self._counted, 0
        body = WebhookRefused(
            channel=self._channel, account=self._host.account, reason=reason, detail=_storable(detail), before=before
        )
        self._host.events.record(body)


def _storable(text: str) -> str:
    return well_formed(text[:_LONGEST])
