"""Notices for people, and what is on the disk: W1, W3."""

from collections import Counter
from collections.abc import Mapping

from trunkline.core.delivery.notes import AGAIN_SUFFIX, CLOSED_SUFFIX, NOTICE_SUFFIX
from trunkline.core.events import Event, delivery, hands, leases
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.events.gateway import InboundAdmitted, TranscriptAppended, TurnEnded, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import OPEN
from trunkline.core.values import IntentKind, IntentState, WorkKind
from trunkline.sim.events.script import RunPhase, StoredRows
from trunkline.sim.events.wire import NO_PLACE, WireAccepted, WireRefused
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.known_texts import checksum
from trunkline.sim.index.run_facts import Lane, RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: state, reason and number of receipts of a message; states that are not over count as one
_Row = tuple[str, str, int]
_Rows = Mapping[str, str] | Mapping[str, _Row]
_OPEN = "open"


class StoredAsClaimed(Checker, symptoms=("forgot",)):
    """W3: The disk has it.

    At rest the disk has each message with the end, the receipts and the reason that were recorded as committed, each
    transcript line once and no other, all work as far as it was done, and each report and binding as it was left; only
    retention, an operator or an erasure removes anything.
    """

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: the transcript lines that were recorded, each with its role and text; and the seqs of those since replaced
        self._lines: list[tuple[Event, str, str]] = []
        self._replaced: set[int] = set()
        #: messages -> the line of the part that people have, and their note, each of which the next one replaces
        self._parts: dict[str, int] = {}
        self._notes: dict[str, int] = {}
        #: work -> its admission or its end; delegation -> its last report
        self._works: dict[str, Event] = {}
        self._reports: dict[str, Event] = {}
        #: something was removed on purpose
        self._removed = self._erased = False

    def on_appended(self, event: Event, body: TranscriptAppended | delivery.MirrorAppended) -> None:
        role, intent = body.role if isinstance(body, TranscriptAppended) else "assistant", event.intent or ""
        if isinstance(body, delivery.MirrorAppended) and (body.partial or self._parts):
            # The line of a part is the line of the whole, once an operator has the rest sent.
            self._replaced.add(self._parts.pop(intent, 0))
            if body.partial:
                self._parts[intent] = event.seq
        elif role == "delivery" and intent:
            # An operator had it sent again, and it ended badly again.
            self._replaced.add(self._notes.pop(intent, 0))
            self._notes[intent] = event.seq
        self._lines.append((event, role, body.text))

    def on_worked(self, event: Event, _body: InboundAdmitted | TurnEnded) -> None:
        self._works[event.inbound or ""] = event

    def on_reported(self, event: Event, _body: hands.DelegationAccepted | hands.CallbackChanged) -> None:
        self._reports[event.delegation or ""] = event

    def on_pruned(self, _event: Event, body: leases.StorePruned | delivery.OperatorActed) -> None:
        self._removed |= isinstance(body, leases.StorePruned) or body.verb == "purge"

    def on_person_erased(self, _event: Event, _body: leases.PersonErased) -> None:
        self._removed = self._erased = True

    def on_rests(self, event: Event, body: RunPhase) -> None:
        stored = body.stored
        if stored is None or not self.run.processes.claim:
            return
        self.exercised += 1
        self._compare_intents(event, stored)
        self._compare_lines(event, stored)
        done = {name: "done" if isinstance(last.body, TurnEnded) else "pending" for name, last in self._works.items()}
        self._compare(event, "work", dict(stored.works), done, self._works)
        reports = {
            name: last.body.state.value if isinstance(last.body, hands.CallbackChanged) else "waiting"
            for name, last in self._reports.items()
        }
        self._compare(event, "the report of", {row[0]: row[2] for row in stored.delegations}, reports, self._reports)
        bound = {found.id: found for found in self.run.bindings.by_id.values()}
        claimed = {
            name: "ended" if found.ended else "ending" if found.ending else "active" for name, found in bound.items()
        }
        self._compare(event, "binding", dict(stored.bindings), claimed, {name: f.bound for name, f in bound.items()})

    def _compare_intents(self, event: Event, stored: StoredRows) -> None:
        claimed = dict[str, _Row]()
        for name, facts in self.run.intents.items():
            # What an operator vouched for may say anything.
            if facts.vouched or facts.closed:
                continue
            end = facts.settled[-1].body if facts.over and facts.settled else None
            lost = next((loss.body for loss in reversed(facts.losses) if isinstance(loss.body, DeliveryFailed)), None)
            if lost is not None and lost.state is not None:
                claimed[name] = lost.state, lost.reason, facts.acked
            elif not facts.over:
                claimed[name] = _OPEN, "", facts.acked
            elif isinstance(end, delivery.IntentSettled) and end.state is not IntentState.CANCELLED:
                claimed[name] = end.state, _why(end.state, end.reason), facts.acked
        rows = dict[str, _Row]()
        for name, state, acked, reason in stored.intents:
            if reason == str(Reason.BROKEN_ROW):
                # A row that is damaged may, too.
                claimed.pop(name, None)
            elif state != IntentState.CANCELLED:
                rows[name] = (_OPEN, "", acked) if state in OPEN else (state, _why(state, reason), acked)
        self._compare(event, "message", rows, claimed, self.run.intents)

    def _compare_lines(self, event: Event, stored: StoredRows) -> None:
        if self._erased:
            return
        rows, said = Counter(stored.lines), Counter[tuple[str, int]]()
        first: dict[tuple[str, int], Event] = {}
        for since, role, text in self._lines:
            line = role, checksum(text)
            said[line] += since.seq not in self._replaced
            first.setdefault(line, since)
        for line, count in said.items():
            if rows[line] != count:
                text = getattr(first[line].body, "text", "")
                self._report(event, f"the line “{text[:60]}”", f"{rows[line]}×", f"{count}×", first[line])

    def _compare(
        self, event: Event, what: str, rows: _Rows, said: _Rows, by: Mapping[str, Event | IntentFacts]
    ) -> None:
        """Compare the rows of a table with what was recorded of each. A row without a story is older than the run."""
        for name, expected in said.items():
            found = rows.get(name)
            if found != expected and not (found is None and self._removed):
                facts = by[name]
                last = facts.last if isinstance(facts, IntentFacts) else facts
                self._report(event, f"{what} {name}", _text(found), _text(expected), last)

    def _report(self, event: Event, what: str, found: str, expected: str, since: Event) -> None:
        summary = f"the disk has {what} as {found}"
        self.accuse(event, summary, f"{expected}, as {cited(since)} says", since, shown=found, missing=since)


