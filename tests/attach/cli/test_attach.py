"""``trunkline attach`` with the toy gateway: verdicts, exit codes, reports, and the folder that keeps tries."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.attach.cli.toys import toy_profile, toy_scenario
from tests.support.paths import ROOT
from trunkline.core.events import read_trace
from trunkline.sim.attach.kill_points import KILLABLE

#: steps that are inside a gateway
INSIDE = ("{at: 1s, clock: {forward: 1h}}", "{at: 2s, reload: {turns: {error_notice: sorry}}}")


def test_a_gateway_that_keeps_its_promises(trunkline, toy, calm, tmp_path):
    code, out, err = trunkline("attach", calm, "--gateway", toy, "--trace", tmp_path / "traces")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith("follow it in another terminal: trunkline watch ")
    trace = Path(lines[0].partition("watch ")[2])
    assert trace.is_relative_to(tmp_path / "traces")
    assert lines[1].startswith("✓ mine/calm") and "try 1 of 1 · holds" in lines[1]
    assert lines[-2:] == [
        "✓ mine · calm                              holds in 1 try",
        "1 scenario on a gateway, 1 try: 1 holds",
    ]
    header = read_trace(trace).header
    assert (header.side, header.gateway.split()[0], header.path) == ("wire", "mine", str(calm))


def test_a_violation_is_found_counted_and_reported(trunkline, toy, resends, lost, tmp_path):
    report, found, junit = tmp_path / "report", tmp_path / "found.json", tmp_path / "found.xml"
    options = ("--more", "2", "--jobs", "2", "--report", report, "--json", found, "--junit", junit)
    code, out, err = trunkline("attach", lost, "--gateway", toy, "--gateway", resends, *options)
    assert (code, err) == (1, "")
    assert "✓ mine · lost                              holds in 1 try" in out
    assert "✗ resends · lost                           X1 2 of 2" in out
    assert f"trunkline attach {lost} --gateway {resends} --tries 5" in out
    assert out.splitlines()[-2:] == [
        "2 scenarios on a gateway, 3 tries: 1 violated, 1 holds",
        f"report: {report / 'index.html'}",
    ]
    cells = json.loads(found.read_text())["cells"]
    assert [(cell["gateway"], cell["outcome"], cell["tries"]) for cell in cells] == [
        ("mine", "holds", 1),
        ("resends", "violated", 2),
    ]
    assert [(one["invariant"], one["times"], one["tries"]) for one in cells[1]["violated"]] == [("X1", 2, 2)]
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    page = (report / "findings" / "resends-lost-x1.md").read_text()
    assert "violated in 2 of 2 tries" in page and "Fewer than 5 tries" in page
    assert page.count("the gateway: Done. AZone-g1") == 2


def test_the_same_command_goes_on_and_a_changed_scenario_begins_again(trunkline, toy, calm, tmp_path):
    options = ("--gateway", toy, "--report", tmp_path / "report")
    assert trunkline("attach", calm, *options)[0] == 0
    code, out, _ = trunkline("attach", calm, *options)
    assert code == 0 and out.splitlines()[0].startswith("1 try was finished before")
    assert "try 1 of" not in out
    code, out, _ = trunkline("attach", calm, *options, "--tries", "2")
    assert "try 2 of 2" in out and "holds in 2 tries" in out
    calm.write_text(calm.read_text().replace("hello", "good morning"))
    code, out, _ = trunkline("attach", calm, *options)
    assert "try 1 of 1" in out and "holds in 1 try" in out
    assert "2 tries of another version" in out


def test_anybodys_own_gateway_by_its_command(trunkline, calm, lost):
    command = f"{sys.executable} sim/attach/toy/gateway.py"
    options = ("--command", command, "--settle", "0.5", "--patience", "3")
    code, out, _ = trunkline("attach", calm, *options)
    assert code == 0 and "holds in 1 try" in out
    code, out, _ = trunkline("attach", lost, *options)
    assert code == 0 and "holds in 1 try" in out


def test_a_trace_of_ones_own_gateway_names_the_command_that_repeats_it(trunkline, calm, tmp_path):
    command = f"env TOY_DEFECTS=repeats-refused {sys.executable} sim/attach/toy/gateway.py"
    options = ("--command", command, "--notice", "Sorry: *", "--settle", "0.5", "--patience", "3")
    trunkline("attach", calm, *options, "--trace", tmp_path / "traces")
    [trace] = (tmp_path / "traces").rglob("1.jsonl")
    _, out, _ = trunkline("report", trace)
    [line] = [line for line in out.splitlines() if line.split()[:1] == ["repro"]]
    assert shlex.split(line)[1:] == [
        "trunkline",
        "attach",
        calm.as_posix(),
        *options[:4],
        "--patience",
        "3",
        "--settle",
        "0.5",
    ]


def test_tries_that_show_nothing_are_no_success(trunkline, toy, calm):
    code, out, _ = trunkline("attach", calm, "--gateway", toy, "--at", "wire.accepted-one-7")
    assert code == 2
    assert "not happened: " in out and out.splitlines()[-1].startswith("nothing was exercised")


def test_without_the_server_package_the_extra_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['aiohttp'] = None\n")

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trunkline", "attach", *words]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)

    extra = "pip install 'trunkline[fakes]'"
    for words in (("--gateway", "toy"), ("--command", "python3 sim/attach/toy/gateway.py")):
        done = called("scenarios/attach/plain.yaml", *words)
        assert (done.returncode, done.stdout) == (2, "") and extra in done.stderr
    assert called("--help").returncode == 0
    assert called("--list").returncode == 0
    done = called("doctor", "toy")
    assert done.returncode == 2 and extra in done.stdout


@pytest.mark.parametrize(("scenario", "found"), [("lost-answer", "X1 1 of 1"), ("plain", "X2 1 of 1")])
def test_the_mistakes_of_the_documented_bot_are_found(trunkline, scenario, found):
    bot = ("--command", f"{sys.executable} docs/examples/telegram_bot.py", "--settle", "2", "--patience", "10")
    code, out, _ = trunkline("attach", f"scenarios/attach/{scenario}.yaml", *bot)
    assert code == 1 and f"telegram-bot · {scenario} " in out and found in out


def test_a_notice_of_ones_own_gateway_is_named(trunkline):
    command = f"env TOY_DEFECTS=greets {sys.executable} sim/attach/toy/gateway.py"
    scenario = "tests/attach/toy/restarted.yaml"
    options = ("--command", command, "--settle", "0.5", "--patience", "3")
    code, out, _ = trunkline("attach", scenario, *options)
    assert code == 1 and "X6 1 of 1" in out
    code, out, _ = trunkline("attach", scenario, *options, "--notice", "*back*")
    assert code == 0 and "holds in 1 try" in out


def test_exploring_kills_the_gateway_at_each_event(trunkline, toy, calm, tmp_path):
    code, out, _ = trunkline(
        "attach", calm, "--gateway", toy, "--explore", "--jobs", "3", "--json", tmp_path / "x.json"
    )
    cells = json.loads((tmp_path / "x.json").read_text())["cells"]
    events = [cell["scenario"].partition("@")[2].rpartition("-one-")[0] for cell in cells]
    assert events[0] == "" and sorted(events[1:]) == sorted(KILLABLE)
    assert all(cell["tries"] == 1 for cell in cells)
    assert code == (1 if any(cell["violated"] for cell in cells) else 0)
    point = cells[4]["scenario"].partition("@")[2]
    code, out, _ = trunkline("attach", calm, "--gateway", toy, "--at", point)
    assert f"mine/calm@{point}" in out


def test_a_scenario_that_no_gateway_can_play_is_refused_with_every_reason(trunkline, toy, tmp_path):
    scenario = toy_scenario(tmp_path, "inside", *INSIDE)
    code, out, err = trunkline("attach", scenario, "--gateway", toy)
    assert (code, out) == (2, "")
    assert "inside.yaml" in err and len(err.splitlines()) >= 3, err


def test_a_gateway_that_dies_at_its_start_could_not_be_run(trunkline, calm, tmp_path):
    words = "[sh, -c, 'echo starting; echo no such setting >&2; exit 3']"
    profile = toy_profile(tmp_path, command=words, name="dies")
    code, out, _ = trunkline("attach", calm, "--gateway", profile, "--json", tmp_path / "x.json")
    assert code == 2
    assert "code 3" in out and "no such setting" in out
    assert "! dies · calm                              could not be run" in out
    assert json.loads((tmp_path / "x.json").read_text())["cells"][0]["outcome"] == "could not be run"


def test_a_gateway_that_never_connects_is_given_up_and_quoted(trunkline, calm, tmp_path):
    profile = toy_profile(tmp_path, command="[sh, -c, 'echo thinking; sleep 60']", start_within="1s", name="deaf")
    code, out, _ = trunkline("attach", calm, "--gateway", profile)
    assert code == 2 and "within 1 s" in out and "thinking" in out


def own(tmp_path: Path, body: str) -> list[str]:
    """The options for a gateway of a few lines that polls once, and then does something."""
    head = (
        "import os, socket, time, urllib.request as u\n"
        "root = os.environ['TELEGRAM_API_ROOT'] + '/bot' + os.environ['TELEGRAM_BOT_TOKEN']\n"
        "poll = lambda: u.urlopen(root + '/getUpdates?timeout=1').read()\n"
    )
    (tmp_path / "small.py").write_text(head + body)
    return ["--command", f"{sys.executable} {tmp_path / 'small.py'}", "--settle", "0.5", "--patience", "1.5"]


def test_a_gateway_that_ends_in_the_middle_is_quoted(trunkline, calm, tmp_path):
    body = "poll(); time.sleep(0.3); print('\\x1b[2Jout of memory', flush=True); raise SystemExit(9)"
    code, out, _ = trunkline("attach", calm, *own(tmp_path, body), "--report", tmp_path / "report")
    lines = out.splitlines()
    (at,) = (n for n, line in enumerate(lines) if "! small ended by itself with the code 9, " in line)
    assert code == 1 and lines[at].endswith("; the end of its log:") and lines[at + 1] == "    out of memory"
    page = next((tmp_path / "report" / "findings").glob("*.md")).read_text()
    assert "ended by itself with the code 9" in page and "out of memory" in page


@pytest.mark.skipif(sys.platform != "linux", reason="attempts to leave are seen in a network namespace, which is Linux")
def test_a_gateway_that_speaks_to_an_address_that_is_not_ours_is_named(trunkline, calm, tmp_path):
    body = (
        "try: socket.create_connection(('198.51.100.7', 443), 2)\n"
        "except OSError: pass\n"
        "for _ in range(40): poll(); time.sleep(0.1)\n"
    )
    _, out, _ = trunkline("attach", calm, *own(tmp_path, body))
    if "could not be closed off" in out or "are not seen" in out:
        pytest.skip("the network cannot be closed off here")
    assert "! small wanted to reach 198.51.100.7:443, which is not part of the run, and was stopped" in out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gateway", "toi"], "'toi'"),
        (["--gateway", "./none.yaml"], "none.yaml: cannot be read"),
        ([], "--gateway names the gateway to attach"),
        (["--gateway", "toy", "--tries", "0"], "--tries must be at least 1"),
        (["--gateway", "toy", "--jobs", "0"], "--jobs must be at least 1"),
        (["--gateway", "toy", "--patience", "0"], "--patience 0: expected seconds above 0"),
        (["--gateway", "toy", "--settle", "nan"], "--settle nan: expected seconds above 0"),
        (["--gateway", "toy", "--at", "nowhere"], "such as wire.accepted-m1-1"),
        (["--gateway", "toy", "--at", "wire.accepted-m1-1", "--explore"], "exclude each other"),
        (["--gateway", "toy", "--report", "x", "--trace", "y"], "--report and --trace exclude each other"),
        (["--gateway", "toy", "-k", "no-such-word"], "no scenario of"),
        (["--gateway", "toy", "--json", "/nowhere/x.json"], "there is no folder /nowhere"),
        (["--command", "no-such-program x"], "'no-such-program' is not on PATH"),
        (["--gateway", "toy", "--notice", "x"], "--notice goes with --command"),
        (["nowhere.yaml", "--gateway", "toy"], "nowhere.yaml does not exist"),
        (["--gateway", "toy", "--gateway", "hermes", "--install", "x"], "--install is for a single --gateway"),
    ],
)
def test_wrong_usage_is_named(trunkline, arguments, said):
    code, out, err = trunkline("attach", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_nothing_installed_says_how_to_get_it(trunkline, tmp_path):
    code, _, err = trunkline("attach", "--gateway", "hermes", "--install", tmp_path)
    assert code == 2
    assert "hermes cannot be attached on this machine" in err and "make attach-hermes" in err
    code, out, _ = trunkline("attach", "doctor", "hermes", "--install", tmp_path)
    assert code == 2
    assert "make attach-hermes" in out and out.splitlines()[-1] == "it cannot be attached yet"


def test_the_list_has_every_profile(trunkline):
    code, out, _ = trunkline("attach", "--list")
    assert code == 0
    assert {"hermes", "openclaw", "toy"} <= {line.split()[0] for line in out.splitlines()}
    code, out, _ = trunkline("attach", "doctor", "toy")
    assert (code, out.splitlines()[-1]) == (0, "it can be attached")


def test_two_scenarios_of_one_name_are_refused(trunkline, toy, calm, tmp_path):
    (tmp_path / "other").mkdir()
    toy_scenario(tmp_path / "other", "calm")
    code, _, err = trunkline("attach", calm, tmp_path / "other" / "calm.yaml", "--gateway", toy)
    assert code == 2 and "have the same name" in err


def test_a_report_never_overwrites_other_files(trunkline, toy, calm, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.html").write_text("mine")
    code, _, err = trunkline("attach", calm, "--gateway", toy, "--report", mine)
    assert code == 2 and "has other files" in err
    assert (mine / "index.html").read_text() == "mine" and len(list(mine.iterdir())) == 1


def test_the_folder_of_a_bad_try_is_kept_when_asked(trunkline, resends, lost, tmp_path):
    code, out, _ = trunkline("attach", lost, "--gateway", resends, "--keep", "--trace", tmp_path / "traces")
    kept = next(line for line in out.splitlines() if line.startswith("kept: "))
    folder = Path(kept.removeprefix("kept: "))
    assert code == 1 and folder.is_relative_to(tmp_path / "traces") and (folder / "gateway").is_dir()


def test_hostile_output_of_a_gateway_reaches_no_terminal(trunkline, calm, tmp_path):
    words = r"[sh, -c, 'printf \"\033[2J\033]0;x\007evil\n\"; exit 3']"
    profile = toy_profile(tmp_path, command=words, name="evil")
    _, out, err = trunkline("attach", calm, "--gateway", profile)
    assert "evil" in out and "\x1b" not in out + err and "\x07" not in out + err
