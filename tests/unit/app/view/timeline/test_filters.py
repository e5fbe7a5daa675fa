"""The filter of the rows: what can be typed, and what it keeps."""

import pytest

from tests.support.app.bound_runs import bound_threads
from tests.support.app.traces import bound_completion
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import Look, TimelineLanes
from trunkline.app.view.timeline.filters import FilterMatcher, TimelineFilter, parse_filter
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.errors import UsageError


def made(run=None):
    view = RunView(run or bound_completion(bug=True))
    lanes = TimelineLanes(view)
    return view, FilterMatcher(view, lanes), Timeline(view, lanes).rows


def kept(text: str, run=None):
    _, matcher, rows = made(run)
    filter_ = parse_filter(text)
    assert filter_ is not None
    return matcher.rows(filter_, rows)


def test_blank_is_no_filter():
    assert parse_filter("") is None
    assert parse_filter("  ") is None
    assert parse_filter(" ! ") is None


@pytest.mark.parametrize(
    ("text", "fields", "inverse"),
    [
        ("k:wire", [("k", "wire")], False),
        ("kind:Wire  ship", [("k", "wire"), ("", "ship")], False),
        ("!v:dup", [("v", "dup")], True),
        ("! session:K", [("sess", "k")], True),
        ("12:30 ://", [("", "12:30"), ("", "://")], False),
    ],
)
def test_what_can_be_typed(text, fields, inverse):
    found = parse_filter(text)
    assert isinstance(found, TimelineFilter)
    assert [(term.field, term.value) for term in found.terms] == fields
    assert found.inverse is inverse


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("foo:bar", "no filter is called foo: there are k:, lane:, v:, sess:, id:"),
        ("k:", "k: needs something after the colon"),
        ("v:purple", "no verdict is called purple: there are bad, dup"),
    ],
)
def test_what_cannot_be_typed_is_reported(text, told):
    with pytest.raises(UsageError) as caught:
        parse_filter(text)
    assert told in (caught.value.facts or str(caught.value))


def test_a_kind_by_its_beginning_or_its_part():
    view, _, _ = made()
    for text in ("k:wire.accepted", "k:wire.acc", "k:accepted"):
        assert {view.event(row.seq).kind for row in kept(text)} == {"wire.accepted"}


def test_copies_and_their_inverse_are_the_whole():
    _, _, rows = made()
    copies = kept("v:dup")
    assert [row.look for row in copies] == [Look.FIRST, Look.COPY]
    others = kept("!v:dup")
    assert len(copies) + len(others) == len(rows)
    assert not set(copies) & set(others)


def test_every_condition_must_hold():
    assert len(kept("v:dup lane:#ops")) < len(kept("v:dup"))
    assert all("ship" in row.text for row in kept("k:peer ship"))


def test_lanes_by_label_by_place_and_by_id():
    assert kept("lane:deploy") == kept("lane:601")
    assert set(kept("lane:deploy")) <= set(kept("lane:discord"))


def test_sessions_by_what_the_event_belongs_to():
    found = kept("sess:subagent", bound_threads())
    assert found
    assert len(found) < len(made(bound_threads())[2])


def test_ids_and_evidence():
    view, _, _ = made()
    row = kept("v:bad")[0]
    intent = view.event(row.seq).intent
    assert intent is not None
    assert row in kept(f"id:{intent}")


def test_no_row_is_an_answer_too():
    assert kept("nobodysaysthis") == ()
