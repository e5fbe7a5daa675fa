"""`trunkline fuzz` keeps what random scenarios find as small files; `trunkline shrink` makes any file smaller."""

import json
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.app.cli.run import fuzz as command
from trunkline.app.runs import fuzzing
from trunkline.sim import load_scenario
from trunkline.sim.fuzz.trial import try_file

BUG = "answers-lose-their-last-word"
#: random scenarios that are searched for findings
SEEDS = scaled(6, 3)


def files(folder):
    return sorted(path.name for path in folder.glob("*.yaml"))


def test_a_clean_core_has_no_findings_and_the_counters_are_printed(trunkline, tmp_path):
    code, out, _ = trunkline("fuzz", "--seeds", "1..6", "--jobs", 1, "--corpus", tmp_path / "corpus")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "6 random scenarios: all hold"
    assert {" ".join(line.partition(", in ")[0].split()[1:]) for line in lines[1:-1]} >= {
        *("events", "sends that reached a platform", "turns", "intents settled", "faults that struck", "crashes")
    }
    assert not (tmp_path / "corpus").exists()


def test_findings_are_grouped_kept_small_and_played_first_the_next_time(trunkline, tmp_path):
    corpus, report, junit = tmp_path / "corpus", tmp_path / "report.json", tmp_path / "junit.xml"
    options = ("--bug", BUG, "--jobs", 1, "--corpus", corpus, "--json", report, "--junit", junit)
    code, out, _ = trunkline("fuzz", "--seeds", f"1..{SEEDS}", *options)
    document = json.loads(report.read_text())
    assert (code, document["holds"], document["scenarios"], document["replayed"]) == (1, False, SEEDS, 0)
    found = document["findings"]
    assert len({(of["kind"], of["culprit"]) for of in found}) == len(found) == len(files(corpus)) > 0
    assert sum(of["scenarios"] for of in found) > len(found)
    for of in found:
        assert (of["steps"] <= 8, of["minimal"]) == (True, True)
        file = load_scenario(of["file"])
        assert of["kind"] in {finding.kind for finding in try_file(file, [BUG]).findings}
        assert f"file      {of['file']} " in out
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("failures")) == (str(len(found) + 1), str(len(found)))

    before = {path: path.read_bytes() for path in corpus.iterdir()}
    code, out, _ = trunkline("fuzz", "--time", "0s", *options)
    document = json.loads(report.read_text())
    assert (code, document["scenarios"], document["replayed"]) == (1, 0, len(before))
    assert "it was in the corpus already" in out
    assert {path: path.read_bytes() for path in corpus.iterdir()} == before
    # Mended: the corpus holds.
    assert trunkline("fuzz", "--time", "0s", "--jobs", 1, "--corpus", corpus)[0] == 0


@pytest.mark.slow
def test_the_same_seeds_give_the_same_report_with_any_number_of_workers(trunkline, tmp_path):
    reports = []
    for jobs in (1, 2):
        corpus = tmp_path / f"corpus{jobs}"
        report = tmp_path / f"{jobs}.json"
        trunkline("fuzz", "--seeds", "1..8", "--bug", BUG, "--jobs", jobs, "--corpus", corpus, "--json", report)
        reports.append(json.loads(report.read_text().replace(corpus.name, "corpus")))
        texts = [path.read_text().replace(corpus.name, "corpus") for path in sorted(corpus.iterdir())]
        reports[-1]["files"] = texts
    assert reports[0] == reports[1]


def test_a_file_of_the_corpus_that_cannot_be_read_is_reported_and_the_rest_is_played(trunkline, tmp_path):
    (tmp_path / "bad.yaml").write_text("scenario: 7\n")
    code, out, _ = trunkline("fuzz", "--seeds", "1..2", "--jobs", 1, "--corpus", tmp_path)
    assert code == 1
    assert out.splitlines()[0] == "2 random scenarios: all hold"
    assert "cannot be read: " in out
    assert "bad.yaml" in out


def test_a_finding_is_written_before_it_is_made_smaller_and_ctrl_c_keeps_it(trunkline, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzzing, "shrink_seed", interrupted)
    code, out, _ = trunkline("fuzz", "--seeds", "1..6", "--bug", BUG, "--jobs", 1, "--corpus", tmp_path)
    assert code == 1
    [kept] = files(tmp_path)
    assert try_file(load_scenario(tmp_path / kept), [BUG]).findings
    assert "interrupted. So far: " in out
    assert ", not the fewest)" in out


