"""Why an event happened: expected and actual, the causal path with its first wrong step, violations, how to repeat."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from trunkline.app.text.cells import clean, count, seconds, shell_words
from trunkline.app.text.fact import Fact, Tone, listed
from trunkline.app.view.explain.event_facts import facts_of
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import absence_fact
from trunkline.app.view.kinds import describe
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import TraceHeader
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.invariants.base import Status, Violation

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
    """The explanation of one event."""

    seq: int
    title: str
    lines: tuple[Fact, ...]
    violations: tuple[Violation, ...] = ()


def explain(view: RunView, seq: int) -> Explanation:
    """Explain the event at `seq`; 0 is before the first event."""
    command = reproduction(view.header, view.events)
    repro = (Fact(label="repro", text=command),) if command else ()
    if not 0 < seq <= view.last:
        if view.growing and not view.last:
            hint = Fact(label="", text="no events yet: they are shown as they come", tone=Tone.DIM)
            return Explanation(seq=0, title="Why", lines=(hint,))
        hint = Fact(label="", text="t=0, nothing has happened yet: ] steps, space plays", tone=Tone.DIM)
        return Explanation(seq=0, title="Why", lines=(hint, *repro))
    event = view.event(seq)
    violations = tuple(view.marks.of(seq))
    lines: list[Fact] = []
    if violations:
        lines += (*_judged(view, event, violations), *repro)
    lines += _verdicts(view, event)
    lines += facts_of(view, event)
    if not violations:
        lines += (*_path(view, view.causes.path(seq), ()), *repro)
    lines.append(_recorded(event))
    broken = " ".join(dict.fromkeys(violation.invariant for violation in violations))
    title = f"Why #{seq}  {event.kind}" + (f"  ✗ {broken}" if broken else "")
    return Explanation(seq=seq, title=title, lines=tuple(lines), violations=violations)


def reproduction(header: TraceHeader, events: Sequence[Event] = ()) -> str:
    """The command that repeats a run; empty for what a gateway did, which nothing repeats.

    `events`: those of the run; of a gateway that is not ours, the first says how it was named.
    """
    if header.of_gateway:
        return ""
    if header.side == "wire":
        return _attached(header, events[0].body if events else None)
    bugs = "".join(f" --bug {shlex.quote(bug)}" for bug in header.bugs)
    steps = "".join(f" --inject {shlex.quote(step)}" for step in header.steps)
    what = f"{shlex.quote(header.path or header.scenario)} --seed {header.seed}{bugs}{steps}"
    wire = "--wire " if header.on_wire else ""
    line = f"trunkline explore {what}{_placed(header.crashes)}" if header.crashes else f"trunkline run {wire}{what}"
    return clean(line)


def _attached(header: TraceHeader, first: object) -> str:
    """The command that plays a scenario against the same gateway again; empty for a wire that others recorded."""
    options = first.options if isinstance(first, GatewayAttached) else ()
    if not header.path or not options:
        return ""
    placed = _placed(header.crashes) if header.crashes else ""
    return f"{shell_words(['trunkline', 'attach', header.path, *options])}{clean(placed)}"


def _placed(crashes: Sequence[str]) -> str:
    """The options that place the crashes of `trunkline.core.events.trace.TraceHeader.crashes`."""
    places = [crash.rpartition(" ")[2] for crash in crashes]
    points = "".join(f" {'--then' if number else '--at'} {place}" for number, place in enumerate(places))
    return f"{points} --stop" if crashes[-1].startswith("stop") else points


def path_of(view: RunView, violation: Violation) -> Iterator[Fact]:
    """The causal path of a violation, from its root cause to the last evidence, with where it went wrong marked."""
    last = violation.evidence[-1] if violation.evidence else violation.at
    return _path(view, _wrong_path(view, last, violation), [violation])


def _judged(view: RunView, event: Event, violations: Sequence[Violation]) -> Iterator[Fact]:
    yield from _distinct("expected", [text for v in violations for text in v.expected], Tone.GOOD)
    yield from _distinct("actual", [text for v in violations for text in v.actual], Tone.BAD)
    shown = _distinctly_blamed(violations)
    steps = {seq for violation in shown for seq in _wrong_path(view, event.seq, violation)}
    yield from _path(view, sorted(steps), shown)
    titles = {verdict.id: f" {verdict.title}" for verdict in view.verdicts}
    for index, violation in enumerate(violations):
        text = clean(f"{violation.invariant}{titles.get(violation.invariant, '')}: {violation.summary}")
        yield Fact(label="" if index else "broken", text=text, tone=Tone.BAD, seq=violation.at)


def _distinct(label: str, texts: Sequence[str], tone: Tone) -> Iterator[Fact]:
    longest = [
        text for text in dict.fromkeys(texts) if not any(other != text and other.startswith(text) for other in texts)
    ]
    return listed(label, longest, tone=tone)


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
    shown = [seq for seq in path if seq in kept or view.event(seq).kind not in _SILENT]
    for number, seq in enumerate(shown, 1):
        event = view.event(seq)
        text = f"{number} #{seq} {seconds(event.at)} {describe(view, event)}"
        tone, mark = (Tone.PLAIN, "✓") if blamed and seq <= min(blamed) else (Tone.WARN if blamed else Tone.PLAIN, "")
        if seq in wrong:
            own = [violation for violation in violations if violation.first_wrong == seq]
            tone, mark = Tone.BAD, f"✗ first wrong step{_of(own, violations)}"
        yield Fact(label="path" if number == 1 else "", text=text, tone=tone, mark=mark, seq=seq)
        for violation in violations:
            if violation.missing_after == seq:
                yield absence_fact(violation, _of([violation], violations))


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
            times = f"  ({count(verdict.exercised, 'time')})" if verdict.exercised else "  (not exercised)"
            seq = verdict.violations[0].at if verdict.violations else 0
            where = f"  first #{seq}" if seq else ""
            text = f"{sign} {verdict.id} {verdict.title}{times}{where}"
            yield Fact(label="" if index else label, text=text, tone=tone, seq=seq)
    for unmet in view.unmet:
        line = f"line {unmet.line}: " if unmet.line else ""
        yield Fact(label="unmet", text=clean(f"{line}{unmet.summary}"), tone=Tone.BAD, seq=event.seq)
        yield from _distinct("expected", unmet.expected, Tone.GOOD)
        yield from _distinct("actual", unmet.actual, Tone.BAD)


def _recorded(event: Event) -> Fact:
    found = [f"{name} {value}" for name in _IDS if (value := getattr(event, name))]
    where = f"{event.node} process {event.generation}" if event.generation else event.node
    return Fact(label="recorded", text=f"by {where}  {'  '.join(found)}".rstrip(), tone=Tone.DIM)
