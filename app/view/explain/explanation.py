"""Why an event happened: expected and actual, the causal path with its first wrong step, violations, how to repeat."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise

import msgspec

from trunkline.app.text.cells import clean, count, quoted, seconds, shell_words
from trunkline.app.text.fact import Fact, Tone, because, facts, listed
from trunkline.app.view.explain.binding_facts import own_bound_facts, routed_facts, spoken_facts
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.invariants.results import absence_fact
from trunkline.app.view.kinds.gateway import step_label
from trunkline.app.view.kinds.registry import describe, event_fact
from trunkline.app.view.labels import decision_facts
from trunkline.app.view.labels.heartbeat_facts import heartbeat_facts
from trunkline.app.view.wire_side.facts import wire_facts
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, Event, RunEnded, TraceHeader, actions, delivery, gateway, hands, heartbeat
from trunkline.sim.events import processes, wire, world
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.invariants.base import Status, Violation
from trunkline.sim.run.culprits import Culprit, Divergence

# The recorded facts about an event: about the message, route or delegation that it belongs to.
#
# Nothing is reconstructed. Each fact names the event that recorded it, so that a screen can dim later ones.

#: the steps of an intent, by label: after its hooks, and at its end
_STEPS: dict[str, tuple[type[Body], ...]] = {
    "waited": (delivery.LaneWaiting,),
    "wire": (wire.WireAccepted, wire.WireRefused, wire.WireResponseLost, wire.WireDeduplicated),
    "decided": (delivery.AttemptEnded, delivery.RecoveryDecided, wire.WireLookedUp),
    "mirror": (delivery.MirrorAppended, delivery.MirrorRefused),
}
_ENDS: dict[type[Body], str] = {
    delivery.IntentSettled: "ended",
    delivery.OperatorActed: "operator",
    delivery.IntentReopened: "operator",
    delivery.HookSent: "notified",
}
#: the events of a delegation that its explanation lists, by label
_LISTED: dict[str, tuple[type[Body], ...]] = {
    "result": (hands.DelegationFinished, hands.DelegationIgnored),
    "refused": (hands.AnswerTurnedAway,),
    "callback": (hands.CallbackChanged,),
}
#: events that are shown as a warning
_BAD = (
    wire.WireRefused,
    wire.WireResponseLost,
    delivery.MirrorRefused,
    delivery.HookFailed,
    gateway.InboundDropped,
    hands.AnswerTurnedAway,
)


def facts_of(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts about the intent of an event, else its delegation, else its inbound.

    Some decisions, such as a resolved target or a moved session, are explained by their own fields instead.
    """
    for own in (wire_facts(view, event) if view.wire_side else (), _own(view, event)):
        if found := tuple(own):
            yield from found
            return
    intent = view.of_intent(event.intent)
    accepted = next(typed(view.of_delegation(event.delegation), hands.DelegationAccepted), None)
    inbound = event.inbound or _inbound_after(view, event)
    if prepared := next(typed(intent, delivery.IntentPrepared), None):
        yield from _intent(view, *prepared)
        yield from _completion(view, event)
        near = view.nearest(prepared[0].seq, gateway.RouteDecided)
        yield from _routes(view, [near] if near else view.of_inbound(inbound))
    elif hooked := next(typed(intent, delivery.HookSending), None):
        # Hooks cancelled it: it was never prepared, so neither its text nor its files are stored.
        yield from _steps(view, "hooks", intent, delivery.HookSending, delivery.HookFailed)
        yield because(hooked[1].reason, hooked[0].seq)
        yield from _ends(view, intent)
    elif accepted:
        yield from _delegation(view, *accepted, event)
        yield from _completion(view, event)
    elif inbound:
        yield from _refusal(event)
        yield from _inbound(view, view.of_inbound(inbound))
        for effect in map(view.event, view.causes.effects(event.seq)):
            if isinstance(effect.body, wire.WireAccepted | delivery.IntentSuppressed | hands.DelegationAccepted):
                label = "hands on" if isinstance(effect.body, hands.DelegationAccepted) else "answered"
                yield from _steps(view, label, [effect])
    elif isinstance(event.body, processes.ProcessCrashed):
        yield from _crashed(event, event.body)
    elif not isinstance(event.body, world.PeerSaid | RunEnded):
        yield Fact("what", describe(view, event), event.seq)


