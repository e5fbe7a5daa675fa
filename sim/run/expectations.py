"""Compares a trace with the scenario's expectations: messages, transcripts, events, exercised invariants."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import config_key
from trunkline.core.events import Event, RunEnded
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.events.gateway import SessionCreated, SessionMoved, SessionReset, TranscriptAppended, TurnStarted
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.core.reasons import Reason
from trunkline.core.routing.scopes import place_key
from trunkline.core.states.delegation import ENDED_BY, CallbackState, WorkState, next_work_state
from trunkline.core.values import Address, Peer
from trunkline.sim.events.hands import AgentGiven
from trunkline.sim.events.script import ScriptMissed, ScriptSkipped
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, WorldPlace
from trunkline.sim.invariants import Status, Verdict
from trunkline.sim.run.fault_board import where
from trunkline.sim.scenario import PlaceRef, ScenarioFile
from trunkline.sim.scenario.config_reloads import agents_of
from trunkline.sim.scenario.model.hands import ExpectedDelegation, ExpectedGiven
from trunkline.sim.scenario.model.scenario import ExpectedEvent, ExpectedMessage
from trunkline.sim.scenario.place_refs import is_session_key
from trunkline.sim.scenario.text_pattern import expected_text_matches, text_matches

# Compares delegations, and what agents were given, with what a scenario expects of them.


class EndedDelegation(msgspec.Struct, kw_only=True):
    """A delegation at the end of a run, in both columns."""

    id: str
    accepted: DelegationAccepted
    #: the agent whose turn delegated it
    agent: str = ""
    work: WorkState = WorkState.ACCEPTED
    callback: CallbackState = CallbackState.WAITING
    reason: Reason | None = None
    result: str = ""


def delegations_of(events: Iterable[Event]) -> tuple[EndedDelegation, ...]:
    """Every delegation of a run, in order of acceptance."""
    found: dict[str, EndedDelegation] = {}
    agents: dict[str | None, str] = {}
    for event in events:
        body, known = event.body, found.get(event.delegation or "")
        if isinstance(body, TurnStarted):
            agents[event.turn] = body.agent
        elif isinstance(body, DelegationAccepted):
            agent = agents.get(event.turn, "")
            found[event.delegation or ""] = EndedDelegation(id=event.delegation or "", accepted=body, agent=agent)
        elif known is None:
            continue
        elif isinstance(body, DelegationStarted):
            known.work = WorkState.RUNNING
        elif isinstance(body, DelegationFinished):
            known.work, known.result = next_work_state(known.work, ENDED_BY[body.outcome]), body.text
        elif isinstance(body, CallbackChanged):
            known.callback, known.reason = body.state, body.reason
    return tuple(found.values())


def _words(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def shown_delegation(ended: EndedDelegation) -> str:
    """A delegation in one line."""
    label = f" ({ended.accepted.label})" if ended.accepted.label else ""
    reason = f", {ended.reason}" if ended.reason is not None else ""
    work = f"{ended.id} {ended.accepted.hand}{label}: {ended.work}"
    return f"{work}, “{_quoted(ended.result)}”, callback {ended.callback}{reason}"


def shown_given(body: AgentGiven) -> str:
    """A prompt that an agent was given, in one line."""
    asked = "nobody" if body.asked_by is None else body.asked_by.name or body.asked_by.id
    prompts = " + ".join(f"“{_quoted(prompt.text)}”" for prompt in body.prompts) or "no prompt"
    return f"{body.agent}: “{_quoted(body.text)}” from {body.peer.id}, asked by {asked}, {prompts}"


def _quoted(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def givens_of(events: Sequence[Event]) -> list[AgentGiven]:
    """The prompts that agents were given in a run."""
    return [event.body for event in events if isinstance(event.body, AgentGiven)]


def described(wanted: ExpectedDelegation | ExpectedGiven) -> str:
    """An expected delegation in one line, in the words of the file."""
    given = [name for name in type(wanted).model_fields if name != "times" and name in wanted.model_fields_set]
    facts = [f"{name} {_words(getattr(wanted, name))}" for name in given]
    return f"{wanted.times}× {', '.join(facts) or 'any'}"


class UnmetExpectation(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation that does not hold. `line`: its line in the scenario file."""

    summary: str
    expected: tuple[str, ...] = ()
    actual: tuple[str, ...] = ()
    line: int | None = None
    #: the run is no proof of anything: something of the scenario was not reached
    not_exercised: bool = False


