"""Pages as HTML that needs nothing else: no script, no font, no picture, no address that is loaded."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from trunkline.app.attach.report.finding import BrokenPromise, FindingPage, Link, WireRow
from trunkline.app.attach.report.matrix import CellMatrix, CellOutcome, MatrixCell
from trunkline.app.report.excerpts import Bubble, PlacePicture
from trunkline.app.text.cells import clean_lines, count
from trunkline.sim.attach.tries import MIN_TRIES

# The sentences of the pages, which Markdown and HTML share.

PAGE_TITLE = "Gateways judged from outside"
INTRODUCTION = (
    "Made by trunkline attach: the gateway ran unmodified against simulated platforms and a scripted model on one "
    "machine, and was judged by what arrived on the wire and by what people could see. The simulated platforms follow "
    "the public descriptions of their interfaces; they are not the real ones. Times are of one run, and no benchmark."
)
MARKS = (
    "The words that begin with QZ and AZ are marks: each question has one, and the scripted model repeats it in its "
    "answer, with a number for each answer to the same question."
)
#: how rows of the wire are marked, in HTML and in Markdown
ROWS_COLOURED = (
    "Red: where it went wrong. Yellow: a fault, or what it did to a process or a thread. Bold: further evidence."
)
ROWS_SIGNED = "✗: where it went wrong. !: a fault, or what it did to a process or a thread. *: further evidence."
ROWS_LEFT_OUT = "{} are not shown: typing, polls, the start, and what is far from the finding."
LEGEND = (
    "X1 3 of 5: the promise X1 was violated in 3 of 5 tries in which it could be judged.",
    "holds 4 of 5: nothing was violated; in 4 of 5 tries there was something to judge.",
    "flaky: some tries violate the promise, and some do not.",
    "not exercised: nothing happened that a promise is about, such as a fault that did not strike; it proves nothing.",
    "cannot: the gateway or its profile lacks what the scenario needs.",
)


def few_tries(page: FindingPage) -> str:
    """A caution after the verdict, if there were few tries."""
    return "" if page.breach.tries >= MIN_TRIES else f" Fewer than {MIN_TRIES} tries: repeat it before you claim it."


def asked_lines(page: FindingPage) -> Iterator[str]:
    """The story of the scenario, a paragraph each."""
    for part in page.story.split("\n\n"):
        if part.strip():
            yield " ".join(part.split())


Child: TypeAlias = "str | Element | Iterable[Child]"


def element(name: str, /, *children: Child, **attributes: str) -> Element:
    """An element. An attribute loses its last underscore: ``class_``; a blank one is left out."""
    given = {key.rstrip("_").replace("_", "-"): clean_lines(value) for key, value in attributes.items() if value}
    made = Element(name, given)
    _append(made, children)
    return made


def _append(parent: Element, children: Iterable[Child]) -> None:
    """Append elements and texts, which the writer escapes."""
    for child in children:
        if isinstance(child, str) and len(parent):
            parent[-1].tail = (parent[-1].tail or "") + clean_lines(child)
        elif isinstance(child, str):
            parent.text = (parent.text or "") + clean_lines(child)
        elif isinstance(child, Element):
            parent.append(child)  # pyright: ignore[reportUnknownArgumentType]
        else:
            _append(parent, child)


#: a page may load nothing and run nothing, whatever a text in it says
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLASSES = {CellOutcome.HOLDS: "holds", CellOutcome.VIOLATED: "violated", CellOutcome.FLAKY: "flaky"}


@cache
def _style() -> str:
    return resources.files("trunkline.app.attach.report").joinpath("page.css").read_text("utf-8")


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
    return f"<!doctype html>\n{tostring(element('html', head, body, lang='en'), encoding='unicode', method='html')}\n"


def finding_html(page: FindingPage) -> str:
    return _page(
        page.headline,
        element("p", element("a", "← all results", href="../index.html"), class_="dim"),
        element("h1", page.headline),
        element(
            "p",
            element("span", page.counted, class_="verdict flaky" if page.breach.flaky else "verdict"),
            few_tries(page),
        ),
        element("h2", "What was promised"),
        element("p", page.breach.sentence, class_="promise"),
        element("h2", "What happened"),
        [_broken(breach) for breach in page.broken],
        element("p", f"and {count(page.more_broken, 'more violation')} in this try", class_="dim")
        if page.more_broken
        else "",
        element("h2", "What was asked"),
        element("p", element("b", page.scenario_title)),
        [element("p", line) for line in asked_lines(page)],
        element("h2", "What people saw"),
        [_place(place) for place in page.places],
        element("p", MARKS, class_="dim"),
        element("h2", "On the wire"),
        element("p", element("a", "Walk through the whole run, event by event", href=f"{page.slug}-run.html")),
        element("p", ROWS_COLOURED, class_="dim"),
        element("div", _rows(page.rows), class_="wide"),
        element("p", ROWS_LEFT_OUT.format(count(page.rows_left_out, "event")), class_="dim"),
        element("h2", "Repeat it"),
        element("pre", page.command),
        _facts(page),
        element("footer", INTRODUCTION),
    )


def _facts(page: FindingPage) -> Element:
    facts: list[tuple[str, Iterable[Child]]] = [
        ("gateway", [page.software]),
        ("Trunkline", [page.trunkline]),
        ("scenario", [page.scenario]),
    ]
    if page.sources:
        facts.append(("the scenario comes from", _spaced(_link(source) for source in page.sources)))
    facts += [
        ("invariant", [f"{page.breach.id} {page.breach.title}"]),
        ("shown is", [f"try {page.shown}"]),
        *([("settings", [page.settings])] if page.settings else []),
        *(("note", [note]) for note in page.notes),
    ]
    return element("dl", [(element("dt", name), element("dd", *texts)) for name, texts in facts], class_="facts")


def _spaced(pieces: Iterable[Child]) -> Iterator[Child]:
    for number, piece in enumerate(pieces):
        if number:
            yield " "
        yield piece


def _link(link: Link) -> Child:
    return element("a", link.text, href=link.url, rel="noreferrer") if link.url else link.text


def _broken(promise: BrokenPromise) -> Element:
    return element(
        "div",
        element("p", element("b", promise.summary)),
        element("dl", _listed("expected", promise.expected), _listed("actual", promise.actual), class_="facts"),
        class_="card",
    )


def _listed(label: str, texts: Sequence[str]) -> Iterator[Element]:
    for number, text in enumerate(texts):
        yield element("dt", "" if number else label)
        yield element("dd", text)


def _place(place: PlacePicture) -> Element:
    bubbles = [_bubble(bubble) for bubble in place.bubbles]
    name = element("h3", place.name)
    return element("section", name, bubbles, class_="card concerned" if place.concerned else "card")


def _bubble(bubble: Bubble) -> Element:
    if bubble.aside:
        return element("div", element("span", f"{bubble.at} {bubble.text}".strip()), class_="aside")
    kind = "bubble" if bubble.who else "bubble bot"
    return element(
        "div",
        element(
            "div",
            element("div", f"{bubble.who or 'the gateway'} · {bubble.at}", class_="meta"),
            element("div", bubble.text, class_="text"),
            element("div", bubble.remark, class_="remark") if bubble.remark else "",
        ),
        class_=f"{kind} wrong" if bubble.wrong or bubble.remark else kind,
    )


def _rows(rows: Sequence[WireRow]) -> Element:
    head = element("tr", *(element("th", name) for name in ("#", "time", "where", "event", "what")))
    return element("table", element("thead", head), element("tbody", [_row(row) for row in rows]), class_="wire")


def _row(row: WireRow) -> Element:
    classes = [name for name, on in (("fault", row.fault), ("evidence", row.evidence), ("wrong", row.wrong)) if on]
    return element(
        "tr",
        element("td", str(row.seq), class_="time"),
        element("td", row.at, class_="time"),
        element("td", row.node),
        element("td", element("code", row.kind)),
        element("td", row.text, class_="text"),
        class_=" ".join(classes),
    )


def index_html(matrix: CellMatrix, facts: Sequence[str], findings: Sequence[FindingPage]) -> str:
    """The page with the matrix, and a list of the findings."""
    head = element("tr", element("th", "scenario"), *(element("th", name) for name in matrix.gateways))
    rows = [
        element(
            "tr",
            element("td", element("b", row.title), element("span", row.scenario, class_="dim")),
            [_cell(cell) for cell in row.cells],
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


def _cell(cell: MatrixCell) -> Element:
    lines = [
        element("div", element("a", line.text, href=f"{line.url}.html") if line.url else line.text)
        for line in cell.lines
    ]
    return element("td", element("b", str(cell.outcome)), lines, class_=_CLASSES.get(cell.outcome, "none"))
