"""The page of a run: its data, what it may load and run, and what of a large run or of a stranger is in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from tests.support.app.repeated_runs import repeated
from tests.support.attach.cells import twice
from tests.support.for_each import for_each
from tests.support.paths import FIXTURES, ROOT
from tests.support.scale import scaled
from trunkline.app.report.excerpts import nearest, pictures_of
from trunkline.app.report.page import run_page
from trunkline.app.report.page.run_page import PageLimits, page_json, run_html, write_page
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.errors import UsageError
from trunkline.sim import judge, load_scenario, run_scenario

PLAIN = PageRedaction({})
TOUR = ROOT / "scenarios/tour/told-twice.yaml"
EVIL = FIXTURES / "reported" / "simulator" / "evil.yaml"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]> --!> </noscript><img src=x onerror=alert(1)>",
    "{{script}} {{data}} {{policy}}",
    "\x1b[2J\x1b]0;title\x07\u202eevil\u2066\u2028x\u2029\x00",
    "';alert(1)//\\u003cscript\\u003e",
)


@pytest.fixture(scope="module")
def told() -> Run:
    return run_scenario(load_scenario(TOUR), bugs=["hand-announces-too"])


def data_of(run: Run, redaction: PageRedaction = PLAIN, **limits: int) -> dict[str, Any]:
    each = (PageLimits(**limits),) if limits else run_page._LIMITS
    return json.loads(page_json(run, redaction, each))


class Seen(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.inside: dict[str, list[str]] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        self.inside.setdefault(self._open, []).append(data)


STORY = """\
C3 at #89: the result of m1.hand1 went to discord/ops
  expected at discord/ops/deploy, by the account that got the request
  actual #89 3.117s “release 2.0 is out” at discord/ops
  1 #9 0.000 ana says “ship it” in discord/ops/deploy ✓
  2 #16 0.057 route to agent main (default), answers → discord/ops/deploy, session main:discord:default:channel:N ✓
  3 #20 0.058 agent main starts a turn for a message ✓
  4 #21 0.058 tool delegate codex: release 2.0 ✓
  5 #22 0.058 “release 2.0” for hand codex, origin discord/ops/deploy ✓
  6 #73 3.059 hand codex ok “release 2.0 is out” ✓
  7 #75 3.059 completion plan: turn → discord/ops/deploy (callback-turn); direct → discord/ops (hand-session-route) ✓
  8 #78 3.059 announce prepared for discord/ops: hand-session-route ✗ first wrong step
  9 #89 3.117 discord accepts “release 2.0 is out” in ops
discord/ops, concerned
  +2.0 s bo: morning all
  +2.1 s the gateway: good morning, bo
  +3.1 s the gateway: release 2.0 is out (the same again: 2 of 2)
  +22.0 s: end of the recording
rows
  #1 0.000 alarm GATEWAY: defect on: hand-announces-too
  #9 0.000 inbound discord/ops/deploy → GATEWAY: ana “ship it”
  #24 0.059 hand GATEWAY → hand codex: “release 2.0”
  #30 0.595 delivered GATEWAY → discord/ops/deploy: “on it” m
  #37 1.000 inbound telegram/@bo → GATEWAY: bo “hello”
  #49 1.077 delivered GATEWAY → telegram/@bo: “good morning, bo” m
  #55 2.000 inbound discord/ops → GATEWAY: bo “morning all”
  #67 2.079 delivered GATEWAY → discord/ops: “good morning, bo” m
  #73 3.059 hand hand codex → GATEWAY: “release 2.0 is out”
  #88 3.113 first GATEWAY → discord/ops/deploy: “codex is done: release 2.0 is out” 1× m ┏
  #89 3.117 copy GATEWAY → discord/ops: “release 2.0 is out” 2× !! m ┗
  #101 22.000 note GATEWAY: at rest
