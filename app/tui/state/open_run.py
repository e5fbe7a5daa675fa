"""One run with everything that the screens show of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from trunkline.app import gc_policy
from trunkline.app.runs.model import Run
from trunkline.app.tui.state.lazy_views import LazyViews, Made
from trunkline.app.tui.state.playback import Playback
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import Verdicts
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.rows import QueueRows
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.app.view.wire_side.facts import question_rows
from trunkline.app.view.wire_side.places import WirePlaces
from trunkline.app.view.wire_side.questions import QuestionRows
from trunkline.app.view.wire_side.requests import RequestRows
from trunkline.app.view.wire_side.sent import WireSends


class OpenRun:
    """A run with its views, each computed once."""

    def __init__(self, run: Run, *, at_violation: bool = False) -> None:
        with gc_policy.paused(len(run.trace.events)):
            self.view = RunView(run)
            self.lanes = self.view.register(TimelineLanes(self.view))
            self.folded = self.view.register(Timeline(self.view, self.lanes))
            self.verdicts = self.view.register(Verdicts(self.view))
        self.lazy = LazyViews(self.view)
        self._sessions: Sessions | None = None
        #: sessions that are being rebuilt, and whether they were used since the last rebuild
        self._making: Sessions | None = None
        self._wanted = False
        self.playback = Playback(self.view, self.folded)
        if at_violation and self.view.marks.stops:
            self.playback.stop_at_violation(self.view.marks.stops[0])

    @cached_property
    def unfolded(self) -> Timeline:
        """The timeline with a row for every event, made on first use."""
        return self.lazy.make("unfolded", lambda: Timeline(self.view, self.lanes, unfolded=True), lambda _: self.folded)

    def make_like(self, other: OpenRun) -> None:
        """Make the views now that were made of another run."""
        for name in other.lazy.made:
            getattr(self, name)

    @property
    def sessions(self) -> Sessions:
        """The sessions and their alignments, made on first use; while the run grows, `settle` rebuilds them."""
        known = self._sessions
        resting = not self.view.growing or self.playback.held
        if known is None or (resting and self._stale(known)):
            kind = WirePlaces if self.view.wire_side else Sessions
            known = self.lazy.make("sessions", lambda: kind(self.view), kind)
            self._sessions, self._making = known, None
        self._wanted = True
        return known

    def _stale(self, sessions: Sessions) -> bool:
        """Whether the run has grown since they were made; those that could not be made are kept."""
        return sessions.last != self.view.last and not self.lazy.why("sessions")

    def settle(self, late: Callable[[], bool]) -> bool:
        """Rebuild views that cannot grow, until `late` is true. Returns whether one was replaced."""
        if self._sessions is None or not self._wanted or not self._stale(self._sessions):
            return False
        kind = WirePlaces if self.view.wire_side else Sessions
        self._making = self._making or kind(self.view, slowly=True)
        if not self._making.step(late):
            return False
        self._sessions, self._making, self._wanted = self._making, None, False
        return True

    @cached_property
    def questions(self) -> QuestionRows:
        """The questions of people, where only the wire of the gateway is known."""
        return self.lazy.make("questions", lambda: question_rows(self.view), question_rows)

    @cached_property
    def requests(self) -> RequestRows:
        """The requests of the gateway, where only its wire is known."""
        return self.lazy.make("requests", lambda: RequestRows(self.view, self.questions.sends), _no_requests)

    @cached_property
    def histories(self) -> MessageHistories:
        return self.lazy.make("histories", lambda: MessageHistories(self.view), MessageHistories)

    @cached_property
    def messages(self) -> MessageRows:
        return self._of_histories("messages", MessageRows)

    @cached_property
    def queue(self) -> QueueRows:
        return self._of_histories("queue", QueueRows)

    @cached_property
    def hands(self) -> HandRuns:
        return self._of_histories("hands", HandRuns)

    def _of_histories(self, name: str, make: Callable[[RunView, MessageHistories], Made]) -> Made:
        histories = self.histories
        view = self.lazy.nothing if self.lazy.why("histories") else self.view
        return self.lazy.make(name, lambda: make(view, histories), lambda none: make(none, MessageHistories(none)))


def _no_requests(nothing: RunView) -> RequestRows:
    return RequestRows(nothing, WireSends(nothing))
