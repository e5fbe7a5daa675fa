"""Delegations as the world knows them: who really called, what hands really did, and what agents really got."""

from collections.abc import Iterator

import msgspec

from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.keys import parse_v1
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address
from trunkline.sim.events.hands import AgentDelegated, AgentGiven, HandAnswered, HandBegan, WorkerAnswered, WorkerTook
from trunkline.sim.index.projection import Projection

#: what precedes the id of a delegation in the key of its session
_SUBAGENT = ":subagent:"


class HandRun(msgspec.Struct):
    """A delegation: the gateway's acceptance and end of it, and what the cast did."""

    id: str
    accepted: Event | None = None
    #: the call of the agent; none if its process died before the call returned
    call: Event | None = None
    #: every time that a hand began, or a worker took the task
    began: list[Event] = []
    #: what a hand, or a worker with the right ticket, answered
    answers: list[Event] = []
    #: answers of workers that have no right to answer it
    strange: list[Event] = []
    #: the first result, as the gateway recorded it
    finished: Event | None = None
    #: the turns in which agents got its result
    given: list[Event] = []

    @property
    def asked(self) -> AgentDelegated | None:
        """The call of the agent."""
        return self.call.body if self.call is not None and isinstance(self.call.body, AgentDelegated) else None

    @property
    def stored(self) -> DelegationAccepted | None:
        """The delegation as the gateway recorded it at the call."""
        body = None if self.accepted is None else self.accepted.body
        return body if isinstance(body, DelegationAccepted) else None

    @property
    def origin(self) -> Address | None:
        """Where the answer goes, as the gateway recorded it at the call."""
        return None if self.stored is None else self.stored.origin

    @property
    def parent(self) -> str | None:
        """The delegation that its caller worked on."""
        return None if self.stored is None else self.stored.parent

    @property
    def turn(self) -> str:
        """The turn that delegated: as the agent knows it, else as the gateway recorded it."""
        event = self.call or self.accepted
        return "" if event is None else event.turn or ""

    @property
    def result(self) -> DelegationFinished | None:
        return self.finished.body if self.finished and isinstance(self.finished.body, DelegationFinished) else None

    def texts(self, outcome: HandOutcome) -> set[str]:
        """The texts of the real answers with an outcome."""
        return {text for event in self.answers for got, text in [answer_of(event)] if got is outcome}

    @property
    def was_silent(self) -> bool:
        """Whether an agent that works on it has ended a turn without a text."""
        return any(isinstance(event.body, HandAnswered) and event.body.silent for event in self.answers)


def answer_of(event: Event) -> tuple[HandOutcome, str]:
    """Outcome and text of an answer of a hand or a worker."""
    body = event.body
    assert isinstance(body, HandAnswered | WorkerAnswered)
    return body.outcome, body.text


class RunHands(Projection):
    """The delegations of a run."""

    runs: dict[str, HandRun] = {}
    #: turn -> the work that it runs for
    work_of: dict[str, str] = {}
    #: callback turn -> the delegation whose result it got
    got: dict[str, str] = {}

    def run_of(self, delegation: str | None) -> HandRun:
        """The facts about a delegation."""
        run = self.runs.get(delegation or "")
        if run is None:
            run = self.runs[delegation or ""] = HandRun(delegation or "")
        return run

    def chain(self, delegation: str) -> Iterator[HandRun]:
        """A delegation, and those above it, up to the one of a turn of a conversation."""
        seen: set[str] = set()
        above: str | None = delegation
        while above and above not in seen and above in self.runs:
            seen.add(above)
            run = self.runs[above]
            yield run
            above = run.parent or self.got.get(run.turn)

    def top(self, delegation: str) -> HandRun:
        """The first delegation of a chain: that of a turn of a conversation."""
        *_, last = self.chain(delegation) if delegation in self.runs else (HandRun(delegation),)
        return last

    def owner(self, session: str, key: str) -> str:
        """The session that a session works for: of one that works on a delegation, that of its first caller."""
        try:
            delegation = parse_v1(key).subagent
        except KeyFormatError:
            # A key of an upstream profile, which has the id as it is.
            delegation = key.partition(_SUBAGENT)[2] or None
        if delegation is None or delegation not in self.runs:
            return session
        asked = self.top(delegation).asked
        return session if asked is None else asked.session_id

    def note_accepted(self, event: Event) -> None:
        """A delegation was committed."""
        run = self.run_of(event.delegation)
        run.accepted = run.accepted or event

    def on_called(self, event: Event, body: AgentDelegated) -> None:
        if event.delegation is not None:
            run = self.run_of(event.delegation)
            run.call = run.call or event

    def on_began(self, event: Event, _body: HandBegan | WorkerTook) -> None:
        self.run_of(event.delegation).began.append(event)

    def on_answered(self, event: Event, _body: HandAnswered) -> None:
        self.run_of(event.delegation).answers.append(event)

    def on_worker(self, event: Event, body: WorkerAnswered) -> None:
        run = self.run_of(body.named)
        (run.answers if body.ticket_right else run.strange).append(event)

    def on_finished(self, event: Event, _body: DelegationFinished) -> None:
        run = self.run_of(event.delegation)
        run.finished = run.finished or event

    def on_given(self, event: Event, body: AgentGiven) -> None:
        if body.hand and event.delegation is not None:
            self.run_of(event.delegation).given.append(event)
            self.got[event.turn or ""] = event.delegation
