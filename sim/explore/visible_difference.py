"""Compares what people see in a run with a crash to the run without, and names the cause of each difference.

A crash changes the timing of a run, which may legitimately change what people see. Every such difference has a cause:

- A chunk on a platform with neither key nor look-up, or by a webhook, is parked: not sent twice, and its intent ends as
  ``unknown``. So is a change that cannot be done twice.
- Or, if so configured, it is sent again with a mark: people see it once or twice. A notice of the gateway itself is
  sent again once, without one.
- A hand is lost with its process, so its result and the agent's reply differ, or a chain of turns ends elsewhere.
- A hand is cancelled, or its time runs out, before or after its result.
- An agent, or a person by a chat command, asks about hands at another time.
- A client, an operator or a schedule finds no process, or one that dies before storing anything. Without the binding
  that an operator asked for, each account that sees the message answers.
- A session is reset earlier, later or never, so a hand's result is reported differently.
- An agent uses a thread that is not open yet, so its turn fails.
- As a consequence of these, the agent's session had other lines.
- The intent is prepared under another configuration, because the script reloads it.
- A fault of the script strikes this send or hand instead of another, or damages its row.
- An operator of the script resolves a chunk as sent.
- For one of these causes a message ends differently, and a notice replaces it, or does not.
- A platform refuses a send at this time, or accepts one that it would have refused.
- Something else became of the message that a change concerns: it is parked, for example, and cannot be named.
- The crash uses up the attempts, the age or the key of a message, or the runs of its turn, and it is given up.

Any other difference is a breach; so is an intent that is prepared more often than without a crash. On platforms with a
key or look-up, each chunk of every prepared intent is seen once, even if the text differs.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from trunkline.core.actions.catalogue import SPECS
from trunkline.core.delivery.notes import CLOSED_SUFFIX, NOTICE_SUFFIX
from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Idempotency, IntentKind, IntentState
from trunkline.sim.explore.run_digest import Heard, IntentDigest, Lane, RunDigest, Seen, plain, seen_of
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.world import idempotency_of

#: ends of a hand that depend on the time
_EARLY = {HandOutcome.CANCELLED, HandOutcome.TIMEOUT}
#: suffixes of the ids of what replaces a message: a notice, or its words on a second channel
_INSTEAD = (CLOSED_SUFFIX, NOTICE_SUFFIX, ".second")
#: suffix of the id of the notice at the end of a chain, after the id of the work that the chain began with
_CHAIN_END = f".chain{NOTICE_SUFFIX}"
#: final states of an intent that was given up
_GIVEN_UP = (IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.PARTIAL)


class SendLimits:
    """The strictest limits of all configurations that a scenario uses, and its marks for repeats."""

    def __init__(self, file: ScenarioFile) -> None:
        policies = [config.delivery for config in (file.scenario.gateway, *file.reloads)]
        sends = [step.send for step in file.scenario.script if step.send is not None]
        faults = [step.fault for step in file.scenario.script if step.fault is not None]
        self.marks = tuple(dict.fromkeys(policy.mark for policy in policies if policy.ambiguous == "resend-marked"))
        self._attempts = min(policy.max_attempts for policy in policies)
        self._send_attempts = 1 if any(send.best_effort for send in sends) else self._attempts
        self._max_age = min(policy.max_age for policy in policies)
        #: the longest wait before the next attempt, which a decision may look ahead to
        self._wait = max(
            *(wait for policy in policies for wait in policy.backoff), *(fault.for_ for fault in faults), 0.0
        )
        #: whether faults of the script strike hands
        self.hand_faults = any(fault.on == "hand" for fault in faults)
        platforms = file.scenario.world.platforms
        self._key_seconds = {name: spec.key_seconds for name, spec in platforms.items()}

    def ran_out(self, intent: IntentDigest) -> bool:
        """Whether an intent was given up because something of it had run out."""
        if intent.state not in _GIVEN_UP:
            return False
        age = intent.ended_at - intent.prepared_at
        most = self._send_attempts if intent.body.intent_kind is IntentKind.SEND else self._attempts
        forgets = self._key_seconds[intent.body.address.channel]
        if age + self._wait * (intent.why is Reason.TOO_OLD) > self._max_age:
            return True
        if forgets is not None and age + self._wait * (intent.why is Reason.KEY_EXPIRED) > forgets:
            return True
        # A recovery counts an attempt that the dead process may have made.
        return max(intent.attempts.values(), default=0) + intent.recovered >= most


class DifferenceCause(StrEnum):
    """Why people see something different from the run without a crash."""

    PARKED = "parked: whether it was accepted is unknown"
    MARKED = "sent again with a mark, or not: whether it was accepted was unknown"
    NOTICE_AGAIN = "a notice was sent again: whether it was accepted was unknown"
    HAND_LOST = "the hand was lost with its process"
    HAND_ENDED = "the hand was cancelled or timed out at another time"
    CHECKED = "its agent, or a person by a command, asked about the hands at another time"
    RESET = "its session was reset at another time"
    NOT_ASKED = "no process received the request, or it died before storing anything"
    NO_PLACE = "a place that its agent uses did not exist at this time"
    HEARD = "the agent's session had other lines"
    CONFIGURED = "it was prepared under another configuration"
    STRUCK = "a fault of the script struck it instead of another send, or the other way round"
    VOUCHED = "an operator resolved it as sent"
    REFUSED = "the platform refused it at this time"
    TAKEN = "the platform accepted it at this time"
    DAMAGED = "its row in the store was damaged"
    NO_MESSAGE = "something else became of the message that it changes"
    SAID = "its turn's sends, which say the same or may have arrived, ended otherwise"
    GIVEN_UP = "its attempts, its age, its key or the runs of its turn had run out"


class VisibleDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that people see differently than without a crash. `cause` None: nothing explains it."""

    intent: str
    cause: DifferenceCause | None
    detail: str