def _why(state: str, reason: str) -> str:
    """The reason of an end, as it is compared: a receipt is a receipt, however it was found."""
    return "" if state == IntentState.DELIVERED else reason


def _text(row: str | _Row | None) -> str:
    if row is None or isinstance(row, str):
        return row or "nothing"
    state, reason, receipts = row
    return f"{state}{f' ({reason})' if reason else ''}, {receipts} receipts"


#: ends of which the person surely has nothing
_NOTHING = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED)
#: ends after which people wait for no notice: they have something of the answer
_SOMETHING = (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED)
#: ends of a message that no place may be left for
_NO_WAY = (Reason.BROKEN_ROW, Reason.NO_ADAPTER, Reason.NO_SECOND_CHANNEL, Reason.SECOND_CHANNEL, Reason.ABANDONED)
#: refusals that the next message at the place would get too
_NOTHING_TAKEN = (*NO_PLACE, Reason.CALL_ENDED, Reason.UNAUTHORIZED)


class NobodyWaitsInSilence(Checker, symptoms=("lost",)):
    """W1: Nobody waits in silence.

    A person whose answer did not arrive, or may not have, gets the configured notice, where the platform takes anything
    from the gateway; nobody gets one about what arrived, and none goes to a place that is gone. A notice that did not
    arrive either is repeated when somebody writes there.
    """

    #: answer -> the outcome by which it waits until its place is opened
    _waits: dict[str, Event] = {}
    #: place -> the notices that have ended badly there since the last turn about a message from there
    _unread: dict[Lane, list[str]] = {}
    #: message -> the notices that its turn has to repeat; notice -> the end of that turn, and its wall clock time
    _due: dict[str, list[str]] = {}
    _turns: dict[str, tuple[Event, float]] = {}
    #: notice -> the time of its preparation on the wall clock, by which it grows too old
    _walls: dict[str, float] = {}

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        name, ended_badly = event.intent or "", body.state in (*_NOTHING, IntentState.UNKNOWN)
        repeatable = name.endswith(NOTICE_SUFFIX) and not name.endswith(AGAIN_SUFFIX)
        if facts.body.intent_kind is IntentKind.NOTICE and repeatable and ended_badly and body.reason not in _NO_WAY:
            self._unread.setdefault(facts.lane, []).append(name)

    def on_turn(self, event: Event, body: TurnStarted | TurnEnded) -> None:
        inbound = event.inbound or ""
        if isinstance(body, TurnEnded):
            for name in self._due.pop(inbound, ()):
                self._turns[name] = event, self.run.heartbeats.wall(event)
        elif self._unread and body.work is WorkKind.MESSAGE and body.origin is not None:
            self._due.setdefault(inbound, []).extend(self._unread.pop(body.origin.lane, ()))

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        if body.reason is Reason.PLACE_CLOSED and body.decision == "retry":
            self._waits.setdefault(event.intent or "", event)

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        """A notice goes where something can be posted."""
        if body.intent_kind is IntentKind.NOTICE:
            self._walls[event.intent or ""] = self.run.heartbeats.wall(event)
        answer = self._answer(event.intent or "", body.intent_kind)
        refused = None if answer is None else answer.refused
        if answer is None or refused is None or not isinstance(refused.body, WireRefused):
            return
        heard = answer.ended
        if heard is None or heard.seq < refused.seq or heard.generation != event.generation:
            return  # its process died before it knew
        if isinstance(heard.body, delivery.AttemptEnded) and heard.body.reason is not refused.body.reason:
            return  # so did it, and the next one has looked it up
        self.exercised += 1
        same = body.address.lane == refused.body.address.lane
        if same and refused.body.reason in (*NO_PLACE, Reason.CALL_ENDED) and refused.seq > answer.prepared.seq:
            summary = f"the notice about {answer.prepared.intent} goes where nothing can be posted"
            expected = f"another place than {self.run.name(body.address)}, or none"
            shown = [cited(refused, refused.body.reason.value), cited(event, f"“{body.text}”")]
            self.accuse(event, summary, expected, refused, shown=shown)

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        """A notice is about an answer that is not there, or of which nobody knows."""
        notice = self.run.intents.get(event.intent or "")
        answer = None if notice is None else self._answer(event.intent or "", notice.body.intent_kind)
        if answer is None or not answer.settled:
            return
        self.exercised += 1
        end = answer.settled[-1].body
        if isinstance(end, delivery.IntentSettled) and end.state in _SOMETHING and not answer.vouched:
            summary = f"people read that {answer.prepared.intent} did not arrive, and they have it"
            shown = f"“{body.text}” at {self.run.name(body.address)}"
            self.accuse(event, summary, "no notice about an answer that arrived", *answer.accepts, shown=shown)

    def _answer(self, name: str, kind: IntentKind) -> IntentFacts | None:
        """The answer that a notice is about."""
        about = kind is IntentKind.NOTICE and name.endswith(NOTICE_SUFFIX)
        answer = name.removesuffix(AGAIN_SUFFIX).removesuffix(NOTICE_SUFFIX)
        return self.run.intents.get(answer) if about else None

    def finish(self, last: Event) -> None:
        """Report the answers without the notice that their end, or their wait, asks for."""
        for name, waits in self._waits.items():
            facts, limits = self.run.intents.get(name), self.run.limits
            if facts is None or limits is None or limits.notices is None or not limits.notices[2]:
                continue
            place = facts.body.address
            reply = facts.body.intent_kind is IntentKind.REPLY and not facts.acked and facts.prepared.binding is None
            room = limits.notice_in_room and (place.thread is not None or place.parent is not None)
            notice = f"{name}{CLOSED_SUFFIX}"
            if reply and room and notice not in self.run.intents and notice not in self.run.speech.withdrawn:
                summary = f"{name} waits for its place to be opened, and the room above does not know"
                expected, shown = f"“{limits.notices[2]}”", "closed, and no notice after it"
                self.miss(last, waits, summary, expected, facts.prepared, shown=shown)
        for name, (turn, wall) in self._turns.items():
            self._judge_repeat(name, turn, wall, last)
        for name, facts in self.run.intents.items():
            owed = self._owed(facts)
            if owed is None:
                continue
            self.exercised += 1
            settled = facts.settled[0]
            notice = self.run.intents.get(f"{name}{NOTICE_SUFFIX}")
            changed = f"{name}{NOTICE_SUFFIX}" in {*self.run.speech.rewritten, *self.run.speech.withdrawn}
            # A thread of which nothing may be said in its room has a notice of its own there.
            changed |= notice is not None and notice.body.address.lane != facts.body.address.lane
            if changed or (notice is not None and notice.body.text.split() == owed.split()):
                continue
            said = "no notice" if notice is None else f"“{notice.body.text}”"
            summary = f"{name} did not arrive, and the person who waits for it reads {said}"
            shown = f"it ended, and {said} followed"
            self.miss(last, settled, summary, f"“{owed}”", facts.prepared, shown=shown)

    def _judge_repeat(self, name: str, turn: Event, wall: float, last: Event) -> None:
        """Report a notice that no platform accepted, and that nobody repeated to a person who wrote again."""
        notice, limits, repeat = self.run.intents[name], self.run.limits, f"{name}{AGAIN_SUFFIX}"
        if limits is None or not limits.repeats_notices or notice.accepts or notice.vouched:
            return
        if wall - self._walls[name] >= limits.max_age:
            return
        self.exercised += 1
        if repeat not in self.run.intents and repeat not in self.run.speech.withdrawn:
            summary = f"{name} reached nobody, and the person who wrote there again does not read it either"
            self.miss(last, turn, summary, f"“{notice.body.text}”", notice.settled[-1], shown="no notice in this turn")

    def _owed(self, facts: IntentFacts) -> str | None:
        """The notice that the end of an answer asks for; none: it asks for none, or nobody knows."""
        limits, settled = self.run.limits, facts.settled[0].body if facts.settled else None
        if limits is None or limits.notices is None or not isinstance(settled, delivery.IntentSettled):
            return None
        failed, doubt, _ = limits.notices
        text = failed if settled.state in _NOTHING else doubt if settled.state is IntentState.UNKNOWN else ""
        bound, place = facts.prepared.binding is not None, facts.body.address
        if not text or facts.body.intent_kind is not IntentKind.REPLY or bound or settled.reason in _NO_WAY:
            return None
        if facts.acked or place.channel == "voice":
            return None
        refused = None if facts.refused is None else facts.refused.body
        reason = refused.reason if isinstance(refused, WireRefused) else None
        if reason not in _NOTHING_TAKEN:
            return text
        room = place.thread is not None or place.parent is not None
        return text if reason in NO_PLACE and room and limits.notice_in_room else None
