"""The results of `trunkline attach` for machines: JSON with every verdict, and JUnit XML for CI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import msgspec

from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.report.matrix import CellOutcome, MatrixCell, cell_of
from trunkline.app.attach.results import breaches_of, cell_lines, command_of
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.terminal.version import installed_version

#: version of the JSON report
ATTACH_VERSION = 1
#: outcomes that are failures of the gateway
_FAILED = frozenset({CellOutcome.VIOLATED, CellOutcome.FLAKY})
#: outcomes that are no result
_ERRORS = frozenset({CellOutcome.NOT_RUN, CellOutcome.NOT_TRIED})


def attach_json(records: Sequence[CellRecord], redaction: PageRedaction) -> bytes:
    """All cells as one JSON document, version `ATTACH_VERSION`."""
    document: dict[str, Any] = {
        "trunkline_attach": ATTACH_VERSION,
        "trunkline": installed_version(),
        "holds": not any(record.violated for record in records),
        "cells": [_cell(record, cell_of(record, records, redaction)) for record in records],
    }
    # Texts in it come from the gateway, and folders from this machine.
    text = redaction.tree(msgspec.to_builtins(document))
    return msgspec.json.format(msgspec.json.encode(text), indent=2) + b"\n"


def _cell(record: CellRecord, cell: MatrixCell) -> dict[str, Any]:
    file = record.cell.file
    return {
        "gateway": record.cell.gateway.name,
        "version": record.cell.gateway.version,
        "scenario": record.cell.scenario,
        "title": file.scenario.title,
        "source": file.scenario.source,
        "outcome": cell.outcome,
        "why": [line.text for line in cell.lines],
        "tries": len(record.finished),
        "violated": [
            {
                "invariant": breach.id,
                "title": breach.title,
                "sentence": breach.sentence,
                "times": breach.times,
                "tries": breach.tries,
                "flaky": breach.flaky,
            }
            for breach in breaches_of(record.finished)
        ],
        "runs": [
            {
                "try": finished.number,
                "seconds": round(finished.seconds, 1),
                "events": len(finished.run.trace.events),
                "holds": finished.run.holds,
                "verdicts": finished.run.verdicts,
                "unmet": finished.run.unmet,
                "notes": finished.notes,
            }
            for finished in record.finished
        ],
        "problems": [trouble.problem for trouble in record.troubles],
        "reproduce": command_of(record) if record.finished else "",
    }


def attach_junit(records: Sequence[CellRecord], redaction: PageRedaction) -> bytes:
    """All cells as JUnit XML: a test case for each, with the text report as its failure."""
    cells = [(record, cell_of(record, records, redaction)) for record in records]
    suite = ElementTree.Element(
        "testsuite",
        name="trunkline attach",
        tests=str(len(cells)),
        failures=str(sum(cell.outcome in _FAILED for _, cell in cells)),
        errors=str(sum(cell.outcome in _ERRORS for _, cell in cells)),
    )
    for record, cell in cells:
        seconds = sum(finished.seconds for finished in record.finished)
        name, gateway = record.cell.scenario, record.cell.gateway.label
        case = ElementTree.SubElement(suite, "testcase", classname=gateway, name=name, time=f"{seconds:.1f}")
        message = f"{cell.outcome}: {'; '.join(line.text for line in cell.lines)}"
        text = redaction.text("\n".join(cell_lines(record, records)))
        if cell.outcome in _FAILED:
            ElementTree.SubElement(case, "failure", message=message).text = text
        elif cell.outcome in _ERRORS:
            ElementTree.SubElement(case, "error", message=message).text = text
        elif cell.outcome is not CellOutcome.HOLDS:
            ElementTree.SubElement(case, "skipped", message=message)
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"
