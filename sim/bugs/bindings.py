"""Defects of session bindings: what is bound, what has ended, and where the results of bound work go."""

from collections.abc import Container

import msgspec

from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import HandsConfig
from trunkline.core.env import Env
from trunkline.core.errors import PlaceGone, PlatformError
from trunkline.core.events import EventSink, hands
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import StoredBindings
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store import Store
from trunkline.core.store.queries import ListBindings
from trunkline.core.values import Address, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding, gateway_part, replacing_read
from trunkline.sim.bugs.return_address import to_main_channel
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.store.rewired import RewiredStore


@bug("inline-without-thread", wrapping, reports=("B056",), caught_by=("R2",))
class _InlineWithoutThread(AdapterWrapper):
    """Where the thread of an answer cannot be opened, the answer is posted in the channel, in silence."""

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
        inline = request.address.conversation in self._inline
        return await self.inner.send(to_main_channel(request) if inline else request)


@bug("prefixed-id-to-platform", wrapping, reports=("B130",), caught_by=("B1",))
class _AsksForThePrefixedId(AdapterWrapper):
    """The platform is asked for an id with its prefix: binding fails, and the new thread is left behind."""

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        opened = await super().open_child(parent, title, key)
        raise PlaceGone(f"there is no channel 'channel:{opened.conversation}'")


@bug("ended-bindings-revived", replacing_read(ListBindings), reports=("B131",), caught_by=("B1",))
async def _revive(store: RewiredStore, query: ListBindings) -> StoredBindings:
    """Ended bindings are revived at each start, and take the messages of their conversations."""
    found = await store.inner.read(ListBindings(ended=True))
    return StoredBindings(rows=tuple(msgspec.structs.replace(row, status=BindingStatus.ACTIVE) for row in found.rows))


class _IndexByThread(BindingIndex):
    """Finds conversations by the id of their thread alone."""

    def at(self, address: Address) -> SessionBindingRecord | None:
        if address.thread is None:
            return super().at(address)
        found = [binding for binding in self if binding.conversation.thread == address.thread]
        return found[-1] if found else None


@bug("binding-by-thread-alone", gateway_part("bindings_type"), reports=("B133",), caught_by=("B1",))
class _BoundByThread(LiveBindings):
    """Bindings are looked up by the id of the thread alone, which two channels may share."""

    def __init__(self, store: Store, env: Env, events: EventSink) -> None:
        super().__init__(store, env, events, _IndexByThread())


@bug("other-account-answers", gateway_part("bindings_type"), reports=("B132",), caught_by=("B1",))
class _EachAccountForItself(LiveBindings):
    """In a bound conversation each account of the gateway answers, since a binding counts for its own account only."""

    def owner_of(self, place: Address, accounts: Container[tuple[str, str]]) -> None:
        """None: the conversation belongs to no other account."""
        return


@bug("first-output-to-requester", reports=("B137",), caught_by=("R1",))
def _install_first_output(wiring: Wiring) -> None:
    """The first completion of bound work is posted where the work was requested, not in its thread."""
    completed: set[str] = set()

    def plan(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        if done.routed is None or done.session_key in completed:
            return plan_completion(done, config)
        completed.add(done.session_key)
        return plan_completion(msgspec.structs.replace(done, routed=None), config)

    wiring.replace(plan_completion=plan)


@bug("completion-to-requester-too", deciding("plan_completion"), caught_by=("D2", "R1"))
def _requester_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """The completion of bound work is posted in its thread, and in the requester's channel as well."""
    plan = plan_completion(done, config)
    if done.routed is None or done.routed.binding is None or done.reply_to is None:
        return plan
    extra = hands.CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.reply_to)
    return CompletionPlan(steps=(*plan.steps, extra))