def test_ctrl_c_without_findings_has_an_exit_code_of_its_own(trunkline, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzzing, "play_seeds", interrupted)
    code, out, _ = trunkline("fuzz", "--seeds", "1..6", "--jobs", 1, "--corpus", tmp_path)
    assert (code, out.splitlines()[0]) == (130, "interrupted. So far: 0 random scenarios: no results")


@pytest.mark.slow
def test_ctrl_c_reaches_a_command_with_workers(tmp_path):
    words = [sys.executable, "-m", "trunkline", "fuzz", "--time", "10m", "--bug", BUG, "--jobs", "2"]
    process = subprocess.Popen(
        [*words, "--corpus", str(tmp_path / "corpus")], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert process.returncode == 1
    assert first.startswith("✗ ")
    assert "interrupted. So far: " in rest
    assert files(tmp_path / "corpus")


def test_the_time_ends_a_run_without_an_end(trunkline, tmp_path, monkeypatch):
    now = iter(range(10_000))
    monkeypatch.setattr(fuzzing.time, "monotonic", lambda: float(next(now)))
    code, out, _ = trunkline("fuzz", "--time", "3s", "--jobs", 1, "--corpus", tmp_path)
    assert code == 0
    assert out.startswith(("4 random", "8 random", "12 random"))


def test_the_scenario_of_a_seed_is_shown(trunkline, tmp_path):
    code, out, _ = trunkline("fuzz", "--seeds", "7", "--show", "--focus", "voice")
    assert code == 0
    (tmp_path / "seven.yaml").write_text(out)
    assert load_scenario(tmp_path / "seven.yaml").scenario.title == "random scenario 7"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seeds", "9..1"), "the last seed comes before the first one"),
        (("--seeds", "x"), "expected a number such as 7"),
        (("--time", "soon"), "--time soon"),
        (("--jobs", "0"), "--jobs must be at least 1"),
        (("--focus", "help"), "neither a theme (answers, delivery"),
        (("--bug", "nothing-of-this-name"), "nothing-of-this-name"),
        (("--corpus", "/no/such/folder/corpus"), "there is no folder /no/such/folder"),
    ],
    ids=lambda of: " ".join(of) if isinstance(of, tuple) else "",
)
def test_what_cannot_be_done_is_refused(trunkline, options, words):
    code, _, err = trunkline("fuzz", *options)
    assert code == 2
    assert words in err


def test_both_ends_of_seeds_may_be_left_open():
    assert command._seeds("7") == (7, 7)
    assert command._seeds("7..") == (7, None)
    assert command._seeds(None) == (1, None)


# ---------------------------------------------------------------- shrink


def test_a_scenario_is_made_smaller(trunkline, tmp_path):
    source, target = ROOT / "scenarios" / "museum" / "B001-announced-twice.yaml", tmp_path / "small.yaml"
    code, out, _ = trunkline("shrink", source, "--bug", "announce-busy-twice", "-o", target)
    assert code == 0
    assert out.startswith("D2: ")
    assert f"{target}: 1 step of 2, " in out
    assert trunkline("run", target, "--bug", "own")[0] == 0
    # It is as small as it can be.
    code, out, _ = trunkline("shrink", target, "--bug", "announce-busy-twice", "-o", tmp_path / "again.yaml")
    assert code == 1


@pytest.mark.slow
def test_the_invariant_can_be_chosen(trunkline, tmp_path):
    source = ROOT / "scenarios" / "museum" / "B058-dead-topic-lies.yaml"
    target = tmp_path / "small.yaml"
    code, out, _ = trunkline(
        "shrink", source, "--bug", "misplaced-is-delivered", "--invariant", "L3", "-o", target, "--runs", 40
    )
    assert (code, out[:3]) == (0, "L3:")
    code, _, err = trunkline("shrink", source, "--bug", "misplaced-is-delivered", "--invariant", "H1", "-o", target)
    assert code == 2
    assert "does not violate H1" in err
    code, _, err = trunkline("shrink", source, "--invariant", "Q9", "-o", target)
    assert code == 2
    assert "--invariant Q9: there are D1" in err


def test_a_scenario_that_holds_is_refused_and_no_file_is_overwritten(trunkline, tmp_path):
    file = tmp_path / "one.yaml"
    file.write_bytes((ROOT / "scenarios" / "faults" / "one-answer.yaml").read_bytes())
    code, _, err = trunkline("shrink", file)
    assert code == 2
    assert "the scenario holds" in err
    (tmp_path / "one-small.yaml").write_text("mine")
    code, _, err = trunkline("shrink", file)
    assert code == 2
    assert "the file exists" in err
    assert (tmp_path / "one-small.yaml").read_text() == "mine"
