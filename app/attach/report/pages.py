"""Writes the pages of a report into its folder: an index with the matrix, and a page for each finding."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.report import finding, html
from trunkline.app.attach.report.matrix import CellMatrix, MatrixCell, matrix_of
from trunkline.app.report.excerpts import Bubble
from trunkline.app.report.json_junit import write_whole
from trunkline.app.report.page.run_page import run_html
from trunkline.app.report.redaction import PageRedaction, block, code, plain
from trunkline.app.text.cells import count
from trunkline.core import VERSION
from trunkline.core.errors import UsageError

# Pages as Markdown, for an issue. Texts from outside are in code, where they neither format nor mention anybody.


def _in_cell(text: str) -> str:
    """Inside a table a bar ends the cell, in code too."""
    return text.replace("|", "\\|")


def finding_markdown(page: finding.FindingPage) -> str:
    lines = [
        f"# {plain(page.headline)}",
        "",
        f"**{page.counted}.**{html.few_tries(page)}",
        "",
        "## What was promised",
        "",
        f"> {plain(page.breach.sentence)}",
        "",
        "## What happened",
        "",
    ]
    for breach in page.broken:
        lines += [*_broken(breach), ""]
    if page.more_broken:
        lines += [f"and {count(page.more_broken, 'more violation')} in this try", ""]
    lines += ["## What was asked", "", f"**{plain(page.scenario_title)}**", ""]
    for line in html.asked_lines(page):
        lines += [plain(line), ""]
    lines += ["## What people saw", ""]
    for place in page.places:
        chat = [line for bubble in place.bubbles for line in _bubble(bubble)]
        lines += [f"### {code(place.name)}", "", *block(chat), ""]
    left_out = html.ROWS_LEFT_OUT.format(count(page.rows_left_out, "event"))
    lines += [html.MARKS, "", "## On the wire", "", plain(html.ROWS_SIGNED), ""]
    lines += [*block([_row(row) for row in page.rows]), "", left_out, ""]
    lines += [
        "## Repeat it",
        "",
        *block([page.command], "sh"),
        "",
        *_facts(page),
        "",
        "---",
        "",
        plain(html.INTRODUCTION),
        "",
    ]
    return "\n".join(lines)


def _broken(promise: finding.BrokenPromise) -> Iterator[str]:
    yield f"- {code(promise.summary)}"
    for label, texts in (("expected", promise.expected), ("actual", promise.actual)):
        for text in texts:
            yield f"  - {label}: {code(text)}"


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


def _row(row: finding.WireRow) -> str:
    sign = "✗" if row.wrong else "!" if row.fault else "*" if row.evidence else " "
    return f"{sign} #{row.seq:<4} {row.at:>11}  {row.node:<10} {row.kind:<18} {row.text}"


def _facts(page: finding.FindingPage) -> Iterator[str]:
    yield f"- gateway: {code(page.software)}"
    yield f"- Trunkline: {code(page.trunkline)}"
    yield f"- scenario: {code(page.scenario)}"
    if page.sources:
        yield f"- the scenario comes from: {', '.join(_link(source) for source in page.sources)}"
    yield f"- invariant: {plain(f'{page.breach.id} {page.breach.title}')}"
    yield f"- shown is try {page.shown}"
    if page.settings:
        yield f"- settings: {plain(page.settings)}"
    for note in page.notes:
        yield f"- note: {plain(note)}"


def _link(link: finding.Link) -> str:
    return f"[{plain(link.text)}](<{link.url}>)" if link.url else plain(link.text)


def index_markdown(matrix: CellMatrix, facts: Sequence[str], findings: Sequence[finding.FindingPage]) -> str:
    lines = [f"# {html.PAGE_TITLE}", ""]
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
    lines += ["", *(f"- {plain(line)}" for line in html.LEGEND), "", "---", "", plain(html.INTRODUCTION), ""]
    return "\n".join(lines)


def _cell(cell: MatrixCell) -> str:
    lines = [f"[{plain(line.text)}]({line.url}.md)" if line.url else plain(line.text) for line in cell.lines]
    return "<br>".join([f"**{cell.outcome}**", *lines])


def write_report(records: Sequence[CellRecord], folder: Path, redaction: PageRedaction) -> Path:
    """Write every page of the cells, and remove those of findings that are none any more; the page to open first.

    Raises `UsageError` when they cannot be written.
    """
    findings = [page for record in records for page in finding.findings_of(record, redaction)]
    matrix, facts = matrix_of(records, redaction), facts_of(records)
    pages = folder / "findings"
    try:
        pages.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{pages}: {error.strerror or error}") from error
    written: set[str] = set()
    for page in findings:
        run = run_html(page.breach.first.run, redaction)
        for suffix, text in ((".html", html.finding_html(page)), (".md", finding_markdown(page)), ("-run.html", run)):
            _write(pages / f"{page.slug}{suffix}", text)
            written.add(f"{page.slug}{suffix}")
    for old in pages.iterdir():
        if old.name not in written and old.suffix in (".html", ".md"):
            old.unlink(missing_ok=True)
    _write(folder / "index.md", index_markdown(matrix, facts, findings))
    _write(folder / "index.html", html.index_html(matrix, facts, findings))
    return folder / "index.html"


def facts_of(records: Sequence[CellRecord]) -> list[str]:
    """The facts at the head of a report."""
    tries = sum(len(record.finished) for record in records)
    names = list(dict.fromkeys(record.cell.gateway.label for record in records))
    cells = sum(bool(record.finished) for record in records)
    return [
        f"Trunkline {VERSION} · {', '.join(names)} · "
        f"{count(tries, 'try', 'tries')} in {cells} of {count(len(records), 'cell')}"
    ]


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8", errors="replace"))