#: the events that `_Outcome` reads
_READ = frozenset(
    {PeerSaid, WorldPlace, WireAccepted, TranscriptAppended, MirrorAppended, SessionCreated, SessionReset, SessionMoved}
)


class _Outcome:
    """The outcome of a run, by place and by session."""

    def __init__(self, file: ScenarioFile, events: Sequence[Event]) -> None:
        self.events = events
        #: whether a text is as the scenario expects it
        self.matches = expected_text_matches if file.strict else text_matches
        self.names: dict[tuple[str, str, str], Address] = {}
        self.labels: dict[tuple[str, str, str, str], str] = {}
        self.accepts: list[WireAccepted] = []
        self._file = file
        self.configs = (file.scenario.gateway, *file.reloads)
        #: the message of each `say`, and the text of each message of the gateway: platform's id -> name or text
        self._messages: dict[tuple[str, str], str] = {}
        #: intent -> the session that holds it; and the intent of each accepted message, by its platform's id
        self._holders: dict[str | None, str] = {}
        self._intents: dict[tuple[str, str], str | None] = {}
        self._at: dict[tuple[str, str], float] = {}
        #: session id -> its lines
        self.lines: dict[str, list[str]] = {}
        #: (session id, intent) -> index of its partial line, which grows as more chunks are accepted
        self._parts: dict[tuple[str, str | None], int] = {}
        #: session key -> the session that has it
        self.sessions: dict[str, str] = {}
        for stored in file.scenario.stored.sessions:
            self.sessions[stored.key] = stored.id
            self.lines[stored.id] = list(stored.lines)
        for event in events:
            self._see(event)

    def _see(self, event: Event) -> None:
        body = event.body
        if type(body) not in _READ:
            return
        if isinstance(body, WorldPlace):
            place = body.address
            self.names[place.channel, place.account, body.name] = place
            self.labels[place.lane] = f"{place.channel}/{body.name}"
        elif isinstance(body, PeerSaid):
            self._messages[body.address.conversation, body.message_id] = event.inbound or ""
        elif isinstance(body, WireAccepted):
            self.accepts.append(body)
            message = body.address.conversation, body.provider_id
            self._messages[message], self._intents[message], self._at[message] = body.text, event.intent, event.at
        elif isinstance(body, TranscriptAppended | MirrorAppended):
            self._append(event, body)
            self.sessions.setdefault(body.session_key, body.session_id)
            self._holders[event.intent] = body.session_key
        elif isinstance(body, SessionCreated | SessionReset):
            self.sessions[body.session_key] = body.session_id
        elif isinstance(body, SessionMoved):
            self.sessions.pop(body.old_key, None)
            self.sessions[body.session_key] = body.session_id

    def _append(self, event: Event, body: TranscriptAppended | MirrorAppended) -> None:
        lines = self.lines.setdefault(body.session_id, [])
        if isinstance(body, TranscriptAppended):
            lines.append(f"{body.role}: {body.text}")
            return
        which = (body.session_id, event.intent)
        place = self._parts.pop(which, len(lines))
        lines[place:] = [f"assistant: {body.text}", *lines[place + 1 :]]
        if body.partial:
            self._parts[which] = place

    def address(self, ref: PlaceRef) -> Address | None:
        """The address of a place; None if it never existed."""
        return self.names.get((ref.platform, ref.account, ref.tail))

    def _is_asker(self, name: str | None, peer: Peer | None) -> bool:
        """Whether a peer is this person of the scenario, on any platform, or nobody in particular is expected."""
        if name is None or peer is None:
            return name is None
        spec = self._file.scenario.world.people.get(name)
        return peer.name == ((spec and spec.name) or name) or (spec is not None and peer.id in spec.ids.values())

    def held(self, agent: str, place: Address, configs: Sequence[GatewayConfig]) -> list[str]:
        """The lines of a place's session, under the last configuration in which it has one."""
        for config in reversed(configs):
            key = config_key(place_key(agent, place, config), config)
            if key in self.sessions:
                return self.lines.get(self.sessions[key], [])
        return []

    def quoted(self, accept: WireAccepted) -> str:
        """The message that a message quotes: the id of a `say`, or the text of a message of the gateway; or nothing."""
        quoted = accept.reply_to or ""
        return quoted and self._messages.get((accept.address.conversation, quoted), quoted)

    def holder(self, accept: WireAccepted) -> str:
        """The key of the session that holds a message; empty for none."""
        return self._holders.get(self._intents[accept.address.conversation, accept.provider_id], "")

    def at(self, accept: WireAccepted) -> float:
        return self._at[accept.address.conversation, accept.provider_id]

    def keys(self, session: str) -> Collection[str]:
        """The keys of a session that a scenario names by its key or by its place."""
        place = None if is_session_key(session) else self.address(self._file.resolve(session))
        if place is None:
            return (session,)
        agents = agents_of(self.configs)
        return [config_key(place_key(agent, place, each), each) for each in self.configs for agent in agents]

    def has_delegation(self, wanted: ExpectedDelegation, ended: EndedDelegation) -> bool:
        """Whether a delegation has everything that is expected."""
        body = ended.accepted
        exact = (
            (wanted.hand, body.hand),
            (wanted.label, body.label),
            (wanted.agent, ended.agent),
            (wanted.work, ended.work),
            (wanted.callback, ended.callback),
            (wanted.reason, ended.reason),
        )
        if any(want not in (None, have) for want, have in exact) or not self._is_asker(wanted.asked_by, body.asked_by):
            return False
        if wanted.place is not None:
            place = self.address(self._file.resolve(wanted.place))
            if place is None or body.origin is None or body.origin.lane != place.lane:
                return False
        texts = ((wanted.task, body.task), (wanted.result, ended.result))
        return all(want is None or self.matches(want, have) for want, have in texts)

    def has_given(self, wanted: ExpectedGiven, body: AgentGiven) -> bool:
        """Whether an agent was given everything that is expected."""
        exact = (
            (wanted.agent, body.agent),
            (wanted.sender, body.peer.id),
            (wanted.callback, body.hand),
            (wanted.outcome, body.outcome),
        )
        if any(want not in (None, have) for want, have in exact) or not self._is_asker(wanted.asked_by, body.asked_by):
            return False
        if wanted.text is not None and not self.matches(wanted.text, body.text):
            return False
        if wanted.prompts is None:
            return True
        texts = [prompt.text for prompt in body.prompts]
        return len(texts) == len(wanted.prompts) and all(map(self.matches, wanted.prompts, texts))

    def is_wanted(self, wanted: ExpectedMessage, accept: WireAccepted) -> bool:
        """Whether an accepted message is as a scenario expects it, wherever it is."""
        facts = ((wanted.media, accept.media), (wanted.buttons, _buttons(accept)))
        if not self.matches(wanted.text, accept.text) or any(want not in (None, have) for want, have in facts):
            return False
        texts = ((wanted.reply_to, self.quoted(accept)), (wanted.identity, _author(accept)))
        late = wanted.by is not None and self.at(accept) > wanted.by
        if late or any(want is not None and not self.matches(want, have) for want, have in texts):
            return False
        return wanted.session is None or self.holder(accept) in self.keys(wanted.session)

    def shown(self, wanted: ExpectedMessage, accept: WireAccepted) -> str:
        """An accepted message in one line, with the facts that are asked for."""
        facts = [f"“{accept.text}”{_files(accept.media)} at {self.label(accept.address)}"]
        facts += [] if wanted.reply_to is None else [f"quotes “{self.quoted(accept)}”"]
        facts += [] if wanted.identity is None else [f"as “{_author(accept)}”"]
        facts += [] if wanted.buttons is None else [f"buttons: {' | '.join(_buttons(accept)) or 'none'}"]
        facts += [] if wanted.session is None else [f"in the session {self.holder(accept) or 'of nobody'}"]
        facts += [] if wanted.by is None else [f"at {self.at(accept):.3f}s"]
        return ", ".join(facts)

    def label(self, address: Address) -> str:
        return self.labels.get(address.lane, str(address))