def _own(view: RunView, event: Event) -> Iterator[Fact]:
    """The explanation of a decision by its own fields; nothing for other events."""
    body, name, seq = event.body, view.places.label, event.seq
    if isinstance(body, actions.PolicyDecided):
        started = view.nearest_body(seq, gateway.TurnStarted)
        more = facts(seq, ("setting", body.setting and f"tools.message.{body.setting}"))
        yield from decision_facts.policy_facts(
            body, name, seq, nowhere=started.work.value if started else "nowhere", more=more
        )
    elif isinstance(body, heartbeat.HeartbeatSkipped | heartbeat.HeartbeatStarted | heartbeat.HeartbeatEnded):
        yield from heartbeat_facts(body, name, seq)
    else:
        yield from decision_facts.own_facts(body, name, seq)
        yield from own_bound_facts(view, event)


def _crashed(event: Event, body: processes.ProcessCrashed) -> Iterator[Fact]:
    """Why a process died; for an exception, where it was raised, and the calls that led there."""
    yield Fact("died", body.why, event.seq, Tone.BAD)
    # The reverse of a traceback, so that a short pane shows where it was raised.
    for number, frame in enumerate(reversed(body.frames)):
        label = "raised" if not number else "called by" if number == 1 else ""
        yield Fact(label, frame, event.seq, Tone.PLAIN if number else Tone.BAD)


def _inbound_after(view: RunView, event: Event) -> str | None:
    """The inbound that a platform event led to; the platform does not know the gateway's ids."""
    if not isinstance(event.body, world.PeerSaid | world.PlatformPushed):
        return None
    return next((view.event(seq).inbound for seq in view.causes.effects(event.seq) if view.event(seq).inbound), None)


def _intent(view: RunView, prepared: Event, body: delivery.IntentPrepared) -> Iterator[Fact]:
    seq, events = prepared.seq, view.of_intent(prepared.intent)
    yield Fact("says", quoted(body.text), seq)
    chunks = f", {count(body.chunks, 'chunk')}" if body.chunks > 1 else ""
    named = ", the agent named the target" if body.targeted else ""
    yield Fact("to", f"{view.places.label(body.address)}  ({body.intent_kind}{chunks}{named})", seq)
    session = body.named_session and body.mirror_key and f"{body.mirror_key}, named by the sender"
    yield from facts(seq, ("as", body.identity), ("files", ", ".join(body.media)), ("session", session or ""))
    yield because(body.reason, seq)
    for accepted, task in islice(typed(view.of_delegation(prepared.delegation), hands.DelegationAccepted), 1):
        text = f"{view.delegations.of(accepted.delegation)} of hand {task.hand}: {quoted(task.task)}"
        yield Fact("reports", text, accepted.seq)
    yield from _aimed(view, seq)
    yield from _steps(view, "hooks", events, delivery.HookSending, delivery.HookFailed)
    for event in events:
        if isinstance(event.body, delivery.Fallback | delivery.TransportFallback):
            yield Fact("fallback", describe(view, event), event.seq, Tone.WARN)
    yield from spoken_facts(view, prepared.intent)
    for label, kinds in _STEPS.items():
        yield from _steps(view, label, events, *kinds)
    yield from _ends(view, events)


def _steps(view: RunView, label: str, events: Iterable[Event], *kinds: type[Body]) -> Iterator[Fact]:
    """A fact for each event of these kinds; without kinds, for all events."""
    for event in events:
        if isinstance(event.body, kinds or Body):
            yield event_fact(view, event, label, Tone.WARN if isinstance(event.body, _BAD) else Tone.PLAIN)


def _ends(view: RunView, events: Iterable[Event]) -> Iterator[Fact]:
    """How an intent ended, what operators did about it, and which hooks were notified."""
    return (event_fact(view, event, _ENDS[type(event.body)]) for event in events if type(event.body) in _ENDS)


