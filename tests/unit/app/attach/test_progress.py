"""What is said while tries are played."""

import subprocess

import pytest
from msgspec import structs

from tests.support.attach.cells import a_record, finished, idle, once, twice
from trunkline.app.attach.cells import Trouble
from trunkline.app.attach.results import breaches_of, cell_lines, command_of, nothing_exercised, summary_line
from trunkline.app.attach.runner import AttachProgress, last_kind, time_left
from trunkline.app.text.cells import clean


def test_the_time_left_goes_by_what_each_gateway_takes():
    quick, slow = a_record(), a_record(name="slow")
    quick.finished = [finished(once(), 1, 4.0)]
    slow.finished = [finished(once(), 1, 100.0)]
    records = [quick, slow, a_record(), a_record(name="slow")]
    assert time_left(records, [], tries=1, more=0, jobs=1) == pytest.approx(104.0)
    assert time_left(records, [], tries=1, more=0, jobs=2) == pytest.approx(52.0)
    assert time_left(records, [30.0], tries=1, more=0, jobs=1) == pytest.approx(74.0)
    assert time_left(records, [30.0, 900.0], tries=1, more=0, jobs=1) == pytest.approx(22.0)


def test_before_anything_has_ended_the_time_left_is_a_guess():
    assert time_left([a_record()], [], tries=2, more=0, jobs=1) == 120.0


def test_the_last_event_of_a_growing_trace(tmp_path):
    trace = tmp_path / "1.jsonl"
    assert last_kind(trace) == ""
    trace.write_bytes(b'{"trunkline_trace":1}\n{"seq":1,"kind":"model.asked"}\n{"seq":2,"kind":"wi')
    assert last_kind(trace) == "model.asked"
    trace.write_bytes(b"no json\n")
    assert last_kind(trace) == ""


def test_lines_without_a_terminal(capsys):
    record = a_record(twice())
    progress = AttachProgress([record], tries=1, more=5, jobs=1)
    with progress.shown():
        progress.finished(record, record.finished[0])
        progress.troubled(record, Trouble(problem="it ended\nlog:", log=("\x1b[31mred",)))
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("✗ toy/plain") and "try 1 of 5 · violated: X1 · 3s" in first
    assert rest == ["! toy/plain                                it ended", "    log:", "    ·[31mred"]


def test_the_results_of_a_cell_are_k_of_n():
    record = a_record(twice(), once(), idle(), twice())
    (breach,) = breaches_of(record.finished)
    assert (breach.times, breach.tries, breach.flaky, breach.text) == (2, 3, True, "X1 2 of 3 (flaky)")
    lines = list(cell_lines(record, [record]))
    assert lines[0] == "✗ toy 1.0 · plain                          X1 2 of 3 (flaky)"
    assert "m1 was answered twice" in lines[1]
    assert any("trunkline attach scenarios/attach/plain.yaml --gateway toy" in line for line in lines)
    assert "a finding should be claimed from 5 on" in lines[-1]


def test_a_try_whose_fault_did_not_strike_shows_nothing():
    missed = structs.replace(finished(once(), 2), missed=("crash: the event that it waits for did not happen",))
    record = a_record(twice())
    record.finished.append(missed)
    assert breaches_of(record.finished)[0].text == "X1 1 of 1"
    only = a_record()
    only.finished.append(missed)
    assert list(cell_lines(only, [only])) == [
        "– toy 1.0 · plain                          not exercised in 1 try",
        "    not happened: crash: the event that it waits for did not happen",
    ]


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (a_record(once(), once()), "✓ toy 1.0 · plain                          holds in 2 tries"),
        (a_record(idle()), "– toy 1.0 · plain                          not exercised in 1 try"),
        (a_record(cannot=("no threads",)), "– toy 1.0 · plain                          cannot be attached: no threads"),
        (a_record(troubles=[Trouble(problem="x")]), "! toy 1.0 · plain                          could not be run"),
        (a_record(), "· toy 1.0 · plain                          not tried"),
    ],
)
def test_a_line_for_each_outcome(record, line):
    assert list(cell_lines(record, [record])) == [line]


def test_a_scenario_of_which_nothing_was_shown_does_not_count_as_held():
    missed = structs.replace(finished(once()), missed=("crash: the event that it waits for did not happen",))
    only = a_record()
    only.finished.append(missed)
    assert summary_line([only], interrupted=False) == "1 scenario on a gateway, 1 try: 1 not exercised"
    assert summary_line([only, a_record(once())], interrupted=False).endswith("2 tries: 1 holds, 1 not exercised")
    assert nothing_exercised([only]) and not nothing_exercised([only, a_record(once())])
    assert not nothing_exercised([a_record(), a_record(cannot=("no threads",))])
    assert not nothing_exercised([only, a_record(twice())])


def test_the_command_that_repeats_a_cell_is_what_was_given():
    record = a_record(twice())
    gateway = structs.replace(record.cell.gateway, option=("--command", "x", "--notice", "⚠\ufe0f it's *"))
    record.cell = structs.replace(record.cell, gateway=gateway)
    line = command_of(record)
    assert clean(line) == line
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, env={}).stdout
    assert "⚠\ufe0f it's *" in words.decode().split("\0")


def test_the_last_line_counts():
    records = [a_record(once()), a_record(twice(), twice(), name="b"), a_record(name="c")]
    text = "3 scenarios on a gateway, 3 tries: 1 violated, 1 holds, 1 without a result"
    assert summary_line(records, interrupted=False) == text
    assert summary_line(records, interrupted=True) == f"interrupted. So far: {text}"
