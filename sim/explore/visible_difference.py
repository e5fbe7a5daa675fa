"""Compares what people see in a run with a crash to the run without, and names the cause of each difference.

A crash changes the timing of a run, which may legitimately change what people see. Every such difference has a cause:

- A chunk on a platform with neither key nor look-up, or by a webhook, is parked: not sent twice, and its intent ends as
  ``unknown``.
- Or, if so configured, it is sent again with a mark: people see it once or twice.
- A hand is lost with its process, so its result and the agent's reply differ.
- A client or a schedule finds no process, or one that dies before storing anything.
- A session is reset earlier, later or never, so a hand's result is reported differently.
- As a consequence of these, the agent's session had other lines.
- The intent is prepared under another configuration, because the script reloads it.
- A fault of the script strikes this send instead of another.
- An operator of the script resolves a chunk as sent.
- For one of these causes a message ends differently, and a notice replaces it, or does not.
- A platform refuses a send at this time, or accepts one that it would have refused.

Any other difference is a breach. On platforms with a key or look-up, each chunk of every prepared intent is seen once,
even if the text differs.
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

#: suffix of the id of a notice that replaces a message
_NOTICE = ".notice"


class DifferenceCause(StrEnum):
    """Why people see something different from the run without a crash."""

    PARKED = "parked: whether it was accepted is unknown"
    MARKED = "sent again with a mark, or not: whether it was accepted was unknown"
    HAND_LOST = "the hand was lost with its process"
    RESET = "its session was reset at another time"
    NOT_ASKED = "no process received the request, or it died before storing anything"
    HEARD = "the agent's session had other lines"
    CONFIGURED = "it was prepared under another configuration"
    STRUCK = "a fault of the script struck it instead of another send, or the other way round"
    VOUCHED = "an operator resolved it as sent"
    REFUSED = "the platform refused it at this time"
    TAKEN = "the platform accepted it at this time"


class VisibleDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that people see differently than without a crash. `cause` None: nothing explains it."""

    intent: str
    cause: DifferenceCause | None
    detail: str


def sure_channels(file: ScenarioFile) -> frozenset[str]:
    """The platforms of a scenario with idempotency keys or look-up."""
    found = {
        name: spec.idempotency or PLATFORMS[name].idempotency for name, spec in file.scenario.world.platforms.items()
    }
    return frozenset(name for name, idempotency in found.items() if idempotency is not Idempotency.NONE)


