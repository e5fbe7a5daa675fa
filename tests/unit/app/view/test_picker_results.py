"""The view models of the front: what goes wrong in a scenario, what came of it, hints, lanes and two conversations."""

from pathlib import Path

import pytest

from tests.support.app.traces import bound_completion, foreign_mirror
from tests.support.for_each import for_each
from tests.support.scale import scaled
from trunkline.app.runs.model import ScenarioEntry
from trunkline.app.runs.scenario_source import SimSource, entry_of, fault_labels, load
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialogs import LEGEND
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.picker.scenario_results import NO_DEFECT, NOT_RUN, ScenarioResult, ScenarioResults, result_of
from trunkline.app.view.rows.lanes import lay_out
from trunkline.app.view.sessions.alignment_index import beside, pair_of
from trunkline.app.view.timeline.filters import choosable, hidden_lanes
from trunkline.app.view.timeline.status_line import card_hints, timeline_hints
from trunkline.sim.scenario import load_text

HEAD = """
scenario: 1
title: t
world:
  people: [ana]
  discord: {guild: acme, rooms: [ops]}
cast:
  agents:
    main:
      - do: [{reply: "yes"}]
script:
"""
ENTRY = ScenarioEntry(path=Path("a.yaml"), id="a", title="A", bugs=("some-bug",), breaks=("D2", "R1"))
PLAIN = ScenarioEntry(path=Path("b.yaml"), id="b", title="B")


# ---------------------------------------------------------------- what goes wrong


@for_each(
    ("step", "told"),
    [
        ("fault: {on: send, do: drop, in: ops, times: 2}", "a send never arrives, without a response, ops, 2 times"),
        ('fault: {on: send, do: slow, for: 3s, text: "a*"}', "a send is slow, only “a*”, for 3s"),
        ("fault: {on: thread, do: refuse, in: ops}", "opening a thread: refuse, ops"),
        ("fault: {on: store, do: error, nth: 2}", "the disk is full, from the 2. on"),
        ("crash: {restart_after: 4s}", "the gateway is killed, and is back after 4s"),
        ("crash: {when: {event: wire.accepted}}", "the gateway is killed, at wire.accepted, and is back after 1s"),
        ("restart: {down: 2s}", "the gateway is restarted, down for 2s"),
        ("freeze: {for: 9s}", "the gateway is frozen, for 9s"),
        ("second: true", "a second gateway process starts on the same store"),
        ("rotate: {platform: discord}", "discord gets a new token"),
        ("replay: {}", "the platform delivers old messages again"),
    ],
)
def test_faults_of_a_scenario_are_described_in_words(step, told):
    file = load_text(f"{HEAD}  - {{at: 0s, as: ana, in: ops, say: hi}}\n  - {{at: 2.5s, {step}}}\n")
    assert fault_labels(file) == (f"2.5s  {told}",)


def test_where_people_only_talk_nothing_goes_wrong():
    assert fault_labels(load_text(f"{HEAD}  - {{at: 0s, as: ana, in: ops, say: hi}}\n")) == ()


def test_every_shipped_scenario_describes_its_faults():
    folders = scaled(("scenarios",), ("scenarios/tour", "scenarios/faults"))
    entries = SimSource(tuple(map(Path, folders))).scenarios()
    told = {entry.id: entry.troubles for entry in entries}
    assert told["crash-while-taking"] == ("1s  the gateway is killed, at inbound.received, and is back after 3s",)
    assert told["told-twice"] == ()
    entry = entry_of(load(Path("scenarios/tour/told-twice.yaml")))
    assert entry.breaks == ("D2", "R1", "C3")
    assert not entry.unread


# ---------------------------------------------------------------- what came of it


def test_scenarios_that_did_not_run_are_marked():
    results = ScenarioResults()
    assert results.sound(ENTRY) is NOT_RUN
    assert results.defect(ENTRY) is NOT_RUN
    assert results.defect(PLAIN) is NO_DEFECT
    assert results.latest(ENTRY) is None
    assert results.summary([ENTRY, PLAIN]) == ""
    assert not results.many


@pytest.mark.parametrize(
    ("result", "cell", "tone"),
    [
        (ScenarioResult(seed=1, events=9), "✓", Tone.GOOD),
        (ScenarioResult(seed=1, broken=("D2",)), "✗ D2", Tone.BAD),
        (ScenarioResult(seed=1, unmet=2), "✗ 2 unmet", Tone.BAD),
        (ScenarioResult(seed=1, unmet=2, idle=True), "✗ idle", Tone.BAD),
        (ScenarioResult(seed=1, failed="no person"), "! failed", Tone.BAD),
    ],
)
def test_a_result_without_the_defect(result, cell, tone):
    results = ScenarioResults()
    results.note(PLAIN, result, defect=False)
    told = results.sound(PLAIN)
    assert (told.cell, told.tone) == (cell, tone)
    assert results.latest(PLAIN) == told


