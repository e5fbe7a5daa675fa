"""Runs for machines: JSON with every verdict, and JUnit XML for CI. Written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from trunkline.app.report.summary import blocks
from trunkline.app.runs.outcome import TimedRun
from trunkline.app.view.explain.explanation import reproduction
from trunkline.core.errors import UsageError
from trunkline.sim.invariants import Status

#: version of the JSON report
REPORT_VERSION = 1


def as_json(outcomes: list[TimedRun]) -> bytes:
    """All runs as one JSON document, version `REPORT_VERSION`."""
    document = {
        "trunkline_report": REPORT_VERSION,
        "holds": all(outcome.holds for outcome in outcomes),
        "runs": [_run(outcome) for outcome in outcomes],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _run(outcome: TimedRun) -> dict[str, Any]:
    header = outcome.run.trace.header
    return {
        "scenario": header.scenario,
        "title": header.title,
        "path": header.path,
        "seed": header.seed,
        "bugs": header.bugs,
        "holds": outcome.holds,
        "events": len(outcome.run.trace.events),
        "verdicts": outcome.run.verdicts,
        "unmet": outcome.run.unmet,
        "reproduce": reproduction(header),
    }


def as_junit(outcomes: list[TimedRun]) -> bytes:
    """All runs as JUnit XML: a test case a run, and a failure with the text report where something is violated."""
    failed = sum(not outcome.holds for outcome in outcomes)
    suite = ElementTree.Element(
        "testsuite", name="trunkline", tests=str(len(outcomes)), failures=str(failed), errors="0"
    )
    for outcome in outcomes:
        header = outcome.run.trace.header
        name = " ".join([header.scenario, f"seed={header.seed}", *(f"bug={bug}" for bug in header.bugs)])
        case = ElementTree.SubElement(suite, "testcase", classname=header.path, name=name, time=f"{outcome.spent:.3f}")
        if not outcome.holds:
            broken = [v.id for v in outcome.run.verdicts if v.status is Status.VIOLATED]
            message = f"violated: {' '.join(broken)}" if broken else "expectations missed"
            failure = ElementTree.SubElement(case, "failure", message=message)
            failure.text = "\n".join(blocks(outcome))
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises `UsageError` when the place cannot be written."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"{path}: {error.strerror or error}") from error