def sure_accounts(file: ScenarioFile) -> frozenset[tuple[str, str]]:
    """The accounts of a scenario with idempotency keys or look-up, each with its platform."""
    return frozenset(
        (name, account)
        for name, spec in file.scenario.world.platforms.items()
        for account, own in spec.accounts.items()
        if idempotency_of(name, spec, own) is not Idempotency.NONE
    )


class CrashFreeRun:
    """The run of a scenario without a crash, which other runs are compared to."""

    def __init__(self, file: ScenarioFile, events: Sequence[Event]) -> None:
        steps = zip(file.scenario.script, file.times, strict=True)
        self._reloads = tuple(at for step, at in steps if step.reload is not None)
        self._sound = RunDigest(events, self._reloads)
        self._sure = sure_accounts(file)
        self._limits = limits = SendLimits(file)
        #: prefixes of texts that may be repeats
        self._marks = limits.marks

    def differences(self, events: Sequence[Event]) -> tuple[VisibleDifference, ...]:
        """Every intent that people see differently in another run of the scenario."""
        if seen_of(events) == self._sound.seen:
            return ()
        here = RunDigest(events, self._reloads)
        more, less = here.seen - self._sound.seen, self._sound.seen - here.seen
        names = dict.fromkeys(seen[0] for seen in (*less, *more))
        return tuple(self._difference(name, here, _of(name, more), _of(name, less)) for name in names)

    def _difference(self, name: str, here: RunDigest, more: Counter[Seen], less: Counter[Seen]) -> VisibleDifference:
        repeated = self._repeats(name, here)
        cause = None if repeated else next(self._causes(name, here, more, less), None)
        left = () if cause is None else tuple(self._unseen(here.intents.get(name, ())))
        lines = [*repeated, *(_line("seen", seen) for seen in more), *(_line("not seen", seen) for seen in less)]
        if left:
            return VisibleDifference(intent=name, cause=None, detail="; ".join([*lines, *left]))
        return VisibleDifference(intent=name, cause=cause, detail="; ".join(lines))

    def _causes(
        self, name: str, here: RunDigest, more: Counter[Seen], less: Counter[Seen]
    ) -> Iterator[DifferenceCause]:
        """All causes that explain a difference, the most specific first."""
        now = here.intents.get(name, [])
        if not more and less.total() <= sum(intent.missing for intent in now if self._is_parked(intent)):
            yield DifferenceCause.PARKED
        yield from self._of_notice(name, here)
        yield from self._of_answer(name, here)
        unsure = all(lane[:2] not in self._sure for _, _, lane, _ in (*more, *less))
        if unsure and any(self._same_but_marked(name, here, mark) for mark in self._marks):
            yield DifferenceCause.MARKED
        if self._is_notice_again(name, here):
            yield DifferenceCause.NOTICE_AGAIN
        yield from self._of_origin(name, here)
        yield from self._of_ending(name, here, more, less)

    def _of_origin(self, name: str, here: RunDigest) -> Iterator[DifferenceCause]:
        """Causes in what an intent comes from: its hand, its request, its session, its configuration."""
        sound = self._sound
        before, now = sound.intents.get(name, []), here.intents.get(name, [])
        if _comes_from(name, sound.lost ^ here.lost):
            yield DifferenceCause.HAND_LOST
        if _comes_from(name, _ended_early(sound, here)):
            yield DifferenceCause.HAND_ENDED
        if any(sound.checked.get(intent.work) != here.checked.get(intent.work) for intent in (*before, *now)):
            yield DifferenceCause.CHECKED
        commands = sound.commands & here.commands
        if (
            before
            and now
            and all(intent.work in commands for intent in (*before, *now))
            and _texts(before) != _texts(now)
        ):
            yield DifferenceCause.CHECKED
        if _below(name, sound.replaced ^ here.replaced):
            yield DifferenceCause.RESET
        if _below(name, (sound.placeless ^ here.placeless) | (sound.said ^ here.said)):
            yield DifferenceCause.NO_PLACE
        if sound.bound_otherwise(here, name):
            yield DifferenceCause.NOT_ASKED
        # Several requests may have one name.
        fewer = before and (not now or (before[0].body.intent_kind is not IntentKind.SEND and len(now) < len(before)))
        if fewer and all(_not_asked(intent, sound, here) for intent in before):
            yield DifferenceCause.NOT_ASKED
        if now and not before and all(_not_asked(intent, here, sound) for intent in now):
            yield DifferenceCause.NOT_ASKED
        if before and now and _places(before) == _places(now) and _heard(before) != _heard(now):
            yield DifferenceCause.HEARD
        if _below(name, _otherwise(sound.configurations, here.configurations)):
            yield DifferenceCause.CONFIGURED
        if before and now and _configured(before) != _configured(now):
            yield DifferenceCause.CONFIGURED
        changed = {plain(intent.body.of) for intent in (*before, *now) if intent.body.of is not None}
        if any(_became(message, sound) != _became(message, here) for message in changed):
            yield DifferenceCause.NO_MESSAGE

    def _of_ending(
        self, name: str, here: RunDigest, more: Counter[Seen], less: Counter[Seen]
    ) -> Iterator[DifferenceCause]:
        """Causes in what became of an intent: faults, operators, refusals, limits."""
        sound = self._sound
        before, now = sound.intents.get(name, []), here.intents.get(name, [])
        if not more and _operated_less(name, sound, here):
            yield DifferenceCause.NOT_ASKED
        if before and now and _struck(before) != _struck(now):
            yield DifferenceCause.STRUCK
        if self._limits.hand_faults and _below(name, _otherwise(sound.outcomes, here.outcomes)):
            yield DifferenceCause.STRUCK
        if not more and less.total() <= sum(intent.missing for intent in now if intent.why is Reason.BROKEN_ROW):
            yield DifferenceCause.DAMAGED
        if not more and less.total() <= sum(intent.missing for intent in now if intent.vouched):
            yield DifferenceCause.VOUCHED
        if not more and less.total() <= sum(intent.missing for intent in now if intent.refused):
            yield DifferenceCause.REFUSED
        if _below(name, {work for work in sound.runs_out | here.runs_out if _runs(sound, work) != _runs(here, work)}):
            yield DifferenceCause.GIVEN_UP
        if not more and less.total() <= sum(intent.missing for intent in now if self._limits.ran_out(intent)):
            yield DifferenceCause.GIVEN_UP
        ended_otherwise = (intent for intent in before if intent.state is not IntentState.DELIVERED)
        if not less and more.total() <= sum(intent.missing for intent in ended_otherwise):
            yield DifferenceCause.TAKEN

    def _repeats(self, name: str, here: RunDigest) -> list[str]:
        """The sentence that an intent was prepared more often than without a crash; empty if it was not."""
        before, intents = len(self._sound.intents.get(name, ())), here.intents.get(name, ())
        # Each account that receives a message has its own work, and its own answer.
        most = before or len({intent.origin for intent in intents})
        if self._sound.bound_otherwise(here, name):
            # Without the binding no account leaves the message to its owner.
            most = max(most, len({intent.body.address.account for intent in intents}))
        # An answer that is prepared again may end badly again, and each such end has its notice.
        undelivered = [
            intent for intent in here.intents.get(_about(name), ()) if intent.state is not IntentState.DELIVERED
        ]
        most = max(most, len(undelivered) if _about(name) != name else 0)
        return [f"prepared {len(intents)} times, without a crash {before}"] if len(intents) > most else []

    def _of_notice(self, name: str, here: RunDigest) -> Iterator[DifferenceCause]:
        """Causes of what replaces a message: it exists if that is known to be undelivered, or found a closed place."""
        about = _about(name)
        ends = [{intent.state for intent in digest.intents.get(about, ())} for digest in (self._sound, here)]
        if about != name and ends[0] != ends[1]:
            yield DifferenceCause.PARKED if IntentState.UNKNOWN in ends[0] | ends[1] else DifferenceCause.REFUSED
        refused = [any(intent.refused for intent in digest.intents.get(about, ())) for digest in (self._sound, here)]
        if name.endswith(CLOSED_SUFFIX) and refused[0] != refused[1]:
            yield DifferenceCause.REFUSED

    def _of_answer(self, name: str, here: RunDigest) -> Iterator[DifferenceCause]:
        """Causes of an answer, or of a notice instead: neither exists beside an equal send of the turn."""
        work, _, part = name.replace(f".reply{NOTICE_SUFFIX}", NOTICE_SUFFIX).rpartition(".")
        if part in ("reply", "notice"):
            mine = {
                sent for digest in (self._sound, here) for sent in digest.intents if sent.startswith(f"{work}.send")
            }
            ends = [{sent: _ends(digest, sent) for sent in mine} for digest in (self._sound, here)]
            if ends[0] != ends[1]:
                yield DifferenceCause.SAID

    def _same_but_marked(self, name: str, here: RunDigest, mark: str) -> bool:
        """Whether both runs show the same chunks, apart from marks; without a mark each at most once."""
        before, now = (_unmarked(digest.seen, name, mark) for digest in (self._sound, here))
        most = max(len(here.intents.get(name, ())), 1)
        unmarked = (times for seen, times in _of(name, here.seen).items() if not seen[3].startswith(mark))
        within = max(unmarked, default=0) <= most and max(now.values(), default=0) <= 2 * most
        return within and before.keys() == now.keys()

    def _is_notice_again(self, name: str, here: RunDigest) -> bool:
        """Whether both runs show the same chunks of notices, more or less often, and the attempts account for all."""
        intents = here.intents.get(name, [])
        if not intents or any(intent.body.intent_kind is not IntentKind.NOTICE for intent in intents):
            return False
        before, now = _of(name, self._sound.seen), _of(name, here.seen)
        attempts = sum(sum(intent.attempts.values()) for intent in intents)
        return before.keys() == now.keys() and now.total() <= attempts

    def _is_parked(self, intent: IntentDigest) -> bool:
        return intent.state is IntentState.UNKNOWN and not self._is_sure(intent)

    def _is_sure(self, intent: IntentDigest) -> bool:
        """Whether an attempt in doubt can be repeated or looked up, so that nothing has to stay unknown."""
        body = intent.body
        if body.action is not None:
            return SPECS[body.action].repeatable
        if body.intent_kind is IntentKind.NOTICE and intent.requests < 2:
            # It is sent once more, and parked if that is in doubt too.
            return True
        # No platform recognises a repeat by a webhook.
        return body.identity is None and body.address.lane[:2] in self._sure

    def _is_explained(self, intent: IntentDigest) -> bool:
        """Whether the end of an intent explains that people did not see all of it."""
        if self._is_parked(intent) or intent.vouched or intent.refused:
            return True
        if intent.why in (Reason.BROKEN_ROW, Reason.NOTHING_TO_CHANGE):
            return True
        if intent.state is IntentState.CANCELLED and intent.why in (Reason.ALREADY_SENT, Reason.PARKED):
            # An equal send of its turn was accepted, or is in doubt: D3 judges that.
            return True
        return self._limits.ran_out(intent) or (intent.state is IntentState.DEAD and bool(intent.struck))

    def _unseen(self, now: Sequence[IntentDigest]) -> Iterator[str]:
        """Chunks of this run that were never seen, without an explanation."""
        for intent in now:
            if intent.missing and not self._is_explained(intent):
                yield f"{intent.missing} of {intent.body.chunks} chunks were never seen ({intent.state or 'no ending'})"