"""


def story_of(data: dict[str, Any]) -> str:
    """The first violation, the first place and the folded rows, as text."""
    facts, first, place = data["facts"], data["violations"][0], data["places"][0]
    lines = [f"{first['invariant']} at #{first['at']}: {first['summary']}"]
    lines += [f"  {side} {line}" for side in ("expected", "actual") for line in first[side]]
    lines += [f"  {facts[step][1]} {facts[step][4]}".rstrip() for step in first["steps"]]
    lines.append(f"{place['name']}{', concerned' if place['concerned'] else ''}")
    for bubble in place["bubbles"]:
        who = "" if bubble["aside"] else f" {bubble['who'] or 'the gateway'}"
        remark = f" ({bubble['remark']})" if bubble["remark"] else ""
        lines.append(f"  {bubble['at']}{who}: {bubble['text']}{remark}")
    lines.append("rows")
    paths = [lane["path"] for lane in data["lanes"]]
    for seq, at, look, start, end, text, who, tags, mirror, bracket, inner, _kind, _facts in data["rows"]:
        where = paths[start] if start == end else f"{paths[start]} → {paths[end]}"
        if not inner:
            lines.append(f"  #{seq} {at} {look} {where}: {' '.join(filter(None, (who, text, tags, mirror, bracket)))}")
    return re.sub(r"channel:\d+", "channel:N", "\n".join(lines)) + "\n"


def test_the_data_tells_the_story(told):
    assert story_of(data_of(told)) == STORY


def test_it_has_all_that_the_app_has_of_a_run(told):
    data, view = data_of(told), RunView(told)
    assert [row[0] for row in data["rows"]] == list(range(1, view.last + 1))
    assert [row[0] for row in data["rows"] if not row[10]] == list(Timeline(view, TimelineLanes(view)).seqs)
    assert [violation["invariant"] for violation in data["violations"]] == [
        found.invariant for found in view.marks.found
    ]
    assert {verdict["id"] for verdict in data["verdicts"]} == {verdict.id for verdict in view.verdicts}
    assert (data["verdict"], data["tone"]) == (
        "violated: D2 R1 C3, 1 expectation missed, 36 of 68 invariants exercised",
        "bad",
    )
    assert data["left_out"] == []
    assert data["repro"] == f"trunkline run {TOUR} --seed 1 --bug hand-announces-too"
    assert [unmet["line"] for unmet in data["unmet"]] == [77]
    of_event = [data["facts"][number][:2] for number in data["rows"][88][12]]
    assert ["because", "hand-session-route: The hand's own session resolved to this place."] in of_event


def test_a_sound_run_says_so():
    data = data_of(run_scenario(load_scenario(TOUR)))
    assert (data["tone"], data["violations"], data["unmet"]) == ("good", [], [])
    assert data["verdict"].startswith("all hold")


def test_the_wire_of_a_gateway_that_is_not_ours_has_a_page():
    data = data_of(twice())
    assert [lane["kind"] for lane in data["lanes"]] == ["place", "gateway"]
    assert [bubble["remark"] for bubble in data["places"][0]["bubbles"] if bubble["remark"]] == ["here it went wrong"]


# ---------------------------------------------------------------- what it may do


def test_its_policy_allows_this_style_and_this_script_and_no_request(told):
    page = run_html(told, PLAIN)
    seen = Seen(page)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    script, style = seen.inside["script"][-1], seen.inside["style"][0]
    for rule, source in (("script-src", script), ("style-src", style)):
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
    # An icon that is there keeps browsers from asking for another.
    assert rules["img-src"] == "data:"
    assert (rules["require-trusted-types-for"], rules["trusted-types"]) == ("'script'", "'none'")
    assert [value for name, value in seen.attributes if name in ("src", "href", "action", "srcset")] == ["data:,"]
    assert not any(name.startswith("on") or name == "style" for name, _ in seen.attributes)
    assert not re.search(r"url\(|@import|https?://", page), "an address"


def test_the_script_sets_texts_and_makes_no_html():
    script = (ROOT / "app/report/page/page.js").read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|import\(", script
    )


@for_each("text", HOSTILE)
def test_texts_of_strangers_stay_texts(text: str):
    run = twice(question=text, answer=text)
    header = msgspec.structs.replace(run.trace.header, title=text, scenario=text, path=text)
    run = Run(trace=msgspec.structs.replace(run.trace, header=header), verdicts=run.verdicts)
    page = run_html(run, PLAIN)
    seen, sound = Seen(page), Seen(run_html(twice(), PLAIN))
    assert seen.tags == sound.tags, "an element of its own"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]", page)
    data = json.loads(seen.inside["script"][0])
    assert data == data_of(run), "the script reads what was written"
    shown = [bubble["text"] for bubble in data["places"][0]["bubbles"] if not bubble["aside"]]
    printable = "".join(char if char.isprintable() else "·" for char in text)
    assert shown and set(shown) == {printable}


def test_names_of_strangers_are_cleaned_everywhere():
    page = run_html(run_scenario(load_scenario(EVIL)), PLAIN)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", page)
    assert "RED" in page


def test_secrets_and_folders_are_left_out():
    home = "/ho" + "me/ana"
    redaction = PageRedaction({"BOT_TOKEN": "planted-value-1"})
    page = run_html(twice(question=f"planted-value-1 in {home}/x", answer="sk-abcdefghijklmnop"), redaction)
    assert not re.search("planted-value-1|" + home + "|sk-abcdefghijklmnop", page)
    assert page.count("[redacted]") >= 3 and "~/x" in page


def test_without_scripts_it_has_the_report_as_text(told):
    text = run_html(told, PLAIN).partition('<pre class="whole">')[2].partition("</pre>")[0]
    assert "✗ C3 Back to where it was asked: the result of m1.hand1 went to discord/ops" in text


# ---------------------------------------------------------------- runs that are large


#: events of a long run
LONG = scaled(20_000, 5_000)


@pytest.fixture(scope="module")
def long() -> Run:
    run = repeated(bug=True, count=LONG, shift=0.0)
    return msgspec.structs.replace(run, verdicts=judge(run.trace.events))


@pytest.mark.slow
def test_a_run_of_20000_events_is_bounded_and_says_what_is_left_out(long):
    text = page_json(long, PLAIN)
    data = json.loads(text)
    assert len(text) < 8_000_000
    assert (len(data["rows"]), len(data["violations"])) == (20_000, 200)
    assert data["left_out"] == [
        "4789 violations left out: trunkline replay has all of them in the app.",
        "Only 1500 events, the nearest to a violation, are explained.",
    ]


def test_what_is_left_out_is_the_inside_first_and_then_what_is_far(long):
    data = data_of(long, rows=1000, explained=10, violations=1, messages=10)
    about = {data["facts"][step][2] for step in data["violations"][0]["steps"]}
    assert len(data["rows"]) == 1000 and about <= {row[0] for row in data["rows"]}
    assert all(not row[10] or row[0] in about for row in data["rows"])
    assert (
        f"{LONG - 1000} events left out: the timeline has the 1000 events nearest to a violation." in data["left_out"]
    )
    assert max(len(place["bubbles"]) for place in data["places"]) <= 16


@pytest.mark.slow
def test_a_page_that_is_too_large_shows_less(monkeypatch, long):
    monkeypatch.setattr(run_page, "_MOST_BYTES", 3_000_000)
    data = json.loads(page_json(long, PLAIN))
    assert len(data["rows"]) < LONG and len(data["violations"]) == 100


def test_a_text_without_an_end_is_cut_in_words():
    long = scaled(1_000_000, 200_000)
    page = run_html(twice(answer="x" * long), PLAIN)
    assert len(page) < 200_000 and f"({long:,} characters)" in page


@for_each(
    ("numbers", "centers", "most", "kept"),
    [
        (range(5), [9], 5, [0, 1, 2, 3, 4]),
        (range(10), [], 3, [0, 1, 2]),
        (range(10), [5], 3, [4, 5, 6]),
        (range(10), [9, 0], 4, [0, 1, 8, 9]),
    ],
)
def test_the_nearest_are_kept(numbers, centers, most, kept):
    assert nearest(numbers, centers, most) == kept


def test_a_picture_keeps_the_ends_of_a_long_conversation(long):
    [first, *_] = pictures_of(RunView(long), (), PLAIN, 6)
    assert len(first.bubbles) == 7 and "more are not shown" in first.bubbles[3].text


# ---------------------------------------------------------------- the file


def test_nothing_is_left_half_written(tmp_path, told):
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match="taken: "):
        write_page(tmp_path / "taken", told)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    write_page(tmp_path / "page.html", told)
    assert (tmp_path / "page.html").read_text("utf-8") == run_html(told, PageRedaction())
