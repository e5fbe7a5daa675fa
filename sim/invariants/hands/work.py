"""An accepted delegation is worked on, and its first answer counts: C5, C6."""

import msgspec

from trunkline.core.events import Event
from trunkline.core.events.hands import AnswerTurnedAway, DelegationAccepted, DelegationFinished, DelegationIgnored
from trunkline.core.states.delegation import HandOutcome
from trunkline.sim.events.hands import AgentDelegated, HandBegan, WorkerAnswered, WorkerTook
from trunkline.sim.events.processes import ProcessThawed
from trunkline.sim.index.hand_facts import HandRun, answer_of
from trunkline.sim.invariants.base import Checker, cited

#: characters of a recorded text that are enough to know it by
_ENOUGH = 200


class _Call(msgspec.Struct, frozen=True):
    """A call of the delegation tool, whatever process made it."""

    turn: str
    number: int


class AcceptedMeansWork(Checker, symptoms=("lost",)):
    """C5: Accepted means work.

    A call that is accepted has a delegation of its own, which is committed before its hand begins; the hand begins, or
    the delegation ends with a reason. A call that is refused starts nothing, and no call waits for its hand. None
    begins when it is older than delegations may be.
    """

    #: delegation -> the call that it belongs to
    _calls: dict[str, tuple[_Call, Event]] = {}
    #: when a process went on last that had stood still
    _thawed = -1.0

    def on_goes_on(self, event: Event, _body: ProcessThawed) -> None:
        self._thawed = event.at

    def on_began(self, event: Event, body: HandBegan | WorkerTook) -> None:
        self.exercised += 1
        run = self.run.hands.runs.get(event.delegation or "")
        if run is None or run.accepted is None:
            summary = f"{body.hand} works on {event.delegation or 'a task'}, which is not accepted"
            expected = "a delegation that was committed before"
            self.accuse(event, summary, expected, shown=f"{body.hand} begins “{body.task}”")
            return
        most = None if self.run.limits is None else self.run.limits.hand_age
        if most is not None and event.at > run.accepted.at + most:
            summary = f"{body.hand} began {run.id} when it was too old"
            expected = f"no start after {run.accepted.at + most:.0f}s, {most:.0f} s after #{run.accepted.seq}"
            self.accuse(event, summary, expected, run.accepted, shown=f"{body.hand} begins “{body.task}”")

    def on_called(self, event: Event, body: AgentDelegated) -> None:
        self.exercised += 1
        if event.delegation is None:
            self._check_refusal(event, body)
            return
        call = _Call(event.turn or "", body.call)
        known = self._calls.setdefault(event.delegation, (call, event))
        if known[0] != call:
            shown = [cited(same, f"call {number}") for same, number in ((known[1], 1), (event, body.call))]
            summary = f"two calls have the same delegation, {event.delegation}"
            self.accuse(event, summary, "an id of its own for each call", known[1], shown=shown)
        self._report_wait(event, body)

    def _check_refusal(self, event: Event, body: AgentDelegated) -> None:
        """Report a delegation that a refused call has started anyway: one of its turn that no call has got."""
        for run in self.run.hands.runs.values():
            accepted = run.accepted
            if accepted is None or run.call is not None or accepted.turn != event.turn or accepted.at < body.since:
                continue
            task = accepted.body.task if isinstance(accepted.body, DelegationAccepted) else ""
            if task == body.task:
                summary = f"{body.agent} was refused {body.hand}, and {run.id} was started"
                expected, shown = f"nothing, after {body.refused}", [cited(accepted, f"{run.id} was accepted")]
                self.accuse(event, summary, expected, accepted, shown=shown, first_wrong=accepted.seq)

    def _report_wait(self, event: Event, body: AgentDelegated) -> None:
        """The hand took its time before the call returned, so the agent has waited for it."""
        run = self.run.hands.run_of(event.delegation)
        if body.since <= self._thawed or (run.accepted is not None and run.accepted.at < body.since):
            # The process stood still, or the call is one of a turn that runs again.
            return
        for answer in run.answers:
            if answer.at <= event.at and any(body.since <= begun.at < answer.at for begun in run.began):
                summary = f"{body.agent} was kept waiting until {body.hand} had answered"
                shown = [cited(answer, "answered"), cited(event, "returned")]
                self.accuse(event, summary, "the call returns as soon as it is accepted", answer, shown=shown)
                return

    def finish(self, last: Event) -> None:
        """Report accepted delegations that nobody has worked on, although they have not ended either."""
        for delegation, (_, event) in self._calls.items():
            run = self.run.hands.run_of(delegation)
            if run.finished is not None or run.began:
                continue
            if not self._may_wait(run, last):
                self._never(last, event, run)

    def _may_wait(self, run: HandRun, last: Event) -> bool:
        """Whether the task of a worker may still be waiting for one."""
        body = None if run.accepted is None else run.accepted.body
        if not isinstance(body, DelegationAccepted) or body.hand_kind != "worker":
            return False
        return body.deadline is None or body.deadline >= last.at

    def _never(self, last: Event, event: Event, run: HandRun) -> None:
        body = event.body
        assert isinstance(body, AgentDelegated)
        summary = f"{body.hand} never began {run.id}, which was accepted"
        expected = f"{body.hand} works on “{body.task}”, or {run.id} ends with a reason"
        self.miss(last, event, summary, expected, shown=[f"nothing after #{event.seq} {event.at:.3f}s"])