def _about(name: str) -> str:
    """The id of the message that an intent replaces; its own if it replaces none."""
    return next((name.removesuffix(suffix) for suffix in _INSTEAD if name.endswith(suffix)), name)


def _of(name: str, found: Counter[Seen]) -> Counter[Seen]:
    return Counter({seen: times for seen, times in found.items() if seen[0] == name})


def _became(name: str, digest: RunDigest) -> tuple[Counter[Seen], list[str]]:
    """The texts that people saw of an intent, and its end."""
    return _of(name, digest.seen), sorted(intent.state or "" for intent in digest.intents.get(name, ()))


def _ends(digest: RunDigest, name: str) -> set[IntentState | None]:
    """The states in which the intents of a name have ended."""
    return {intent.state for intent in digest.intents.get(name, ())}


def _unmarked(found: Counter[Seen], name: str, mark: str) -> Counter[tuple[int, Lane, str]]:
    texts: Counter[tuple[int, Lane, str]] = Counter()
    for (_, chunk, place, text), times in _of(name, found).items():
        texts[chunk, place, text.removeprefix(mark)] += times
    return texts


def _below(name: str, roots: Collection[str]) -> bool:
    """Whether an id descends from one of the roots: an id begins with that of its origin."""
    return any(name.startswith(f"{root}.") for root in roots)