@pytest.mark.parametrize(
    ("broken", "words", "tone"),
    [
        (("D2", "R1"), "as it should with the defect", Tone.PLAIN),
        (("D2",), "but not R1 as expected", Tone.WARN),
        ((), "nothing catches the defect", Tone.WARN),
    ],
)
def test_a_defect_must_be_caught_by_what_it_breaks(broken, words, tone):
    results = ScenarioResults()
    results.note(ENTRY, ScenarioResult(seed=1, broken=broken), defect=True)
    told = results.defect(ENTRY)
    assert words in told.words
    assert told.tone is tone


def test_the_sum_of_all_results():
    results = ScenarioResults()
    results.note(ENTRY, ScenarioResult(seed=1), defect=False)
    results.note(ENTRY, ScenarioResult(seed=1, broken=("D2",)), defect=True)
    results.note(PLAIN, ScenarioResult(seed=1, broken=("L1",)), defect=False)
    assert results.summary([ENTRY, PLAIN]) == "1 of 2 hold, 0 of 1 defect caught"


def test_the_result_of_a_run():
    result = result_of(bound_completion(bug=True, seed=7))
    assert result.broken == ("D2", "R1")
    assert (result.seed, result.events, result.unmet, result.idle) == (7, 84, 1, False)


# ---------------------------------------------------------------- hints


def test_hints_fit_the_situation_and_leave_out_known_keys():
    broken = {"broken": True, "twin": True, "defect": True}
    assert timeline_hints((), **broken) == "broken here: e explains  t twin  c chain  d without the defect"
    assert timeline_hints({"why"}, broken=True) == "broken here: c chain"
    assert timeline_hints({"why", "twin", "chain", "bug"}, **broken) == ""
    assert timeline_hints((), start=True) == "t=0, nothing has happened yet: ] steps  Space plays"
    assert timeline_hints((), rewound=True) == "rewound, later rows are dim: $ goes to the end"
    assert timeline_hints(()) == ""


def test_the_overview_shows_the_title_when_no_hint_is_left():
    assert card_hints("the queue", "A story", ()) == "Enter: the queue   Tab: the next card"
    assert card_hints("the queue", "A story", {"overview:enter"}) == "Tab: the next card"
    assert card_hints("the queue", "A story", {"enter"}).startswith("Enter"), "Enter elsewhere is another thing"
    assert card_hints("the queue", "A story", {"overview:enter", "app.focus_next"}) == "A story"


# ---------------------------------------------------------------- lanes


def test_lanes_are_hidden_by_their_names():
    opened = OpenRun(bound_completion(bug=True, seed=7))
    every = choosable(opened.lanes, opened.folded.rows, {"discord/#ops"})
    assert [(one.name, one.rows, one.hidden) for one in every][:2] == [
        ("discord/#ops", 4, True),
        ("discord/#ops/deploy", 3, False),
    ]
    assert every[-1].name == "hand codex"
    hidden = hidden_lanes(opened.lanes, {"discord/#ops", "hand codex", "no such lane"})
    assert {opened.lanes.all[index].path for index in hidden} == {"discord/#ops", "hand codex"}
    layout = lay_out(opened.lanes, 118, hidden=hidden)
    assert layout.hidden == 2
    assert not hidden & {column.index for column in layout.columns}
    assert hidden_lanes(opened.lanes, ()) == frozenset()


def test_the_gateway_can_not_be_hidden():
    opened = OpenRun(bound_completion(bug=True, seed=7))
    assert "GATEWAY" not in {one.name for one in choosable(opened.lanes, (), ())}
    assert hidden_lanes(opened.lanes, {"GATEWAY"}) == frozenset()


# ---------------------------------------------------------------- two conversations


def test_both_copies_of_a_duplicate_are_side_by_side():
    view = OpenRun(bound_completion(bug=True, seed=7)).view
    places = pair_of(view, 57)
    assert [view.places.short(view.places.at(place)) for place in places] == ["#ops", "#ops/deploy"]
    shown = beside(view, places)
    assert [(one.tag, one.side, one.wrong) for one in shown if one.tag] == [("1×", 1, False), ("2×", 0, True)]
    assert [one.seen.seq for one in shown] == sorted(one.seen.seq for one in shown)


def test_without_a_copy_the_two_latest_conversations_are_side_by_side():
    view = OpenRun(bound_completion(bug=False, seed=7)).view
    assert len(pair_of(view, view.last)) == 2
    assert len(pair_of(view, 0)) == 2, "before anything happened: those that will speak first"


def test_a_run_with_one_conversation_has_one_column():
    view = OpenRun(foreign_mirror()).view
    places = pair_of(view, view.last)
    assert len(places) == 1
    assert {one.side for one in beside(view, places)} == {0}


def test_every_sign_is_explained_once():
    told = [word for sign in LEGEND for word in sign.split()]
    assert len(told) == len(set(told))
    assert all(LEGEND.values())
