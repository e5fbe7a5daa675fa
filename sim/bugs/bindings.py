"""Defects of bound conversations: what is bound, what has ended, and where bound work is told (seed 002)."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.bindings.records import BindingStatus, SessionBindingRecord
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import HandsConfig
from trunkline.core.errors import PlaceGone, PlatformError
from trunkline.core.events.gateway import CompletionStep
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.store import SqliteStore
from trunkline.core.store.sqlite.sql.bindings import list_bindings
from trunkline.core.values import Address, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug, deciding, making
from trunkline.sim.bugs.return_address import main_channel
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.run.wiring import Wiring


class _InlineWithoutThread(AdapterWrapper):
    """Where no thread can be opened, there is none: the answer goes to the channel."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._inline: set[str] = set()

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        try:
            return await self.inner.open_thread(place, message_id, title)
        except PlatformError:
            self._inline.add(place.conversation)
            return place

    async def send(self, request: SendRequest) -> Receipt:
        if request.address.conversation in self._inline:
            request = msgspec.structs.replace(request, address=main_channel(request.address))
        return await self.inner.send(request)


class _AsksForThePrefixedId(AdapterWrapper):
    """The thread is made; then the platform is asked for ``channel:<id>``, which it does not know."""

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        opened = await super().open_child(parent, title, key)
        raise PlaceGone(f"there is no channel 'channel:{opened.conversation}'")


class _RevivingStore(SqliteStore):
    """At each start every binding that was ever made is read, and counts again."""

    async def open_bindings(self) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
        found = await self._db.run(lambda c: list_bindings(c, ended=True))
        return tuple(msgspec.structs.replace(one, status=BindingStatus.ACTIVE) for one in found), {}


def _install_reviving_store(wiring: Wiring) -> None:
    wiring.make_store = _RevivingStore


class _BookByThread(BindingIndex):
    """Conversations are found by the id of their thread alone."""

    def at(self, address: Address) -> SessionBindingRecord | None:
        if address.thread is None:
            return super().at(address)
        found = [one for one in self if one.conversation.thread == address.thread]
        return found[-1] if found else None


def _gateway_by_thread(**parts: Any) -> Gateway:
    gateway = Gateway(**parts)
    gateway._ctx.bound._book = _BookByThread()  # pyright: ignore[reportPrivateUsage]
    return gateway


def _install_first_output(wiring: Wiring) -> None:
    """The spawn gives no place of delivery on: the first completion is told where the work was asked for."""
    told: set[str] = set()

    def plan(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        if done.routed is None or done.session_key in told:
            return plan_completion(done, config)
        told.add(done.session_key)
        return plan_completion(msgspec.structs.replace(done, routed=None), config)

    wiring.replace(plan_completion=plan)


def _requester_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """The thread of the work gets its completion, and the channel of whoever asked gets it as well."""
    plan = plan_completion(done, config)
    if done.routed is None or done.routed.binding is None or done.origin is None:
        return plan
    extra = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.origin)
    return CompletionPlan(steps=(*plan.steps, extra))


BINDING_BUGS = (
    Bug(
        name="inline-without-thread",
        reports=("B056",),
        sentence="Where the thread of an answer cannot be opened, the answer is posted in the channel, in silence.",
        caught_by=("R2",),
        install=wrapping(_InlineWithoutThread),
    ),
    Bug(
        name="prefixed-id-to-platform",
        reports=("B130",),
        sentence="The platform is asked for an id with its prefix: binding fails, and the new thread is left behind.",
        caught_by=("B1",),
        install=wrapping(_AsksForThePrefixedId),
    ),
    Bug(
        name="ended-bindings-revived",
        reports=("B131",),
        sentence="Bindings that have ended are made anew at each start, and take the messages of their conversations.",
        caught_by=("B1",),
        install=_install_reviving_store,
    ),
    Bug(
        name="binding-by-thread-alone",
        reports=("B133",),
        sentence="Bindings are looked up by the id of the thread alone, which two channels may share.",
        caught_by=("B1",),
        install=making(_gateway_by_thread),
    ),
    Bug(
        name="first-output-to-requester",
        reports=("B137",),
        sentence="The first completion of bound work is posted where it was asked for, not in its thread.",
        caught_by=("R1",),
        install=_install_first_output,
    ),
    Bug(
        name="completion-to-requester-too",
        sentence="The completion of bound work is posted in its thread, and in the requester's channel as well.",
        caught_by=("D2", "R1"),
        install=deciding(plan_completion=_requester_too),
    ),
)
