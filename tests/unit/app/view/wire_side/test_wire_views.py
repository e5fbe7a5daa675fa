"""What is shown of a gateway of which only the wire is known: questions, requests, places, and what nobody can know."""

import msgspec
import pytest

from tests.support.app.wire_runs import ALL, GROWING, KILLED, NEXT_DOOR, RESENT, wire_run
from trunkline.app.report.sections import report
from trunkline.app.report.summary import run_line
from trunkline.app.runs.model import Run
from trunkline.app.view.diff.compare import Diff, run_name
from trunkline.app.view.explain.explanation import explain, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import LaneKind, Look, TimelineLanes
from trunkline.app.view.sessions.alignment_index import TranscriptDifference
from trunkline.app.view.timeline.status_line import PlaybackMode, run_source
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.app.view.wire_side.facts import RequestRows, SentOnWire, question_rows
from trunkline.app.view.wire_side.places import WirePlaces
from trunkline.core.events import Body, Trace, TraceHeader
from trunkline.sim.events.attach import GatewayLaunched
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.wire import WireAccepted, WireCalled
from trunkline.sim.events.world import PeerSaid

UNKNOWN = "not known: only the wire of toy 1.0 was recorded"


def view_of(name: str) -> RunView:
    return RunView(wire_run(name))


def nth(view: RunView, body: type[Body], number: int = 0) -> int:
    return [event.seq for event in view.events if isinstance(event.body, body)][number]


def cells(view: RunView, index: int = 0, seq: int | None = None) -> dict[str, str]:
    line = question_rows(view).line(index, view.last if seq is None else seq)
    return {name: cell.text for name, cell in line.cells.items()}


def test_marks_lead_from_what_people_saw_to_their_question():
    view = view_of(RESENT)
    kinds = [view.event(seq).kind for seq in view.causes.path(nth(view, WireAccepted, 1))]
    assert kinds == ["peer.said", "model.asked", "model.answered", "wire.called", "wire.accepted"]


def test_an_answer_sent_twice_is_one_question_with_two_requests_and_two_copies():
    view = view_of(RESENT)
    row = cells(view)
    assert row["question"] == "“where are you?”"
    assert row["asked"].startswith("#")
    assert row["sent"].startswith("2× #")
    assert row["seen"].startswith("✓ 2× #")
    assert row["end"] == "✓ ANSWERED"
    assert row["broken"] == "X1"
    line = question_rows(view).line(0, view.last)
    assert line.tag == "2×"
    assert question_rows(view).wrong(view.last) == (0,)


def test_a_question_before_its_answer_is_open_and_shows_what_comes_as_later():
    view = view_of(RESENT)
    line = question_rows(view).line(0, nth(view, ModelAsked))
    assert line.cells["end"].text == "○ OPEN"
    assert line.cells["seen"].later
    assert not line.cells["asked"].later
    assert question_rows(view).wrong(nth(view, ModelAsked)) == ()
    assert question_rows(view).line(0, nth(view, PeerSaid) - 1).later


def test_an_answer_next_door_is_marked_where_it_appeared_and_missed_where_it_was_asked():
    view = view_of(NEXT_DOOR)
    assert cells(view)["seen"].startswith("!!")
    places = WirePlaces(view)
    found = {row.place: places.pairs(row.owner) for row in places.rows(view.last)}
    asked, other = found["telegram/ops/deploy"], found["telegram/ops"]
    assert [pair.difference for pair in asked] == [TranscriptDifference.NONE, TranscriptDifference.UNDELIVERED]
    assert asked[1].note == "seen in telegram/ops"
    assert [pair.note for pair in other] == ["answers a question of telegram/ops/deploy"]
    refused = [one.text for one in explain(view, nth(view, PeerSaid)).lines if one.label == "sent"]
    assert any("place-gone" in text for text in refused)


