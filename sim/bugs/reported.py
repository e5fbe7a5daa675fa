"""Defects of public reports in which a single value is taken from the wrong place."""

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import ReplyPlan, plan_reply
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Unfinished
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.values import Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding, replacing_read
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import PartlyDeaf, changing_sends, wrapping
from trunkline.sim.store.rewired import RewiredStore


@bug("account-of-the-last-message", reports=("B047",), caught_by=("R1",))
def _install_shared_account(wiring: Wiring) -> None:
    """The account that answers is shared by all turns, and the message before has left its own there."""
    last: list[str] = []

    def plan(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        planned, account = plan_reply(envelope, config), last.pop() if last else envelope.address.account
        last.append(envelope.address.account)
        return msgspec.structs.replace(planned, address=msgspec.structs.replace(planned.address, account=account))

    wiring.replace(plan_reply=plan)


@bug("interrupted-turns-stay-claimed", replacing_read(LoadUnfinished), reports=("B106",), caught_by=("L1",))
async def _without_works(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """A turn that a process has begun is its own for ever, so no other takes it over when that process has died."""
    return msgspec.structs.replace(await store.inner.read(query), works=())


@bug("account-lost-in-a-restart", replacing_read(LoadUnfinished), reports=("B112",), caught_by=("R3",))
async def _by_the_first_account(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Of a turn that a restart has interrupted only the place is known, so the account that came first answers."""
    found = await store.inner.read(query)
    works = [
        (msgspec.structs.replace(work, reply_to=msgspec.structs.replace(work.reply_to, account="default")), session)
        if work.reply_to is not None
        else (work, session)
        for work, session in found.works
    ]
    return msgspec.structs.replace(found, works=tuple(works))


@bug("token-is-said", deciding("decide_answer"), reports=("B088",), caught_by=("T2",))
def _says_the_token(facts: AnswerFacts) -> Reason | None:
    """The token of silence is a text like any other, so people read it."""
    reason = decide_answer(facts)
    return None if reason is Reason.NO_REPLY and (facts.answer or "").strip() else reason


def _of_heartbeat(request: SendRequest, conversation: str) -> SendRequest:
    """A request of a heartbeat for another conversation; any other as it is."""
    elsewhere = msgspec.structs.replace(request.address, conversation=conversation)
    return msgspec.structs.replace(request, address=elsewhere) if request.intent[:10] == "heartbeat-" else request


@bug("placeholder-is-an-address", changing_sends, reports=("B118",), caught_by=("R4",))
def _to_the_placeholder(request: SendRequest) -> SendRequest:
    """The internal name that a heartbeat has as a sender is stored as the last recipient, and written to."""
    return _of_heartbeat(request, "heartbeat")


@bug("prefix-is-part-of-the-target", changing_sends, reports=("B120",), caught_by=("R4",))
def _with_the_prefix(request: SendRequest) -> SendRequest:
    """The word for the kind of a heartbeat's destination is passed on as a part of its id."""
    return _of_heartbeat(request, f"{request.address.kind.value}:{request.address.conversation}")


@bug("begins-with-new-messages", wrapping, reports=("B040",), caught_by=("E2",))
class _ForgetsTheOffset(PartlyDeaf):
    """The offset of the messages that were read is not kept, so each process begins with those that come after it."""

    #: seconds on the loop's clock at which it connected
    since = 0.0

    def connected(self) -> None:
        self.since = anyio.current_time()

    def hears(self, envelope: Envelope) -> bool:
        return envelope.sent_at >= self.since


@bug("dropped-while-answering", wrapping, reports=("B031",), caught_by=("E2",))
class _DropsWhileAnswering(PartlyDeaf):
    """What is written while an answer is on its way belongs to a run that is not bound yet, and is dropped with it."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._busy: set[tuple[str, ...]] = set()

    def hears(self, envelope: Envelope) -> bool:
        lane = envelope.address.lane
        heard = lane not in self._busy
        self._busy.add(lane)
        return heard

    async def send(self, request: SendRequest) -> Receipt:
        self._busy.discard(request.address.lane)
        return await self.inner.send(request)