def transcripts_of(file: ScenarioFile, events: Sequence[Event]) -> dict[str, tuple[str, ...]]:
    """The lines of each session at the end of a run, by its key, in the form of `expect.transcripts`."""
    seen = _Outcome(file, events)
    return {key: tuple(seen.lines.get(session, ())) for key, session in seen.sessions.items()}


def check_expectations(
    file: ScenarioFile, events: Sequence[Event], verdicts: Iterable[Verdict]
) -> tuple[UnmetExpectation, ...]:
    """Compare a run with what its scenario expects; every difference is one `UnmetExpectation`."""
    expect = file.scenario.expect
    found = [*_skipped(events), *_cut(events), *missed_parts(events)]
    if expect.accepted is not None or expect.transcripts or expect.events or expect.hands or expect.given:
        seen = _Outcome(file, events)
        found += (*_compare_accepted(file, seen), *_transcripts(file, seen), *_events(file, seen), *_hands(file, seen))
    return (*found, *_exercised(file, verdicts))


def _skipped(events: Sequence[Event]) -> Iterable[UnmetExpectation]:
    """Steps that could not happen: the run differs from the scenario."""
    for event in events:
        if isinstance(event.body, ScriptSkipped):
            yield UnmetExpectation(
                summary=f"the step {event.body.step} could not happen",
                expected=("every step of the script happens",),
                actual=(f"#{event.seq} {event.at:.3f}s {event.body.why}",),
            )


