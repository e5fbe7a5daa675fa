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
    for one in page.broken:
        lines += [*_broken(one), ""]
    if page.more_broken:
        lines += [f"and {count(page.more_broken, 'more violation')} in this try", ""]
    lines += ["## What was asked", "", f"**{plain(page.scenario_title)}**", ""]
    for line in asked_lines(page):
        lines += [plain(line), ""]
    lines += ["## What people saw", ""]
    for place in page.places:
        lines += [f"### {code(place.name)}", "", *block(list(_chat(place))), ""]
    lines += [MARKS, "", "## On the wire", "", plain(ROWS_SIGNED), "", *block([_row(one) for one in page.rows]), ""]
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


def _broken(one: BrokenPromise) -> Iterator[str]:
    yield f"- {code(one.summary)}"
    for label, texts in (("expected", one.expected), ("actual", one.actual)):
        for text in texts:
            yield f"  - {label}: {code(text)}"


def _chat(place: PlacePicture) -> Iterator[str]:
    for one in place.bubbles:
        yield from _bubble(one)


def _bubble(one: Bubble) -> Iterator[str]:
    if one.aside:
        yield f"{one.at:>10}  --- {one.text} ---"
        return
    first, *rest = one.text.split("\n")
    yield f"{one.at:>10}  {one.who or 'the gateway'}: {first}"
    for line in rest:
        yield f"{'':>10}  {line}"
    if one.remark:
        yield f"{'':>10}  ^ {one.remark}"


def _row(one: WireRow) -> str:
    sign = "✗" if one.wrong else "!" if one.fault else "*" if one.evidence else " "
    return f"{sign} #{one.seq:<4} {one.at:>11}  {one.node:<10} {one.kind:<18} {one.text}"


def _facts(page: FindingPage) -> Iterator[str]:
    yield f"- gateway: {code(page.software)}"
    yield f"- Trunkline: {code(page.trunkline)}"
    yield f"- scenario: {code(page.scenario)}"
    if page.sources:
        yield f"- public report: {', '.join(_link(one) for one in page.sources)}"
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
        cells = " | ".join(_cell(one) for one in row.cells)
        lines.append(f"| {_in_cell(code(row.scenario))} {plain(row.title)} | {cells} |")
    lines += ["", *(f"- {plain(line)}" for line in LEGEND), "", "---", "", plain(INTRODUCTION), ""]
    return "\n".join(lines)


def _cell(cell: MatrixCell) -> str:
    lines = [f"[{plain(one.text)}]({one.url}.md)" if one.url else plain(one.text) for one in cell.lines]
    return "<br>".join([f"**{cell.outcome}**", *lines])
