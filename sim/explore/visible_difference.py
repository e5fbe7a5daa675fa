"""Do people see at the end what they would have seen without the crash? The comparison, and what it lets pass by name.

A crash changes when things happen, and what then may rightly be otherwise is told by name, never passed over:

- A chunk on a platform with neither key nor look-up, or by a webhook, may be parked: never twice, and the intent says
  ``unknown``.
- Or it is sent once more with a mark, where the configuration says so: then people may see it once or twice.
- A hand may be lost with its process: then its result, and what the agent makes of it, are others.
- A client or a schedule finds no process, or one that dies before it has stored anything.
- A session is reset earlier or later, or not at all, so that a hand's result is told in another way.
- The agent had heard something else by then, as a consequence of these; it is asked another thing.
- It is prepared under another configuration, because the script replaces that meanwhile.
- A fault of the script strikes this send instead of another one.
- An operator of the script says that the platform has a chunk, whatever is true here.
- A message ends in another way, for one of these causes, and a notice is said instead of it, or is not.
- A platform refuses a send that would have come at another time, or takes one that it would have refused.

Whatever is left over is a breach. On platforms with a key or look-up each chunk of everything that was prepared is seen
once, also where the words are others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

import msgspec

from trunkline.core.events import Event
from trunkline.core.values import Idempotency, IntentKind, IntentState
from trunkline.sim.explore.run_digest import Heard, IntentDigest, Lane, RunDigest, Seen, seen_of
from trunkline.sim.platforms import PLATFORMS
from trunkline.sim.scenario import ScenarioFile

#: how the notice is called that is said instead of a message
_NOTICE = ".notice"


class DifferenceCause(StrEnum):
    """Why a run may say something else than the run without a crash."""

    PARKED = "parked: nobody can tell whether it was accepted"
    MARKED = "it was sent once more with a mark, or not: nobody could tell whether it was accepted"
    HAND_LOST = "the hand was lost with its process"
    RESET = "its session was reset at another time"
    NOT_ASKED = "no process was there to be asked, or it died before it stored anything"
    HEARD = "the agent had heard something else by then"
    CONFIGURED = "it was prepared under another configuration"
    STRUCK = "a fault of the script struck it, and another send without the crash, or the other way round"
    VOUCHED = "an operator said that the platform has it"
    REFUSED = "the platform refused it at this time"
    TAKEN = "the platform took it at this time"


class VisibleDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One intent that people see otherwise than without a crash. `cause` none: nothing explains it."""

    intent: str
    cause: DifferenceCause | None
    detail: str


def sure_channels(file: ScenarioFile) -> frozenset[str]:
    """The platforms of a scenario that recognise a send, or can be asked for one."""
    found = {
        name: spec.idempotency or PLATFORMS[name].idempotency for name, spec in file.scenario.world.platforms.items()
    }
    return frozenset(name for name, idempotency in found.items() if idempotency is not Idempotency.NONE)