class CrashFreeRun:
    """The run of a scenario without a crash, which other runs are compared to."""

    def __init__(self, file: ScenarioFile, events: Sequence[Event]) -> None:
        steps = zip(file.scenario.script, file.times, strict=True)
        self._reloads = tuple(at for step, at in steps if step.reload is not None)
        self._sound = RunDigest(events, self._reloads)
        self._sure = sure_channels(file)
        policy = file.scenario.gateway.delivery
        #: prefix of a text that may be a repeat; None: such texts are not sent
        self._mark = policy.mark if policy.ambiguous == "resend-marked" else None

    def differences(self, events: Sequence[Event]) -> tuple[VisibleDifference, ...]:
        """Every intent that people see differently in another run of the scenario."""
        if seen_of(events) == self._sound.seen:
            return ()
        here = RunDigest(events, self._reloads)
        more, less = here.seen - self._sound.seen, self._sound.seen - here.seen
        names = dict.fromkeys(seen[0] for seen in (*less, *more))
        return tuple(self._difference(name, here, _of(name, more), _of(name, less)) for name in names)

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
        """All causes that explain a difference, the most specific first."""
        before, now = self._sound.intents.get(name, []), here.intents.get(name, [])
        if not more and less.total() <= sum(intent.missing for intent in now if self._is_parked(intent)):
            yield DifferenceCause.PARKED
        yield from self._of_notice(name, here)
        if self._mark is not None and self._same_but_marked(name, here, self._mark):
            yield DifferenceCause.MARKED
        if _below(name, self._sound.lost ^ here.lost):
            yield DifferenceCause.HAND_LOST
        if _below(name, self._sound.replaced ^ here.replaced):
            yield DifferenceCause.RESET
        if not now and all(_not_asked(intent, self._sound, here) for intent in before):
            yield DifferenceCause.NOT_ASKED
        if not before and all(_not_asked(intent, here, self._sound) for intent in now):
            yield DifferenceCause.NOT_ASKED
        if before and now and _places(before) == _places(now) and _heard(before) != _heard(now):
            yield DifferenceCause.HEARD
        if before and now and _configured(before) != _configured(now):
            yield DifferenceCause.CONFIGURED
        if before and now and _struck(before) != _struck(now):
            yield DifferenceCause.STRUCK
        if not more and less.total() <= sum(intent.missing for intent in now if intent.vouched):
            yield DifferenceCause.VOUCHED
        if not more and less.total() <= sum(intent.missing for intent in now if intent.refused):
            yield DifferenceCause.REFUSED
        ended_otherwise = (intent for intent in before if intent.state is not IntentState.DELIVERED)
        if not less and more.total() <= sum(intent.missing for intent in ended_otherwise):
            yield DifferenceCause.TAKEN

    def _of_notice(self, name: str, here: RunDigest) -> Iterator[DifferenceCause]:
        """Causes of a notice: it exists exactly if the message it replaces is known to be undelivered."""
        about = name.removesuffix(_NOTICE)
        ends = [{intent.state for intent in digest.intents.get(about, ())} for digest in (self._sound, here)]
        if about != name and ends[0] != ends[1]:
            yield DifferenceCause.PARKED if IntentState.UNKNOWN in ends[0] | ends[1] else DifferenceCause.REFUSED

    def _same_but_marked(self, name: str, here: RunDigest, mark: str) -> bool:
        """Whether both runs show the same chunks once or twice, apart from marks."""
        before, now = (_unmarked(digest.seen, name, mark) for digest in (self._sound, here))
        unsure = all(place[0] not in self._sure for _, place, _ in now)
        return unsure and before.keys() == now.keys() and max(now.values(), default=0) <= 2

    def _is_parked(self, intent: IntentDigest) -> bool:
        # No platform recognises a repeat by a webhook.
        sure = intent.body.identity is None and intent.body.address.channel in self._sure
        return intent.state is IntentState.UNKNOWN and not sure

    def _unseen(self, now: Sequence[IntentDigest]) -> Iterator[str]:
        """Chunks of this run that were never seen, without an explanation."""
        for intent in now:
            given_up = intent.state is IntentState.DEAD and bool(intent.struck)
            if intent.missing and not (self._is_parked(intent) or intent.vouched or intent.refused or given_up):
                yield f"{intent.missing} of {intent.body.chunks} chunks were never seen ({intent.state or 'no ending'})"


def _of(name: str, found: Counter[Seen]) -> Counter[Seen]:
    return Counter({seen: times for seen, times in found.items() if seen[0] == name})


def _unmarked(found: Counter[Seen], name: str, mark: str) -> Counter[tuple[int, Lane, str]]:
    texts: Counter[tuple[int, Lane, str]] = Counter()
    for (_, chunk, place, text), times in _of(name, found).items():
        texts[chunk, place, text.removeprefix(mark)] += times
    return texts


def _below(name: str, roots: Collection[str]) -> bool:
    """Whether an id descends from one of the roots: an id begins with that of its origin."""
    return any(name.startswith(f"{root}.") for root in roots)


def _not_asked(intent: IntentDigest, there: RunDigest, here: RunDigest) -> bool:
    """Whether an intent of the run `there` was requested by a client or a schedule, which do not repeat a request."""
    if intent.body.intent_kind is IntentKind.SEND:
        return True
    roots = [wake for wake in there.wakes if intent.work == wake or _below(intent.work, (wake,))]
    return bool(roots) and not any(root in here.wakes for root in roots)


def _places(intents: Sequence[IntentDigest]) -> Counter[tuple[str, str, str, str]]:
    return Counter(one.body.address.lane for one in intents)


def _heard(intents: Sequence[IntentDigest]) -> list[tuple[Heard, Heard]]:
    return sorted(one.heard for one in intents if one.heard is not None)


def _configured(intents: Sequence[IntentDigest]) -> list[tuple[int, int]]:
    return sorted(one.configured for one in intents)


def _struck(intents: Sequence[IntentDigest]) -> Counter[str]:
    return sum((one.struck for one in intents), Counter[str]())


def _line(what: str, seen: Seen) -> str:
    _, chunk, lane, text = seen
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{what}: “{shown}” (chunk {chunk + 1}) at {':'.join(part for part in lane if part)}"
