"""Whether accounts and places can take a message now, by what their adapters say. Waiting uses no attempt (L4)."""

from __future__ import annotations

import anyio

from trunkline.core.channels import ChannelAdapter, PlaceReadiness, Readiness, Ready
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.values import Address
from trunkline.core.well_formed import describe, plain_text


class ReadyAccounts:
    """The accounts whose adapters last reported that they are ready. A failed send makes them unknown again."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: account -> its adapter, if places of it have to be asked about too
        self._ready: dict[tuple[str, str], PlaceReadiness | None] = {}

    def forget(self, channel: str, account: str) -> None:
        """Ask again before the next send (invariant L4)."""
        self._ready.pop((channel, account), None)

    async def why_not(self, adapter: ChannelAdapter, place: Address) -> str | None:
        """Why nothing can be sent to a place yet; None: it can."""
        account = (place.channel, place.account)
        if account not in self._ready:
            detail = await self._ask(adapter)
            if detail is not None:
                return detail
            self._ready[account] = adapter if isinstance(adapter, PlaceReadiness) else None
        places = self._ready[account]
        return None if places is None else await self._ask_of(places, place)

    async def _ask(self, adapter: ChannelAdapter) -> str | None:
        if not isinstance(adapter, Readiness):
            return None
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                return _why(await adapter.ready())
        except Exception as error:  # noqa: BLE001 -- an adapter that fails to answer is not ready
            return describe(error)

    async def _ask_of(self, adapter: PlaceReadiness, place: Address) -> str | None:
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                return _why(await adapter.ready_at(place))
        except Exception as error:  # noqa: BLE001 -- as above
            return describe(error)


def _why(answer: Ready) -> str | None:
    return None if answer.ok else plain_text(answer.reason) or ""
