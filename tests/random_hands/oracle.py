"""What people must see of delegated work: each result once, where it was asked for; or a recorded reason why not.

It looks at what people wrote, at what platforms accepted, and at which delegations there were. Each message has a word
of its own, which its task, its result and every text about it repeat: so a text in the wrong place gives itself away.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tests.random_hands.cast import FORGED
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationFinished
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

_WORD = re.compile(r"q(\d+)z")
#: ends of a report that nobody sees
_UNSEEN = (CallbackState.SUPPRESSED, CallbackState.UNDELIVERABLE, CallbackState.PARKED)


def word(number: int) -> str:
    """The word of a message."""
    return f"q{number}z"


def words_in(text: str) -> set[str]:
    return {match[0] for match in _WORD.finditer(text)}


class Oracle:
    """Compares what was asked with what was seen, at the end of a run."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._asked: dict[str, Address] = {}
        #: inbound id -> word
        self._accepted: dict[str, Event] = {}
        self._finished: set[str] = set()
        #: intent -> where people see its chunks, by chunk
        self._seen: dict[str, list[tuple[int, str, Address]]] = defaultdict(list)
        #: turn of a callback, or delegation -> why nothing is seen
        self._reasons: dict[str, list[str]] = defaultdict(list)
        self._intents: dict[str, set[str]] = defaultdict(set)
        self._settled: dict[str, str] = {}
        self._texts: list[WireAccepted] = []
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        body = event.body
        match body:
            case PeerSaid():
                for one in words_in(body.text):
                    self._asked.setdefault(one, body.address)
            case WireAccepted():
                self._texts.append(body)
                if event.intent is not None:
                    self._seen[event.intent].append((body.chunk, body.text, body.address))
            case DelegationAccepted():
                assert event.delegation is not None
                self._accepted[event.delegation] = event
            case DelegationFinished():
                assert event.delegation is not None
                self._finished.add(event.delegation)
            case IntentPrepared() if event.intent is not None:
                self._intents[_delegation_of(event)].add(event.intent)
            case IntentSettled() if event.intent is not None:
                self._settled[event.intent] = f"{body.state.value} ({body.reason.value})"
            case _:
                self._take_reason(event)

    def _take_reason(self, event: Event) -> None:
        match event.body:
            case CallbackChanged(state=state) if state not in _UNSEEN:
                return
            case CallbackChanged(reason=reason) | IntentSuppressed(reason=reason) | TurnEnded(reason=reason):
                if reason is not None:
                    self._reasons[_delegation_of(event)].append(reason.value)
            case _:
                pass

    def faults(self) -> Iterable[str]:
        """What is wrong, in words."""
        for text in self._texts:
            yield from self._misplaced(text)
        for delegation, accepted in self._accepted.items():
            yield from self._report(delegation, accepted)

    def _misplaced(self, text: WireAccepted) -> Iterable[str]:
        """Nothing about a message is seen anywhere but where it was written, and nothing forged anywhere."""
        if FORGED in text.text:
            yield f"a forged result is seen in {text.address}: {text.text!r}"
        for one in sorted(words_in(text.text)):
            place = self._asked.get(one)
            if place is None or _room(place) != _room(text.address):
                yield f"{one} was asked in {place}, and {text.text!r} is seen in {text.address}"

    def _report(self, delegation: str, accepted: Event) -> Iterable[str]:
        if delegation not in self._finished:
            yield f"{delegation} was accepted and never finished"
            return
        body = accepted.body
        assert isinstance(body, DelegationAccepted)
        if body.parent is not None:
            # Its result goes to the hand that asked; what that returns is judged.
            return
        intents = self._intents[delegation]
        # A notice says that a report may not have arrived; it is none.
        answers = {one for one in intents if not one.rpartition(".")[2].startswith(("send", "notice"))}
        seen = {one for one in answers if self._seen[one]}
        if len(answers) > 1:
            yield f"{delegation} is reported by {sorted(answers)}"
        for one in sorted(intents):
            chunks = [chunk for chunk, _, _ in self._seen[one]]
            # A notice may be seen twice: nobody can find out whether the first was accepted.
            most = 2 if one.endswith(".notice") else 1
            if len(chunks) > most * len(set(chunks)) and "unknown" not in self._settled.get(one, ""):
                yield f"{one} of {delegation} is seen {len(chunks)} times"
            for _, text, place in self._seen[one]:
                if body.origin is None or _spot(place) != _spot(body.origin):
                    yield f"{delegation} was asked in {body.origin}, and {text!r} is seen in {place}"
        unseen = [one for one in sorted(answers - seen) if self._settled.get(one, "delivered").startswith("delivered")]
        for one in unseen:
            yield f"{one} of {delegation} is not seen, and has no reason"
        if not answers and not self._reasons[delegation]:
            yield f"{delegation} is not reported, and has no reason"


def _delegation_of(event: Event) -> str:
    """The delegation that an event of its callback turn, or of its report, is about; else empty."""
    if event.delegation is not None:
        return event.delegation
    for known in (event.inbound, event.turn, event.intent):
        if known is not None and ".back" in known:
            return known.partition(".back")[0]
    return ""


def _room(place: Address) -> tuple[str, ...]:
    """Who sees a place. In a group every bot may answer; a direct chat is with one of them."""
    direct = place.account if place.kind is ChatKind.DIRECT else ""
    return place.channel, direct, place.conversation, place.thread or ""


def _spot(place: Address) -> tuple[str, ...]:
    return place.channel, place.account, place.conversation, place.thread or ""
