"""What the tests of bindings share."""

from tests.support.app.author import Author
from tests.support.app.bound_runs import PLACES
from tests.support.app.traces import verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView


def small(*acts) -> RunView:
    """A run in which `acts` happen, a second each."""
    author = Author()
    author.world(PLACES)
    for act in acts:
        author.wait(1.0)
        act(author)
    return RunView(Run(trace=author.trace("small", title=""), verdicts=verdicts()))


def seq_of(view: RunView, kind: str, number: int = 0) -> int:
    return [event.seq for event in view.events if event.kind == kind][number]


def texts(lines, label: str) -> list[str]:
    """The lines under a label, up to the next one."""
    found, on = [], False
    for line in lines:
        on = line.label == label if line.label else on
        if on:
            found.append(line.text)
    return found
