"""``trunkline diff``: two traces compared as text."""

import pytest

TOUR = "scenarios/tour/told-twice.yaml"


@pytest.fixture
def traces(trunkline, tmp_path):
    sound, defective = tmp_path / "sound.jsonl", tmp_path / "defective.jsonl"
    trunkline("run", TOUR, "--trace", sound)
    trunkline("run", TOUR, "--bug", "own", "--trace", defective)
    return sound, defective


def test_differences_are_listed_and_equal_events_are_counted(trunkline, traces):
    code, out, err = trunkline("diff", *traces)
    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert lines[0].startswith("A ✓ ok  told-twice seed 1")
    assert lines[1].startswith("B ✗3 dup leak")
    assert lines[2].startswith("first divergence #")
    assert any(line.startswith("+") and "discord accepts “release 2.0 is out” in ops" in line for line in lines)
    assert any(line.startswith("!") and "broken nothing → D2" in line for line in lines)
    assert any(line.startswith("= ") and line.endswith("events the same") for line in lines)


def test_a_run_is_the_same_as_itself(trunkline, traces):
    code, out, _ = trunkline("diff", traces[0], traces[0])
    assert code == 0
    assert out.splitlines()[-1].startswith("no difference")


def test_a_file_that_is_not_a_trace_is_reported(trunkline, traces, tmp_path):
    code, _, err = trunkline("diff", traces[0], tmp_path / "nothing.jsonl")
    assert code == 2
    assert "nothing.jsonl" in err