class CrashFreeRun:
    """What people saw in the run of a scenario without a crash; other runs are compared with it."""

    def __init__(self, file: ScenarioFile, events: Sequence[Event]) -> None:
        steps = zip(file.scenario.script, file.times, strict=True)
        self._reloads = tuple(at for step, at in steps if step.reload is not None)
        self._told = RunDigest(events, self._reloads)
        self._sure = sure_channels(file)
        policy = file.scenario.gateway.delivery
        #: what begins a text that may be a repeat; none: such texts are not sent
        self._mark = policy.mark if policy.ambiguous == "resend-marked" else None

    def differences(self, events: Sequence[Event]) -> tuple[VisibleDifference, ...]:
        """Every intent of another run of the scenario that people see otherwise."""
        if seen_of(events) == self._told.seen:
            return ()
        here = RunDigest(events, self._reloads)
        more, less = _by_intent(here.seen - self._told.seen), _by_intent(self._told.seen - here.seen)
        none: Counter[Seen] = Counter()
        return tuple(
            self._difference(name, here, more.get(name, none), less.get(name, none)) for name in {**less, **more}
        )

    def _difference(self, name: str, here: RunDigest, more: Counter[Seen], less: Counter[Seen]) -> VisibleDifference:
        cause = next(self._causes(name, here, more, less), None)
        left = () if cause is None else tuple(self._unseen(here.intents.get(name, ())))
        lines = [*(_line("seen", seen) for seen in more), *(_line("not seen", seen) for seen in less)]
        if left:
            return VisibleDifference(intent=name, cause=None, detail="; ".join([*lines, *left]))
        return VisibleDifference(intent=name, cause=cause, detail="; ".join(lines))

    def _causes(
        self, name: str, here: RunDigest, more: Counter[Seen], less: Counter[Seen]
    ) -> Iterator[DifferenceCause]:
        """Everything that explains a difference, the most exact first."""
        before, now = self._told.intents.get(name, []), here.intents.get(name, [])
        if not more and less.total() <= sum(said.missing for said in now if self._is_parked(said)):
            yield DifferenceCause.PARKED
        yield from self._of_notice(name, here)
        if self._mark is not None and self._same_but_marked(name, here, self._mark):
            yield DifferenceCause.MARKED
        if _below(name, self._told.lost ^ here.lost):
            yield DifferenceCause.HAND_LOST
        if _below(name, self._told.replaced ^ here.replaced):
            yield DifferenceCause.RESET
        if not now and all(_not_asked(said, self._told, here) for said in before):
            yield DifferenceCause.NOT_ASKED
        if not before and all(_not_asked(said, here, self._told) for said in now):
            yield DifferenceCause.NOT_ASKED
        if before and now and _places(before) == _places(now) and _heard(before) != _heard(now):
            yield DifferenceCause.HEARD
        if before and now and _configured(before) != _configured(now):
            yield DifferenceCause.CONFIGURED
        if before and now and _struck(before) != _struck(now):
            yield DifferenceCause.STRUCK
        if not more and less.total() <= sum(said.missing for said in now if said.vouched):
            yield DifferenceCause.VOUCHED
        if not more and less.total() <= sum(said.missing for said in now if said.refused):
            yield DifferenceCause.REFUSED
        ended_otherwise = (said for said in before if said.state is not IntentState.DELIVERED)
        if not less and more.total() <= sum(said.missing for said in ended_otherwise):
            yield DifferenceCause.TAKEN

    def _of_notice(self, name: str, here: RunDigest) -> Iterator[DifferenceCause]:
        """A notice is there exactly when the message that it stands for is known not to be."""
        about = name.removesuffix(_NOTICE)
        ends = [{said.state for said in told.intents.get(about, ())} for told in (self._told, here)]
        if about != name and ends[0] != ends[1]:
            yield DifferenceCause.PARKED if IntentState.UNKNOWN in ends[0] | ends[1] else DifferenceCause.REFUSED

    def _same_but_marked(self, name: str, here: RunDigest, mark: str) -> bool:
        """Whether both runs show the same, each chunk once or twice, but for marks that say so."""
        before, now = (_unmarked(told.seen, name, mark) for told in (self._told, here))
        unsure = all(place[0] not in self._sure for _, place, _ in now)
        return unsure and before.keys() == now.keys() and max(now.values(), default=0) <= 2

    def _is_parked(self, said: IntentDigest) -> bool:
        # No platform recognises what a webhook says.
        sure = said.body.identity is None and said.body.address.channel in self._sure
        return said.state is IntentState.UNKNOWN and not sure

    def _unseen(self, now: Sequence[IntentDigest]) -> Iterator[str]:
        """Chunks of this run that nobody saw, and nothing explains it."""
        for said in now:
            given_up = said.state is IntentState.DEAD and bool(said.struck)
            if said.missing and not (self._is_parked(said) or said.vouched or said.refused or given_up):
                yield f"{said.missing} of {said.body.chunks} chunks were never seen ({said.state or 'no ending'})"


def _unmarked(found: Counter[Seen], name: str, mark: str) -> Counter[tuple[int, Lane, str]]:
    texts: Counter[tuple[int, Lane, str]] = Counter()
    for (intent, chunk, place, text), times in found.items():
        if intent == name:
            texts[chunk, place, text.removeprefix(mark)] += times
    return texts


def _by_intent(found: Counter[Seen]) -> dict[str, Counter[Seen]]:
    split: dict[str, Counter[Seen]] = {}
    for seen, times in found.items():
        split.setdefault(seen[0], Counter())[seen] = times
    return split


def _below(name: str, roots: Collection[str]) -> bool:
    """Whether something comes from one of these: ids are made of those that they come from."""
    return any(name.startswith(f"{root}.") for root in roots)


def _not_asked(said: IntentDigest, there: RunDigest, here: RunDigest) -> bool:
    """Whether what was said there was asked for by somebody who does not come again: a client, or a schedule."""
    if said.body.intent_kind is IntentKind.SEND:
        return True
    roots = [wake for wake in there.wakes if said.work == wake or _below(said.work, (wake,))]
    return bool(roots) and not any(root in here.wakes for root in roots)


def _places(said: Sequence[IntentDigest]) -> Counter[tuple[str, str, str, str]]:
    return Counter(one.body.address.lane for one in said)


def _heard(said: Sequence[IntentDigest]) -> list[tuple[Heard, Heard]]:
    return sorted(one.heard for one in said if one.heard is not None)


def _configured(said: Sequence[IntentDigest]) -> list[tuple[int, int]]:
    return sorted(one.configured for one in said)


def _struck(said: Sequence[IntentDigest]) -> Counter[str]:
    return sum((one.struck for one in said), Counter[str]())


def _line(what: str, seen: Seen) -> str:
    _, chunk, lane, text = seen
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{what}: “{shown}” (chunk {chunk + 1}) at {':'.join(part for part in lane if part)}"