def _aimed(view: RunView, seq: int) -> Iterator[Fact]:
    """The client that requested a send, and how its target was resolved."""
    asked = view.nearest(seq, delivery.SendRequested)
    for event, body in typed([asked], delivery.SendRequested):
        yield from decision_facts.requested_facts(body, event.seq)
    near = (
        view.nearest(number, delivery.TargetResolved)
        for number in (seq, *(view.causes.children(asked.seq) if asked else ()))
    )
    for resolved, body in islice(typed(near, delivery.TargetResolved), 1):
        yield from decision_facts.target_facts(body, view.places.label, resolved.seq)


def _completion(view: RunView, event: Event) -> Iterator[Fact]:
    yield from routed_facts(view, event)
    planned = view.of_delegation(event.delegation, hands.CompletionPlanned) or [
        view.nearest(event.seq, hands.CompletionPlanned)
    ]
    for plan, body in typed(planned, hands.CompletionPlanned):
        busy = "requester busy" if body.requester_busy else "requester idle"
        yield Fact("plan", f"#{plan.seq} {count(len(body.steps), 'step')}, {busy}", plan.seq)
        for number, step in enumerate(body.steps, 1):
            yield Fact("", f"{number} {step_label(view, step)}: {step.reason.sentence}", plan.seq)


def _routes(view: RunView, events: Iterable[Event]) -> Iterator[Fact]:
    for event, body in typed(events, gateway.RouteDecided):
        # Ids of session bindings are long; screens show short names.
        bound = body.matched_by == BOUND_TIER
        shown = msgspec.structs.replace(body, binding=view.bindings.name(body.binding)) if bound else body
        yield from decision_facts.route_facts(shown, view.places.label, event.seq)


def _inbound(view: RunView, events: Sequence[Event]) -> Iterator[Fact]:
    for event, body in typed(events, gateway.InboundReceived):
        yield from _steps(view, "said", [view.posted(event.seq) or event])
        chain = f"{body.reply_chain} is a reply chain, not a thread: it is not part of the place"
        yield from facts(event.seq, ("chain", body.reply_chain and chain))
    for event, body in typed(events, gateway.InboundDropped):
        yield from _steps(view, "dropped", [event])
        yield because(body.reason, event.seq)
    yield from _routes(view, events)
    yield from _steps(view, "turn", events, gateway.TurnEnded)


def _delegation(view: RunView, accepted: Event, body: hands.DelegationAccepted, event: Event) -> Iterator[Fact]:
    """A delegation: the task, who asked, both columns; and why `event` happened to it."""
    kind = f"{body.hand_kind} " if body.hand_kind in ("agent", "worker") else ""
    asked, name = body.asked_by, view.delegations.of
    yield from facts(
        accepted.seq,
        ("task", f"{quoted(body.task)} for {kind}hand {body.hand}  ({name(accepted.delegation)})"),
        ("label", body.label and quoted(body.label)),
        ("origin", f"{view.places.label(body.origin)}, frozen at #{accepted.seq}"),
        ("asked by", asked and f"{asked.name or asked.id} by message {body.message_id or '?'}"),
        ("above", body.parent and f"{name(body.parent)}, whose hand delegated this; depth {body.depth}"),
        ("session", body.session_key),
    )
    yield from _refusal(event)
    for label, kinds in _LISTED.items():
        yield from _steps(view, label, view.of_delegation(accepted.delegation), *kinds)


def _refusal(event: Event) -> Iterator[Fact]:
    """Why a call, an answer or a report was refused, ended or held back."""
    body = event.body
    if isinstance(body, gateway.ToolRefused | hands.AnswerTurnedAway):
        yield from facts(event.seq, ("refused", body.detail, Tone.WARN), ("because", body.reason))
    elif isinstance(body, hands.CallbackChanged | hands.DelegationFinished):
        yield from facts(event.seq, ("because", body.reason))


#: uninformative steps, which a path leaves out unless they are wrong
_SILENT = frozenset(
    {
        *("platform.pushed", "inbound.received", "inbound.admitted", "transcript.appended"),
        *("delegation.started", "attempt.started", "chunk.acked"),
        *("wire.called", "wire.responded", "platform.confirmed"),
    }
)
#: places where one invariant went wrong that are marked in the path of one event; a run that loops has thousands
MOST_BLAMED = 4
_IDS = ("inbound", "turn", "delegation", "intent", "binding")


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    title: str
    lines: tuple[Fact, ...]


