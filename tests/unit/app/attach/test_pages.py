"""The pages of findings and of the matrix: what they say, what they never contain, and that they need nothing else."""

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import tostring

from markdown_it import MarkdownIt
from msgspec import structs

from tests.support.attach.cells import a_record, accepted, attach_trace, idle, once, said, twice, verdict, violation
from tests.support.for_each import for_each
from trunkline.app.attach.cells import Trouble
from trunkline.app.attach.report.finding import findings_of, sources_of
from trunkline.app.attach.report.html import element, finding_html, index_html
from trunkline.app.attach.report.matrix import CellOutcome, matrix_of
from trunkline.app.attach.report.pages import finding_markdown, index_markdown, write_report
from trunkline.app.report.redaction import PageRedaction, block, code, plain
from trunkline.app.runs.model import Run
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.invariants import Status

REDACTION = PageRedaction({"HOME": "/srv/ana", "OPENAI_API_KEY": "planted-value-1"})
#: what may stand in an HTML page of ours
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "b", "a", "span", "div", "code"),
    *("pre", "dl", "dt", "dd", "section", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "footer"),
}
#: attributes that load something
LOADING = {"src", "srcset", "style", "background", "action", "formaction", "data", "poster"}
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><iframe src="https://evil.example">',
    "javascript:alert(1)",
    "</style><script>x</script>",
    "</td></tr></table><h1>fake</h1>",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "``` \n# heading\n<b>bold</b>\n```",
    "@everyone see #1 & <https://evil.example>",
    "| a | b |\n| --- | --- |",
    "\x1b[2J\x1b]0;title\x07\u202eevil\u2028x\x00",
)


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


#: in pieces: no file of the repository names a folder of somebody
HOME = "/ho" + "me"


def a_page(run: Run | None = None, **more: Any):
    (page,) = findings_of(a_record(run or twice(), **more), REDACTION)
    return page


def with_text(text: str) -> Run:
    trace = attach_trace(said(text), accepted(text), accepted(text, provider_id="3"))
    return Run(trace=trace, verdicts=(verdict(Status.VIOLATED, violation(7, 5, 6, 7, summary=text)),))


def test_a_page_says_everything_that_a_reader_needs():
    page = a_page(twice())
    for text in (Seen(finding_html(page)).text, finding_markdown(page).replace("\\", "")):
        for part in (
            "X1 Answered once",
            "violated in 1 of 1 try",
            "Fewer than 5 tries",
            "A question is answered at most once visibly.",
            "m1 was answered twice",
            "one answer",
            "two answers",
            "each answered in its place",  # the title of the scenario
            "telegram/@ana",
            "hello QZm1",
            "+8.0 s",
            "here it went wrong",
            "wire.accepted",
            "+8.000 s",
            "The toy gateway 1.0",
            "trunkline attach scenarios/attach/plain.yaml --gateway toy --tries 5",
            "openclaw/openclaw#129718",
        ):
            assert part in text, part


def test_five_tries_are_enough_and_some_good_ones_make_it_flaky():
    page = findings_of(a_record(twice(), once(), twice(), once(), once()), REDACTION)[0]
    assert (page.breach.times, page.breach.tries, page.breach.flaky) == (2, 5, True)
    assert "violated in 2 of 5 tries" in finding_html(page) and "Fewer than" not in finding_html(page)
    assert "**violated in 2 of 5 tries (flaky).**" in finding_markdown(page)


def test_the_picture_says_when_the_gateway_was_killed():
    trace = attach_trace(said("hello QZm1"), ProcessCrashed(why="crash"), accepted("Done. AZm1-g1"))
    run = Run(trace=trace, verdicts=(verdict(Status.VIOLATED, violation(7)),))
    texts = [bubble.text for place in a_page(run).places for bubble in place.bubbles]
    assert texts[1:4] == ["hello QZm1", "the gateway was killed", "Done. AZm1-g1"]


def test_a_question_that_nothing_ended_is_marked_in_the_picture():
    lost = structs.replace(violation(6, 5, 6), first_wrong=None, missing_after=6)
    trace = attach_trace(said("hello QZm1"), ProcessCrashed(why="crash"))
    (place,) = a_page(Run(trace=trace, verdicts=(verdict(Status.VIOLATED, lost),))).places
    assert [one.text for one in place.bubbles if one.remark] == ["hello QZm1"]


@for_each("text", HOSTILE)
def test_hostile_texts_stay_texts_in_html(text: str):
    record = a_record(with_text(text))
    pages = [
        finding_html(a_page(with_text(text))),
        index_html(matrix_of([record], REDACTION), [text], findings_of(record, REDACTION)),
    ]
    for page in pages:
        seen = Seen(page)
        assert set(seen.tags) <= TAGS
        assert not any(name.startswith("on") or name in LOADING for name, _ in seen.attributes)
        links = [value or "" for name, value in seen.attributes if name == "href"]
        assert all(
            re.match(r"https://github\.com/|findings/|\.\./index\.html$|toy-plain-x1-run\.html$", link)
            for link in links
        ), links
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2028]", page)


