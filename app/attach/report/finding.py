"""A finding as values: everything that its page says, without secrets, and not yet escaped for any format."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.results import TryBreach, breaches_of, command_of
from trunkline.app.report.excerpts import PlacePicture, nearest, pictures_of
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean, count, cut
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.core import VERSION
from trunkline.core.events import Event, RunEnded
from trunkline.sim.events import attach, script, wire
from trunkline.sim.invariants import Violation

# The events of the wire around a fault and a violation, as rows of a table.

#: rows of a page
_ROWS = 80
#: cells of what a row says
_LONGEST = 400
#: kinds that say nothing about a finding: the world as it was set up
_SETUP = frozenset(
    {"world.account", "world.person", "world.place", "world.limits", "world.session", "gateway.attached"}
)
#: families of kinds that mark where a fault struck
_STRIKES = ("fault.", "process.", "thread.", "credential.", "gateway.exited")


class WireRow(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    #: since the run began: ``+12.345 s``
    at: str
    node: str
    kind: str
    text: str
    #: a fault struck, or a process ended
    fault: bool = False
    #: the violation names it as evidence
    evidence: bool = False
    #: it is where it went wrong
    wrong: bool = False


def wire_rows(
    view: RunView, violations: Sequence[Violation], redaction: PageRedaction
) -> tuple[tuple[WireRow, ...], int]:
    """The rows, and how many events were left out: typing, polls, and what is far from the finding."""
    about = {seq for violation in violations for seq in violation.seqs}
    wrong = {violation.blamed for violation in violations if violation.blamed is not None}
    telling = [event for event in view.events if _says_something(event) or event.seq in about]
    chosen = _nearest(telling, about)
    rows = tuple(_row(view, event, about, wrong, redaction) for event in chosen)
    return rows, len(view.events) - len(rows)


def _says_something(event: Event) -> bool:
    body = event.body
    if isinstance(body, wire.WireCalled | wire.WireResponded):
        return not isinstance(body, wire.WireCalled) or body.what in ("send", "act")
    return event.kind not in _SETUP and not isinstance(body, script.RunPhase | RunEnded)


def _struck(event: Event) -> bool:
    return isinstance(event.body, script.FaultFired) or event.kind.startswith(_STRIKES)


def _nearest(events: Sequence[Event], about: set[int]) -> list[Event]:
    """At most `_ROWS` events: those of the finding and the faults, and of the others those that are nearest to them."""
    centers = [number for number, event in enumerate(events) if event.seq in about or _struck(event)]
    return [events[number] for number in nearest(range(len(events)), centers, _ROWS)]


def _row(view: RunView, event: Event, about: set[int], wrong: set[int], redaction: PageRedaction) -> WireRow:
    return WireRow(
        seq=event.seq,
        at=f"+{event.at:.3f} s",
        node=clean(event.node),
        kind=event.kind,
        text=cut(redaction.text(clean(describe(view, event))), _LONGEST),
        fault=_struck(event),
        evidence=event.seq in about,
        wrong=event.seq in wrong,
    )


# What the gateway of a try did by itself: it ended, or wanted to reach an address that is not part of the run.

#: incidents of a try that are named
_MOST = 10


def incidents_of(events: Iterable[Event], gateway: str) -> tuple[str, ...]:
    """The incidents of a run, a text of one or more lines each. What the gateway wrote is in them as it wrote it."""
    found = tuple(dict.fromkeys(text for event in events for text in _of(event, gateway)))
    more = len(found) - _MOST
    return found if more <= 0 else (*found[:_MOST], f"{gateway}: {more} more such events are in the trace")


def _of(event: Event, gateway: str) -> Iterator[str]:
    body = event.body
    if isinstance(body, attach.GatewayExited):
        how = f"by the signal {-body.code}" if body.code < 0 else f"with the code {body.code}"
        end = "; the end of its log:" if body.log else ""
        left = attach.left_behind(body.code, body.left)
        yield "\n".join([f"{gateway} ended by itself {how}, {event.at:.1f} s into the run{left}{end}", *body.log])
    elif isinstance(body, attach.GatewayReachedOut):
        whom = body.name or (f"[{body.address}]" if ":" in body.address else body.address) + f":{body.port}"
        what = "and was stopped" if body.stopped else "and nothing stopped it"
        yield f"{gateway} wanted to reach {whom}, which is not part of the run, {what}"


#: violations of one try that a page shows
_VIOLATIONS = 5
_REPORT = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>\d+)")
_SLUG = re.compile(r"[^a-z0-9]+")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A text, with an address if it has one."""

    text: str
    url: str = ""


