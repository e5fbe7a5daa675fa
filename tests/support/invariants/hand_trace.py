"""Stories of delegated work, written by hand, for the checkers of hands to judge."""

from typing import Any

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, TranscriptAppended, TurnEnded, TurnStarted
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events.hands import (
    AgentDelegated,
    AgentGiven,
    GivenPrompt,
    HandAnswered,
    HandBegan,
    WorkerAnswered,
    WorkerTook,
)
from trunkline.sim.events.world import PeerSaid

ANA, BO = Peer(id="100", name="ana"), Peer(id="200", name="bo")
ELSEWHERE = direct("200", channel="telegram")
PROMPT = "What follows is a result."
FRAME = "clerk wrote:\noutcome: ok\n<data-1>\n{text}\n</data-1>"
_PLACES = {"100": PLACE, "200": ELSEWHERE}


class HandStory(Story):
    """Writes stories of agents that ask a clerk; messages are `m1`, `m2`, ... and sessions `s-<person>`."""

    def asks(self, inbound: str = "m1", peer: Peer = ANA, text: str = "count") -> None:
        """A person writes, and the turn of the message begins."""
        place = _PLACES[peer.id]
        said = PeerSaid(address=place, peer=peer, message_id=inbound, text=text)
        self.tell(said, node="telegram")
        got = InboundReceived(address=place, peer=peer, message_id=inbound, text=text)
        self.tell(got, inbound=inbound)
        admitted = InboundAdmitted(work=WorkKind.MESSAGE, session_id=f"s-{peer.name}", session_key=_key(peer))
        self.tell(admitted, inbound=inbound)
        self.turn(inbound, peer)

    def turn(self, inbound: str, peer: Peer = ANA, work: WorkKind = WorkKind.MESSAGE, **ids: Any) -> None:
        body = TurnStarted(
            agent="main", session_id=f"s-{peer.name}", session_key=_key(peer), work=work, origin=_PLACES[peer.id]
        )
        self.tell(body, inbound=inbound, turn=f"t-{inbound}", **ids)

    def over(self, inbound: str, outcome: str = "replied", **ids: Any) -> None:
        self.tell(TurnEnded(outcome=outcome), inbound=inbound, turn=f"t-{inbound}", **ids)

    def accepted_by_gateway(self, delegation: str = "d1", inbound: str = "m1", **fields: Any) -> int:
        """The gateway commits a delegation."""
        defaults: dict[str, Any] = {"hand": "clerk", "task": "count", "origin": PLACE, "session_key": _key(ANA)}
        body = DelegationAccepted(**{**defaults, **fields})
        return self.tell(body, inbound=inbound, turn=f"t-{inbound}", delegation=delegation)

    def called(self, delegation: str | None = "d1", inbound: str = "m1", peer: Peer = ANA, **fields: Any) -> int:
        """The agent's call returns."""
        defaults: dict[str, Any] = {"call": 1, "hand": "clerk", "task": "count", "since": self.now}
        body = AgentDelegated(agent="main", session_id=f"s-{peer.name}", **{**defaults, **fields})
        return self.tell(body, node="sim", turn=f"t-{inbound}", delegation=delegation)

    def delegates(self, delegation: str = "d1", inbound: str = "m1", peer: Peer = ANA, **fields: Any) -> None:
        """A call is accepted, as it should be."""
        origin = fields.pop("origin", _PLACES[peer.id])
        self.accepted_by_gateway(delegation, inbound, origin=origin, session_key=_key(peer), **fields)
        self.called(delegation, inbound, peer)

    def began(self, delegation: str = "d1", *, after: float = 0.0) -> int:
        body = HandBegan(hand="clerk", task="count", process="gateway", generation=1)
        return self.tell(body, node="sim", delegation=delegation, after=after)

    def took(self, delegation: str = "d1", worker: str = "joe") -> int:
        return self.tell(WorkerTook(worker=worker, hand="clerk", task="count"), node="sim", delegation=delegation)

    def answers(
        self, text: str = "forty zebras", delegation: str = "d1", *, marks: tuple[str, ...] = (), **more: Any
    ) -> int:
        """The hand really returns a text."""
        after = more.pop("after", 5.0)
        defaults: dict[str, Any] = {"hand": "clerk", "outcome": HandOutcome.OK, "process": "gateway", "generation": 1}
        body = HandAnswered(text=text, marks=marks, **{**defaults, **more})
        return self.tell(body, node="sim", delegation=delegation, after=after)

    def worker_answers(self, text: str, named: str = "d1", delegation: str = "d1", **more: Any) -> int:
        defaults: dict[str, Any] = {"worker": "joe", "hand": "clerk", "outcome": HandOutcome.OK, "ticket_right": True}
        body = WorkerAnswered(named=named, text=text, **{"accepted": True, **defaults, **more})
        return self.tell(body, node="sim", delegation=delegation)

    def finished(
        self, text: str = "forty zebras", delegation: str = "d1", outcome: HandOutcome = HandOutcome.OK
    ) -> int:
        """The gateway records the end."""
        body = DelegationFinished(hand="clerk", outcome=outcome, text=text)
        return self.tell(body, delegation=delegation)

    def worked(self, text: str = "forty zebras", delegation: str = "d1", *, marks: tuple[str, ...] = ()) -> None:
        """The hand works, as it should."""
        self.began(delegation)
        self.answers(text, delegation, marks=marks)
        self.finished(text, delegation)

    def back(self, delegation: str = "d1", peer: Peer = ANA) -> None:
        """The callback is stored, and its turn begins."""
        inbound = f"{delegation}.back"
        admitted = InboundAdmitted(work=WorkKind.CALLBACK, session_id=f"s-{peer.name}", session_key=_key(peer))
        self.tell(admitted, inbound=inbound, delegation=delegation)
        self.turn(inbound, peer, WorkKind.CALLBACK, delegation=delegation)

    def given(self, text: str = "forty zebras", delegation: str = "d1", **fields: Any) -> int:
        """The agent really gets a result."""
        defaults: dict[str, Any] = {
            "agent": "main",
            "session_id": "s-ana",
            "session_key": _key(ANA),
            "work": WorkKind.CALLBACK,
            "peer": Peer(id="hand:clerk", name="clerk"),
            "asked_by": ANA,
            "place": PLACE,
            "prompts": (GivenPrompt(kind="callback", text=PROMPT),),
            "prompt": PROMPT,
            "hand": "clerk",
            "outcome": HandOutcome.OK,
            "frame": FRAME,
        }
        body = AgentGiven(text=text, **{**defaults, **fields})
        return self.tell(body, node="sim", turn=f"t-{delegation}.back", delegation=delegation)

    def says(self, text: str, place: Address = PLACE, *, inbound: str = "d1.back", **fields: Any) -> int:
        """An answer is prepared and accepted, at `at` if the platform puts it there; returns the accept."""
        at = fields.pop("at", place)
        intent = f"{inbound}.reply"
        delegation = fields.pop("delegation", inbound.removesuffix(".back") if inbound.endswith(".back") else None)
        kind = fields.pop("intent_kind", IntentKind.REPLY)
        body = IntentPrepared(
            intent_kind=kind,
            address=place,
            targeted=fields.pop("targeted", False),
            text=text,
            chunks=1,
            key=intent,
            reason=Reason.CALLBACK_TURN,
            mirror_key=None,
        )
        self.tell(body, intent=intent, inbound=inbound, turn=f"t-{inbound}", delegation=delegation)
        return self.accepted(text, intent, place=at, requested=place)

    def remembers(self, text: str, peer: Peer = ANA, role: str = "hand") -> int:
        body = TranscriptAppended(session_id=f"s-{peer.name}", session_key=_key(peer), role=role, text=text)
        return self.tell(body)

    def report(
        self, before: CallbackState, state: CallbackState, reason: Reason | None = None, delegation: str = "d1"
    ) -> int:
        return self.tell(CallbackChanged(before=before, state=state, reason=reason), delegation=delegation)


def _key(peer: Peer) -> str:
    return f"main:telegram:default:direct:{peer.id}"