@for_each("text", HOSTILE)
def test_hostile_texts_stay_texts_in_markdown(text: str):
    record = a_record(with_text(text))
    pages = [
        finding_markdown(a_page(with_text(text))),
        index_markdown(matrix_of([record], REDACTION), [text], findings_of(record, REDACTION)),
    ]
    for page in pages:
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
        seen = Seen(html)
        assert set(seen.tags) <= {
            *("h1", "h2", "h3", "p", "strong", "blockquote", "ul", "li", "code", "pre", "a", "hr", "table", "thead"),
            *("tbody", "tr", "th", "td", "br"),
        }, set(seen.tags)
        assert "fake" not in re.findall("<h1>(.*?)</h1>", html)
        links = [value or "" for name, value in seen.attributes if name == "href"]
        assert all(re.match(r"https://github\.com/|findings/", link) for link in links), links


def test_a_mention_in_markdown_mentions_nobody():
    assert "@everyone" not in plain("@everyone")
    assert code("a `b` ``c``") == "``` a `b` ``c`` ```"
    assert code("plain") == "`plain`"
    assert block(["```", "x"])[0] == "````text"


def test_secrets_are_in_no_page(tmp_path):
    token = "700000001:AAF0abcdefghijklmnopqrstuvwxyz12345"
    text = f"use {token} or planted-value-1 in /srv/ana/x and {HOME}/ben/y"
    record = a_record(with_text(text), troubles=[Trouble(problem=text, log=(text,))])
    write_report([record, a_record(troubles=[Trouble(problem=text)], name="other")], tmp_path, REDACTION)
    pages = [path.read_text() for path in tmp_path.rglob("*.*") if path.is_file()]
    assert len(pages) == 5
    for page in pages:
        assert not any(secret in page for secret in (token, "planted-value-1", "/srv/ana", f"{HOME}/ben"))
    assert sum("[redacted]" in page.replace("\\", "") for page in pages) == 5


def test_a_page_loads_nothing_and_prints():
    page = finding_html(a_page())
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in Seen(page).attributes
    assert "@import" not in page and "url(" not in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page


def test_only_public_addresses_become_links():
    assert [link.url for link in sources_of("openclaw/openclaw#12, https://example.org/x")] == [
        "https://github.com/openclaw/openclaw/issues/12",
        "https://example.org/x",
    ]
    assert [(link.text, link.url) for link in sources_of("clawdbot outbound system")] == [
        ("clawdbot outbound system", "")
    ]
    assert sources_of("javascript:alert(1)")[0].url == ""
    assert sources_of("") == ()


def test_every_outcome_of_the_matrix():
    records = [
        a_record(once(), name="a"),
        a_record(twice(), name="b"),
        a_record(twice(), once(), name="c"),
        a_record(idle(), name="d"),
        a_record(cannot=("it has no threads",), name="e"),
        a_record(troubles=[Trouble(problem="it ended with the code 1\nsecond line")] * 2, name="f"),
        a_record(name="g"),
    ]
    matrix = matrix_of(records, REDACTION)
    (row,) = matrix.rows
    assert [(cell.outcome, [line.text for line in cell.lines]) for cell in row.cells] == [
        (CellOutcome.HOLDS, ["1 of 1"]),
        (CellOutcome.VIOLATED, ["X1 1 of 1"]),
        (CellOutcome.FLAKY, ["X1 1 of 2 (flaky)"]),
        (CellOutcome.NOT_EXERCISED, ["in 1 try"]),
        (CellOutcome.CANNOT, ["it has no threads"]),
        (CellOutcome.NOT_RUN, ["it ended with the code 1"]),
        (CellOutcome.NOT_TRIED, []),
    ]
    assert matrix.gateways == tuple(f"{name} 1.0" for name in "abcdefg")
    text = Seen(index_html(matrix, [], [])).text
    assert "it has no threads" in text and "not tried" in text
    assert "**cannot**<br>it has no threads" in index_markdown(matrix, [], [])


def test_pages_of_findings_that_are_none_any_more_go(tmp_path):
    write_report([a_record(twice())], tmp_path, REDACTION)
    names = ["toy-plain-x1-run.html", "toy-plain-x1.html", "toy-plain-x1.md"]
    assert sorted(path.name for path in (tmp_path / "findings").iterdir()) == names
    assert 'href="toy-plain-x1-run.html"' in (tmp_path / "findings" / "toy-plain-x1.html").read_text()
    (tmp_path / "findings" / "notes.txt").write_text("mine")
    write_report([a_record(once())], tmp_path, REDACTION)
    assert [path.name for path in (tmp_path / "findings").iterdir()] == ["notes.txt"]
    assert "Nothing was violated." in (tmp_path / "index.html").read_text()


def test_elements_escape_texts_and_attributes():
    made = {
        element("p", "<b>", class_='"x"'): '<p class="&quot;x&quot;">&lt;b&gt;</p>',
        element("p", "-", element("b", "x"), ["a", "&"]): "<p>-<b>x</b>a&amp;</p>",
        element("meta", charset="utf-8", hidden=""): '<meta charset="utf-8">',
    }
    assert [tostring(page, encoding="unicode", method="html") for page in made] == list(made.values())
