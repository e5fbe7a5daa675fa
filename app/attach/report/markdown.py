"""Pages as Markdown, for an issue. Texts from outside are in code, where they neither format nor mention anybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trunkline.app.attach.report.finding import BrokenPromise, FindingPage, Link
from trunkline.app.attach.report.matrix import CellMatrix, MatrixCell
from trunkline.app.attach.report.pictures import Bubble, PlacePicture
from trunkline.app.attach.report.wire_rows import WireRow
from trunkline.app.attach.report.words import (
    FEW_TRIES,
    INTRODUCTION,
    LEGEND,
    MARKS,
    PAGE_TITLE,
    ROWS_LEFT_OUT,
    ROWS_SIGNED,
    asked_lines,
)
from trunkline.app.report.markdown_text import block, code, plain
from trunkline.app.text.cells import count


def _in_cell(text: str) -> str:
    """Inside a table a bar ends the cell, in code too."""
    return text.replace("|", "\\|")


def finding_markdown(page: FindingPage) -> str:
    """The page of a finding."""
    few = "" if page.enough else f" {FEW_TRIES}"
    lines = [
        f"# {plain(page.headline)}",
        "",
        f"**{page.counted}.**{few}",
        "",
        "## What was promised",
        "",
        f"> {plain(page.sentence)}",
        "",
        "## What happened",
        "",
    ]
    for breach in page.broken:
        lines += [*_broken(breach), ""]
    if page.more_broken:
        lines += [f"and {count(page.more_broken, 'more violation')} in this try", ""]
    lines += ["## What was asked", "", f"**{plain(page.scenario_title)}**", ""]
    for line in asked_lines(page):
        lines += [plain(line), ""]
    lines += ["## What people saw", ""]
    for place in page.places:
        lines += [f"### {code(place.name)}", "", *block(list(_chat(place))), ""]
    lines += [MARKS, "", "## On the wire", "", plain(ROWS_SIGNED), "", *block([_row(row) for row in page.rows]), ""]
    lines += [ROWS_LEFT_OUT.format(count(page.rows_left_out, "event")), ""]
    lines += [
        "## Repeat it",
        "",
        *block([page.command], "sh"),
        "",
        *_facts(page),
        "",
        "---",
        "",
        plain(INTRODUCTION),
        "",
    ]
    return "\n".join(lines)


def _broken(promise: BrokenPromise) -> Iterator[str]:
    yield f"- {code(promise.summary)}"
    for label, texts in (("expected", promise.expected), ("actual", promise.actual)):
        for text in texts:
            yield f"  - {label}: {code(text)}"


def _chat(place: PlacePicture) -> Iterator[str]:
    for bubble in place.bubbles:
        yield from _bubble(bubble)


def _bubble(bubble: Bubble) -> Iterator[str]:
    if bubble.aside:
        yield f"{bubble.at:>10}  --- {bubble.text} ---"
        return
    first, *rest = bubble.text.split("\n")
    yield f"{bubble.at:>10}  {bubble.who or 'the gateway'}: {first}"
    for line in rest:
        yield f"{'':>10}  {line}"
    if bubble.remark:
        yield f"{'':>10}  ^ {bubble.remark}"


def _row(row: WireRow) -> str:
    sign = "✗" if row.wrong else "!" if row.fault else "*" if row.evidence else " "
    return f"{sign} #{row.seq:<4} {row.at:>11}  {row.node:<10} {row.kind:<18} {row.text}"


def _facts(page: FindingPage) -> Iterator[str]:
    yield f"- gateway: {code(page.software)}"
    yield f"- Trunkline: {code(page.trunkline)}"
    yield f"- scenario: {code(page.scenario)}"
    if page.sources:
        yield f"- public report: {', '.join(_link(source) for source in page.sources)}"
    yield f"- invariant: {plain(f'{page.invariant} {page.title}')}"
    yield f"- shown is try {page.shown}"
    for note in page.notes:
        yield f"- note: {plain(note)}"


def _link(link: Link) -> str:
    return f"[{plain(link.text)}](<{link.url}>)" if link.url else plain(link.text)


def index_markdown(matrix: CellMatrix, facts: Sequence[str], findings: Sequence[FindingPage]) -> str:
    """The matrix, and a list of the findings."""
    lines = [f"# {PAGE_TITLE}", ""]
    for fact in facts:
        lines += [plain(fact), ""]
    lines += ["## Findings", ""]
    for page in findings:
        lines.append(
            f"- [{plain(page.headline)}](findings/{page.slug}.md): {page.verdict}. {plain(page.scenario_title)}"
        )
    if not findings:
        lines.append("Nothing was violated.")
    lines += ["", "## Scenarios and gateways", ""]
    names = [_in_cell(plain(name)) for name in matrix.gateways]
    lines.append(f"| scenario | {' | '.join(names)} |")
    lines.append(f"| --- |{' --- |' * len(names)}")
    for row in matrix.rows:
        cells = " | ".join(_cell(cell) for cell in row.cells)
        lines.append(f"| {_in_cell(code(row.scenario))} {plain(row.title)} | {cells} |")
    lines += ["", *(f"- {plain(line)}" for line in LEGEND), "", "---", "", plain(INTRODUCTION), ""]
    return "\n".join(lines)


def _cell(cell: MatrixCell) -> str:
    lines = [f"[{plain(line.text)}]({line.url}.md)" if line.url else plain(line.text) for line in cell.lines]
    return "<br>".join([f"**{cell.outcome}**", *lines])
