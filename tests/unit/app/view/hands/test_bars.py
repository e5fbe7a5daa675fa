"""Bars over time: what each cell means, at any width."""

import pytest

from tests.support.app.hand_runs import side_by_side
from trunkline.app.text.cells import ASCII
from trunkline.app.view.hands.cells import CHARS, SpanPart, run_bar, span_of
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView


def bars(view, hands, width: int, now: float = 1e9) -> dict[str, str]:
    span = span_of(view, hands)
    return {
        run.name: "".join(cell.char for cell in run_bar(view, hands, run, span, now, width)) for run in hands.histories
    }


def test_a_bar_has_all_parts_in_their_order(view, hands):
    found = bars(view, hands, 120)["h1"]
    order = [found.index(char) for char in "┄━●~▸✓"]
    assert order == sorted(order)


def test_bars_begin_and_end_with_the_span(view, hands):
    start, end = span_of(view, hands)
    assert start == view.event(hands.histories[0].accepted.seq).at
    assert end == max(view.event(run.last).at for run in hands.histories)
    assert bars(view, hands, 60)["h3"].rstrip().endswith("━")


def test_the_ends_differ(view, hands):
    found = {name: bar.rstrip()[-1] for name, bar in bars(view, hands, 100).items()}
    assert found == {"h1": "✓", "h2": "✓", "h3": "━", "h4": "–", "h5": "✗", "h6": "?", "h7": "–", "h8": "–"}


@pytest.mark.parametrize("width", [1, 2, 5, 40, 80, 200])
def test_a_bar_has_the_width_that_there_is(view, hands, width):
    span = span_of(view, hands)
    for now in (0.0, 3.0, 100.0):
        for run in hands.histories:
            assert len(run_bar(view, hands, run, span, now, width)) == width


def test_what_lies_after_the_cursor_is_marked(view, hands):
    span = span_of(view, hands)
    run = hands.history(hands[1])
    assert run is not None
    cells = run_bar(view, hands, run, span, 5.0, 100)
    later = [cell.later for cell in cells if cell.part is not SpanPart.NONE]
    assert later == sorted(later)
    assert not later[0]
    assert later[-1]


def test_no_two_parts_are_the_same_without_unicode():
    plain = [char.translate(ASCII) for char in CHARS.values()]
    assert all(char.isascii() for char in plain)
    assert len(set(plain)) == len(plain)


def test_no_delegation_no_span():
    view = RunView(side_by_side(0))
    assert span_of(view, HandRuns(view, MessageHistories(view))) == (0.0, 0.0)
