"""The record and the life bar of a binding."""

import pytest

from tests.support.app.author import AUDIT, BO, DM, RELEASE
from tests.support.app.binding_views import seq_of, small
from tests.support.app.bound_runs import CHILD, HOOK, NIGHT, bind, end, heard, touch
from trunkline.app.view.bindings.lifetime_bar import BarCell, BarPart, column, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.index.bindings import BindingHistory, Standing
from trunkline.app.view.index.run_index import RunView
from trunkline.core.reasons import Reason
from trunkline.core.states.binding import BindingStatus


def standings(view: RunView, seq: int) -> dict[str, str]:
    return {row.id: view.bindings.standing(row, seq).value for row in view.bindings.rows(seq)}


# ---------------------------------------------------------------- records


def test_one_row_alone_is_that_of_all_rows(view):
    for seq in range(0, view.last + 1, 7):
        assert [view.bindings.nth(index, seq) for index in range(len(view.bindings))] == view.bindings.rows(seq)


def test_what_a_binding_is_worth_at_any_moment(view):
    first = seq_of(view, "binding.bound")
    assert standings(view, first - 1) == dict.fromkeys(("b1", "b2", "b3", "b4", "b5"), "later")
    assert standings(view, first)["b1"] == "active"
    assert standings(view, seq_of(view, "binding.ending"))["b2"] == "ending"
    assert standings(view, view.last) == {"b1": "ended", "b2": "ended", "b3": "expired", "b4": "ended", "b5": "active"}


def test_a_deadline_that_passed_ends_nothing_and_routes_nothing(view):
    row = view.bindings.row("b3", view.last)
    assert row is not None
    assert row.status is BindingStatus.ACTIVE
    assert view.bindings.standing(row, view.last) is Standing.EXPIRED
    assert DM.lane not in view.bindings.bound(view.last)


def test_the_fields_of_a_record_are_those_of_the_trace(view):
    row = view.bindings.row("b1", view.last)
    assert row is not None
    assert (row.conversation, row.session_key, row.target_kind) == (RELEASE, CHILD, "subagent")
    assert (row.placement, row.by, row.label) == ("child", "spawn", "codex")
    assert (row.identity, row.degraded, row.as_bot) == (HOOK, Reason.IDENTITY_GONE, 1)
    assert (row.touches, row.active_at) == (3, 6.36)
    assert (row.bound_at, row.ended_at, row.reason) == (0.52, 7.36, Reason.THREAD_GONE)


def test_a_touch_moves_the_deadline_and_is_counted_at_the_cursor(view):
    before, after = (seq_of(view, "binding.touched") - 1, seq_of(view, "binding.touched", 1))
    rows = [view.bindings.row("b1", seq) for seq in (before, after)]
    assert [row.touches for row in rows if row] == [0, 2]
    assert [row.expires_at for row in rows if row] == pytest.approx([4.52, 6.44])


def test_a_binding_that_an_earlier_run_made_is_known_from_its_end():
    view = small(lambda author: end(author, "b9", AUDIT, NIGHT, Reason.UNBOUND, by="operator"))
    row = view.bindings.row("b9", view.last)
    assert row is not None
    assert (row.status, row.session_key, row.ended_by) == (BindingStatus.ENDED, NIGHT, "operator")


def test_events_without_a_known_binding_change_nothing():
    view = small(lambda author: touch(author, "b9"))
    assert (len(view.bindings), view.bindings.rows(view.last), view.bindings.row("b9", 3)) == (0, [], None)
    assert (len(BindingHistory(())), BindingHistory(()).span) == (0, (0.0, 0.0))


def test_an_event_leads_to_its_binding(view):
    def concerned(kind: str, number: int = 0) -> str | None:
        return view.bindings.concerned(view.event(seq_of(view, kind, number)))

    assert concerned("binding.touched") == "b1"
    assert concerned("router.decided") == "b1"
    assert concerned("wire.accepted") == "b1", "by the conversation"
    assert concerned("process.started") is None
    assert concerned("binding.bound", 4) == "b5"


# ---------------------------------------------------------------- life bars


def drawn(view: RunView, binding: str, width: int, seq: int | None = None) -> list[BarCell[BarPart]]:
    row = view.bindings.row(binding, view.last)
    assert row is not None
    now = view.time(view.last if seq is None else seq)
    return life_bar(row, view.bindings.points(binding), view.bindings.span, now, width)


def shape(cells: list[BarCell[BarPart]]) -> str:
    return "".join(cell.char for cell in cells).rstrip()


def test_life_bars_have_the_shape_of_a_life(view):
    assert shape(drawn(view, "b1", 40)) == "├───────●─●──────────────────●────┤"
    assert shape(drawn(view, "b2", 40)) == "  ├──────────╌╌╌╌┤"
    assert shape(drawn(view, "b3", 40)) == "  ├─────────┊"
    assert shape(drawn(view, "b4", 40)) == " " * 22 + "├─┤"
    assert shape(drawn(view, "b5", 40)) == " " * 24 + "├──────────────▸"


@pytest.mark.parametrize("width", [1, 2, 5, 24, 300])
def test_a_life_bar_fits_any_width(view, width):
    for binding in ("b1", "b2", "b3", "b4", "b5"):
        assert len(drawn(view, binding, width)) == width


def test_what_lies_after_the_cursor_is_there_and_marked(view):
    at = seq_of(view, "binding.touched", 1)
    cells = drawn(view, "b1", 40, at)
    assert shape(cells) == shape(drawn(view, "b1", 40))
    here = column(view.time(at), view.bindings.span, 40)
    assert [cell.later for cell in cells[: here + 1]] == [False] * (here + 1)
    assert all(cell.later for cell in cells[here + 1 :] if cell.part is not BarPart.NONE)


def test_a_use_after_the_end_is_wrong():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: end(author, "b1", AUDIT, NIGHT, Reason.UNBOUND),
        lambda author: heard(author, AUDIT, BO, "still there?", NIGHT, "b1"),
        lambda author: touch(author, "b1"),
        lambda author: author.rest(),
    )
    assert [point.wrong for point in view.bindings.points("b1")].count(True) == 2
    assert "┤" in shape(drawn(view, "b1", 40))
    assert shape(drawn(view, "b1", 40)).count("✗") == 2
    first, second = view.bindings.misused("b1", view.last)
    assert view.bindings.misused("b1", second.seq - 1) == [first]
    (row,) = view.bindings.rows(view.last)
    told = [fact for fact in record_facts(view, row, view.last) if fact.label == "broken"]
    assert [fact.seq for fact in told] == [first.seq, second.seq]
    assert all(fact.text.startswith("✗ used at ") for fact in told)


def test_a_route_by_an_expired_binding_is_wrong_and_one_in_time_is_not():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT, idle=1.5),
        lambda author: heard(author, AUDIT, BO, "in time", NIGHT, "b1"),
        lambda author: heard(author, AUDIT, BO, "too late", NIGHT, "b1"),
    )
    wrong = [point.seq for point in view.bindings.points("b1") if point.wrong]
    assert wrong == [seq_of(view, "route.decided", 1)]


def test_a_moment_that_is_the_whole_run_has_a_bar():
    view = small(lambda author: bind(author, "b1", AUDIT, NIGHT))
    assert view.bindings.span == (1.0, 1.0)
    assert len(drawn(view, "b1", 10)) == 10
