"""Asks adapters for what bindings need: threads, open conversations and webhooks, each within a limit of time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import msgspec

from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.config import ThreadBindingsConfig
from trunkline.core.errors import Ambiguous, BindingError, PlatformError
from trunkline.core.events.bindings import PlaceReopened
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import Placement, PlaceState, SessionBindingRecord
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.untrusted import check_address, check_identity
from trunkline.core.values import Address, ChatKind
from trunkline.core.well_formed import describe

T = TypeVar("T")


class PlatformRequests:
    """The requests of the binding service to the platforms. A failure is a `BindingError`."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    async def check_place(self, adapter: BindsConversations, place: Address, cause: int | None) -> None:
        """Raise `BindingError` unless the conversation accepts messages; unarchive it if allowed."""
        current = Placement.CURRENT
        if place.kind is ChatKind.DIRECT:
            return
        state = await self._ask_in_time(lambda: adapter.inspect(place), place, current)
        if state is PlaceState.GONE:
            raise BindingError(f"{place} does not exist: name another", Reason.BINDING_CREATE_FAILED, current.value)
        if state is PlaceState.OPEN:
            return
        if not self._ctx.config.channel(place.channel).thread_bindings.unarchive:
            facts = f"{place} is archived: unarchive it, or allow it with thread_bindings.unarchive"
            raise BindingError(facts, Reason.THREAD_ARCHIVED, current.value)
        await self._ask_in_time(lambda: adapter.reopen(place), place, current)
        self._ctx.events.record(PlaceReopened(address=place), cause)

    async def open_child(self, adapter: BindsConversations, place: Address, title: str, key: str) -> Address:
        """A thread under a conversation. After a lost response the request is repeated once: it is idempotent."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                return await adapter.open_child(place, title, key)
        except Exception as error:
            if not isinstance(error, TimeoutError | Ambiguous):
                facts = f"{place}: {_failure(error, self._ctx.config.delivery.request_timeout)}"
                raise BindingError(facts, Reason.BINDING_CREATE_FAILED, Placement.CHILD.value) from error
        return await self._ask_in_time(lambda: adapter.open_child(place, title, key), place, Placement.CHILD)

    async def _ask_in_time(self, call: Callable[[], Awaitable[T]], place: Address, placement: Placement) -> T:
        """Await an adapter's answer with a timeout. Raises `BindingError`."""
        limit = self._ctx.config.delivery.request_timeout
        try:
            with anyio.fail_after(limit), UserCode():
                return await call()
        except Exception as error:
            raise BindingError(
                f"{place}: {_failure(error, limit)}", Reason.BINDING_CREATE_FAILED, placement.value
            ) from error

    async def with_identity(
        self, adapter: BindsConversations, record: SessionBindingRecord, settings: ThreadBindingsConfig
    ) -> SessionBindingRecord:
        """Add the webhook identity. Without a webhook, use the bot if the configuration allows, else raise."""
        limit = self._ctx.config.delivery.request_timeout
        try:
            with anyio.fail_after(limit), UserCode():
                identity = await adapter.identity(record.conversation, record.label)
            wrong = "" if identity is None else check_identity(identity)
            if wrong:
                raise TypeError(wrong)
        except Exception as error:
            if settings.identity_fallback == "none":
                facts = f"{record.conversation}: there is no webhook to post there: {_failure(error, limit)}"
                raise BindingError(facts, Reason.IDENTITY_GONE) from error
            return msgspec.structs.replace(record, degraded=Reason.IDENTITY_GONE)
        return msgspec.structs.replace(record, identity=identity)


def check_child(child: Address, parent: Address) -> None:
    """Raise `BindingError` if an adapter returned something else than a new thread."""
    wrong = check_address(child)
    if not wrong:
        elsewhere = (child.channel, child.account) != (parent.channel, parent.account)
        wrong = f"{child}, which is not a thread under it" if elsewhere or place_id(child) == place_id(parent) else ""
    if wrong:
        facts = f"{parent}: its adapter returned {wrong}"
        raise BindingError(facts, Reason.BINDING_CREATE_FAILED, Placement.CHILD.value)


def _failure(error: Exception, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {limit:g} s: try again"
    return error.facts if isinstance(error, PlatformError) else describe(error)
