"""A finding as values: everything that its page says, without secrets, and not yet escaped for any format."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.incidents import incidents_of
from trunkline.app.attach.report.pictures import PlacePicture, pictures_of
from trunkline.app.attach.report.wire_rows import WireRow, wire_rows
from trunkline.app.attach.results import TryBreach, breaches_of, command_of
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.terminal.version import installed_version
from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView
from trunkline.sim.attach.tries import MIN_TRIES
from trunkline.sim.invariants import Violation

#: violations of one try that a page shows
_VIOLATIONS = 5
_REPORT = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>\d+)")
_SLUG = re.compile(r"[^a-z0-9]+")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A text, with an address if it has one."""

    text: str
    url: str = ""


class BrokenPromise(msgspec.Struct, frozen=True, kw_only=True):
    """A violation in words."""

    summary: str
    expected: tuple[str, ...]
    actual: tuple[str, ...]


class FindingPage(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a page about a finding."""

    slug: str
    gateway: str
    #: its title with the version
    software: str
    trunkline: str
    scenario: str
    scenario_title: str
    story: str
    sources: tuple[Link, ...]
    invariant: str
    title: str
    sentence: str
    times: int
    tries: int
    enough: bool
    flaky: bool
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
    #: warnings, and what the gateway did by itself
    notes: tuple[str, ...]

    @property
    def headline(self) -> str:
        """``hermes 0.19.0: X1 Answered once``."""
        return f"{self.software}: {self.invariant} {self.title}"

    @property
    def verdict(self) -> str:
        """``violated in 5 of 5 tries``."""
        return f"violated in {self.times} of {self.tries} {'try' if self.tries == 1 else 'tries'}"

    @property
    def counted(self) -> str:
        """The verdict, and that some tries hold: ``violated in 4 of 5 tries (flaky)``."""
        return f"{self.verdict}{' (flaky)' if self.flaky else ''}"


def findings_of(record: CellRecord, redaction: PageRedaction) -> list[FindingPage]:
    """The findings of a cell."""
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
        trunkline=installed_version(),
        scenario=cell.scenario,
        scenario_title=clean(scenario.title),
        story=redaction.text(scenario.story.strip()),
        sources=sources_of(scenario.source),
        invariant=breach.id,
        title=breach.title,
        sentence=breach.sentence,
        times=breach.times,
        tries=breach.tries,
        enough=breach.tries >= MIN_TRIES,
        flaky=breach.flaky,
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
        notes=tuple(
            redaction.text(clean(note))
            for note in (*first.notes, *incidents_of(first.run.trace.events, record.cell.gateway.name))
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


def all_findings(records: Sequence[CellRecord], redaction: PageRedaction) -> list[FindingPage]:
    """The findings of every cell, in order."""
    return [page for record in records for page in findings_of(record, redaction)]