def missed_parts(events: Sequence[Event]) -> Iterable[UnmetExpectation]:
    """The parts of its scenario that a run has not reached."""
    for event in events:
        if isinstance(event.body, ScriptMissed):
            body, actual = event.body, ["nothing in the run reached it"]
            if body.disarmed is not None:
                actual = [f"nothing reached it until it was disarmed at {body.disarmed:.3f}s"]
                later = f"{body.later} came later, at {body.later_at:.3f}s" if body.later_at is not None else ""
                actual.append(later or "nothing that it could have struck came later")
            yield UnmetExpectation(
                summary=f"not exercised: nothing reached {body.part}",
                expected=("it is reached; write `may_miss: true` beside it where a run may miss it",),
                actual=tuple(actual),
                line=body.line,
                not_exercised=True,
            )


def _cut(events: Sequence[Event]) -> Iterable[UnmetExpectation]:
    """A run that is cut shows neither that its promises hold nor that they do not."""
    last = events[-1] if events else None
    if last is not None and isinstance(last.body, RunEnded) and last.body.cut:
        yield UnmetExpectation(
            summary=f"not judged: the run was cut {last.body.cut}",
            expected=("the run comes to rest",),
            actual=(f"#{last.seq} {last.at:.3f}s still open: {', '.join(last.body.open[:5]) or 'nothing'}",),
        )


