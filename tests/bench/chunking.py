"""C1, C2: cutting a text costs no more for each character of a long one, and next to nothing for a short one.

The shapes are those that could make a chunker look at the same characters again and again. Process CPU time, the best
of interleaved rounds: the machine may be busy with other things.
"""

import gc
import time
from collections.abc import Callable, Iterator

from tests.support.bench.bar import Bar
from trunkline.core.text.chunking.chunks import chunk
from trunkline.core.values import Chunker, ChunkMode

SHORT, TIMES = 200_000, 4
ROUNDS = 3
LIMIT = 4000
CALLS = 20_000

#: what is repeated, and what stands before it
SHAPES = {
    "words": ("", "lorem ipsum dolor sit amet, "),
    "lines": ("", "lorem ipsum\ndolor sit amet\n\n"),
    "one word": ("", "x"),
    "open parentheses": ("", "(a b "),
    "parentheses": ("", "a\n(b) c "),
    "emoji": ("", "👩\u200d👩\u200d👧"),
    "accents": ("a", "\u0301"),
    "blanks with accents": ("", " \u0301"),
    "white space": ("", " \n"),
    "code": ("```py\n", "a line of code\n"),
    "one line of code": ("```py\n", "x"),
    "empty code": ("```\n", "\n"),
    "blocks": ("", "```\na\n```\n"),
    "a long info": ("```" + "i" * 3900 + "\n", "x"),
    "a long marker": ("`" * 1900 + "\n", "x"),
    "backticks": ("x", "`"),
    "tildes between words": ("a ", "~~~ "),
}
WAYS = {
    f"{chunker} {mode}": (chunker, mode)
    for chunker, mode in (
        (Chunker.TEXT, ChunkMode.LENGTH),
        (Chunker.MARKDOWN, ChunkMode.LENGTH),
        (Chunker.MARKDOWN, ChunkMode.NEWLINE),
    )
}


def text_of(shape: str, size: int) -> str:
    """A text of a shape."""
    before, part = SHAPES[shape]
    return (before + part * (size // len(part) + 1))[:size]


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of a piece of work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def growth(shape: str, way: str) -> float:
    """How much more a text that is `TIMES` as long takes."""
    chunker, mode = WAYS[way]
    best = {size: float("inf") for size in (SHORT, SHORT * TIMES)}
    for _ in range(ROUNDS):
        for size, fastest in best.items():
            text = text_of(shape, size)
            best[size] = min(fastest, cpu_seconds(lambda text=text: chunk(text, LIMIT, chunker=chunker, mode=mode)))
    # What is done within a millisecond tells nothing about growth.
    return best[SHORT * TIMES] / max(best[SHORT], 0.001)


def of_a_short_text() -> float:
    """Microseconds that a text takes which fits."""

    def calls() -> None:
        for _ in range(CALLS):
            chunk("A short answer, as most of them are.", LIMIT)

    return min(cpu_seconds(calls) for _ in range(ROUNDS)) / CALLS * 1e6


def bars() -> Iterator[Bar]:
    """The bars, one after another."""
    gc.collect()
    grown = {(shape, way): growth(shape, way) for shape in SHAPES for way in WAYS}
    worst, figure = max(grown.items(), key=lambda item: item[1])
    yield Bar(
        id="C1",
        title=f"a text {TIMES} times as long, to be cut",
        measured=figure,
        demand=2 * TIMES,
        want=1.5 * TIMES,
        better="lower",
        unit="x",
        note=f"worst of {len(grown)}: {worst[0]}, {worst[1]}, {SHORT:,} characters and more",
    )
    yield Bar(
        id="C2",
        title="a text that fits",
        measured=of_a_short_text(),
        demand=5.0,
        want=1.0,
        better="lower",
        unit="us",
        note=f"mean of {CALLS:,} calls",
    )
