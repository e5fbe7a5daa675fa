"""Stories written by hand, for checkers to judge: one line tells one event, and only what it is about."""

from typing import Any

from tests.support.factories import direct
from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentSettled,
    LaneWaiting,
    MirrorAppended,
    OperatorActed,
    RecoveryDecided,
)
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Idempotency, IntentKind, IntentState, Peer, Transport
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted, WireLookedUp, WireRefused
from trunkline.sim.events.world import WorldAccount, WorldLimits
from trunkline.sim.invariants import CHECKERS, Judge, Status, Verdict

PLACE = direct("100", channel="telegram")


class Story:
    """Writes a story and has it judged by all checkers, or by those that are named."""

    def __init__(self, *only: str) -> None:
        self.now = 0.0
        self.process = 1
        self._log = EventLog(lambda: self.now)
        self.checkers = [checker for checker in CHECKERS if not only or checker.id in only]
        self._judge = Judge(self.checkers)
        self._judge.watch(self._log)

    @property
    def events(self) -> list[Event]:
        return self._log.events

    # ------------------------------------------------------------ what the verdict is

    def end(self, after: float = 300.0) -> "Story":
        """The run is over."""
        self.tell(RunEnded(at_rest=True), after=after)
        self._judge.finish()
        return self

    @property
    def verdict(self) -> Verdict:
        (verdict,) = self._judge.verdicts()
        return verdict

    @property
    def broken(self) -> list[str]:
        return [verdict.id for verdict in self._judge.verdicts() if verdict.status is Status.VIOLATED]

    @property
    def wrong(self) -> list[str]:
        return [violation.summary for violation in self._judge.violations()]

    # ------------------------------------------------------------ what happens

    def tell(self, body: Body, *, after: float = 0.0, node: str = "gateway", **ids: Any) -> int:
        """Anything, so many seconds later."""
        self.now += after
        return self._log.recorder(node, self.process).record(body, **ids)

    def world(
        self,
        idempotency: Idempotency = Idempotency.NONE,
        *,
        nameless: bool = False,
        mark: str | None = None,
        attempts: int = 5,
        age: float = 3600.0,
        rate: float | None = None,
    ) -> None:
        """The platform that all places are on, and what the operator wants."""
        account = WorldAccount(
            channel="telegram", account="default", bot=Peer(id="b"), idempotency=idempotency, nameless=nameless
        )
        self.tell(account, node="sim")
        self.tell(WorldLimits(max_attempts=attempts, max_age=age, mark=mark, recovery_rate=rate), node="sim")
        self.tell(ProcessStarted())

    def prepared(self, intent: str = "i1", *texts: str, place: Address = PLACE, **fields: Any) -> int:
        """An intent, with a chunk for each text."""
        ids = {name: fields.pop(name) for name in ("turn", "inbound", "cause", "delegation") if name in fields}
        texts = texts or ("hello",)
        defaults: dict[str, Any] = {"intent_kind": IntentKind.REPLY, "targeted": False, "mirror_key": "k"}
        body = IntentPrepared(
            address=place,
            text="\n".join(texts),
            chunks=len(texts),
            key=intent,
            reason=Reason.REPLY_TO_ORIGIN,
            **{**defaults, **fields},
        )
        return self.tell(body, intent=intent, **ids)

    def started(self, attempt: int = 1, intent: str = "i1", chunk: int = 0, **more: Any) -> int:
        place = more.pop("place", PLACE)
        return self.tell(AttemptStarted(chunk=chunk, attempt=attempt, address=place), intent=intent, **more)

    def accepted(self, text: str = "hello", intent: str = "i1", chunk: int = 0, **more: Any) -> int:
        """The platform takes a chunk."""
        place = more.pop("place", PLACE)
        body = WireAccepted(
            address=place,
            requested=more.pop("requested", place),
            text=text,
            provider_id=more.pop("provider_id", f"p-{intent}/{chunk}"),
            key=more.pop("key", f"{intent}/{chunk}"),
            chunk=chunk,
            html=more.pop("html", None),
            attempt=more.pop("attempt", 1),
            transport=more.pop("transport", Transport.DIRECT),
            media=more.pop("media", ()),
            reply_to=more.pop("reply_to", None),
        )
        return self.tell(body, node="telegram", intent=intent, **more)

    def refused(self, intent: str = "i1", chunk: int = 0, attempt: int = 1, **fields: Any) -> int:
        """The platform does not take a chunk."""
        defaults: dict[str, Any] = {"reason": Reason.REFUSED, "address": PLACE}
        body = WireRefused(chunk=chunk, attempt=attempt, **{**defaults, **fields})
        return self.tell(body, node="telegram", intent=intent)

    def looked_up(self, found: bool, intent: str = "i1", chunk: int = 0) -> int:
        body = WireLookedUp(address=PLACE, key=f"{intent}/{chunk}", found=found)
        return self.tell(body, node="telegram", intent=None)

    def ended(self, reason: Reason, decision: str, intent: str = "i1", chunk: int = 0, **more: Any) -> int:
        body = AttemptEnded(
            chunk=chunk,
            attempt=more.pop("attempt", 1),
            reason=reason,
            decision=decision,
            retry_at=more.pop("retry_at", None),
        )
        return self.tell(body, intent=intent, **more)

    def acked(self, intent: str = "i1", chunk: int = 0, **fields: Any) -> int:
        defaults: dict[str, Any] = {"provider_id": f"p-{intent}/{chunk}", "reason": Reason.ACCEPTED}
        return self.tell(ChunkAcked(chunk=chunk, address=PLACE, **{**defaults, **fields}), intent=intent)

    def settled(self, state: IntentState, intent: str = "i1", reason: Reason = Reason.ACCEPTED, **more: Any) -> int:
        return self.tell(IntentSettled(state=state, reason=reason, attempts=1), intent=intent, **more)

    def mirrored(self, text: str = "hello", intent: str = "i1", **fields: Any) -> int:
        return self.tell(MirrorAppended(session_id="s", session_key="k", text=text, **fields), intent=intent)

    def sent(self, text: str = "hello", intent: str = "i1", chunk: int = 0, **more: Any) -> None:
        """An attempt that does what it should, up to the receipt."""
        place = more.pop("place", PLACE)
        self.started(intent=intent, chunk=chunk, place=place, **more)
        self.accepted(text, intent, chunk, place=place)
        self.ended(Reason.ACCEPTED, "settle", intent, chunk)
        self.acked(intent, chunk)

    def delivered(self, intent: str = "i1", text: str = "hello", **more: Any) -> None:
        """An intent of one chunk, from its preparation to its end."""
        place = more.pop("place", PLACE)
        self.prepared(intent, text, place=place, **more)
        self.sent(text, intent, place=place)
        self.mirrored(text, intent)
        self.settled(IntentState.DELIVERED, intent)

    def waits(self, reason: Reason = Reason.NOT_READY, for_: float = 30.0, intent: str = "i1") -> int:
        return self.tell(LaneWaiting(address=PLACE, reason=reason, until=self.now + for_), intent=intent)

    def crashed(self, down: float = 1.0) -> None:
        """The process dies, and the next one starts."""
        self.tell(ProcessCrashed(why="crash"))
        self.process += 1
        self.tell(ProcessStarted(), after=down)

    def recovered(self, decision: str = "resend", intent: str = "i1", attempts: int = 1, **more: Any) -> int:
        body = RecoveryDecided(decision=decision, reason=Reason.RECOVERED, attempts=attempts, at=more.pop("at", None))
        return self.tell(body, intent=intent, **more)

    def operator(self, verb: str, intent: str = "i1") -> int:
        return self.tell(OperatorActed(verb=verb, detail=""), intent=intent)