def _compare_accepted(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    """Compare the exact multiset of accepted messages."""
    expected = file.scenario.expect.accepted
    if expected is None:
        return
    left = list(seen.accepts)
    order: list[tuple[int, WireAccepted, int]] = []
    for index, wanted in enumerate(expected):
        ref = file.resolve(wanted.place)
        place = seen.address(ref)
        found = [a for a in left if place and a.address.lane == place.lane and seen.is_wanted(wanted, a)]
        for accept in found[: wanted.times]:
            # By identity: equal messages may have come in between.
            del left[next(number for number, other in enumerate(left) if other is accept)]
            order.append((next(n for n, other in enumerate(seen.accepts) if other is accept), accept, index))
        if len(found) < wanted.times:
            yield UnmetExpectation(
                summary=f"“{wanted.text}” was not seen at {wanted.place} as often as expected",
                expected=(f"{wanted.times}× {_wanted(wanted)} at {ref.platform}/{ref.tail}",),
                actual=(f"{len(found)}×", *(seen.shown(wanted, accept) for accept in left[:5])),
                line=file.line_of(("expect", "accepted", index)),
            )
    for accept in left:
        yield UnmetExpectation(
            summary=f"“{accept.text}” was seen at {seen.label(accept.address)}, unexpectedly",
            expected=("only the messages under expect.accepted",),
            actual=(f"“{accept.text}” at {seen.label(accept.address)}",),
            line=file.line_of(("expect", "accepted")),
        )

    if file.scenario.expect.in_order:
        yield from _disordered(file, seen, sorted(order, key=lambda each: each[0]))


def _disordered(
    file: ScenarioFile, seen: _Outcome, order: Sequence[tuple[int, WireAccepted, int]]
) -> Iterable[UnmetExpectation]:
    """The messages of a place that came before one that the scenario names earlier. `order`: as they came."""
    before: dict[object, tuple[WireAccepted, int]] = {}
    for _, accept, index in order:
        earlier, highest = before.get(accept.address.lane, (accept, -1))
        if index < highest:
            yield UnmetExpectation(
                summary=f"“{accept.text}” was seen at {seen.label(accept.address)} after “{earlier.text}”",
                expected=(f"“{accept.text}” before “{earlier.text}”",),
                actual=(f"“{earlier.text}” before “{accept.text}”",),
                line=file.line_of(("expect", "accepted", index)),
            )
        else:
            before[accept.address.lane] = accept, index


def _wanted(wanted: ExpectedMessage) -> str:
    """An expected message in one line, in the words of the file."""
    facts = [f"“{wanted.text}”{_files(wanted.media)}"]
    given = ((name, getattr(wanted, name)) for name in ("reply_to", "identity", "buttons", "session"))
    return ", ".join([*facts, *(f"{name} “{_words(value)}”" for name, value in given if value is not None)])


def _author(accept: WireAccepted) -> str:
    """The name that a message is shown under, where that is not the bot's: an identity is recorded as `ID as NAME`."""
    return (accept.identity or "").partition(" as ")[2]


def _buttons(accept: WireAccepted) -> tuple[str, ...]:
    rows = () if accept.parts is None else accept.parts.buttons
    return tuple(button.text for row in rows for button in row)


def _files(media: Sequence[str] | None) -> str:
    return f" with {', '.join(media)}" if media else ""


def _transcripts(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    configs, agents = seen.configs, agents_of(seen.configs)
    for index, wanted in enumerate(file.scenario.expect.transcripts):
        place = None if wanted.place is None else seen.address(file.resolve(wanted.place))
        found = list(seen.lines.get(seen.sessions.get(wanted.session or "", ""), ()))
        for agent in agents:
            if place is not None:
                found += seen.held(agent, place, configs)
        fits = len(found) == len(wanted.lines) and all(
            seen.matches(want, have) for want, have in zip(wanted.lines, found, strict=True)
        )
        if not fits:
            yield UnmetExpectation(
                summary=f"the transcript of {wanted.place or wanted.session} differs",
                expected=wanted.lines,
                actual=tuple(found) or ("(empty)",),
                line=file.line_of(("expect", "transcripts", index)),
            )


def _events(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    for index, wanted in enumerate(file.scenario.expect.events):
        count = sum(_event_fits(wanted, event, file, seen) for event in seen.events)
        if count == wanted.times or (wanted.times is None and count > 0):
            continue
        often = "at least once" if wanted.times is None else f"{wanted.times}×"
        yield UnmetExpectation(
            summary=f"{wanted.kind} happened {count}×",
            expected=(f"{often} {_describe(wanted)}",),
            actual=(f"{count}×",),
            line=file.line_of(("expect", "events", index)),
        )


def _describe(wanted: ExpectedEvent) -> str:
    facts = [wanted.kind]
    for name in ("reason", "state", "status", "text", "detail", "place"):
        value = getattr(wanted, name)
        if value is not None:
            facts.append(f"{name} {value}")
    return ", ".join(facts)


def _event_fits(wanted: ExpectedEvent, event: Event, file: ScenarioFile, seen: _Outcome) -> bool:
    body = event.body
    if event.kind != wanted.kind:
        return False
    for name in ("reason", "state", "status"):
        value = getattr(wanted, name)
        if value is not None and getattr(body, name, None) != value:
            return False
    for name in ("text", "detail"):
        pattern = getattr(wanted, name)
        if pattern is not None and not seen.matches(pattern, str(getattr(body, name, ""))):
            return False
    if wanted.place is None:
        return True
    address, place = where(body), seen.address(file.resolve(wanted.place))
    return address is not None and place is not None and address.lane == place.lane


def _hands(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    """Compare delegations in both columns, and what agents were given."""
    ended, given, expect = delegations_of(seen.events), givens_of(seen.events), file.scenario.expect
    for index, delegation in enumerate(expect.hands):
        count, shown = sum(seen.has_delegation(delegation, one) for one in ended), map(shown_delegation, ended[:10])
        yield from _miscounted(file, ("hands", index), "delegations differ", delegation, count, shown)
    for index, prompt in enumerate(expect.given):
        count, shown = sum(seen.has_given(prompt, one) for one in given), map(shown_given, given[:10])
        yield from _miscounted(file, ("given", index), "what agents were given differs", prompt, count, shown)


def _miscounted(
    file: ScenarioFile,
    place: tuple[str, int],
    summary: str,
    wanted: ExpectedDelegation | ExpectedGiven,
    count: int,
    shown: Iterable[str],
) -> Iterable[UnmetExpectation]:
    if count != wanted.times:
        line = file.line_of(("expect", *place))
        actual = (f"{count}×", *shown)
        yield UnmetExpectation(summary=summary, expected=(described(wanted),), actual=actual, line=line)


def _exercised(file: ScenarioFile, verdicts: Iterable[Verdict]) -> Iterable[UnmetExpectation]:
    idle = {verdict.id for verdict in verdicts if verdict.status is Status.NOT_EXERCISED}
    for index, wanted in enumerate(file.scenario.expect.exercised):
        if wanted in idle:
            yield UnmetExpectation(
                summary=f"{wanted} was not exercised",
                expected=(f"something in the run that {wanted} applies to",),
                actual=("not exercised",),
                line=file.line_of(("expect", "exercised", index)),
            )
