"""The page of a run: what the app shows of it as JSON inside one HTML file, with a script that walks through it.

Nothing of a run becomes HTML: the script reads the JSON and sets texts. The page's policy allows this style and this
script, by their hashes, and no request. Control characters are visible, and secrets left out, as on every page.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import msgspec

from trunkline.app.report.excerpts import nearest, pictures_of, shortened
from trunkline.app.report.json_junit import write_whole
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.report.sections import ALL_OF_THEM, VERDICT_ORDER, holds_fact, run_facts
from trunkline.app.report.summary import EXPECTATIONS, LINES, report_lines, shortened_path
from trunkline.app.runs.model import Run, UnmetExpectation
from trunkline.app.text.cells import clean, count, seconds
from trunkline.app.text.fact import Fact
from trunkline.app.view.explain.explanation import culprit_facts, event_line, explain, reproduction, strike_of
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import STOPS, TimelineLanes
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.sim.invariants.base import Verdict, Violation

#: version of the JSON in the page
_VERSION = 1
#: bytes of the JSON; of a run that needs more, less is shown
_MOST_BYTES = 12_000_000
#: facts of an event
_FACTS = 60


class PageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a page shows of a run."""

    #: rows of the timeline, and of them with all that led to the event
    rows: int = 20_000
    explained: int = 1_500
    violations: int = 200
    #: places, and messages in each
    places: int = 100
    messages: int = 300
    #: characters of a text
    text: int = 1_000


#: from one to the next while a page is too large
_LIMITS = (
    PageLimits(),
    PageLimits(rows=10_000, explained=500, violations=100, places=40, messages=100, text=300),
    PageLimits(rows=2_000, explained=200, violations=20, places=20, messages=40, text=200),
)


