"""Stories of a gateway of which only the wire is known, written by hand, for the checkers of the wire side."""

from collections import Counter
from typing import Any

from trunkline.core.events import Body, Event, EventLog, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.events.attach import GatewayAttached, GatewayLaunched, GatewayReady
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import FaultFired, RunPhase
from trunkline.sim.events.wire import WireAccepted, WireCalled, WireDeleted, WireEdited, WireRefused, WireResponded
from trunkline.sim.events.world import PeerSaid, PlatformPushed, ThreadClosed, WorldPlace
from trunkline.sim.index.marks import AnswerMark, answer_text, question_text
from trunkline.sim.invariants import CHECKERS, Judge, Status, Verdict

ANA = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="7")
BEN = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="8")
OPS = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100")
DEPLOY = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100", thread="11")
ROLLBACK = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100", thread="12")
NAMES = {"@ana": ANA, "@ben": BEN, "ops": OPS, "ops/deploy": DEPLOY, "ops/rollback": ROLLBACK}
NOTICE, REMARK = "⚠️ I was restarted.", "No home channel is set for Telegram."


class WireStory:
    """Writes what happens on the wire, and has it judged. `begun`: the gateway is connected."""

    def __init__(self, *, patience: float = 45.0, begun: bool = True) -> None:
        self.now = 0.0
        self._log = EventLog(lambda: self.now)
        self._judge = Judge(CHECKERS)
        self._judge.watch(self._log)
        self._generation = Counter[str]()
        self._messages = 0
        self._posted: dict[str, Address] = {}
        self.starts = 0
        self.tell(
            GatewayAttached(gateway="story", notices=("⚠️ *",), remarks=("*No home channel*",), patience=patience),
            after=0.0,
        )
        for name, address in NAMES.items():
            self.tell(WorldPlace(address=address, name=name), after=0.0)
        if begun:
            self.start()

    # ------------------------------------------------------------ what happens

    def tell(self, body: Body, cause: int | None = None, *, after: float = 1.0, node: str = "sim") -> int:
        """Anything, so many seconds later. Returns the seq of its event."""
        self.now += after
        return self._log.recorder(node).record(body, cause)

    def tell_nothing(self, *, after: float) -> None:
        """So many seconds later, something that is about no question: the gateway asks who it is."""
        self.tell(WireCalled(channel="telegram", method="getMe"), after=after, node="telegram")

    def start(self) -> None:
        """The gateway starts, and is connected."""
        self.starts += 1
        self.tell(GatewayLaunched(number=self.starts))
        self.tell(GatewayReady(number=self.starts, after=1.0))

    def crash(self) -> None:
        """The gateway is killed, and started again."""
        self.tell(FaultFired(fault="crash"))
        self.tell(ProcessCrashed(why="crash"), after=0.0)
        self.start()

    def fault(self, name: str = "send/reset") -> int:
        return self.tell(FaultFired(fault=name))

    def tell_struck(self, name: str, called: int) -> int:
        """A fault strikes a request that has arrived."""
        return self.tell(FaultFired(fault=name), called, after=0.0)

    def ask(self, mark: str, place: Address = ANA, text: str = "hello", *, taken: bool = True, **fields: Any) -> int:
        """A person asks, and the platform hands it out."""
        self._messages += 1
        peer = fields.pop("peer", Peer(id="8" if place is BEN else "7"))
        body = PeerSaid(
            address=place, peer=peer, message_id=f"q-{mark}", text=question_text(text, mark) if mark else text, **fields
        )
        seq = self.tell(body)
        if taken:
            pushed = PlatformPushed(address=place, message_id=f"q-{mark}", original_id=f"q-{mark}")
            self.tell(pushed, seq, after=0.0)
        return seq

    def turn(self, *marks: str, text: str = "Done.", secrets: tuple[str, ...] = (), status: int = 200) -> str:
        """The model is asked for these questions, and answers. Returns what it says."""
        asked = self.prompt(*marks, secrets=secrets)
        found: list[AnswerMark] = []
        for mark in marks:
            self._generation[mark] += 1
            found.append(AnswerMark(mark, self._generation[mark]))
        said = answer_text(text, found) if status == 200 else ""
        self.tell(ModelAnswered(status=status, text=said), asked, node="model")
        return said

    def prompt(self, *marks: str, secrets: tuple[str, ...] = (), beside: bool = False) -> int:
        """The model is asked."""
        said = tuple(question_text("hello", mark) for mark in marks)
        body = ModelAsked(model="m1", said=said, marks=marks, secrets=secrets, beside=beside)
        return self.tell(body, node="model")

    def model_says(self, asked: int, text: str) -> None:
        """The model answers a request with any text."""
        self.tell(ModelAnswered(status=200, text=text), asked, node="model")

    def call(self, text: str, place: Address = ANA, **fields: Any) -> int:
        """A send arrives."""
        more = {"channel": place.channel, "account": "default", "method": "x", "what": "send", **fields}
        body = WireCalled(address=place, text=text, **more)
        return self.tell(body, node="telegram")

    def send(self, text: str, place: Address = ANA, *, heard: bool = True, **fields: Any) -> str:
        """A send arrives and is accepted. `heard`: the response gets to the gateway. Returns the id of the message."""
        called = self.call(text, place)
        self._messages += 1
        name = f"p{self._messages}"
        self._posted[name] = place
        body = WireAccepted(
            address=place, requested=place, text=text, provider_id=name, key=name, chunk=1, attempt=1, **fields
        )
        self.tell(body, called, after=0.0, node="telegram")
        if heard:
            self.respond(called, text, place, 200)
        return name

    def refuse(self, text: str, place: Address = ANA, reason: Reason = Reason.REFUSED, **fields: Any) -> None:
        """A send arrives and is refused."""
        called = self.call(text, place, digest=fields.pop("digest", ""))
        self.refused(called, text, place, reason, **fields)

    def refused(
        self, called: int, text: str, place: Address = ANA, reason: Reason = Reason.REFUSED, **fields: Any
    ) -> None:
        """A send that has arrived is refused."""
        body = WireRefused(address=place, reason=reason, chunk=1, attempt=1, **fields)
        self.tell(body, called, after=0.0, node="telegram")
        self.respond(called, text, place, 400)

    def respond(self, called: int, text: str, place: Address, status: int) -> None:
        body = WireResponded(channel="telegram", method="x", status=status, address=place, text=text)
        self.tell(body, called, after=0.0, node="telegram")

    def edit(self, name: str, text: str, **fields: Any) -> None:
        self.tell(WireEdited(address=self._posted[name], message_id=name, text=text, **fields), node="telegram")

    def delete(self, name: str, *, after: float = 1.0) -> None:
        self.tell(WireDeleted(address=self._posted[name], message_id=name), after=after, node="telegram")

    def close(self, place: Address, how: str = "deleted") -> None:
        self.tell(ThreadClosed(address=place, how=how), node="telegram")

    def answered(self, mark: str, place: Address = ANA, **fields: Any) -> str:
        """Asked, answered by the model, and sent to its place."""
        self.ask(mark, place, **fields)
        return self.send(self.turn(mark), place)

    # ------------------------------------------------------------ what the verdict is

    def end(self, after: float = 60.0, *, rest: bool = True) -> "WireStory":
        """The run is over, after a wait. `rest`: nothing was expected any more."""
        self.now += after
        if rest:
            self.tell(RunPhase(phase="rest"), after=0.0)
        self.tell(RunEnded(at_rest=rest), after=0.0)
        self._judge.finish()
        return self

    @property
    def events(self) -> list[Event]:
        return self._log.events

    @property
    def trace(self) -> Trace:
        """The story as a trace."""
        return Trace(
            header=TraceHeader(scenario="story", on_wire=True, side="wire", gateway="story"), events=tuple(self.events)
        )

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self._judge.verdicts()

    def verdict(self, name: str) -> Verdict:
        return next(verdict for verdict in self.verdicts if verdict.id == name)

    @property
    def broken(self) -> list[str]:
        return [verdict.id for verdict in self.verdicts if verdict.status is Status.VIOLATED]

    def summaries(self, name: str) -> list[str]:
        return [violation.summary for violation in self.verdict(name).violations]