class FirstResultWins(Checker, symptoms=("lost",)):
    """C6: The first result wins.

    A delegation ends once. A result is what its own hand, or the worker that took it, returned before, and no error,
    progress or answer of somebody else; a later answer is recorded as ignored or refused.
    """

    from_anywhere = True

    _ends: dict[str, Event] = {}
    #: delegation -> how many answers were recorded as ignored or refused
    _turned_away: dict[str, int] = {}

    def on_finished(self, event: Event, body: DelegationFinished) -> None:
        delegation = event.delegation or ""
        self.exercised += 1
        first = self._ends.setdefault(delegation, event)
        if first is not event:
            summary = f"{delegation} ended twice"
            expected = f"the first end, #{first.seq}, and a record that the later one is ignored"
            self.accuse(event, summary, expected, first, shown=f"{body.outcome.value}: “{body.text}”")
        run = self.run.hands.run_of(delegation)
        if run.began and body.outcome in (HandOutcome.OK, HandOutcome.ERROR):
            self._was_answered(event, body, run)

    def _was_answered(self, event: Event, body: DelegationFinished, run: HandRun) -> None:
        """A result or an error must be one that the hand returned; the gateway's own errors have other reasons."""
        texts = run.texts(body.outcome)
        if any(_same(body.text, text) for text in texts):
            return
        if body.outcome is HandOutcome.OK and run.was_silent and not body.text:
            return
        if body.outcome is HandOutcome.ERROR and not self._is_another_answer(body, run):
            return
        answers = [*run.answers, *run.strange]
        self.violate(
            at=event.seq,
            summary=f"{run.id} ended with what its hand did not return",
            expected=[f"{got.value}: “{text}”" for got, text in map(answer_of, run.answers)] or ["no result yet"],
            actual=[cited(event, f"{body.outcome.value}: “{body.text}”")],
            evidence=sorted({*(answer.seq for answer in answers), event.seq}),
        )

    def _is_another_answer(self, body: DelegationFinished, run: HandRun) -> bool:
        """Whether an error is in truth a result, or the answer of a worker that has no right to give one."""
        others = run.texts(HandOutcome.OK) | {answer_of(event)[1] for event in run.strange}
        return bool(body.text) and body.text in others

    def on_ignored(self, event: Event, _body: DelegationIgnored | AnswerTurnedAway) -> None:
        delegation = event.delegation or ""
        self._turned_away[delegation] = self._turned_away.get(delegation, 0) + 1

    def on_worker(self, event: Event, _body: WorkerAnswered) -> None:
        self.exercised += 1

    def finish(self, last: Event) -> None:
        """Report answers that the store took from workers, and of which nothing was recorded."""
        for delegation, run in self.run.hands.runs.items():
            taken = [event for event in (*run.answers, *run.strange) if _was_taken(event)]
            known = self._turned_away.get(delegation, 0) + (1 if self._won(run, taken) else 0)
            if known < len(taken):
                after = taken[known]
                summary = f"an answer to {delegation} was taken, and nothing says what became of it"
                expected = "an end, or a record that it is ignored or refused"
                shown = [f"nothing after #{after.seq} {after.at:.3f}s"]
                self.miss(last, after, summary, expected, *taken, shown=shown)

    def _won(self, run: HandRun, taken: list[Event]) -> bool:
        result = run.result
        return result is not None and any(
            result.outcome is outcome and _same(result.text, text) for outcome, text in map(answer_of, taken)
        )


def _was_taken(event: Event) -> bool:
    return isinstance(event.body, WorkerAnswered) and event.body.accepted


def _same(recorded: str, answered: str) -> bool:
    """Whether a recorded text is an answered one; of a very long one only the beginning may be recorded."""
    return recorded == answered or (len(recorded) > _ENOUGH and answered.startswith(recorded[:_ENOUGH]))
