"""Pages as HTML that needs nothing else: no script, no font, no picture, no address that is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

from trunkline.app.attach.report.elements import Child, HtmlText, element, joined
from trunkline.app.attach.report.finding import BrokenPromise, FindingPage, Link
from trunkline.app.attach.report.matrix import CellMatrix, CellOutcome, MatrixCell
from trunkline.app.attach.report.pictures import Bubble, PlacePicture
from trunkline.app.attach.report.wire_rows import WireRow
from trunkline.app.attach.report.words import (
    FEW_TRIES,
    INTRODUCTION,
    LEGEND,
    MARKS,
    PAGE_TITLE,
    ROWS_COLOURED,
    ROWS_LEFT_OUT,
    asked_lines,
)
from trunkline.app.text.cells import count

#: a page may load nothing and run nothing, whatever a text in it says
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLASSES = {CellOutcome.HOLDS: "holds", CellOutcome.VIOLATED: "violated", CellOutcome.FLAKY: "flaky"}


@cache
def _style() -> HtmlText:
    return HtmlText(resources.files("trunkline.app.attach.report").joinpath("page.css").read_text("utf-8"))


def _page(title: str, *content: Child) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", _style()),
    )
    body = element("body", element("main", *content))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def finding_html(page: FindingPage) -> str:
    """The page of a finding."""
    return _page(
        page.headline,
        element("p", element("a", "← all results", href="../index.html"), class_="dim"),
        element("h1", page.headline),
        element(
            "p",
            element("span", page.counted, class_="verdict flaky" if page.flaky else "verdict"),
            "" if page.enough else f" {FEW_TRIES}",
        ),
        element("h2", "What was promised"),
        element("p", page.sentence, class_="promise"),
        element("h2", "What happened"),
        [_broken(one) for one in page.broken],
        element("p", f"and {count(page.more_broken, 'more violation')} in this try", class_="dim")
        if page.more_broken
        else "",
        element("h2", "What was asked"),
        element("p", element("b", page.scenario_title)),
        [element("p", line) for line in asked_lines(page)],
        element("h2", "What people saw"),
        [_place(one) for one in page.places],
        element("p", MARKS, class_="dim"),
        element("h2", "On the wire"),
        element("p", ROWS_COLOURED, class_="dim"),
        element("div", _rows(page.rows), class_="wide"),
        element("p", ROWS_LEFT_OUT.format(count(page.rows_left_out, "event")), class_="dim"),
        element("h2", "Repeat it"),
        element("pre", page.command),
        _facts(page),
        element("footer", INTRODUCTION),
    )


def _facts(page: FindingPage) -> HtmlText:
    facts: list[tuple[str, Iterable[str]]] = [
        ("gateway", [page.software]),
        ("Trunkline", [page.trunkline]),
        ("scenario", [page.scenario]),
    ]
    if page.sources:
        facts.append(("public report", _spaced(_link(one) for one in page.sources)))
    facts += [
        ("invariant", [f"{page.invariant} {page.title}"]),
        ("shown is", [f"try {page.shown}"]),
        *(("note", [note]) for note in page.notes),
    ]
    return element("dl", [joined(element("dt", name), element("dd", *texts)) for name, texts in facts], class_="facts")


def _spaced(pieces: Iterable[HtmlText]) -> Iterator[str]:
    for number, piece in enumerate(pieces):
        if number:
            yield " "
        yield piece


def _link(link: Link) -> HtmlText:
    return element("a", link.text, href=link.url, rel="noreferrer") if link.url else joined(link.text)


def _broken(one: BrokenPromise) -> HtmlText:
    return element(
        "div",
        element("p", element("b", one.summary)),
        element("dl", _listed("expected", one.expected), _listed("actual", one.actual), class_="facts"),
        class_="card",
    )


def _listed(label: str, texts: Sequence[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield element("dt", "" if number else label)
        yield element("dd", text)


def _place(place: PlacePicture) -> HtmlText:
    bubbles = [_bubble(one) for one in place.bubbles]
    name = element("h3", place.name)
    return element("section", name, bubbles, class_="card concerned" if place.concerned else "card")


def _bubble(one: Bubble) -> HtmlText:
    if one.aside:
        return element("div", element("span", f"{one.at} {one.text}".strip()), class_="aside")
    kind = "bubble" if one.who else "bubble bot"
    return element(
        "div",
        element(
            "div",
            element("div", f"{one.who or 'the gateway'} · {one.at}", class_="meta"),
            element("div", one.text, class_="text"),
            element("div", one.remark, class_="remark") if one.remark else "",
        ),
        class_=f"{kind} wrong" if one.wrong or one.remark else kind,
    )


def _rows(rows: Sequence[WireRow]) -> HtmlText:
    head = element("tr", *(element("th", name) for name in ("#", "time", "where", "event", "what")))
    return element("table", element("thead", head), element("tbody", [_row(one) for one in rows]), class_="wire")


def _row(one: WireRow) -> HtmlText:
    classes = [name for name, on in (("fault", one.fault), ("evidence", one.evidence), ("wrong", one.wrong)) if on]
    return element(
        "tr",
        element("td", str(one.seq), class_="time"),
        element("td", one.at, class_="time"),
        element("td", one.node),
        element("td", element("code", one.kind)),
        element("td", one.text, class_="text"),
        class_=" ".join(classes),
    )


def index_html(matrix: CellMatrix, facts: Sequence[str], findings: Sequence[FindingPage]) -> str:
    """The page with the matrix, and a list of the findings."""
    head = element("tr", element("th", "scenario"), *(element("th", name) for name in matrix.gateways))
    rows = [
        element(
            "tr",
            element("td", element("b", row.title), element("span", row.scenario, class_="dim")),
            [_cell(one) for one in row.cells],
        )
        for row in matrix.rows
    ]
    listed = [
        element(
            "li",
            element("a", page.headline, href=f"findings/{page.slug}.html"),
            f": {page.verdict}. {page.scenario_title}",
        )
        for page in findings
    ]
    return _page(
        PAGE_TITLE,
        element("h1", PAGE_TITLE),
        [element("p", fact, class_="dim") for fact in facts],
        element("h2", "Findings"),
        element("ul", listed) if listed else element("p", "Nothing was violated."),
        element("h2", "Scenarios and gateways"),
        element("div", element("table", element("thead", head), element("tbody", rows)), class_="wide"),
        element("ul", [element("li", line) for line in LEGEND], class_="dim"),
        element("footer", INTRODUCTION),
    )


def _cell(cell: MatrixCell) -> HtmlText:
    lines = [
        element("div", element("a", one.text, href=f"{one.url}.html") if one.url else one.text) for one in cell.lines
    ]
    return element("td", element("b", str(cell.outcome)), lines, class_=_CLASSES.get(cell.outcome, "none"))
