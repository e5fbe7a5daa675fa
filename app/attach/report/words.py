"""The sentences of the pages, which Markdown and HTML share."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.attach.report.finding import FindingPage

PAGE_TITLE = "Gateways judged from outside"
INTRODUCTION = (
    "Made by trunkline attach: the gateway ran unmodified against simulated platforms and a scripted model on one "
    "machine, and was judged by what arrived on the wire and by what people could see. The simulated platforms follow "
    "the public descriptions of their interfaces; they are not the real ones. Times are of one run, and no benchmark."
)
FEW_TRIES = "Fewer than 5 tries: repeat it before you claim it."
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


def asked_lines(page: FindingPage) -> Iterator[str]:
    """The story of the scenario, a paragraph each."""
    for part in page.story.split("\n\n"):
        if part.strip():
            yield " ".join(part.split())
