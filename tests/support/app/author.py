"""Writes traces by hand for the pictures and the view tests, without running the simulator."""

from typing import Any

from trunkline.core.events import EventLog, Recorder, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
)
from trunkline.core.events.gateway import (
    Candidate,
    InboundAdmitted,
    InboundReceived,
    ProcessRecovered,
    ProcessStarted,
    RouteDecided,
    SessionCreated,
    ToolCalled,
    TranscriptAppended,
    TurnStarted,
)
from trunkline.core.events.hands import DelegationAccepted, DelegationStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, PlatformPushed, WorldAccount, WorldPlace

ANA = Peer(id="9001", name="ana")
BO = Peer(id="77", name="bo")
BOT = Peer(id="1", name="jeeves")


def discord(conversation: str, parent: str | None = None) -> Address:
    kind = ChatKind.CHANNEL
    return Address(channel="discord", account="main", kind=kind, conversation=conversation, parent=parent)


def telegram_dm(peer: str) -> Address:
    return Address(channel="telegram", account="main", kind=ChatKind.DIRECT, conversation=peer)


OPS = discord("501")
DEPLOY = discord("601", "501")
AUDIT = discord("602", "501")


#: made for a task, and bound to its session
RELEASE = discord("603", "501")
IDLE = discord("502")
DM = telegram_dm("77")
KEYS = {
    OPS: "jeeves:discord:main:channel:501",
    DEPLOY: "jeeves:discord:main:channel:501:thread:601",
    AUDIT: "jeeves:discord:main:channel:501:thread:602",
    DM: "jeeves:telegram:main:direct:77",
    RELEASE: "jeeves:subagent:d1",
}