def _comes_from(name: str, hands: Collection[str]) -> bool:
    """Whether an intent descends from one of the hands; the notice at the end of a chain does from all of its hands."""
    chain = name.removesuffix(_CHAIN_END)
    return _below(name, hands) or (chain != name and any(_below(hand, (chain,)) for hand in hands))


def _otherwise(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    """The ids that both runs have, with different values."""
    return {name for name in before if name in now and before[name] != now[name]}


def _ended_early(sound: RunDigest, here: RunDigest) -> set[str]:
    """The delegations that were cancelled or timed out in one of two runs."""
    differing = _otherwise(sound.outcomes, here.outcomes)
    return {delegation for delegation in differing if _EARLY & (sound.outcomes[delegation] ^ here.outcomes[delegation])}


def _not_asked(intent: IntentDigest, there: RunDigest, here: RunDigest) -> bool:
    """Whether an intent of the run `there` was requested by a client or a schedule, which do not repeat a request."""
    if intent.body.intent_kind is IntentKind.SEND:
        return True
    roots = [wake for wake in there.wakes if intent.work == wake or _below(intent.work, (wake,))]
    return bool(roots) and all(here.wakes[root] < there.wakes[root] for root in roots)


def _operated_less(name: str, sound: RunDigest, here: RunDigest) -> bool:
    """Whether operators did less to an intent, or to what it descends from, than without a crash: nobody was there."""
    missed = {of for of, _ in sound.operated - here.operated}
    return name in missed or _below(name, missed)


def _runs(digest: RunDigest, work: str) -> int:
    """The runs of a turn that was given up; 0 if it was not."""
    return digest.runs_out.get(work, 0)


def _places(intents: Sequence[IntentDigest]) -> Counter[tuple[str, str, str, str]]:
    return Counter(intent.body.address.lane for intent in intents)


def _texts(intents: Sequence[IntentDigest]) -> set[str]:
    return {intent.body.text for intent in intents}


def _heard(intents: Sequence[IntentDigest]) -> list[tuple[Heard, Heard]]:
    return sorted(intent.heard for intent in intents if intent.heard is not None)


def _configured(intents: Sequence[IntentDigest]) -> set[tuple[int, int]]:
    return {intent.configured for intent in intents}


def _struck(intents: Sequence[IntentDigest]) -> Counter[str]:
    return sum((intent.struck for intent in intents), Counter[str]())


def _line(what: str, seen: Seen) -> str:
    _, chunk, lane, text = seen
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{what}: “{shown}” (chunk {chunk + 1}) at {':'.join(part for part in lane if part)}"
