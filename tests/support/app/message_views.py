"""What the tests of messages share."""

from tests.support.app.author import ANA, OPS, Author
from tests.support.app.traces import PLACES, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.index.messages import MessageHistories, MessageHistory
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.rows import QueueRows
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind

REASON = Reason.REPLY_TO_ORIGIN


class Shown:
    """A run with everything that is asked of it here."""

    def __init__(self, run: Run) -> None:
        self.view = RunView(run)
        self.histories = MessageHistories(self.view)
        self.messages = MessageRows(self.view, self.histories)
        self.queue = QueueRows(self.view, self.histories)
        self.last = self.view.last

    def history(self, name: str) -> MessageHistory:
        history = self.histories.of(name)
        assert history is not None
        return history

    def cells(self, name: str, seq: int | None = None) -> dict[str, str]:
        line = self.messages.head(self.history(name), self.last if seq is None else seq)
        return {key: cell.text for key, cell in line.cells.items()}

    def row(self, name: str, seq: int | None = None) -> dict[str, str]:
        line = self.queue.line(self.history(name), self.last if seq is None else seq)
        return {key: cell.text for key, cell in line.cells.items()}

    def seq(self, kind: str, number: int = 0) -> int:
        return [event.seq for event in self.view.events if event.kind == kind][number]


def small(*acts) -> Shown:
    """A run in which `acts` happen, a second each."""
    author = Author()
    author.world(PLACES)
    for act in acts:
        author.wait(1.0)
        act(author)
    return Shown(Run(trace=author.trace("small", title=""), verdicts=verdicts()))


def sending(author: Author, text: str = "hello") -> str:
    """A message that is on its way."""
    admitted, _ = author.say(OPS, ANA, "hi")
    intent = author.prepare(OPS, text, admitted, kind=IntentKind.REPLY, reason=REASON)
    author.attempt(OPS, intent)
    return intent
