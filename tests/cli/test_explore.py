"""``trunkline explore``: crashes everywhere, one run again, reports and exit codes."""

import json

import pytest

from trunkline.app.cli.run import explore
from trunkline.core.events import read_trace
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped

B043 = "scenarios/museum/B043-thread-reply-in-main.yaml"
B052 = "B052-shared-session-wrong-surface"
BLIND = "recovery-resends-blindly"
#: a few runs of everything
SOME = ("--every-step", "12", "--stops", "3", "--second", "3", "--jobs", "1")


def without_times(path):
    report = json.loads(path.read_text())
    return {name: value for name, value in report.items() if "second" not in name}


def test_crashes_everywhere_are_reported_with_counts(trunkline):
    code, out, err = trunkline("explore", B043, "--crash-everywhere", *SOME)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith("✓ B043-thread-reply-in-main")
    assert "all hold" in lines[1] and "kills at commits" in lines[2] and "drawn by seed and point" in lines[3]
    assert lines[4].startswith("same ") and "kill" in lines[4]
    assert "runs per CPU second" in lines[5]


@pytest.mark.slow
def test_more_workers_find_the_same(trunkline, tmp_path):
    options = ("explore", "B043", "B052", "--seeds", "2", *SOME[:-2])
    for jobs in ("1", "2"):
        assert trunkline(*options, "--jobs", jobs, "--json", tmp_path / jobs)[0] == 0
    one, two = (without_times(tmp_path / jobs) for jobs in ("1", "2"))
    assert one == two
    assert [(found["scenario"][:4], found["seed"]) for found in one["explored"]] == [
        ("B043", 1),
        ("B043", 2),
        ("B052", 1),
        ("B052", 2),
    ]
    assert one["holds"] and one["runs"] == sum(found["runs"] for found in one["explored"])
    assert {"kill commit", "kill step", "stop step"} <= one["fired"].keys()
    parked = [found["different"] for found in one["explored"] if found["different"] is not None]
    assert parked and all("not seen: " in found["first"] and "--at" in found["reproduce"] for found in parked)


def test_a_planted_defect_is_found_and_its_run_can_be_done_again(trunkline, tmp_path):
    found = ("explore", B052, "--bug", BLIND, "--every-step", "5", "--stops", "0", "--second", "0", "--jobs", "1")
    code, out, _ = trunkline(*found, "--json", tmp_path / "found.json")
    assert code == 1
    _, summary, repro = out[out.index("  ✗ D1 in ") :].splitlines()[:3]
    assert "was accepted 2 times" in summary
    command = repro.split("trunkline ", 1)[1].split()
    assert command[0] == "explore" and "--at" in command and BLIND in command
    again = [trunkline(*command, "--trace", tmp_path / name) for name in ("a", "b")]
    assert again[0] == again[1] and again[0][0] == 1
    assert "✗ D1 Once per intent" in again[0][1] and f"trunkline {' '.join(command)}" in again[0][1]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_trace(tmp_path / "a").header.crashes == (f"kill {command[command.index('--at') + 1]}",)
    shown = trunkline("replay", tmp_path / "a", "--plain")
    assert shown[0] == 1 and f"trunkline {' '.join(command)}" in shown[1]
    report = json.loads((tmp_path / "found.json").read_text())
    assert "D1" in [one["id"] for one in report["explored"][0]["violations"]]


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        (["--at", "commit:5"], [(ProcessCrashed, "crash at commit 5")]),
        (["--at", "step:40", "--stop"], [(ProcessStopped, "stop at step 40")]),
        (
            ["--at", "commit:5", "--then", "step:20"],
            [(ProcessCrashed, "crash at commit 5"), (ProcessCrashed, "crash at step 20 after the restart")],
        ),
        (
            ["--at", "commit:5", "--then", "commit:2", "--stop"],
            [(ProcessCrashed, "crash at commit 5"), (ProcessStopped, "stop at commit 2 after the restart")],
        ),
    ],
)
def test_one_run_again(trunkline, tmp_path, options, ends):
    code, out, _ = trunkline("explore", B043, *options, "--trace", tmp_path / "t")
    trace = read_trace(tmp_path / "t")
    bodies = [event.body for event in trace.events]
    assert code == 0 and out.startswith("✓ B043")
    assert [(type(body), body.why) for body in bodies if isinstance(body, ProcessCrashed | ProcessStopped)] == ends


