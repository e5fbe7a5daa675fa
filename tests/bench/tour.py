"""FIRST, SEEN: `trunkline tour` in a terminal of 80x24, from the start of the process. Wall time, the best of several.

FIRST is the first complete picture: the cards with their rows as they stay, and the footer. SEEN is the violation that
the tour plays up to. The start before those that are measured leaves its compiled modules behind, as `make env` does.
"""

import os
import sys
import tempfile
from collections.abc import Iterator

from tests.support.bench.bar import Bar
from tests.support.bench.terminal import Moment, shown

SIZE = (80, 24)
ROUNDS = 5
PATIENCE = 60.0
#: what only stands there together when everything does: footer, invariants, the sentence of the run, the last card
COMPLETE = ("q Quit", "◐ D delivery once", "The answer came twice, once in", "nothing yet: ] steps, Space plays")
VIOLATED = ("AUTO-PAUSED", "✗ wrong place", "q Quit")


def _environment(cache: str) -> dict[str, str]:
    """That of a person at a terminal, without settings of Python and Textual that somebody made here."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TEXTUAL_", "NO_COLOR"))
    }
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPYCACHEPREFIX": cache}


def measure(rounds: int = ROUNDS) -> tuple[Moment, Moment, Moment]:
    """First picture and violation, each the quickest; and the first picture of the start before, which compiles."""
    command = (sys.executable, "-m", "trunkline", "tour")
    # A cache of its own: whether other starts left theirs must not matter.
    with tempfile.TemporaryDirectory() as cache:

        def start() -> list[Moment]:
            return shown(command, (COMPLETE, VIOLATED), size=SIZE, environment=_environment(cache), patience=PATIENCE)

        cold = start()[0]
        found = [start() for _ in range(rounds)]
    first, seen = (min(moments, key=lambda moment: moment.wall) for moments in zip(*found, strict=True))
    return first, seen, cold


def bars() -> Iterator[Bar]:
    """Measure FIRST and SEEN."""
    first, seen, cold = measure()
    note = f"{first.cpu:.2f} s CPU; {cold.wall:.2f} s when Python has to compile every module, libraries too"
    yield Bar(
        id="FIRST",
        title="the tour, until its first complete picture",
        measured=first.wall,
        demand=1.0,
        better="lower",
        unit="s",
        note=note,
    )
    yield Bar(
        id="SEEN",
        title="the tour, until the violation is on the screen",
        measured=seen.wall,
        demand=5.0,
        better="lower",
        unit="s",
        note=f"{seen.cpu:.2f} s CPU",
    )