def explain(view: RunView, seq: int) -> Explanation:
    """Explain the event at `seq`; 0 is before the first event."""
    repro = tuple(facts(0, ("repro", reproduction(view.header, view.events))))
    if not 0 < seq <= view.last:
        waits = view.growing and not view.last
        text = "t=0, nothing has happened yet: ] steps, space plays"
        text = "no events yet: they are shown as they come" if waits else text
        return Explanation(seq=0, title="Why", lines=(Fact("", text, tone=Tone.DIM), *(() if waits else repro)))
    event = view.event(seq)
    violations = tuple(view.marks.of(seq))
    path = _judged(view, event, violations) if violations else _path(view, view.causes.path(seq), ())
    said = (*_verdicts(view, event), *facts_of(view, event))
    # Also at a step that led to something: there one asks what it should have been.
    blamed = culprit_facts(view) if violations or any(culprit.seq == seq for culprit in view.culprits) else ()
    lines = [*blamed, *path, *repro, *said] if violations else [*blamed, *said, *path, *repro]
    found = [f"{name} {value}" for name in _IDS if (value := getattr(event, name))]
    where = f"{event.node} process {event.generation}" if event.generation else event.node
    lines.append(Fact("recorded", f"by {where}  {'  '.join(found)}".rstrip(), tone=Tone.DIM))
    broken = " ".join(dict.fromkeys(violation.invariant for violation in violations))
    title = f"Why #{seq}  {event.kind}" + (f"  ✗ {broken}" if broken else "")
    return Explanation(seq=seq, title=title, lines=tuple(lines))


def reproduction(header: TraceHeader, events: Sequence[Event] = ()) -> str:
    """The command that repeats a run; empty for what a gateway did, which nothing repeats.

    `events`: those of the run; of a gateway that is not ours, the first says how it was named, if we played against it.
    """
    places = [crash.rpartition(" ")[2] for crash in header.crashes]
    placed = "".join(f" {'--then' if number else '--at'} {place}" for number, place in enumerate(places))
    placed += " --stop" if header.crashes and header.crashes[-1].startswith("stop") else ""
    plugins = "".join(f" --plugin {shlex.quote(module)}" for module in header.plugins)
    if header.of_gateway:
        return ""
    if header.side == "wire":
        first = events[0].body if events else None
        options = first.options if isinstance(first, GatewayAttached) else ()
        attach = shell_words(["trunkline", "attach", header.path, *options])
        return f"{attach}{clean(placed)}" if header.path and options else ""
    bugs = "".join(f" --bug {shlex.quote(bug)}" for bug in header.bugs)
    steps = "".join(f" --inject {shlex.quote(step)}" for step in header.steps)
    verb = "explore" if placed else "run --wire" if header.on_wire else "run"
    scenario = f"{shlex.quote(header.path or header.scenario)} --seed {header.seed}"
    return clean(f"trunkline {verb} {scenario}{bugs}{steps}{placed}{plugins}")


def path_of(view: RunView, violation: Violation) -> Iterator[Fact]:
    """The causal path of a violation, from its root cause to the last evidence, with where it went wrong marked."""
    last = violation.evidence[-1] if violation.evidence else violation.at
    return _path(view, _wrong_path(view, last, violation), [violation])


def culprit_facts(view: RunView) -> Iterator[Fact]:
    """The steps that went wrong first, each beside what the sound run has instead, and what they led to."""
    for culprit in view.culprits:
        if culprit.seq > view.last:
            continue
        event, sound = view.event(culprit.seq), culprit.sound
        again = len(culprit.steps) - 1
        more = f", and {count(again, 'more step')} like it" if again else ""
        how = "nothing followed it: this" if culprit.divergence is Divergence.MISSING else "it"
        mark = f"✗ {how} led to {' '.join(culprit.invariants)}{more}"
        yield Fact("culprit", _step_text(view, event), event.seq, Tone.BAD, mark=mark)
        there = "no such step" if sound is None else _step_text(view, sound).partition(" ")[2]
        yield Fact("sound run", there, event.seq, Tone.GOOD)


