"""A run as linear text: headings, and one fact per line, in the order of the app's screens.

The same sections come in two forms. The normal form aligns labels and uses the signs of the app. The plain form is for
screen readers, pipes and grep: every line has its label, signs are words, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.app.report.sections import Section, sections
from trunkline.app.runs.model import Run
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.run_index import RunView

#: the signs of the app in words
WORDS = str.maketrans(
    {
        "→": "to",
        "←": "from",
        "▸": "goes on",
        "✓": "ok",
        "✗": "wrong",
        "≠": "differs",
        "×": " times",
        "↵": "(line end)",
        "…": "...",
        "–": "-",
        "·": "-",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "\u00a0": " ",
    }
)
_LABEL = 10
#: a tone in words, unless the label says it
_TONE_WORDS = {Tone.BAD: "wrong", Tone.WARN: "note"}


def report(run: Run, *, plain: bool) -> Iterator[str]:
    """The whole report, line by line."""
    yield from (plain_lines if plain else normal_lines)(sections(RunView(run)))


def plain_lines(parts: Iterable[Section]) -> Iterator[str]:
    """Headings begin with ``#``, each fact with its label, which is repeated if necessary."""
    for number, part in enumerate(parts):
        if number and part.level == 1:
            yield ""
        yield f"{'#' * part.level} {_spelled(part.title)}"
        label = ""
        for fact in part.facts:
            label = fact.label or label
            yield _plain(fact, label)


def _plain(fact: Fact, label: str) -> str:
    mark = fact.mark.strip("✗✓ ") or ("" if label in _SELF_EXPLANATORY else _TONE_WORDS.get(fact.tone, ""))
    text = _spelled(f"{fact.text} ({mark})" if mark else fact.text)
    return f"{label}: {text}" if label else text


#: labels that already say whether something is wrong
_SELF_EXPLANATORY = frozenset({"actual", "broken", "differs", "verdict", "missed"})


def _spelled(text: str) -> str:
    return text.translate(WORDS)


def normal_lines(parts: Iterable[Section]) -> Iterator[str]:
    """Headings at the left edge, indented facts below, labels in a column."""
    for number, part in enumerate(parts):
        if number and (part.level == 1 or part.facts):
            yield ""
        yield part.title if part.level == 1 else f"{'  ' * (part.level - 1)}{part.title}"
        column = f"<{_LABEL}" if any(fact.label for fact in part.facts) else ""
        for fact in part.facts:
            mark = f"   {fact.mark}" if fact.mark else ""
            label = f"{fact.label:{column}} " if column else ""
            yield f"{'  ' * part.level}{label}{fact.text}{mark}".rstrip()
