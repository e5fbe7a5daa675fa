"""The findings of random scenarios as text, as JSON and as JUnit XML."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import msgspec

from trunkline.app.runs.fuzzing import Campaign, Cause
from trunkline.app.text.cells import clean, count
from trunkline.sim.fuzz.finding_file import sentence

#: version of the JSON report
FUZZ_VERSION = 1
_LONGEST = 300


def cause_lines(cause: Cause) -> Iterator[str]:
    """A cause with the first finding and file."""
    finding = cause.finding
    where = f" at {finding.culprit}" if finding.culprit else ""
    yield clean(f"✗ {finding.kind}{where}: {sentence(finding.kind)} · {count(cause.times, 'scenario')}")
    yield clean(f"    first     {' '.join(finding.summary.split())}"[:_LONGEST])
    how = count(cause.steps, "step") if cause.minimal else f"{count(cause.steps, 'step')}, not the fewest"
    yield clean(f"    file      {cause.file} ({how})")
    if cause.seed is None:
        yield "    it was in the corpus already"


def summary(campaign: Campaign, seconds: float, *, interrupted: bool) -> Iterator[str]:
    """The last lines of a report: what was played, and what it reached."""
    runs = campaign.scenarios + campaign.replayed
    found = count(len(campaign.causes), "cause") + " found" if campaign.causes else "all hold" if runs else "no results"
    corpus = f", {count(campaign.replayed, 'file')} of the corpus" if campaign.replayed else ""
    head = f"{count(campaign.scenarios, 'random scenario')}{corpus}: {found}"
    yield f"interrupted. So far: {head}" if interrupted else head
    for kind, times in campaign.counts.most_common():
        yield f"  {times:>9,} {kind}, in {campaign.reached[kind] * 100 // max(runs, 1)} % of the scenarios"
    yield f"  {seconds:>9,.0f} s, {runs / seconds if seconds else 0:.1f} scenarios a second"
    yield from (clean(f"cannot be read: {error}") for error in campaign.unread)


def as_json(campaign: Campaign, *, interrupted: bool) -> bytes:
    """A report as a JSON document, version `FUZZ_VERSION`."""
    plan = campaign.plan
    document: dict[str, Any] = {
        "trunkline_fuzz": FUZZ_VERSION,
        "holds": not campaign.causes,
        "interrupted": interrupted,
        "first_seed": plan.first,
        "focus": plan.focus,
        "bugs": plan.bugs,
        "scenarios": campaign.scenarios,
        "replayed": campaign.replayed,
        "counts": dict(campaign.counts),
        "reached": dict(campaign.reached),
        "findings": [_as_builtins(cause) for cause in campaign.causes.values()],
        "unread": campaign.unread,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _as_builtins(cause: Cause) -> dict[str, Any]:
    finding = cause.finding
    return {
        "kind": finding.kind,
        "culprit": finding.culprit,
        "summary": finding.summary,
        "seed": cause.seed,
        "scenarios": cause.times,
        "file": cause.file.as_posix(),
        "steps": cause.steps,
        "minimal": cause.minimal,
    }


def as_junit(campaign: Campaign, seconds: float) -> bytes:
    """A report as JUnit XML, with a failed test case for each cause."""
    causes: Sequence[Cause] = tuple(campaign.causes.values())
    suite = ElementTree.Element(
        "testsuite", name="trunkline fuzz", tests=str(len(causes) + 1), failures=str(len(causes)), errors="0"
    )
    name = f"{campaign.scenarios} random scenarios, {campaign.replayed} of the corpus"
    ElementTree.SubElement(suite, "testcase", classname="fuzz", name=name, time=f"{seconds:.3f}")
    for cause in causes:
        finding = cause.finding
        name = f"{finding.kind} {finding.culprit}".strip()
        case = ElementTree.SubElement(suite, "testcase", classname=cause.file.as_posix(), name=name, time="0.000")
        failure = ElementTree.SubElement(case, "failure", message=clean(finding.summary))
        failure.text = "\n".join(cause_lines(cause))
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"
