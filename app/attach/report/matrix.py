"""The matrix: scenarios by gateways, with what the tries of each cell came to; and the same for machines."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree

import msgspec

from trunkline.app.attach.cells import CellRecord, gateway_given_up
from trunkline.app.attach.report.finding import Link, slug_of, sources_of
from trunkline.app.attach.results import breaches_of, cell_lines, command_of, exercised, remarks_of
from trunkline.app.report.explain import some_fields
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean, count
from trunkline.core import VERSION

#: texts in a cell about what did not happen
_MISSED = 2


class CellOutcome(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    #: some tries violate an invariant, and some do not
    FLAKY = "flaky"
    NOT_EXERCISED = "not exercised"
    CANNOT = "cannot"
    NOT_RUN = "could not be run"
    NOT_TRIED = "not tried"


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    outcome: CellOutcome
    #: ``X1 5 of 5``, or how often it holds, or why there is no result
    lines: tuple[Link, ...]


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    title: str
    sources: tuple[Link, ...]
    cells: tuple[MatrixCell, ...]


class CellMatrix(msgspec.Struct, frozen=True, kw_only=True):
    gateways: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def matrix_of(records: Sequence[CellRecord], redaction: PageRedaction) -> CellMatrix:
    gateways = {record.cell.gateway.name: record.cell.gateway.label for record in records}
    by_place = {(record.cell.scenario, record.cell.gateway.name): record for record in records}
    rows: list[MatrixRow] = []
    for scenario in dict.fromkeys(record.cell.scenario for record in records):
        own = [by_place.get((scenario, name)) for name in gateways]
        first = next(cell for cell in own if cell is not None)
        rows.append(
            MatrixRow(
                scenario=scenario,
                title=redaction.text(clean(first.cell.file.scenario.title)),
                sources=sources_of(first.cell.file.scenario.source),
                cells=tuple(cell_of(cell, records, redaction) for cell in own),
            )
        )
    return CellMatrix(gateways=tuple(gateways.values()), rows=tuple(rows))


def cell_of(record: CellRecord | None, records: Sequence[CellRecord], redaction: PageRedaction) -> MatrixCell:
    """The outcome of a cell; None if it is not part of this run."""
    if record is None:
        return MatrixCell(outcome=CellOutcome.NOT_TRIED, lines=())
    if record.cannot:
        return MatrixCell(outcome=CellOutcome.CANNOT, lines=_texts(record.cannot, redaction))
    breaches = breaches_of(record.finished)
    if breaches:
        flaky = all(breach.flaky for breach in breaches)
        lines = tuple(Link(text=breach.text, url=f"findings/{slug_of(record, breach)}") for breach in breaches)
        return MatrixCell(outcome=CellOutcome.FLAKY if flaky else CellOutcome.VIOLATED, lines=lines)
    if record.finished:
        return _without_breach(record, redaction)
    if record.troubles:
        return MatrixCell(
            outcome=CellOutcome.NOT_RUN, lines=_texts([record.troubles[-1].problem.split("\n")[0]], redaction)
        )
    if gateway_given_up(record, records):
        return MatrixCell(outcome=CellOutcome.NOT_TRIED, lines=_texts(["the gateway could not be run"], redaction))
    return MatrixCell(outcome=CellOutcome.NOT_TRIED, lines=())


def _without_breach(record: CellRecord, redaction: PageRedaction) -> MatrixCell:
    tries, judged = len(record.finished), exercised(record)
    if not judged:
        missed = list(dict.fromkeys(text for finished in record.finished for text in finished.missed))
        lines = (Link(text=f"in {count(tries, 'try', 'tries')}"), *_texts(missed[:_MISSED], redaction))
        return MatrixCell(outcome=CellOutcome.NOT_EXERCISED, lines=lines)
    lines = (Link(text=f"{judged} of {tries}"), *_texts(remarks_of(record.finished), redaction))
    return MatrixCell(outcome=CellOutcome.HOLDS, lines=lines)


def _texts(texts: Sequence[str], redaction: PageRedaction) -> tuple[Link, ...]:
    return tuple(Link(text=redaction.text(clean(text))) for text in texts)


# The results for machines: JSON with every verdict, and JUnit XML for CI.

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
        "trunkline": VERSION,
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
            {"invariant": breach.id, **some_fields(breach, "title", "sentence", "times", "tries", "flaky")}
            for breach in breaches_of(record.finished)
        ],
        "runs": [
            {
                "try": finished.number,
                "seconds": round(finished.seconds, 1),
                "events": len(finished.run.trace.events),
                **some_fields(finished.run, "holds", "verdicts", "unmet"),
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
        elif remarks := remarks_of(record.finished):
            ElementTree.SubElement(case, "system-out").text = redaction.text("\n".join(remarks))
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"