def test_an_answer_that_grows_is_one_message_until_it_is_posted_again():
    view = view_of(GROWING)
    places = WirePlaces(view)
    (row,) = places.rows(view.last)
    notes = [pair.note or pair.difference.value for pair in places.pairs(row.owner)]
    assert notes.count("while the answer grows") >= 2
    assert notes[-1] == "seen again"
    assert (row.heard, row.said) == (1, 2)
    before = nth(view, WireAccepted, 1) - 1
    assert cells(view, seq=before)["seen"].startswith("✓ #")


def test_a_request_that_nobody_took_has_a_row_and_a_notice_is_no_answer():
    view = view_of(KILLED)
    rows = RequestRows(view, question_rows(view).sends)
    lines = [rows.line(index, view.last) for index in range(len(rows))]
    states = [line.cells["state"].text if line.cells else line.mark.split("  ")[1] for line in lines]
    assert states[1] == "╳ NOT TAKEN"
    assert states[2].startswith("CRASH")
    assert "start 2" in states[3]
    assert cells(view, 1)["end"] == "– NOTIFIED"
    facts = [one.text for one in explain(view, nth(view, PeerSaid, 1)).lines if one.label == "notice"]
    assert len(facts) == 1
    timeline = Timeline(view, TimelineLanes(view))
    looks = [timeline.row(seq).look for seq in timeline.seqs if isinstance(view.event(seq).body, WireCalled)]
    assert looks == [Look.UNKNOWN]


def test_the_model_has_a_lane_and_requests_beside_a_turn_no_row():
    view = view_of(RESENT)
    lanes = TimelineLanes(view)
    assert [lane.kind for lane in lanes.all][-2:] == [LaneKind.GATEWAY, LaneKind.MODEL]
    timeline = Timeline(view, lanes)
    row = timeline.row(nth(view, ModelAsked))
    assert (row.start, row.end) == (lanes.gateway, lanes.model)
    back = timeline.row(nth(view, ModelAnswered))
    assert (back.start, back.end) == (lanes.model, lanes.gateway)


@pytest.mark.parametrize("name", ALL)
def test_every_event_of_a_run_is_explained(name: str):
    view = view_of(name)
    for seq in range(view.last + 1):
        assert explain(view, seq).lines


@pytest.mark.parametrize("name", ALL)
def test_a_run_that_grows_equals_the_whole_one(name: str):
    whole = view_of(name)
    run = wire_run(name)
    growing = RunView(Run(trace=Trace(header=run.trace.header, events=()), verdicts=()))
    lanes = growing.register(TimelineLanes(growing))
    timeline = growing.register(Timeline(growing, lanes))
    rows = question_rows(growing)
    for event in run.trace.events:
        growing.grow([event], ())
    growing.grow([], run.verdicts)
    assert [cells(growing, at) for at in range(len(rows))] == [cells(whole, at) for at in range(len(rows))]
    assert timeline.seqs == Timeline(whole, TimelineLanes(whole)).seqs
    sends = [row.seq for row in rows.sends.rows]
    assert sends == [row.seq for row in question_rows(whole).sends.rows]


def test_a_watched_run_has_its_header_after_the_view_was_made():
    run = wire_run(RESENT)
    watched = RunView(Run(trace=Trace(header=TraceHeader(scenario="live"), events=()), verdicts=()))
    timeline = watched.register(Timeline(watched, watched.register(TimelineLanes(watched))))
    watched.begin(run.trace.header)
    watched.grow(run.trace.events, run.verdicts)
    assert cells(watched) == cells(view_of(RESENT))
    whole = view_of(RESENT)
    assert timeline.seqs == Timeline(whole, TimelineLanes(whole)).seqs
    assert watched.causes.path(watched.last) == whole.causes.path(whole.last)


def test_only_what_the_wire_can_show_is_judged():
    view = view_of(RESENT)
    assert [verdict.id for verdict in view.verdicts] == [f"X{number}" for number in range(1, 11)]
    assert "of 10 invariants exercised" in run_line(wire_run(KILLED))


