"""The command line, as its users meet it: exit codes, reports, files, and errors that name the place."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.support.paths import ROOT
from tests.support.scenario.own_defects import OWN_BUGS
from trunkline.core.events import read_trace
from trunkline.sim import BUGS, find_scenarios, load_scenario
from trunkline.sim.events.world import WorldPerson

TOUR = "scenarios/tour/told-twice.yaml"
B001 = "scenarios/museum/B001-announced-twice.yaml"
#: some of the museum, which all other tests play whole
MUSEUM = [path for path in find_scenarios((ROOT / "scenarios" / "museum",)) if path.stem.startswith("B01")]
OF_MUSEUM = ("scenarios/museum", "-k", "B01")
FIXTURES = ROOT / "tests" / "fixtures" / "scenarios_bad"


def test_a_line_a_scenario_and_a_summary(trunkline):
    code, out, err = trunkline("run", *OF_MUSEUM)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert len(lines) == len(MUSEUM) + 1 and all(line.startswith("✓ B01") for line in lines[:-1])
    assert lines[-1] == f"{len(MUSEUM)} runs: all hold"


def test_without_a_path_it_runs_what_comes_with_trunkline(trunkline):
    _, out, _ = trunkline("run", "-k", "tour")
    assert out.splitlines()[-1] == "1 run: all hold"


def test_a_violation_is_explained_and_can_be_run_again(trunkline):
    code, out, _ = trunkline("run", B001, "--bug", "announce-busy-twice")
    assert code == 1
    assert "✗ D2 One announcement per hand run" in out
    for word in ("culprit", "sound run", "expected", "actual", "path", "← culprit"):
        assert word in out
    repro = next(line for line in out.splitlines() if line.strip().startswith("repro"))
    command = repro.split("trunkline ", 1)[1].split()
    assert trunkline(*command)[1] == out


@pytest.mark.slow(every=10)
@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_switch_breaks_what_declares_it(trunkline, bug):
    declared = [path for path, own in OWN_BUGS if own == bug]
    code, out, _ = trunkline("run", *declared, "--bug", bug)
    assert code == 1
    assert all(invariant in out for invariant in BUGS[bug].caught_by)


def test_a_report_id_stands_for_its_bug_switch(trunkline):
    code, out, _ = trunkline("run", B001, "--bug", "b001")
    assert code == 1 and "bug announce-busy-twice" in out


def test_own_runs_each_scenario_with_each_defect_it_declares(trunkline):
    code, out, _ = trunkline("run", *OF_MUSEUM, "--bug", "own")
    assert code == 0
    declared = sum(len(load_scenario(path).scenario.bugs) for path in MUSEUM)
    assert out.splitlines()[-1] == f"{declared} runs with a declared defect: all show what is declared"


@pytest.mark.parametrize(
    ("bugs", "breaks", "code", "says"),
    [
        ("hand-announces-too", "D2, R1, C3", 0, "✓ twice                              seed 1 · shows D2 R1 C3 · "),
        ("hand-announces-too", "", 0, "shows D2 R1 C3"),
        ("hand-announces-too", "D2, C3", 1, "R1 broken, and not declared"),
        ("hand-announces-too", "D2, R1, C3, D7", 1, "D7 declared, and not broken"),
        ("links-ignored", "S3", 1, "✗ twice                              seed 1 · shows no broken invariant"),
        ("links-ignored", "", 1, "nothing is broken"),
        ("hand-announces-too, links-ignored", "D2, R1, C3", 1, "nothing that is declared is broken"),
    ],
)
def test_own_holds_for_what_shows_exactly_what_it_declares(bugs, breaks, code, says, trunkline, tmp_path):
    lines = (ROOT / TOUR).read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("bugs:", "breaks:"))]
    path, junit, found = tmp_path / "twice.yaml", tmp_path / "found.xml", tmp_path / "found.json"
    path.write_text("\n".join([*kept, f"bugs: [{bugs}]", f"breaks: [{breaks}]"]) + "\n")
    done, out, _ = trunkline("run", path, "--bug", "own", "--junit", junit, "--json", found)
    assert (done, says in out) == (code, True), out
    suite = ElementTree.parse(junit).getroot()
    assert suite.get("failures") == str(code)
    report = json.loads(found.read_text())
    assert (report["as_declared"], report["runs"][-1]["as_declared"]) == (code == 0, code == 0)
    # For a folder too: one that shows it hides no other.
    assert trunkline("run", path, B001, "--bug", "own")[0] == code


def test_seeds_count_up(trunkline):
    _, out, _ = trunkline("run", TOUR, "--seed", "5", "--seeds", "3")
    assert [line.split("seed ")[1].split()[0] for line in out.splitlines()[:3]] == ["5", "6", "7"]


def test_a_trace_is_written_and_replayed(trunkline, tmp_path):
    path = tmp_path / "run.jsonl"
    _, ran, _ = trunkline("run", TOUR, "--bug", "hand-announces-too", "--trace", path)
    trace = read_trace(path)
    assert trace.header.bugs == ("hand-announces-too",)
    code, replayed, _ = trunkline("replay", path, "--plain")
    assert code == 1
    # A recording has no sound twin, so no culprit: its paths mark what the rules of the invariants blame.
    block = [line.partition("   ← ")[0] for line in ran.split("  ✗ expectation missed")[0].splitlines()[3:]]
    assert [line.partition("   ← ")[0] for line in replayed.splitlines()[1 : 1 + len(block)]] == block


def test_two_runs_write_the_same_bytes(trunkline, tmp_path):
    for name in ("a", "b"):
        trunkline("run", TOUR, "--trace", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_trace_on_standard_output_is_the_same_and_the_report_goes_to_standard_error(trunkline, tmp_path):
    code, plain, _ = trunkline("run", TOUR, "--bug", "hand-announces-too", "--trace", tmp_path / "t")
    piped, out, told = trunkline("run", TOUR, "--bug", "hand-announces-too", "--trace", "-")
    assert (code, piped) == (1, 1)
    assert out.encode() == (tmp_path / "t").read_bytes()
    assert [line for line in told.splitlines() if "CPU" not in line and " s" not in line] == [
        line for line in plain.splitlines() if "CPU" not in line and " s" not in line
    ]


def test_machine_reports(trunkline, tmp_path):
    code, _, _ = trunkline(
        "run", *OF_MUSEUM, "--bug", "B011", "--junit", tmp_path / "j.xml", "--json", tmp_path / "j.json"
    )
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    report = json.loads((tmp_path / "j.json").read_text())
    assert code == 1
    assert (suite.get("tests"), suite.get("failures")) == (str(len(MUSEUM)), "1")
    assert "D2" in (suite.findtext("testcase/failure") or "")
    assert report["holds"] is False and len(report["runs"]) == len(MUSEUM)
    assert [run["scenario"] for run in report["runs"] if not run["holds"]] == ["B011-posted-and-forwarded"]


def test_without_a_terminal_the_tour_is_a_report(trunkline):
    code, out, _ = trunkline("tour")
    assert code == 0
    assert "With the reported defect:\n✗ told-twice" in out and "Without it:\n✓ told-twice" in out


def test_bugs_and_schema(trunkline):
    _, bugs, _ = trunkline("bugs")
    _, schema, _ = trunkline("schema")
    assert all(name in bugs for name in BUGS)
    assert schema == (ROOT / "docs" / "scenario.schema.json").read_text()
    _, profile, _ = trunkline("schema", "--profile")
    assert profile == (ROOT / "docs" / "attach" / "profile.schema.json").read_text()
    _, gateway, _ = trunkline("schema", "--gateway")
    assert gateway == (ROOT / "docs" / "gateway.schema.json").read_text()


WRONG = {
    "unknown option": (["run", "--nope"], "--nope"),
    "unknown command word": (["run", "nowhere.yaml"], "nowhere.yaml does not exist"),
    "no such command": (["runn"], "'runn' is neither a command nor"),
    "an argument too many": (
        ["report", "a.jsonl", "b.jsonl"],
        "trunkline report takes no more arguments: b.jsonl\nTry",
    ),
    "unknown bug": (["run", TOUR, "--bug", "announce-busy-twise"], "nearest valid word: 'announce-busy-twice'"),
    "no such keyword": (["run", TOUR, "-k", "zzz"], "matches -k 'zzz'"),
    "no seeds": (["run", TOUR, "--seeds", "0"], "--seeds must be at least 1"),
    "seed is no number": (["run", TOUR, "--seed", "x"], "seed"),
    "one trace for many runs": (["run", "scenarios/seeds", "--trace", "t.jsonl"], "--trace is for a single run"),
    "one trace for many runs, on standard output": (
        ["run", TOUR, "--seeds", "2", "--trace", "-"],
        "--trace is for a single run, and this makes 2: name one scenario, seed and bug",
    ),
    "report into nowhere": (["run", TOUR, "--json", "no/such/place.json"], "there is no folder no/such"),
    "unknown field": (["run", FIXTURES / "unknown_field.yaml"], "unknown_field.yaml:"),
    "no terminal": ([], "use `trunkline run`"),
    "trace that is not there": (["replay", "no.jsonl"], "no.jsonl: No such file"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_reported_and_exits_with_2(trunkline, arguments, message):
    code, out, err = trunkline(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trunkline: ") and message in err
    assert "Traceback" not in err


def test_every_bad_file_is_named_before_anything_runs(trunkline):
    code, out, err = trunkline("run", TOUR, FIXTURES / "unknown_field.yaml", FIXTURES / "unknown_person.yaml")
    assert (code, out) == (2, "")
    assert "unknown_field.yaml:" in err and "unknown_person.yaml:" in err


def cut(lines):
    return lines[:15]


def torn(lines):
    return [*lines[:15], lines[15][:40]]


def newer(lines):
    return [lines[0].replace('"trunkline_trace":1', '"trunkline_trace":99'), *lines[1:]]


def gap(lines):
    return [*lines[:7], *lines[8:]]


def foreign(lines):
    return ['{"some": "json"}', *lines[1:]]


BAD_TRACES = {
    cut: "15: the trace ends before 'run.ended'",
    torn: "16: not an event line",
    newer: "1: version 99 is newer",
    gap: "8: event 8 follows event 6",
    foreign: "1: the first line has no 'trunkline_trace'",
}


@pytest.mark.parametrize(("spoil", "message"), BAD_TRACES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_spoilt_trace_is_refused_with_its_place(trunkline, tmp_path, spoil, message):
    path = tmp_path / "run.jsonl"
    trunkline("run", TOUR, "--trace", path)
    path.write_text("\n".join(spoil(path.read_text().splitlines())))
    code, out, err = trunkline("replay", path)
    assert (code, out) == (2, "")
    assert f"{path}:{message}" in err


def test_the_headless_path_imports_no_screen_and_no_faker():
    code = (
        "import sys\nfrom trunkline.app.cli import main\n"
        f"sys.argv = ['trunkline', 'run', {TOUR!r}]\nassert main() == 0\n"
        "heavy = ('textual', 'aiohttp', 'faker', 'rich.progress')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_crowd_has_made_up_names_that_stay_the_same(trunkline, tmp_path):
    scenario = tmp_path / "crowd.yaml"
    scenario.write_text(
        "scenario: 1\ntitle: crowd\nworld: {crowd: 3, telegram: {}}\n"
        'cast: {agents: {main: [{do: [{reply: "hi"}]}]}}\n'
        'script: [{at: 0s, as: p2, in: "@p2", say: "hello"}]\n'
    )
    for name in ("a", "b"):
        assert trunkline("run", scenario, "--trace", tmp_path / name)[0] == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    names = [e.body.peer.name for e in read_trace(tmp_path / "a").events if isinstance(e.body, WorldPerson)]
    assert len(names) == 1 and " " in names[0]


def test_the_commands_that_are_named_are_those_that_there_are():
    from trunkline.app.cli.commands import COMMANDS, app

    found = {name for name in app if not name.startswith("-")}
    assert found == set(COMMANDS)


def test_own_bugs_of_a_scenario_without_any_are_wrong_usage(trunkline):
    code, _, err = trunkline("run", "scenarios/faults/connection-reset.yaml", "--bug", "own")
    assert code == 2
    assert "none of these scenarios declares a bug" in err
