"""The matrix: scenarios by gateways, with what the tries of each cell came to."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.app.attach.cells import CellRecord, gateway_given_up
from trunkline.app.attach.report.finding import Link, slug_of, sources_of
from trunkline.app.attach.results import TryBreach, breaches_of, exercised
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean, count

#: texts in a cell about what did not happen
_MISSED = 2


class CellOutcome(StrEnum):
    """The outcome of a cell."""

    HOLDS = "holds"
    VIOLATED = "violated"
    #: some tries violate an invariant, and some do not
    FLAKY = "flaky"
    NOT_EXERCISED = "not exercised"
    CANNOT = "cannot"
    NOT_RUN = "could not be run"
    NOT_TRIED = "not tried"


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the matrix."""

    outcome: CellOutcome
    #: ``X1 5 of 5``, or how often it holds, or why there is no result
    lines: tuple[Link, ...]


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario."""

    scenario: str
    title: str
    sources: tuple[Link, ...]
    cells: tuple[MatrixCell, ...]


class CellMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios by gateways."""

    gateways: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def matrix_of(records: Sequence[CellRecord], redaction: PageRedaction) -> CellMatrix:
    """The matrix of all cells."""
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
        lines = tuple(_finding(record, breach) for breach in breaches)
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
    return MatrixCell(outcome=CellOutcome.HOLDS, lines=(Link(text=f"{judged} of {tries}"),))


def _finding(record: CellRecord, breach: TryBreach) -> Link:
    return Link(text=breach.text, url=f"findings/{slug_of(record, breach)}")


def _texts(texts: Sequence[str], redaction: PageRedaction) -> tuple[Link, ...]:
    return tuple(Link(text=redaction.text(clean(text))) for text in texts)