def test_a_diff_of_two_tries_names_both_and_leaves_out_how_a_gateway_starts():
    one, other = wire_run(RESENT), wire_run(RESENT)
    events = tuple(
        msgspec.structs.replace(event, body=msgspec.structs.replace(event.body, command=("elsewhere",)))
        if isinstance(event.body, GatewayLaunched)
        else event
        for event in other.trace.events
    )
    moved = Run(trace=Trace(header=other.trace.header, events=events), verdicts=other.verdicts)
    ours, theirs = RunView(one), RunView(moved)
    assert run_name(ours) == "lost-answer on toy 1.0  27 events"
    assert Diff(ours, theirs).different == ()


def test_a_request_loses_its_row_when_the_platform_takes_it():
    run = wire_run(RESENT)
    growing = RunView(Run(trace=Trace(header=run.trace.header, events=()), verdicts=()))
    timeline = Timeline(growing, growing.register(TimelineLanes(growing)))
    growing.register(timeline)
    called = next(event.seq for event in run.trace.events if isinstance(event.body, WireCalled) and event.body.address)
    growing.grow(run.trace.events[:called], ())
    assert called in timeline
    growing.grow(run.trace.events[called:], ())
    assert called not in timeline


@pytest.mark.parametrize("plain", [False, True])
def test_the_report_says_what_was_seen_and_what_is_not_known(plain: bool):
    text = "\n".join(report(wire_run(RESENT), plain=plain))
    for words in ("toy 1.0", UNKNOWN, "where are you?", "answer 1 to telegram/@ana", "request 2 with this text"):
        assert words in text
    for words in ("seed", "defects", "no bindings in this run", "transcript and what people saw"):
        assert words not in text


def test_a_command_repeats_it_and_the_status_names_the_gateway():
    run = wire_run(NEXT_DOOR)
    assert (
        reproduction(run.trace.header, run.trace.events)
        == "trunkline attach tests/attach/toy/topic-deleted.yaml --gateway toy"
    )
    assert "toy 1.0" in run_line(run)
    assert run_source(RunView(run), PlaybackMode.PAUSED) == "toy 1.0"


def test_a_request_without_an_outcome_is_on_its_way_until_the_run_or_the_gateway_ends():
    run = wire_run(KILLED)
    called = nth(RunView(run), WireCalled, -1)
    for growing, word in ((True, "on its way"), (False, "not taken")):
        view = RunView(Run(trace=Trace(header=run.trace.header, events=()), verdicts=()))
        view.growing = growing
        view.grow(run.trace.events[:called], ())
        rows = RequestRows(view, question_rows(view).sends)
        assert word.upper() in rows.line(len(rows) - 1, view.last).cells["state"].text
        timeline = Timeline(view, TimelineLanes(view))
        assert timeline.row(called).text.startswith(word)


def test_texts_from_the_wire_reach_no_terminal_raw():
    run = wire_run(KILLED)
    events = tuple(msgspec.structs.replace(event, body=_spoiled(event.body)) for event in run.trace.events)
    view = RunView(Run(trace=Trace(header=run.trace.header, events=events), verdicts=()))
    texts = [one.text for seq in range(view.last + 1) for one in explain(view, seq).lines]
    rows = RequestRows(view, question_rows(view).sends)
    texts += [cell.text + cell.more for at in range(len(rows)) for cell in rows.line(at, view.last).cells.values()]
    assert any("spoiled" in text for text in texts)
    assert not any("\x1b" in text for text in texts)


def _spoiled(body: Body) -> Body:
    if not isinstance(body, WireCalled | WireAccepted):
        return body
    return msgspec.structs.replace(body, text=f"{body.text}\x1b[31mspoiled")


def test_the_row_of_an_event_is_found():
    view = view_of(RESENT)
    rows = RequestRows(view, question_rows(view).sends)
    assert rows.place(view.event(nth(view, WireAccepted, 1))) == 1
    assert rows.place(view.event(nth(view, PeerSaid))) is None
    assert question_rows(view).place(view.event(nth(view, WireAccepted, 1))) == 0
    assert nth(view, WireAccepted) in question_rows(view).seqs(0)
    assert all(isinstance(row, SentOnWire) for row in rows.sends.rows)
