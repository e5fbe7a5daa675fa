"""The events of an account of a real platform: connections, dropped updates, failed deliveries, refused webhooks."""

from collections.abc import Callable
from typing import Any

from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import LateOutcome
from trunkline.core.events import Body
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.core.well_formed import well_formed

#: refused webhooks in a period of so many seconds that are events; the next event counts the others
MOST, PERIOD = 10, 60.0
_LONGEST = 300


class AccountEvents:
    """Records what happens to an account. Texts from outside are cut and made storable here.

    Anybody may call a webhook, so refused calls must not fill the log: at most ten a minute are events of their own.
    """

    def __init__(self, host: AdapterHost, channel: str) -> None:
        self._host = host
        self._channel = channel
        #: the names of the gateway's accounts on the platform
        self.own = host.own.of(channel, host.account)
        #: called with each place that the platform has opened again
        self.reopened: Callable[[Address], None] = lambda _: None
        #: called with what becomes of messages after they were accepted
        self.late: Callable[[LateOutcome], None] = lambda _: None
        self._began = 0.0
        #: refused webhooks in this period that are events, and those since the last event that are not
        self._refused = self._counted = 0

    def record_connection(self, by: str) -> None:
        """Record the start of receiving. `by`: how the account receives, e.g. ``polling``."""
        self._record(AdapterConnected, by=by)

    def record_drop(
        self, update: str, detail: str, reason: Reason = Reason.BAD_UPDATE, opened: Address | None = None
    ) -> None:
        """Record a dropped update. `update`: the id on the platform; `opened`: the place that is open again by it."""
        if opened is not None:
            self.reopened(opened)
        self._record(UpdateDropped, reason=reason, update=_storable(update), detail=_storable(detail))

    def record_own(self, update: str, post: OwnPost) -> None:
        """Record a post of another account of the gateway. Those of the account itself have the events of sends."""
        if post.account != self._host.account:
            self.record_drop(update, str(post), Reason.OWN_ECHO)

    def report_loss(self, conversation: str, message: object, reason: Reason, **facts: Any) -> None:
        """Report the loss of an accepted message. It may be of other people: the gateway finds its own."""
        if isinstance(message, str):
            name, account = _storable(conversation), self._host.account
            place = Address(channel=self._channel, account=account, kind=ChatKind.GROUP, conversation=name)
            self.late(LateOutcome(place=place, message_id=_storable(message), reason=reason, **facts))

    def record_failure(self, message_id: str, recipient: str, *, code: str, detail: str) -> None:
        """Record a failed delivery to a single member of a group."""
        why = {"reason": Reason.REFUSED, "code": code, "detail": detail}
        self._record(DeliveryFailed, message_id=message_id, recipient=recipient, **why)

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
        self._record(WebhookRefused, reason=reason, detail=_storable(detail), before=before)

    def _record(self, kind: Callable[..., Body], **facts: Any) -> None:
        self._host.events.record(kind(channel=self._channel, account=self._host.account, **facts))


def _storable(text: str) -> str:
    return well_formed(text[:_LONGEST])
