"""Defects of inbound messages: duplicates and losses, people who are not heard, values taken from the wrong place."""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import ReplyPlan, decide_deed, plan_reply
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.errors import DelegationRefused, Refused
from trunkline.core.events import Body, gateway
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import Delegated
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.inbound import InboundReceipt
from trunkline.core.records.rows import Unfinished, Work
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.values import Capabilities, Deed, DeedKind, Envelope, Receipt, SendRequest, WorkKind
from trunkline.sim.bugs.base import bug, configured, deciding, making, replacing_read
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, HearingWrapper, PartlyDeaf, changing_sends, swallowing, wrapping
from trunkline.sim.store.rewired import RewiredStore


@bug("dedupe-forgets-on-restart", reports=("B013",), caught_by=("D7",))
def _install_memory_cache(wiring: Wiring) -> None:
    """The dedupe cache is in memory only, and keyed by ids that the platform reassigns on replay."""
    generation = wiring.generation

    def identify(envelope: Envelope, _can: Capabilities) -> str:
        return f"{generation}/{'/'.join(envelope.address.lane)}/{envelope.message_id}"

    wiring.replace(identify=identify)


@bug("ack-before-commit", wrapping, caught_by=("L1",))
class _AckFirst(HearingWrapper):
    """A message is acknowledged to its platform before it is durable; a crash in between loses it."""

    async def hear(self, envelope: Envelope) -> Envelope:
        await self.inner.ack(envelope)
        return envelope


@bug("refused-is-delivered", wrapping, reports=("004-D10",), caught_by=("L3",))
class _RefusedIsDelivered(AdapterWrapper):
    """A refusal without an exception counts as a delivery."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except Refused:
            return Receipt(provider_id="unknown", address=request.address)


@bug("silent-drops", swallowing, caught_by=("V1",))
def _drops(body: Body) -> bool:
    """Messages that are dropped as duplicates are dropped without an event."""
    return isinstance(body, gateway.InboundDropped)


@bug("album-in-pieces", wrapping, caught_by=("D7",))
class _AlbumInPieces(HearingWrapper):
    """Each file of an album is a question of its own, and is answered by itself."""

    async def hear(self, envelope: Envelope) -> Envelope:
        return msgspec.structs.replace(envelope, act=None)


@bug("album-keeps-first", wrapping, caught_by=("E2",))
class _AlbumKeepsFirst(HearingWrapper):
    """Of an album only the first file reaches the agent."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._albums = set[str | None]()

    async def hear(self, envelope: Envelope) -> Envelope:
        if envelope.act is None or envelope.act not in self._albums:
            self._albums.add(envelope.act)
            return envelope
        return msgspec.structs.replace(envelope, parts=())


#: characters of an answer that counts as one
_SHORT = 3


@bug("silence-is-an-error", deciding("decide_answer"), caught_by=("E1",))
def _trips_over_silence(facts: AnswerFacts) -> Reason | None:
    """The end of a turn takes the answer apart without asking whether there is one: silent turns fail."""
    if facts.answer is None and facts.work is WorkKind.MESSAGE:
        raise TypeError("'NoneType' object is not iterable")
    return decide_answer(facts)


@bug("second-wake-up-is-a-repeat", making("gateway"), caught_by=("E2",))
class _WakesOnce(Gateway):
    """Wake-ups of one agent have one name, so the second one of a process is taken for the first again."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._woken: dict[str, InboundReceipt] = {}

    async def wake(self, agent: str, text: str, cause: int | None = None, *, key: str | None = None) -> InboundReceipt:
        if agent not in self._woken:
            self._woken[agent] = await super().wake(agent, text, cause, key=key)
        return self._woken[agent]


@bug("short-answers-are-silent", deciding("decide_answer"), caught_by=("E3",))
def _needs_words(facts: AnswerFacts) -> Reason | None:
    """An answer of a few characters counts as none."""
    short = facts.answer is not None and 0 < len(facts.answer.strip()) <= _SHORT
    return Reason.NO_REPLY if short and facts.work is WorkKind.MESSAGE else decide_answer(facts)


@bug("one-hand-at-a-time", each_turn, caught_by=("E4",))
class _BusyHands(TurnWrapper):
    """A second hand is refused while the first one works, whatever number is configured."""

    async def send_async(self, agent_id: str, message: str, **more: Any) -> Delegated:
        """Refuse while anything of the session is open."""
        if await self.inner.delegations():
            raise DelegationRefused("this session has an open delegation; wait for it", Reason.SESSION_CAP)
        return await self.inner.send_async(agent_id, message, **more)


@bug("preview-names-home", each_turn, caught_by=("A3",))
class _PreviewsAtHome(TurnWrapper):
    """The answer to a dry run names the place of the turn, whatever target the agent has given."""

    async def send(self, text: str, to: Any = None, **where: Any) -> ActionResult:
        """Send; a dry run names the place of the turn."""
        result = await self.inner.send(text, to, **where)
        home = msgspec.structs.replace(result, place=self.inner.place, session_key=None)
        return home if where.get("dry_run") else result


@bug("kinds-match-nobody", deciding("resolve_route"), caught_by=("S6",))
def _without_kinds(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """A route rule for all people, or for all groups, matches none of them."""
    kept = tuple(rule for rule in config.bindings if rule.match.peer is None or rule.match.peer.id != "*")
    return resolve_route(envelope, config.model_copy(update={"bindings": kept}).numbered(config.revision))


def _with_heartbeat(config: GatewayConfig, **changed: Any) -> dict[str, Any]:
    return {} if config.heartbeat is None else {"heartbeat": config.heartbeat.model_copy(update=changed)}


@bug("every-other-heartbeat", configured, caught_by=("H6",))
def _half_as_often(config: GatewayConfig) -> dict[str, Any]:
    """The interval of a heartbeat is taken twice, so every other run is missing, and nothing promises it."""
    return {} if config.heartbeat is None else _with_heartbeat(config, every=config.heartbeat.every * 2)


@bug("owner-is-who-wrote-last", configured, caught_by=("H7",))
def _for_the_last(config: GatewayConfig) -> dict[str, Any]:
    """A heartbeat that is for an owner goes to the last person who wrote."""
    return _with_heartbeat(config, target="last")


@bug("commands-go-to-the-agent", configured, caught_by=("K1",))
def _without_control(config: GatewayConfig) -> dict[str, Any]:
    """Commands to the gateway are switched on, and messages with them go to the agent like any others."""
    return {"control": config.control.model_copy(update={"enabled": False})}


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


def _not_in_time(kind: DeedKind) -> Callable[..., DeedPlan]:
    """The decision of a gateway that notes deeds of a kind, however early they come."""

    def decide(envelope: Envelope, deed: Deed, subject: DeedSubject | None, question: Work | None) -> DeedPlan:
        return decide_deed(envelope, deed, subject, None if deed.kind is kind else question)

    return decide


@bug("edits-come-too-late", caught_by=("E5",))
def _edits_late(wiring: Wiring) -> None:
    """A question is answered as it was first written, although it was edited while it waited."""
    wiring.replace(decide_deed=_not_in_time(DeedKind.EDIT))


@bug("deletions-come-too-late", caught_by=("E5",))
def _deletions_late(wiring: Wiring) -> None:
    """A question that was deleted while it waited is answered all the same."""
    wiring.replace(decide_deed=_not_in_time(DeedKind.DELETE))
