"""Why an event happened: expected and actual, the causal path with its first wrong step, violations, how to repeat."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from trunkline.app.text.cells import clean, count, seconds, shell_words
from trunkline.app.text.fact import Fact, Tone, facts, listed
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
    repro = tuple(facts(0, ("repro", reproduction(view.header, view.events))))
    if not 0 < seq <= view.last:
        waits = view.growing and not view.last
        text = "t=0, nothing has happened yet: ] steps, space plays"
        text = "no events yet: they are shown as they come" if waits else text
        return Explanation(seq=0, title="Why", lines=(Fact("", text, tone=Tone.DIM), *(() if waits else repro)))
    event = view.event(seq)
    violations = tuple(view.marks.of(seq))
    path = _judged(view, event, violations) if violations else _path(view, view.causes.path(seq), ())
    told = (*_verdicts(view, event), *facts_of(view, event))
    lines = [*path, *repro, *told] if violations else [*told, *path, *repro]
    found = [f"{name} {value}" for name in _IDS if (value := getattr(event, name))]
    where = f"{event.node} process {event.generation}" if event.generation else event.node
    lines.append(Fact("recorded", f"by {where}  {'  '.join(found)}".rstrip(), tone=Tone.DIM))
    broken = " ".join(dict.fromkeys(violation.invariant for violation in violations))
    title = f"Why #{seq}  {event.kind}" + (f"  ✗ {broken}" if broken else "")
    return Explanation(seq=seq, title=title, lines=tuple(lines), violations=violations)


def reproduction(header: TraceHeader, events: Sequence[Event] = ()) -> str:
    """The command that repeats a run; empty for what a gateway did, which nothing repeats.

    `events`: those of the run; of a gateway that is not ours, the first says how it was named, if we played against it.
    """
    places = [crash.rpartition(" ")[2] for crash in header.crashes]
    placed = "".join(f" {'--then' if number else '--at'} {place}" for number, place in enumerate(places))
    placed += " --stop" if header.crashes and header.crashes[-1].startswith("stop") else ""
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
    return clean(f"trunkline {verb} {scenario}{bugs}{steps}{placed}")


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
        text = f"{violation.invariant}{titles.get(violation.invariant, '')}: {violation.summary}"
        yield Fact("" if index else "broken", text, violation.at, Tone.BAD)


def _distinct(label: str, texts: Sequence[str], tone: Tone) -> Iterator[Fact]:
    longer = {text for text in texts if any(other != text and other.startswith(text) for other in texts)}
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
        yield Fact("path" if number == 1 else "", text, seq, tone, mark=mark)
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
            times = count(verdict.exercised, "time") if verdict.exercised else "not exercised"
            seq = verdict.violations[0].at if verdict.violations else 0
            text = f"{sign} {verdict.id} {verdict.title}  ({times}){f'  first #{seq}' if seq else ''}"
            yield Fact("" if index else label, text, seq, tone)
    for unmet in view.unmet:
        line = f"line {unmet.line}: " if unmet.line else ""
        yield Fact("unmet", f"{line}{unmet.summary}", event.seq, Tone.BAD)
        yield from _distinct("expected", unmet.expected, Tone.GOOD)
        yield from _distinct("actual", unmet.actual, Tone.BAD)