def _step_text(view: RunView, event: Event) -> str:
    return f"#{event.seq} {seconds(event.at)} {describe(view, event)}"


def _judged(view: RunView, event: Event, violations: Sequence[Violation]) -> Iterator[Fact]:
    yield from _distinct("expected", [text for v in violations for text in v.expected], Tone.GOOD)
    yield from _distinct("actual", [text for v in violations for text in v.actual], Tone.BAD)
    shown = _distinctly_blamed(violations)
    steps = {seq for violation in shown for seq in _wrong_path(view, event.seq, violation)}
    yield from _path(view, sorted(steps), shown)
    titles = {verdict.id: f" {verdict.name}" for verdict in view.verdicts}
    for index, violation in enumerate(violations):
        text = f"{violation.invariant}{titles.get(violation.invariant, '')}: {violation.summary}"
        yield Fact("" if index else "broken", text, violation.at, Tone.BAD)


def _distinct(label: str, texts: Sequence[str], tone: Tone) -> Iterator[Fact]:
    # Of sorted texts, the next begins with the one before if any does: a run that loops has thousands.
    longer = {text for text, following in pairwise(sorted(set(texts))) if following.startswith(text)}
    return listed(label, (text for text in dict.fromkeys(texts) if text not in longer), tone=tone)


def _distinctly_blamed(violations: Sequence[Violation]) -> list[Violation]:
    """The violations whose blame is shown: all, but of one invariant only the first few."""
    kept: dict[str, dict[tuple[int | None, int | None], Violation]] = {}
    for violation in violations:
        own = kept.setdefault(violation.invariant, {})
        if len(own) < MOST_BLAMED:
            own.setdefault((violation.first_wrong, violation.missing_after), violation)
    return [violation for own in kept.values() for violation in own.values()]


def _wrong_path(view: RunView, seq: int, violation: Violation) -> list[int]:
    """The path that contains what a violation blames: of this event, else of the latest evidence that has it."""
    if violation.path:
        return sorted({step for step in violation.path if step <= view.last})
    own, blamed = view.causes.path(seq), violation.blamed
    if blamed is None or blamed in own or blamed > view.last:
        return own
    others = (violation.at, *reversed(violation.evidence))
    paths = (view.causes.path(other) for other in others if 0 < other <= view.last)
    return next((path for path in paths if blamed in path), sorted({*own, blamed}))


def _path(view: RunView, path: Sequence[int], violations: Sequence[Violation]) -> Iterator[Fact]:
    """The steps of a path. Each violation marks its own first wrong step, or adds a line below the last right one."""
    blamed = {violation.blamed for violation in violations if violation.blamed}
    wrong = {violation.first_wrong for violation in violations if violation.first_wrong}
    kept = {*blamed, *path[-1:]}
    culprit, strike = strike_of(view, violations)
    shown = [seq for seq in path if seq in kept or view.event(seq).kind not in _SILENT]
    if strike and shown and strike not in shown:
        shown = sorted([*shown, strike])
    for number, seq in enumerate(shown, 1):
        event = view.event(seq)
        text = f"{number} {_step_text(view, event)}"
        # What comes after the culprit is never right, and of what nothing followed only the last step is.
        right = blamed and seq <= (strike or min(blamed))
        tone, mark = (Tone.PLAIN, "✓") if right else (Tone.WARN if blamed else Tone.PLAIN, "")
        own = [violation for violation in violations if violation.first_wrong == seq]
        if culprit is not None and seq == strike and culprit.divergence is not Divergence.MISSING:
            tone, mark = Tone.BAD, "✗ culprit"
        elif seq in wrong and culprit is not None:
            mark = f"breaks {' '.join(dict.fromkeys(violation.invariant for violation in own))}"
        elif seq in wrong:
            tone, mark = Tone.BAD, f"✗ first wrong step{_of(own, violations)}"
        yield Fact("path" if number == 1 else "", text, seq, tone, mark=mark)
        for violation in violations:
            if violation.missing_after == seq:
                yield absence_fact(violation, _of([violation], violations))


