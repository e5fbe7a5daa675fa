"""Scripted workers outside the gateway: they take tasks from the store, and answer there.

They belong to no gateway process, so a crash does not touch them, and they answer while none runs.
"""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from trunkline.core.errors import AnswerRefused, IllegalTransition, StoreError, UnknownName
from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.delegations import HandPost, PostToGateway, PostVerb, TakeTask
from trunkline.core.values import DelegationId
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.cast.hands import sized
from trunkline.sim.cast.working_agents import FAILED
from trunkline.sim.events.hands import WorkerAnswered, WorkerDied, WorkerReported, WorkerTook
from trunkline.sim.scenario.model.hands import ProgressReport, WorkerRule, WorkerSpec
from trunkline.sim.scenario.templates import fill
from trunkline.sim.scenario.text_pattern import text_matches
from trunkline.sim.store.outside import OutsideStore

#: seconds after which a worker tries again what the disk refused
_AGAIN = 1.0
#: the id that a worker answers by mistake
_UNKNOWN = DelegationId("no-such-delegation")


class _Held(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a worker has taken."""

    row: DelegationRow
    ticket: str
    rule: WorkerRule
    #: number of the event that recorded the taking
    cause: int

    def fill_template(self, template: str, number: int = 1) -> str:
        """A template filled for this task. `number`: that of the answer."""
        task = self.row.task
        return fill(template, {"task": task, "text": task, "hand": self.row.hand, "n": str(number)})


class Workers:
    """The workers of a run."""

    def __init__(self, world: CastWorld, store: OutsideStore, specs: Mapping[str, WorkerSpec]) -> None:
        #: delegations that have not ended, which a worker may name by mistake
        self.open: dict[str, None] = {}
        self._all = [_Worker(name, spec, world, store, self) for name, spec in specs.items()]
        if specs:
            world.log.subscribe(self._note_accepted, DelegationAccepted)
            world.log.subscribe(self._forget_finished, DelegationFinished)

    @property
    def busy(self) -> bool:
        """Whether a worker is about to do something."""
        return any(worker.due for worker in self._all)

    def _note_accepted(self, event: Event) -> None:
        assert isinstance(event.body, DelegationAccepted)
        self.open[event.delegation or ""] = None
        for worker in self._all:
            if worker.spec.hand == event.body.hand:
                worker.look_soon()

    def _forget_finished(self, event: Event) -> None:
        self.open.pop(event.delegation or "", None)


class _Worker:
    """A worker, which works on one task at a time."""

    def __init__(self, name: str, spec: WorkerSpec, world: CastWorld, store: OutsideStore, others: Workers) -> None:
        self.spec = spec
        self._name = name
        self._world = world
        self._store = store
        self._others = others
        self._held: _Held | None = None
        self._dead = False
        self._looks = 0
        #: callbacks that are scheduled
        self.due = 0

    def look_soon(self) -> None:
        """A task is there, or may be: take it in a while."""
        if not self._dead:
            self._call_later(self.spec.takes_after, self._look)

    def _call_later(self, seconds: float, call: Callable[..., None], *args: object) -> None:
        self.due += 1
        self._world.call_at(self._world.now() + seconds, self._do, partial(call, *args))

    def _do(self, call: Callable[[], None]) -> None:
        self.due -= 1
        call()
        self._world.poke()

    def _look(self) -> None:
        """Take the next task, unless there is none or this worker has one already."""
        if self._held is not None or self._dead:
            return
        self._looks += 1
        ticket = self._world.ids.new("ticket", self._name, str(self._looks))
        take = TakeTask(hand=self.spec.hand, worker=self._name, ticket=ticket, now=self._world.wall_clock())
        try:
            row = self._store.write(take)
        except StoreError:
            self._call_later(_AGAIN, self._look)
            return
        if row is not None:
            self._take(row, ticket)

    def _take(self, row: DelegationRow, ticket: str) -> None:
        body = WorkerTook(worker=self._name, hand=row.hand, task=row.task)
        cause = self._world.events.record(body, delegation=row.id)
        rules = self.spec.rules
        rule = next(
            (candidate for candidate in rules if candidate.text is None or text_matches(candidate.text, row.task)), None
        )
        if rule is None:
            # A worker that does not know what to do keeps the task, and goes on with the next one.
            self.look_soon()
            return
        self._world.reached.note(rule)
        rule = _struck(rule, self._world.hand_fault(row.task))
        held = self._held = _Held(row=row, ticket=ticket, rule=rule, cause=cause)
        for report in rule.progress:
            if report.at <= rule.works:
                self._call_later(report.at, self._report, held, report)
        if rule.dies:
            self._call_later(rule.works, self._die, held)
        elif rule.answers:
            self._call_later(rule.works, self._answer, held, 1)
        else:
            self._call_later(rule.works, self._free)

    def _die(self, held: _Held) -> None:
        self._dead = True
        body = WorkerDied(worker=self._name, hand=held.row.hand)
        self._world.events.record(body, held.cause, delegation=held.row.id)

    def _free(self) -> None:
        """The worker has done what it does with its task, and looks for another one."""
        self._held = None
        self._look()

    def _report(self, held: _Held, report: ProgressReport) -> None:
        named, ticket = self._means(held)
        text = held.fill_template(report.text)
        done = self._post(named, PostVerb.PROGRESS, None, text, ticket)
        if done is None:
            self._call_later(_AGAIN, self._report, held, report)
            return
        accepted, reason, _ = done
        body = WorkerReported(worker=self._name, named=named, text=text, accepted=accepted, reason=reason)
        self._world.events.record(body, held.cause, delegation=held.row.id)

    def _answer(self, held: _Held, number: int) -> None:
        rule, (named, ticket) = held.rule, self._means(held)
        outcome = HandOutcome.OK if rule.fails is None else HandOutcome.ERROR
        text = held.fill_template(rule.result or "done" if rule.fails is None else rule.fails, number)
        text = sized(text, rule.result_size)
        done = self._post(named, PostVerb.ANSWER, outcome, text, ticket)
        if done is None:
            self._call_later(_AGAIN, self._answer, held, number)
            return
        accepted, reason, detail = done
        body = WorkerAnswered(
            worker=self._name,
            hand=held.row.hand,
            named=named,
            outcome=outcome,
            text=text,
            ticket_right=named == held.row.id and ticket == held.ticket,
            accepted=accepted,
            reason=reason,
            detail=detail,
            marks=self._world.words.marks(text),
        )
        self._world.events.record(body, held.cause, delegation=held.row.id)
        if number < rule.answers:
            self._call_later(rule.again_after, self._answer, held, number + 1)
        else:
            self._free()

    def _means(self, held: _Held) -> tuple[DelegationId, str | None]:
        """The delegation that the worker names, and the ticket that it shows."""
        own, rule = held.row.id, held.rule
        ticket = {"wrong": f"not-{held.ticket}", "none": None}.get(rule.ticket or "", held.ticket)
        if rule.names is None:
            return own, ticket
        others = [DelegationId(named) for named in self._others.open if named != own]
        return (others[0] if others and rule.names == "other" else _UNKNOWN), ticket

    def _post(
        self, named: DelegationId, verb: PostVerb, outcome: HandOutcome | None, text: str, ticket: str | None
    ) -> tuple[bool, Reason | None, str] | None:
        """Leave something for the gateway: accepted, else why not; None when the disk refuses it for now."""
        post = HandPost(
            delegation=named,
            verb=verb,
            outcome=outcome,
            text=text,
            by=self._name,
            ticket=ticket,
            at=self._world.wall_clock(),
        )
        try:
            self._store.write(PostToGateway(post=post))
        except AnswerRefused as error:
            return False, error.reason, error.facts
        except UnknownName as error:
            return False, Reason.UNKNOWN_DELEGATION, error.facts
        except IllegalTransition as error:
            return False, Reason.CHANGED_ELSEWHERE, error.facts
        except StoreError:
            return None
        return True, None, ""


def _struck(rule: WorkerRule, fault: tuple[str, float] | None) -> WorkerRule:
    """Act on a fault that strikes the task of a worker."""
    kind, extra = fault or ("", 0.0)
    if kind == "slow":
        return rule.model_copy(update={"works": rule.works + extra})
    if kind == "error":
        return rule.model_copy(update={"result": None, "fails": FAILED})
    # A worker that loses its task goes on with the next one.
    return rule.model_copy(update={"answers": 0}) if kind == "drop" else rule