class BrokenPromise(msgspec.Struct, frozen=True, kw_only=True):
    summary: str
    expected: tuple[str, ...]
    actual: tuple[str, ...]


class FindingPage(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    gateway: str
    #: its title with the version
    software: str
    trunkline: str
    scenario: str
    scenario_title: str
    story: str
    sources: tuple[Link, ...]
    breach: TryBreach
    broken: tuple[BrokenPromise, ...]
    #: how many violations are not shown
    more_broken: int
    places: tuple[PlacePicture, ...]
    rows: tuple[WireRow, ...]
    #: number of events that are not in `rows`
    rows_left_out: int
    command: str
    #: the try that is shown
    shown: int
    #: why the gateway was set up as it was, by its own documentation
    settings: str
    #: warnings, and what the gateway did by itself
    notes: tuple[str, ...]

    @property
    def headline(self) -> str:
        """``hermes 0.19.0: X1 Answered once``."""
        return f"{self.software}: {self.breach.id} {self.breach.title}"

    @property
    def verdict(self) -> str:
        """``violated in 5 of 5 tries``."""
        return f"violated in {self.breach.times} of {count(self.breach.tries, 'try', 'tries')}"

    @property
    def counted(self) -> str:
        """The verdict, and that some tries hold: ``violated in 4 of 5 tries (flaky)``."""
        return f"{self.verdict}{' (flaky)' if self.breach.flaky else ''}"


def findings_of(record: CellRecord, redaction: PageRedaction) -> list[FindingPage]:
    return [_page(record, breach, redaction) for breach in breaches_of(record.finished)]


def slug_of(record: CellRecord, breach: TryBreach) -> str:
    """The name of the page of a finding, without its ending."""
    text = f"{record.cell.gateway.name}-{record.cell.scenario}-{breach.id}".lower()
    return _SLUG.sub("-", text).strip("-")


def _page(record: CellRecord, breach: TryBreach, redaction: PageRedaction) -> FindingPage:
    cell, first = record.cell, breach.first
    scenario = cell.file.scenario
    view = RunView(first.run)
    own = [violation for violation in first.run.violations if violation.invariant == breach.id]
    rows, left_out = wire_rows(view, own, redaction)
    return FindingPage(
        slug=slug_of(record, breach),
        gateway=cell.gateway.label,
        software=f"{cell.gateway.profile.title or cell.gateway.name} {cell.gateway.version}".strip(),
        trunkline=VERSION,
        scenario=cell.scenario,
        scenario_title=clean(scenario.title),
        story=redaction.text(scenario.story.strip()),
        sources=sources_of(scenario.source),
        breach=breach,
        broken=tuple(_broken(violation, redaction) for violation in own[:_VIOLATIONS])
        or tuple(
            BrokenPromise(summary=redaction.text(unmet.summary), expected=unmet.expected, actual=unmet.actual)
            for unmet in first.run.unmet[:_VIOLATIONS]
        ),
        more_broken=max(0, len(own) - _VIOLATIONS),
        places=tuple(pictures_of(view, own, redaction)),
        rows=rows,
        rows_left_out=left_out,
        command=redaction.text(command_of(record)),
        shown=first.number,
        settings=redaction.text(clean(str(cell.gateway.profile.settings or ""))),
        notes=tuple(
            redaction.text(clean(note))
            for note in (
                *first.notes,
                *(remark for verdict in first.run.verdicts for remark in verdict.remarks),
                *incidents_of(first.run.trace.events, record.cell.gateway.name),
            )
        ),
    )


def _broken(violation: Violation, redaction: PageRedaction) -> BrokenPromise:
    return BrokenPromise(
        summary=redaction.text(clean(violation.summary)),
        expected=tuple(redaction.text(clean(line)) for line in violation.expected),
        actual=tuple(redaction.text(clean(line)) for line in violation.actual),
    )


def sources_of(source: str) -> tuple[Link, ...]:
    """The public reports behind a scenario. Only `https` addresses and issues of GitHub become links."""
    found: list[Link] = []
    for word in source.split():
        text = word.strip(",;()")
        issue = _REPORT.fullmatch(text)
        if issue is not None:
            found.append(Link(text=text, url=f"https://github.com/{issue['repository']}/issues/{issue['number']}"))
        elif text.startswith("https://"):
            found.append(Link(text=clean(text), url=clean(text)))
    return tuple(found) or ((Link(text=clean(source)),) if source.strip() else ())
