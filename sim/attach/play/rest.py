"""When a run has come to rest: everything is answered, and nothing happens any more."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from trunkline.core.events import Event, EventLog
from trunkline.core.values import Address
from trunkline.sim.events import attach, model, processes, script, wire, world
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.index.known_texts import KnownTexts
from trunkline.sim.index.marks import answers_in, questions_in

#: requests of a gateway, polls and questions to its model too, that are a flood: so many within so many seconds
FLOOD, WITHIN = 3000, 10.0
#: different names that are counted, and characters of a name that are quoted: a gateway may make them up
_NAMES, _LONGEST = 1000, 80
#: a gateway that has ended by itself so often is not waited for again: one that always ends would keep the run for ever
ENDS = 5


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run waits, in seconds."""

    #: everything is answered, and nothing has happened for so long
    settle: float
    #: the same, in a run in which the gateway was started again: what it takes up again comes late
    settle_after_restart: float
    #: the longest wait for an answer, from the latest of question, start and fault
    patience: float


class QuietWire:
    """The wire of a run: since when all is quiet, and which questions wait for an answer.

    `notices`: texts that end a question without an answer. `lasting`: fault -> how long it lasts, in seconds.
    """

    def __init__(
        self, log: EventLog, waits: Waits, notices: Iterable[str] = (), lasting: Mapping[str, float] | None = None
    ) -> None:
        self._waits = waits
        self._notices = KnownTexts(notices)
        self._lasting = dict(lasting or {})
        #: mark -> where it was asked
        self._open: dict[str, Address] = {}
        #: marks for which the model was asked: a notice of a gateway that never had a question does not end it
        self._taken_up: set[str] = set()
        #: a model was asked in this run
        self._asked = False
        #: places that take nothing any more
        self._gone: set[Lane] = set()
        #: when something happened that concerns people, and when the wait for answers began
        self._last = self._since = 0.0
        self._restarted = False
        #: how often the gateway has ended by itself
        self._ends = 0
        self._owed = 0
        self._flood = _Flood()
        #: whether the gateway waits for the response to a request: when it has given up, it may make it again
        self.waits_for_response: Callable[[], bool] = lambda: False
        log.subscribe(self._see)

    def owe(self) -> None:
        """Begin a wait for a step, a start or a thaw. Until `end_wait` there is no rest."""
        self._owed += 1

    def end_wait(self) -> None:
        self._owed -= 1

    def count_request(self, what: str, at: float) -> None:
        """A request has arrived, also one that no event records. `what`: its method, or its path."""
        self._flood.count(what, at)

    def _see(self, event: Event) -> None:
        body = event.body
        if isinstance(body, model.ModelAsked):
            self._asked = True
            self._taken_up |= set(body.marks)
        if isinstance(body, world.PlatformConnected) or (isinstance(body, wire.WireCalled) and not body.what):
            return
        self._last = event.at
        if isinstance(body, world.PeerSaid):
            self._open |= dict.fromkeys(questions_in(body.text), body.address)
            self.wait_until(event.at)
        elif isinstance(body, attach.GatewayReady):
            self._restarted = self._restarted or body.number > 1
            if self._ends < ENDS:
                self.wait_until(event.at)
        elif isinstance(body, attach.GatewayExited):
            self._ends += 1
        elif isinstance(body, processes.ProcessThawed):
            self.wait_until(event.at)
        elif isinstance(body, script.FaultFired):
            if body.fault == "push/drop":
                # The platform loses it: no gateway can answer it, and nobody is to write again.
                for mark in questions_in(body.detail):
                    self._open.pop(mark, None)
            self.wait_until(event.at + self._lasting.get(body.fault, 0.0))
        elif isinstance(body, wire.WireRefused):
            self.wait_until(event.at + (body.retry_after or 0.0))
            if body.reason in wire.NO_PLACE:
                self._gone.add(body.address.lane)
        elif isinstance(body, wire.WireAccepted | wire.WireEdited):
            self._note_answer(body, body.text)

    def _note_answer(self, body: wire.WireAccepted | wire.WireEdited, text: str) -> None:
        """A text is visible, new or by an edit."""
        # One that has asked no model answers by words of its own.
        own = () if self._asked else questions_in(text)
        for question in (*(answer.question for answer in answers_in(text)), *own):
            self._open.pop(question, None)
        if isinstance(body, wire.WireAccepted) and self._notices.have(text):
            here = [mark for mark, place in self._open.items() if self._is_read_at(body.address, place)]
            for mark in self._taken_up.intersection(here):
                del self._open[mark]

    def _is_read_at(self, where: Address, place: Address) -> bool:
        """Whether the asker in a place reads a notice there: in that place, or in its room if the place is gone."""
        if where.lane == place.lane:
            return True
        same = (where.channel, where.account) == (place.channel, place.account)
        return same and place.lane in self._gone and where.conversation in (place.conversation, place.parent)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The questions without an answer or a known notice, in order."""
        return tuple(self._open)

    def wait_until(self, at: float) -> None:
        """Count nothing as late before a time, such as the end of the model's thinking."""
        self._since = max(self._since, at)

    @property
    def flooded(self) -> str:
        """Why nobody waits for rest any more; empty: there is no flood."""
        return self._flood.found

    def is_reached(self, now: float) -> bool:
        """Whether nothing is expected: everything is answered and it is quiet, or the patience is at its end."""
        waits = self._waits
        settle = waits.settle_after_restart if self._restarted else waits.settle
        over = now - self._since - waits.patience
        if self.waits_for_response():
            self._last = now
        if self._owed or now < self._since:
            return False
        # A gateway that goes on for ever with what nobody takes does not keep the run from its end.
        return over >= 2 * settle or (now - self._last >= settle and (not self._open or over >= 0))


class _Flood:
    """Counts requests in windows of `WITHIN` seconds."""

    def __init__(self) -> None:
        self._window = 0
        self._all = 0
        self._counts = Counter[str]()
        self.found = ""

    def count(self, what: str, at: float) -> None:
        if self.found:
            return
        window = int(at // WITHIN)
        if window != self._window:
            self._window = window
            self._all = 0
            self._counts.clear()
        self._all += 1
        if what in self._counts or len(self._counts) < _NAMES:
            self._counts[what] += 1
        if self._all >= FLOOD:
            ((name, times),) = self._counts.most_common(1)
            of = f"{'all' if times == self._all else times} of them {name[:_LONGEST]}"
            self.found = f"made {FLOOD} requests within {WITHIN:g} s, {of}, at {at:.0f} s of the run"