@pytest.mark.slow
def test_visible_differences_of_a_run_are_reported(trunkline, tmp_path):
    trunkline("explore", "B001", "--every-step", "10", "--jobs", "1", "--json", tmp_path / "found.json")
    explored = json.loads((tmp_path / "found.json").read_text())["explored"][0]
    code, out, _ = trunkline(*explored["different"]["reproduce"].split()[1:])
    assert code == 0
    assert "· people see something else than without a crash" in out and "not seen: “" in out


def test_a_crash_that_does_not_happen_is_a_violation(trunkline):
    code, out, _ = trunkline("explore", B043, "--at", "step:100000")
    assert code == 1
    assert "✗ PLACED the kill at step:100000 did not happen" in out


def test_an_interrupted_exploration_reports_its_results_so_far(trunkline, monkeypatch, tmp_path):
    whole = explore.explore

    def interrupted(*arguments):
        for number, found in enumerate(whole(*arguments)):
            yield found
            if number == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(explore, "explore", interrupted)
    code, out, _ = trunkline("explore", B043, "--jobs", "1", "--json", tmp_path / "part.json")
    part = json.loads((tmp_path / "part.json").read_text())
    assert code == 130 and part["interrupted"] is True
    assert 0 < part["runs"] < part["explored"][0]["planned"]
    assert f"{part['runs']} of {part['explored'][0]['planned']} runs" in out.splitlines()[0]
    assert f"interrupted. So far: 1 exploration, {part['runs']} runs: all hold" in out


def test_the_exploration_is_described(trunkline):
    code, out, _ = trunkline("explore", "--help")
    assert code == 0
    for word in ("--crash-everywhere", "--every-step", "--stops", "--second", "--seeds", "--jobs", "--at", "--then"):
        assert word in out


WRONG = {
    "no such scenario": (["nowhere"], "nowhere does not exist"),
    "point that is none": ([B043, "--at", "event:3"], "'event:3' is no point of a run: expected commit:N or step:N"),
    "point zero": ([B043, "--at", "step:0"], "'step:0' is no point of a run"),
    "second point that is none": ([B043, "--at", "step:1", "--then", "x"], "'x' is no point of a run"),
    "one run of many": (["B043", "B044", "--at", "step:1"], "--at is for a single run"),
    "then without at": ([B043, "--then", "step:1"], "say where its first crash is with --at"),
    "stop without at": ([B043, "--stop"], "say where its first crash is with --at"),
    "trace of many": ([B043, "--trace", "t.jsonl"], "say where its first crash is with --at"),
    "both modes": ([B043, "--at", "step:1", "--crash-everywhere"], "exclude each other"),
    "report of one run": ([B043, "--at", "step:1", "--json", "r.json"], "--json is for an exploration"),
    "no workers": ([B043, "--jobs", "0"], "--jobs must be at least 1"),
    "no steps": ([B043, "--every-step", "0"], "--every-step must be at least 1"),
    "fewer than none": ([B043, "--second", "-1"], "--second must be at least 0"),
    "unknown bug": ([B043, "--bug", "recovery-resends"], "nearest valid word: 'recovery-resends-blindly'"),
    "report into nowhere": ([B043, "--json", "no/such/place.json"], "there is no folder no/such"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_reported_and_exits_with_2(trunkline, arguments, message):
    code, out, err = trunkline("explore", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trunkline: ") and message in err
