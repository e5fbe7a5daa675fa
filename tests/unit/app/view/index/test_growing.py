"""The growing list: row by row, in whatever order, it is the list that is made at once; and it says what changed."""

from collections import Counter
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.app.traces import foreign_mirror
from trunkline.app.runs.model import Run
from trunkline.app.view.index.growing import FRAME_EVERY, EventHistory, GrowingRows, Tally
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Event, Trace
from trunkline.core.events.delivery import MirrorAppended
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Violation

Row = tuple[int, str]
ROWS = st.tuples(st.integers(1, 9), st.text("ab", max_size=2))
#: pieces of rows; each is added, or removed where it is listed already
PIECES = st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=8)


def listed(rows: list[Row] | None = None) -> GrowingRows[Row]:
    listed: GrowingRows[Row] = GrowingRows(itemgetter(0))
    listed.add(*rows or [])
    return listed


def grown(pieces: list[list[Row]]) -> tuple[GrowingRows[Row], list[Row]]:
    """The list after all pieces, and the rows that it must have, in the order in which they came."""
    growing, kept = listed(), list[Row]()
    for piece in pieces:
        if piece[0] in kept:
            growing.remove(piece[0])
            kept.remove(piece[0])
        else:
            growing.add(*piece)
            kept += piece
    return growing, kept


@given(PIECES)
def test_pieces_of_any_size_in_any_order_make_the_list_that_is_made_at_once(pieces: list[list[Row]]):
    growing, kept = grown(pieces)
    assert growing == sorted(kept, key=itemgetter(0)) == listed(kept)
    assert list(growing) == growing[:] and len(growing) == len(kept)


@given(PIECES)
def test_the_version_changes_exactly_when_earlier_rows_do(pieces: list[list[Row]]):
    growing, kept = listed(), list[Row]()
    for piece in pieces:
        before, version, removed = growing[:], growing.version, piece[0] in kept
        if removed:
            growing.remove(piece[0])
            kept.remove(piece[0])
        else:
            growing.add(*piece)
            kept += piece
        appended = not removed and (not before or min(piece)[0] >= before[-1][0])
        assert (growing.version == version) is appended
        assert not appended or growing[: len(before)] == before


@given(PIECES, st.sets(st.integers(0, 7)))
def test_rows_before_the_change_are_as_they_were_when_it_was_last_asked_for(pieces: list[list[Row]], asked: set[int]):
    growing, kept, before, lowest = listed(), list[Row](), list[Row](), 0
    for number, piece in enumerate(pieces):
        if piece[0] in kept:
            lowest = min(lowest, growing[:].index(piece[0]))
            growing.remove(piece[0])
            kept.remove(piece[0])
        else:
            lowest = min(lowest, growing.upto(min(piece)[0]))
            growing.add(*piece)
            kept += piece
        if number in asked:
            change = growing.take_change()
            assert growing[:change] == before[:change]
            assert change == lowest
            before, lowest = growing[:], len(growing)


@given(PIECES, st.integers(0, 10))
def test_what_is_known_of_an_event(pieces: list[list[Row]], seq: int):
    growing, kept = grown(pieces)
    ordered = sorted(kept, key=itemgetter(0))
    upto = [row for row in ordered if row[0] <= seq]
    assert growing.upto(seq) == len(upto)
    assert growing.last(seq) == (upto[-1] if upto else None)
    places = [at for at, row in enumerate(ordered) if row[0] == seq]
    assert growing.place(seq) == (places[0] if places else None)
    assert all(row in growing for row in kept) and (seq, "no such row") not in growing


@given(st.lists(st.integers(1, 50), unique=True))
def test_a_row_may_be_the_event_itself(seqs: list[int]):
    growing = GrowingRows[int]()
    growing.add(*seqs)
    assert growing == sorted(seqs)
    assert all(seq in growing for seq in seqs) and 51 not in growing


def test_what_is_not_listed_cannot_be_removed():
    growing = listed([(1, "a")])
    with pytest.raises(ValueError, match="not listed"):
        growing.remove((1, "b"))
    assert growing.version == 0


@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from("xyz"), st.sampled_from((1, -1))), max_size=40),
    st.lists(st.integers(0, 41), max_size=40),
    st.sets(st.integers(0, 39)),
)
def test_numbers_after_any_event_are_those_counted_at_once(
    counts: list[tuple[int, str, int]], asked: list[int], removed: set[int]
):
    tally, kept = Tally(), list[tuple[int, tuple[str, int]]]()
    for number, (seq, name, by) in enumerate(counts):
        tally.add((seq, (name, by)))
        kept.append((seq, (name, by)))
        if number in removed:
            gone = kept.pop(len(kept) // 2)
            tally.remove(gone)
        for moment in asked[number : number + 1]:
            whole = Counter[str]()
            for at, (what, much) in kept:
                whole[what] += much if at <= moment else 0
            assert {name: tally.at(moment).get(name, 0) for name in "xyz"} == {name: whole[name] for name in "xyz"}


def test_a_late_change_reaches_the_frames_after_it_and_leaves_those_before():
    tally, last = Tally(), FRAME_EVERY * 4
    tally.add(*((seq, ("x", 1)) for seq in range(1, last + 1)))
    assert tally.at(last) == {"x": last}
    early = tally.at(FRAME_EVERY // 2)
    tally.add((FRAME_EVERY * 2, ("x", 100)))
    assert tally.at(last) == {"x": last + 100}
    assert tally.at(FRAME_EVERY * 2 - 1) == {"x": FRAME_EVERY * 2 - 1}
    assert early == {"x": FRAME_EVERY // 2}


class Taken(GrowingView):
    """Remembers what it was shown."""

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self.said: list[int] = []
        self.judged: list[tuple[int, int]] = []
        self.settled = 0
        self.grow()

    @on(PeerSaid, MirrorAppended)
    def _seen(self, event: Event, _body: PeerSaid | MirrorAppended) -> None:
        self.said.append(event.seq)

    def judge(self, violation: Violation, event: Event) -> None:
        self.judged.append((violation.at, event.seq))

    def settle(self) -> None:
        self.settled += 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 60))
def test_a_view_takes_each_event_and_each_violation_once(sizes: list[int], since: int):
    run = foreign_mirror()
    events = run.trace.events
    whole = Taken(RunView(run))
    assert whole.said and whole.judged and whole.settled == 1
    since = min(since, len(events) - 1)
    view = RunView(Run(trace=Trace(header=run.trace.header, events=events[:since]), verdicts=()))
    late = view.register(Taken(view))
    while view.last < len(events):
        piece = events[view.last : view.last + sizes[view.last % len(sizes)]]
        view.grow(piece, run.verdicts if view.last + len(piece) == len(events) else ())
    assert (late.said, late.judged) == (whole.said, whole.judged)


class SaidHistory(EventHistory):
    """A history of what was said, and of how it was mirrored."""

    def __init__(self) -> None:
        self.said: list[Event] = []
        self.mirrored: list[Event] = []

    def on_said(self, event: Event, _body: PeerSaid) -> None:
        self.said.append(event)

    @on(MirrorAppended)
    def _mirrored(self, event: Event, _body: MirrorAppended) -> None:
        self.mirrored.append(event)


def test_a_history_takes_the_events_that_its_methods_name():
    history, events = SaidHistory(), foreign_mirror().trace.events
    for event in events:
        history.learn(event)
    assert history.said == [event for event in events if isinstance(event.body, PeerSaid)]
    assert history.mirrored == [event for event in events if isinstance(event.body, MirrorAppended)]
    assert history.said and history.mirrored
