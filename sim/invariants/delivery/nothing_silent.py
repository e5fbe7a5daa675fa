"""Loss is never silent: V1."""

from collections import Counter
from collections.abc import Iterator

from trunkline.core.events import Event, bindings, delivery, gateway, hands
from trunkline.core.reasons import Reason
from trunkline.core.store.delegations import PostVerb
from trunkline.core.values import Address, IntentKind, IntentState, WorkKind
from trunkline.sim.events import wire, world
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.index.run_facts import Lane
from trunkline.sim.invariants.base import Checker

#: seconds within which a receipt must be stored, unless an event explains the delay
_TO_STORE = 5.0
_SETTLED = ("settle", "misplaced")
#: ends of a turn that an event of its answer must follow: an intent, or why there is none
_EXPLAINED = ("silent", "replied")


class NothingSilent(Checker, symptoms=("lost",)):
    """V1: Nothing silent.

    Each drop, suppression and failure is an event with a reason; each accept belongs to an intent; and hooks are
    notified of the outcome of everything they saw, once.
    """

    #: pushes without an inbound.received -> the push, and the process that was connected
    _pushed: dict[int, tuple[Event, int | None]] = {}
    #: channel and account -> the process that opened the live connection. A new holder of the store opens
    #: its own only some time later, and a frozen process keeps what was pushed to it until it dies.
    _connected: dict[tuple[str, str], int | None] = {}
    _open: dict[str, Event] = {}
    #: messages that a process has received, by place and id
    _had: set[tuple[Address, str, int | None]] = set()
    #: turns that ended, until their answer or its absence is recorded
    _silent: dict[str, Event] = {}
    #: turns that work on a task, whose answer is the result of a delegation
    _tasks: set[str] = set()
    #: delegations of which an operator has discarded the report
    _discarded: set[str | None] = set()
    #: refused requests, until the gateway records the outcome -> the refusal, and the process that asked
    _refused: dict[tuple[str, int, int], tuple[Event, int | None]] = {}
    _store_failed = -1.0
    #: intents that hooks have seen, and the outcomes that they were notified of
    _hooked: dict[str, Event] = {}
    _outcomes: dict[str, Event] = {}
    #: how often hooks were asked, less how often they were notified
    _unnotified = Counter[str]()
    #: transcript lines that the store refused
    _unstored: set[str] = set()

    def on_platform_connected(self, _event: Event, body: world.PlatformConnected) -> None:
        self._connected[body.channel, body.account] = self.run.processes.holder

    def on_platform_pushed(self, event: Event, body: world.PlatformPushed) -> None:
        process = self._process_of(body.address)
        if body.replay and (body.address, body.message_id, process) in self._had:
            # An adapter that asks again for what it has not confirmed yet need not hand it over again.
            return
        # A platform that is polled, or that does not see its connection break, does not know that the process is dead.
        if process is None or not self.run.processes.gone(process):
            self._pushed[event.seq] = (event, process)

    def _process_of(self, place: Address) -> int | None:
        """The process that is connected to the account of a place."""
        return self._connected.get((place.channel, place.account), self.run.processes.holder)

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        self.exercised += 1
        self._had.add((body.address, body.message_id, self._process_of(body.address)))
        if self._pushed.pop(event.cause or 0, None) is None:
            self._look_for(event)
        self._open[event.inbound or ""] = event

    def on_deed(self, event: Event, body: gateway.DeedReceived) -> None:
        self.exercised += 1
        self._had.add((body.address, body.message_id, self._process_of(body.address)))
        if self._pushed.pop(event.cause or 0, None) is None:
            self._look_for(event)

    def _look_for(self, event: Event) -> None:
        """Find the push of an adapter that records no cause, by place and message id; of a deed, by its message."""
        body, name = event.body, ""
        assert isinstance(body, gateway.InboundReceived | gateway.DeedReceived)
        # It may have been pushed more than once, before the gateway took it.
        for seq, (push, _) in [*self._pushed.items()]:
            pushed = push.body
            assert isinstance(pushed, world.PlatformPushed)
            if isinstance(body, gateway.DeedReceived):
                # Real platforms give it another id, and may not say its thread.
                here = pushed.address.lane[:3] == body.address.lane[:3] and pushed.deed_of == body.of
                name = name or (pushed.message_id if here else "")
                found = here and pushed.message_id == name
            else:
                found = pushed.address == body.address and pushed.message_id == body.message_id
            if found:
                del self._pushed[seq]

    def on_accounted(self, event: Event, _body: gateway.InboundAdmitted | gateway.InboundDropped) -> None:
        self._open.pop(event.inbound or "", None)

    def on_operator_acted(self, event: Event, body: delivery.OperatorActed) -> None:
        if body.verb == PostVerb.DISCARD.value:
            self._discarded.add(event.delegation)

    def on_turn_ended(self, event: Event, body: gateway.TurnEnded) -> None:
        if body.outcome == "silent" and event.turn in self._tasks:
            # The task goes on, or its delegation ends with an empty result.
            return
        if body.reason in (Reason.PARENT_ENDED, Reason.WITHDRAWN) or (
            body.reason is Reason.DISCARDED and event.delegation in self._discarded
        ):
            # It did not take place: the task that it was for has ended, its message was deleted, or an operator has
            # discarded its report.
            return
        if body.outcome in _EXPLAINED:
            self._silent[event.turn or ""] = event

    def on_turn_started(self, event: Event, body: gateway.TurnStarted) -> None:
        if body.origin is None and body.work in (WorkKind.TASK, WorkKind.CALLBACK):
            self._tasks.add(event.turn or "")

    def on_result(self, event: Event, _body: hands.DelegationFinished | hands.DelegationIgnored) -> None:
        """The text that the turn of a task returned is the result of its delegation."""
        for turn in [turn for turn in self._tasks if turn in self._silent]:
            if self._silent[turn].delegation == event.delegation:
                del self._silent[turn]

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        if body.intent_kind in (IntentKind.REPLY, IntentKind.HEARTBEAT):
            self._settle_reply(event)

    def on_settled(self, event: Event, body: delivery.IntentSettled) -> None:
        """A hook has cancelled the answer before it was stored."""
        if body.state is IntentState.CANCELLED:
            self._settle_reply(event)

    def _settle_reply(self, event: Event) -> None:
        """A turn that replied has its answer, or the end of it."""
        if self._silent:
            self._silent.pop(event.turn or "", None)

    def on_suppressed(self, event: Event, _body: delivery.IntentSuppressed) -> None:
        self.exercised += 1
        self._silent.pop(event.turn or "", None)

    def on_accepted(self, event: Event, _body: wire.WireAccepted) -> None:
        if (event.intent or "") not in self.run.intents:
            summary = "a message was accepted that belongs to no intent"
            expected = "an intent.prepared before the accept"
            self.accuse(event, summary, expected, shown=f"wire.accepted of {event.intent}")

    def on_wire_refused(self, event: Event, body: wire.WireRefused) -> None:
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        started = None if facts is None else facts.started
        asked_by = None if started is None else started.generation
        if asked_by is None or not self.run.processes.gone(asked_by):
            self._refused[event.intent or "", body.chunk, body.attempt] = (event, asked_by)

    def on_reopened(self, event: Event, _body: bindings.PlaceReopened) -> None:
        """A bound thread was unarchived: a refused send is repeated within the same attempt."""
        for key, (refused, _) in tuple(self._refused.items()):
            if key[0] == event.intent and getattr(refused.body, "reason", None) in wire.NO_PLACE:
                del self._refused[key]

    def on_attempt_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        if not self._refused:
            return
        refused, _ = self._refused.pop((event.intent or "", body.chunk, body.attempt), (None, None))
        if refused is None or body.decision not in _SETTLED:
            return
        why = getattr(refused.body, "reason", "")
        summary = f"the platform refused {event.intent} chunk {body.chunk + 1} ({why}), and no event records it"
        expected = f"an attempt.ended with the reason {why}"
        self.accuse(event, summary, expected, refused, shown=f"attempt.ended: {body.reason.value}")

    def on_mirror_refused(self, event: Event, _body: delivery.MirrorRefused) -> None:
        self.exercised += 1
        self._unstored.add(event.intent or "")

    def on_waiting(self, _event: Event, _body: delivery.LaneWaiting) -> None:
        """A message that is not sent yet, for a recorded reason."""
        self.exercised += 1

    def on_store_refused(self, event: Event, _body: gateway.StoreFailed) -> None:
        self.exercised += 1
        self._store_failed = event.at

    def on_hook_sending(self, event: Event, _body: delivery.HookSending) -> None:
        self.exercised += 1
        self._hooked[event.intent or ""] = event
        self._unnotified[event.intent or ""] += 1

    def on_hook_sent(self, event: Event, body: delivery.HookSent) -> None:
        intent = event.intent or ""
        before = self._outcomes.setdefault(intent, event)
        self._unnotified[intent] -= 1
        if before is not event and body.reason is Reason.ALREADY_FINISHED and self._unnotified[intent] >= 0:
            # Two ends of one task came to hooks, and the second came too late.
            return
        facts = self.run.intents.get(intent)
        ended = facts.settled[-1] if facts is not None and facts.settled else self.run.cancelled.get(intent)
        true = getattr(None if ended is None else ended.body, "state", body.state)
        if before is not event and not (facts is not None and facts.reopened is not None):
            self._wrong_outcome(event, f"hooks were notified of the outcome of {intent} twice", before)
        elif intent not in self._hooked:
            self._wrong_outcome(event, f"hooks were notified of the outcome of {intent}, which they never saw")
        elif ended is not None and true is not body.state:
            summary = f"hooks were notified that {intent} is {body.state.value}; it is {true.value}"
            self._wrong_outcome(event, summary, ended)

    def _wrong_outcome(self, event: Event, summary: str, *causes: Event) -> None:
        expected = "one hook.sent for each hook.sending, with the real outcome"
        self.accuse(event, summary, expected, *causes, shown=f"hook.sent: {getattr(event.body, 'state', '')}")

    def on_process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        """Forget what the process held, which L1 judges; check the receipts that it owed. Others owe theirs still."""
        gone = event.generation
        self._receipts_kept(event, gone)
        self._pushed = {seq: pushed for seq, pushed in self._pushed.items() if pushed[1] not in (gone, None)}
        self._refused = {key: refused for key, refused in self._refused.items() if refused[1] not in (gone, None)}
        self._open = {name: opened for name, opened in self._open.items() if opened.generation != gone}
        # What was committed with the end of a turn is there, but the process had no time to record it.
        self._silent = {
            turn: ended for turn, ended in self._silent.items() if ended.generation != gone or ended.at < event.at
        }
        # Hooks see again what the process had not stored.
        stored = (self.run.intents, self.run.cancelled)
        self._hooked = {
            name: hooked
            for name, hooked in self._hooked.items()
            if hooked.generation != gone or any(name in known for known in stored)
        }

    def _receipts_kept(self, event: Event, process: int | None = None) -> None:
        """A known accept is stored, or the store's refusal is recorded: by this process, or by all that still run."""
        processes = self.run.processes
        for intent, facts in self.run.intents.items():
            ended = facts.ended
            if ended is None or facts.over:
                continue
            if processes.gone(ended.generation) if process is None else ended.generation != process:
                continue
            if not isinstance(ended.body, delivery.AttemptEnded) or ended.body.decision not in _SETTLED:
                continue
            waited = processes.awake(ended.generation, ended.at, event.at)
            if waited > _TO_STORE and self._store_failed < ended.at:
                summary = f"the receipt of {intent} chunk {facts.acked + 1} was not stored, and no event explains it"
                shown = f"accepted, and no receipt {waited:.0f}s later"
                self.miss(event, ended, summary, "a chunk.acked, or a store.failed", event, shown=shown)

    def finish(self, last: Event) -> None:
        """Report everything without an explanation."""
        self._receipts_kept(last)
        hooked = self._hooked.items()
        unnotified = [self._latest(intent, event) for intent, event in hooked if intent not in self._outcomes]
        lost = [
            *(
                (event, "was pushed to a live process, which records nothing of it")
                for event, _ in self._pushed.values()
            ),
            *((event, "was received, but neither admitted nor dropped") for event in self._open.values()),
            *(
                (event, f"ended as {getattr(event.body, 'outcome', '')}, and no event explains its answer")
                for event in self._silent.values()
            ),
            *((event, "was seen by hooks, which were never notified of the outcome") for event in unnotified),
            *((event, "was delivered, is in no transcript, and no event explains it") for event in self._unmirrored()),
            *((event, "was overtaken by a later one, and no event explains it") for event in self._passed_over()),
        ]
        for event, what in lost:
            name = event.inbound if event.intent is None else event.intent
            summary = f"{name or event.turn or f'#{event.seq}'} {what}"
            shown = f"{event.kind}, and no event that explains the outcome"
            self.miss(last, event, summary, "an event with a reason code", shown=shown)

    def _latest(self, intent: str, seen: Event) -> Event:
        """The last event of an intent that hooks saw."""
        facts = self.run.intents.get(intent)
        return self.run.cancelled.get(intent, seen) if facts is None else facts.last

    def _unmirrored(self) -> Iterator[Event]:
        """Delivered intents whose mirror was neither stored nor refused."""
        for intent, facts in self.run.intents.items():
            delivered = facts.settled and getattr(facts.settled[-1].body, "state", None) is IntentState.DELIVERED
            if delivered and facts.body.mirror_key is not None and not facts.mirrors and intent not in self._unstored:
                yield facts.settled[-1]

    def _passed_over(self) -> Iterator[Event]:
        """Intents that never ended, although a later one of their conversation did."""
        last: dict[Lane, int] = {}
        for facts in self.run.intents.values():
            if facts.settled:
                last[facts.lane] = max(last.get(facts.lane, 0), facts.prepared.seq)
        for facts in self.run.intents.values():
            if not facts.over and facts.prepared.seq < last.get(facts.lane, 0):
                yield facts.last