class Author:
    """Writes a trace as the gateway and the platforms would, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log = EventLog(lambda: self.now)
        self.sim = self.log.recorder("sim")
        self.generation = 1
        self.numbers = {"inbound": 0, "turn": 0, "intent": 0, "delegation": 0, "message": 100}

    @property
    def gateway(self) -> Recorder:
        return self.log.recorder("gateway", self.generation)

    def platform(self, address: Address) -> Recorder:
        return self.log.recorder(address.channel)

    def id(self, name: str) -> str:
        self.numbers[name] += 1
        prefix = {"inbound": "in", "turn": "t", "intent": "i", "delegation": "d", "message": "p"}[name]
        return f"{prefix}{self.numbers[name]}"

    def wait(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 6)

    def world(self, places: list[tuple[Address, str, str | None]]) -> None:
        for channel in dict.fromkeys(address.channel for address, _, _ in places):
            self.sim.record(WorldAccount(channel=channel, account="main", bot=BOT))
        for address, name, under in places:
            self.sim.record(WorldPlace(address=address, name=name, under=under))
        self.sim.record(RunPhase(phase="faults"))
        self.gateway.record(ProcessStarted())
        self.gateway.record(ProcessRecovered(inbounds=0, intents=0, delegations=0))

    def say(self, address: Address, peer: Peer, text: str, *, key: str | None = None) -> tuple[int, str]:
        """A person speaks, and the message is admitted: the seq of the admission, and the inbound."""
        key = key or KEYS[address]
        message = self.id("message")
        said = self.platform(address).record(PeerSaid(address=address, peer=peer, message_id=message, text=text))
        self.wait(0.02)
        pushed = self.platform(address).record(
            PlatformPushed(address=address, message_id=message, original_id=message), said
        )
        inbound = self.id("inbound")
        received = self.gateway.record(
            InboundReceived(address=address, peer=peer, message_id=message, text=text), pushed, inbound=inbound
        )
        route = self.gateway.record(
            RouteDecided(
                agent="jeeves",
                session_key=key,
                matched_by="binding.channel",
                binding="everything",
                candidates=(
                    Candidate(binding="night-shift", tier="peer", chosen=False, reason=Reason.OTHER_PEER),
                    Candidate(binding="everything", tier="channel", chosen=True, reason=Reason.MATCHED),
                ),
                reply_to=address,
                reply_reason=Reason.REPLY_TO_ORIGIN,
            ),
            received,
            inbound=inbound,
        )
        self.session(address, key, route)
        admitted = self.gateway.record(
            InboundAdmitted(work=WorkKind.MESSAGE, session_id="s-" + key, session_key=key), route, inbound=inbound
        )
        self.gateway.record(
            TranscriptAppended(session_id="s-" + key, session_key=key, role="user", text=text),
            admitted,
            inbound=inbound,
        )
        return admitted, inbound

    def session(self, address: Address, key: str, cause: int) -> None:
        known = [e for e in self.log.events if isinstance(e.body, SessionCreated) and e.body.session_key == key]
        if not known:
            body = SessionCreated(
                agent="jeeves", session_key=key, session_id="s-" + key, generation=1, address=address, by="inbound"
            )
            self.gateway.record(body, cause)

    def turn(self, address: Address, cause: int, inbound: str, work: WorkKind = WorkKind.MESSAGE) -> tuple[int, str]:
        turn = self.id("turn")
        key = KEYS[address]
        body = TurnStarted(agent="jeeves", session_id="s-" + key, session_key=key, work=work, origin=address)
        return self.gateway.record(body, cause, inbound=inbound, turn=turn), turn

    def prepare(self, address: Address, text: str, cause: int, *, kind: IntentKind, reason: Reason, **ids: Any) -> str:
        intent = self.id("intent")
        self.prepared = self.gateway.record(
            IntentPrepared(
                intent_kind=kind,
                address=address,
                targeted=False,
                text=text,
                chunks=1,
                key=f"k-{intent}",
                reason=reason,
                mirror_key=KEYS[address],
            ),
            cause,
            intent=intent,
            **ids,
        )
        return intent

    def attempt(self, address: Address, intent: str, *, number: int = 1, **ids: Any) -> int:
        self.started = self.gateway.record(
            AttemptStarted(chunk=0, attempt=number, address=address), self.prepared, intent=intent, **ids
        )
        return self.started

    def accept(self, address: Address, text: str, intent: str, *, number: int = 1, **ids: Any) -> int:
        self.wait(0.01)
        return self.platform(address).record(
            WireAccepted(
                address=address,
                requested=address,
                text=text,
                provider_id=self.id("message"),
                key=f"k-{intent}",
                chunk=0,
                attempt=number,
            ),
            self.started,
            intent=intent,
            **ids,
        )

    def settle(self, address: Address, text: str, intent: str, wire: int, *, mirror: Address | None = None) -> None:
        self.wait(0.01)
        ended = self.gateway.record(
            AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle"), wire, intent=intent
        )
        acked = self.gateway.record(
            ChunkAcked(chunk=0, provider_id="p", address=address, reason=Reason.ACCEPTED), ended, intent=intent
        )
        self.session(address, KEYS[address], acked)
        key = KEYS[mirror or address]
        self.gateway.record(MirrorAppended(session_id="s-" + key, session_key=key, text=text), acked, intent=intent)
        self.gateway.record(
            IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1), acked, intent=intent
        )

    def send(self, address: Address, text: str, cause: int, *, kind: IntentKind, reason: Reason, **ids: Any) -> int:
        """Prepare, send and settle one message: the seq of its acceptance."""
        intent = self.prepare(address, text, cause, kind=kind, reason=reason, **ids)
        self.attempt(address, intent, **ids)
        wire = self.accept(address, text, intent, **ids)
        self.settle(address, text, intent, wire)
        return wire

    def delegate(
        self, address: Address, hand: str, task: str, cause: int, turn: str, *, deadline: float | None = None
    ) -> tuple[int, str]:
        delegation = self.id("delegation")
        tool = self.gateway.record(ToolCalled(tool="delegate", detail=hand), cause, turn=turn)
        body = DelegationAccepted(hand=hand, task=task, origin=address, session_key=KEYS[address], deadline=deadline)
        accepted = self.gateway.record(body, tool, turn=turn, delegation=delegation)
        self.wait(0.01)
        return self.gateway.record(DelegationStarted(hand=hand), accepted, delegation=delegation), delegation

    def rest(self) -> None:
        self.sim.record(RunPhase(phase="rest"))
        self.sim.record(RunEnded(at_rest=True))

    def trace(self, scenario: str, *, title: str, seed: int = 7, bugs: tuple[str, ...] = ()) -> Trace:
        header = TraceHeader(
            scenario=scenario, title=title, path=f"scenarios/tour/{scenario}.yaml", seed=seed, bugs=bugs
        )
        return Trace(header=header, events=tuple(self.log.events))
