"""The connections of adapters: opened, and reopened after failures; their messages go to the intake."""

from collections.abc import Callable

import anyio

from trunkline.core.channels import ChannelAdapter, LateOutcome, LateOutcomes, Reopenings
from trunkline.core.errors import PlatformError
from trunkline.core.events.gateway import AdapterEnded, AdapterFailed
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.values import Address, Envelope
from trunkline.core.well_formed import describe

#: seconds until a failed connection is reopened; doubles up to the last
_RECONNECT_FIRST = 1.0
_RECONNECT_LAST = 60.0
#: seconds after which a connection counts as a good one, also without a message
_GOOD_AFTER = 60.0


class Listener:
    """Listens to adapters. `take` gets their messages, `broken` the accounts whose connection failed.

    `reopened` gets an account with a place that is open again; None: it has connected, and any may be. `late` gets what
    became of messages after they were accepted.
    """

    def __init__(
        self,
        context: Context,
        take: Callable[[ChannelAdapter, Envelope], None],
        broken: Callable[[str, str], None],
        reopened: Callable[[ChannelAdapter, Address | None], None],
        late: Callable[[ChannelAdapter, LateOutcome], None],
    ) -> None:
        self._ctx = context
        self._take = take
        self._broken = broken
        self._reopened = reopened
        self._late = late
        #: accounts that have neither connected nor failed to since the start; see `connected`
        self._untried: set[tuple[str, str]] = set(context.adapters)
        #: set once every adapter of the start has tried to connect
        self.connected = anyio.Event()
        if not self._untried:
            self.connected.set()

    async def listen(self, adapter: ChannelAdapter) -> None:
        """Receive from an adapter, reconnecting after failures, until the stream ends."""
        wait = _RECONNECT_FIRST
        if isinstance(adapter, Reopenings):
            adapter.connect_reopened(lambda place: self._reopened(adapter, place))
        if isinstance(adapter, LateOutcomes):
            adapter.connect_late(lambda outcome: self._late(adapter, outcome))
        while True:
            # A process that was frozen takes no connection from the one that has taken over.
            await self._ctx.lease.assure()
            connected: float | None = None
            try:
                with UserCode():
                    async with adapter.connect() as envelopes:
                        connected = anyio.current_time()
                        self._tried(adapter)
                        self._reopened(adapter, None)
                        async for envelope in envelopes:
                            wait = _RECONNECT_FIRST
                            self._take(adapter, envelope)
                self._ctx.events.record(AdapterEnded(channel=adapter.channel, account=adapter.account))
                return
            except Exception as error:  # noqa: BLE001 -- one broken adapter must not stop the others
                self._tried(adapter)
                if connected is not None and anyio.current_time() - connected >= _GOOD_AFTER:
                    # Platforms close good connections from time to time, also those of quiet accounts.
                    wait = _RECONNECT_FIRST
                self._broken(adapter.channel, adapter.account)
                self._ctx.events.record(
                    AdapterFailed(
                        channel=adapter.channel,
                        account=adapter.account,
                        reason=error.reason if isinstance(error, PlatformError) else Reason.PLATFORM_ERROR,
                        detail=_why(error),
                        retry_in=wait,
                    )
                )
            await anyio.sleep(wait)
            wait = min(wait * 2, _RECONNECT_LAST)

    def _tried(self, adapter: ChannelAdapter) -> None:
        self._untried.discard((adapter.channel, adapter.account))
        if not self._untried:
            self.connected.set()


def _why(error: Exception) -> str:
    """Why a connection failed. Doubt is about a message that was sent, and this is none."""
    if isinstance(error, PlatformError) and error.ambiguous and error.facts:
        return error.facts
    return describe(error)