class _Excerpt:
    """All that a page shows of a run, as plain values; facts are listed once, and named by their number."""

    def __init__(self, view: RunView, redaction: PageRedaction, limits: PageLimits) -> None:
        self.view = view
        self.limits = limits
        self.left_out: list[str] = []
        self._redaction = redaction
        self._texts: dict[str, str] = {}
        self._facts: dict[tuple[object, ...], int] = {}
        found = view.marks.found
        self._violations = found[: limits.violations]
        self._paths = [shortened_path(view, violation, "…") for violation in self._violations]
        self._about = {seq for violation in self._violations for seq in violation.seqs}
        self._about |= {step.seq for path in self._paths for step in path if step.seq}
        self._leave_out(len(found) - len(self._violations), "violation", ALL_OF_THEM)

    def tree(self) -> dict[str, object]:
        """The JSON of the page. Each part may add to the facts and to what is left out."""
        view, holds = self.view, holds_fact(self.view)
        known = (*culprit_facts(view), *run_facts(view))
        return {
            "trunkline_page": _VERSION,
            "scenario": self._text(view.header.scenario),
            "title": self._text(view.header.title or view.header.scenario),
            "verdict": self._text(holds.text),
            "tone": "warn" if view.run.trace.cut and view.run.holds else holds.tone,
            "run": [self._fact(fact) for fact in known if fact.label not in ("repro", "title")],
            "repro": self._text(reproduction(view.header, view.events)),
            "violations": list(map(self._violation, self._violations, self._paths)),
            "unmet": [{**self._accused(unmet), "line": unmet.line} for unmet in view.unmet[:EXPECTATIONS]],
            "verdicts": [
                self._verdict(verdict)
                for verdict in sorted(view.verdicts, key=lambda verdict: VERDICT_ORDER.index(verdict.status))
            ],
            "places": self._places(),
            "stops": STOPS,
            **self._rows(),
            "facts": list(self._facts),
            "left_out": self.left_out,
        }

    def _text(self, text: str) -> str:
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = shortened(self._redaction.text(clean(text)), self.limits.text)
        return found

    def _fact(self, fact: Fact) -> int:
        row = (self._text(fact.label), self._text(fact.text), fact.seq, fact.tone, self._text(fact.mark))
        return self._facts.setdefault(row, len(self._facts))

    def _leave_out(self, number: int, noun: str, where: str) -> None:
        if number > 0:
            self.left_out.append(f"{count(number, noun)} left out: {where}.")

    def _texts_of(self, value: object, *names: str) -> dict[str, str]:
        return {name: self._text(getattr(value, name)) for name in names}

    def _lines(self, texts: Sequence[str]) -> list[str]:
        more = [f"… {count(len(texts) - LINES, 'more line')}"] if len(texts) > LINES else []
        return [*map(self._text, texts[:LINES]), *more]

    def _accused(self, found: Violation | UnmetExpectation) -> dict[str, object]:
        sides = {"expected": self._lines(found.expected), "actual": self._lines(found.actual)}
        return {**self._texts_of(found, "summary"), **sides}

    def _violation(self, violation: Violation, path: list[Fact]) -> dict[str, object]:
        steps = [self._fact(step) for step in path]
        blamed = strike_of(self.view, [violation])[1] or violation.blamed or 0
        where = {"at": violation.at, "blamed": blamed, "steps": steps}
        return {**self._texts_of(violation, "invariant"), **self._accused(violation), **where}

    def _verdict(self, verdict: Verdict) -> dict[str, object]:
        notes = self._lines([*verdict.remarks, *filter(None, [verdict.note])])
        judged = {"status": verdict.status, "times": verdict.exercised, "notes": notes}
        return {**self._texts_of(verdict, "id", "name", "sentence"), **judged}

    def _places(self) -> list[dict[str, object]]:
        limits = self.limits
        pictures = list(pictures_of(self.view, self._violations, self._redaction, limits.messages))
        self._leave_out(len(pictures) - limits.places, "place", "those of the violations come first")
        return [
            {**msgspec.structs.asdict(picture), **self._texts_of(picture, "name"), "bubbles": picture.bubbles}
            for picture in pictures[: limits.places]
        ]

    def _rows(self) -> dict[str, object]:
        """The lanes and the rows of the timeline as the app draws them, one for each event, and the facts of each."""
        view, limits = self.view, self.limits
        lanes = TimelineLanes(view)
        folded, every = Timeline(view, lanes), Timeline(view, lanes, unfolded=True)
        seqs: list[int] = list(every.seqs)
        if len(seqs) > limits.rows:
            # What is inside of the gateway goes first.
            seqs = [seq for seq in seqs if seq in folded or seq in self._about]
        seqs = nearest(seqs, self._about, limits.rows)
        where = "nearest to a violation" if self._about else "first"
        self._leave_out(view.last - len(seqs), "event", f"the timeline has the {count(len(seqs), 'event')} {where}")
        explained = frozenset(nearest(seqs, self._about, limits.explained))
        if len(explained) < len(seqs):
            self.left_out.append(f"Only {count(len(explained), 'event')}, the {where}, are explained.")
        rows: list[list[object]] = []
        for seq in seqs:
            inner = seq not in folded
            row, event = (every if inner else folded).row(seq), view.event(seq)
            told = explain(view, seq).lines if seq in explained else [Fact("what", event_line(view, seq), seq)]
            lines = [fact for fact in told if fact.label != "repro"]
            more = [Fact("", f"… {count(len(lines) - _FACTS, 'more line')}")] if len(lines) > _FACTS else []
            words = [self._text(text) for text in (row.text, row.who, " ".join(row.tags))]
            known = [self._fact(fact) for fact in (*lines[:_FACTS], *more)]
            drawn = (seq, seconds(event.at), row.look, row.start, row.end, *words, row.mirror, row.bracket)
            rows.append([*drawn, int(inner), event.kind, known])
        names = (self._texts_of(lane, "label", "path", "group") for lane in lanes.all)
        known = ({"kind": lane.kind, "child": lane.child, "idle": lane.idle} for lane in lanes.all)
        return {"rows": rows, "lanes": [{**name, **more} for name, more in zip(names, known, strict=True)]}


# From the values to the file.

#: characters with which a text could end the block or begin another, and line ends that old scripts did not know
_ESCAPED = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def page_json(run: Run, redaction: PageRedaction, limits: Iterable[PageLimits] = _LIMITS) -> str:
    """The JSON of a page, as it may stand in HTML. Of a run that is too large, less and less is shown."""
    view, text = RunView(run), ""
    for each in limits:
        text = msgspec.json.encode(_Excerpt(view, redaction, each).tree()).decode().translate(_ESCAPED)
        if len(text) <= _MOST_BYTES:
            break
    return text


def run_html(run: Run, redaction: PageRedaction) -> str:
    """The whole page."""
    files = (Path(__file__).with_name(f"page.{ending}") for ending in ("css", "js", "html"))
    style, script, template = (file.read_text("utf-8").strip() for file in files)
    header = run.trace.header
    shown = "\n".join(shortened(redaction.text(clean(line)), _LIMITS[0].text) for line in report_lines(run))
    policy = (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    slots = {
        "policy": policy,
        "title": escape(redaction.text(clean(f"{'✓' if run.holds else '✗'} {header.title or header.scenario}"))),
        "style": style,
        "text": escape(shown),
        "data": page_json(run, redaction),
        "script": script,
    }
    # In one pass: a text of the run that looks like a slot is a text.
    return template.format_map(slots) + "\n"


def _hashed(source: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def write_page(path: Path, run: Run) -> None:
    """Write the page of a run whole or not at all. Raises `UsageError` when it cannot be written."""
    write_whole(path, run_html(run, PageRedaction()).encode("utf-8"))