def strike_of(view: RunView, violations: Sequence[Violation]) -> tuple[Culprit | None, int]:
    """The culprit of these violations, and its step that led to them; none and 0: there is none, or it comes later."""
    broken = {(violation.invariant, violation.at) for violation in violations}
    for culprit in view.culprits:
        steps = [found.step for found in culprit.led_to if (found.invariant, found.at) in broken]
        if steps and min(steps) <= view.last:
            return culprit, min(steps)
    return None, 0


def _of(own: Sequence[Violation], shown: Sequence[Violation]) -> str:
    """The invariants that blame a step, where others that are shown blame another one."""
    if len({(violation.first_wrong, violation.missing_after) for violation in shown}) < 2:
        return ""
    return f" of {' '.join(dict.fromkeys(violation.invariant for violation in own))}"


_SIGNS = {
    Status.VIOLATED: (Tone.BAD, "✗", "broken"),
    Status.OK: (Tone.GOOD, "✓", "held"),
    Status.NOT_EXERCISED: (Tone.DIM, "–", "idle"),
}


def _verdicts(view: RunView, event: Event) -> Iterator[Fact]:
    """At the end of the run: the verdict of each invariant, and the missed expectations of the scenario."""
    if not isinstance(event.body, RunEnded):
        return
    ordered = sorted(view.verdicts, key=lambda verdict: list(_SIGNS).index(verdict.status))
    for status, group in groupby(ordered, key=lambda verdict: verdict.status):
        tone, sign, label = _SIGNS[status]
        for index, verdict in enumerate(group):
            times = count(verdict.exercised, "time") if verdict.exercised else "not exercised"
            seq = verdict.violations[0].at if verdict.violations else 0
            text = f"{sign} {verdict.id} {verdict.name}  ({times}){f'  first #{seq}' if seq else ''}"
            yield Fact("" if index else label, text, seq, tone)
    for unmet in view.unmet:
        line = f"line {unmet.line}: " if unmet.line else ""
        yield Fact("unmet", f"{line}{unmet.summary}", event.seq, Tone.BAD)
        yield from _distinct("expected", unmet.expected, Tone.GOOD)
        yield from _distinct("actual", unmet.actual, Tone.BAD)


# What can be copied at the cursor: the row, the explanation, ids, and the command that repeats the run.

#: ids of an event, the most specific first
_COPIED_IDS = ("intent", "delegation", "binding", "turn", "inbound")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a menu: its key, its title, and the text to copy."""

    key: str
    title: str
    text: str


def copy_choices(view: RunView, seq: int, row: str = "") -> tuple[Choice, ...]:
    """Everything that can be copied at event `seq`. `row`: the selected row of the screen, as text."""
    found = [("r", "row", row or event_line(view, seq))]
    if 0 < seq <= view.last:
        why = explain(view, seq)
        found.append(("d", "decision", as_text(why.title, why.lines)))
        ids = enumerate(ids_of(view, seq))
        found += [("" if number else "i", f"id of the {name}", value) for number, (name, value) in ids]
    found.append(("c", "command", reproduction(view.header, view.events)))
    return tuple(Choice(key=key, title=title, text=text) for key, title, text in found if text)


def event_line(view: RunView, seq: int) -> str:
    """An event in one line; empty before the first."""
    if not 0 < seq <= view.last:
        return ""
    event = view.event(seq)
    return f"#{seq} {seconds(event.at)} {event.kind}: {describe(view, event)}"


def ids_of(view: RunView, seq: int) -> Iterator[tuple[str, str]]:
    """The ids of an event, the most specific first; without any, its number."""
    event = view.event(seq)
    found = [(name, value) for name in _COPIED_IDS if (value := getattr(event, name))]
    key = getattr(event.body, "session_key", None)
    if isinstance(key, str) and key:
        found.append(("session", key))
    yield from found or [("event", str(seq))]


def as_text(title: str, facts: Iterable[Fact]) -> str:
    """An explanation as lines, with the labels in a column."""
    lines = [title]
    for fact in facts:
        mark = f"  {fact.mark}" if fact.mark else ""
        lines.append(f"{fact.label:<10}{fact.text}{mark}".rstrip())
    return "\n".join(lines)
