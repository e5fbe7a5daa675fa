"""``trunkline new``: a scenario from answers or from a recording, which shows what went wrong when it is played."""

import io
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from tests.support.scale import scaled
from tests.support.serve.processes import say, serve
from trunkline.app.runs.known_defects import SYMPTOMS
from trunkline.app.runs.stories import STORIES, story_of
from trunkline.core.events import read_trace
from trunkline.core.events.trace import write_trace
from trunkline.sim import BUGS, load_scenario, run_scenario
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.plugins import OURS
from trunkline.sim.scenario.edit import text_of
from trunkline.sim.scenario.load import load_text
from trunkline.sim.scenario.model.world import PLATFORMS, THREADLESS

FILES = ["scenario.schema.json", "scenario.yaml"]
#: what is wrong -> the words after `new`, and what the message names
WRONG = {
    "an unknown platform": (["--platform", "telgram"], "--platform: 'telgram' is none of discord, telegram"),
    "calls": (["--platform", "voice"], "--platform: 'voice' is none of discord, telegram"),
    "an unknown symptom": (["--symptom", "gone"], "--symptom: 'gone' is none of twice, lost, late, wrong place"),
    "two symptoms": (["--symptom", "twice,lost"], "--symptom: 'twice,lost' is none of"),
    "an unknown option": (["--sympton", "lost"], "Did you mean --symptom?"),
    "no text": (["--text", " "], "--text: expected a line of at most 1000 characters"),
    "a text of two lines": (["--text", "a\nb"], "--text: expected a line"),
    "a text with an escape": (["--text", "a\x1b[31mb"], "--text: expected a line"),
    "a text that is too long": (["--text", "a" * 1001], "--text: expected a line of at most 1000 characters"),
    "a place on a platform": (["--place", "telegram/ops/deploy"], "--place: expected @person, room or room/thread"),
    "a place with a space": (["--place", "the room"], "--place: expected @person, room or room/thread"),
    "nobody": (["--place", "@"], "--place: expected @person, room or room/thread"),
    "a thread of a person": (["--place", "@ana/x"], "--place: expected @person, room or room/thread"),
    "a thread where there is none": (
        ["--platform", "signal", "--place", "ops/deploy"],
        "--place: signal has no threads: name a room or @person",
    ),
    "a folder": (["."], ". is a folder: name a file in it, such as scenario.yaml"),
    "a folder that is not there": (["nowhere/s.yaml"], "there is no folder nowhere: make it, or name another file"),
    "a name over two lines": (["a\nb.yaml"], "cannot be the name of a file"),
    "another kind of file": (["story.txt"], "story.txt is no name of a scenario: name one that ends with .yaml"),
    "the place of the schema": (["scenario.schema.json"], "is no name of a scenario"),
    "two files": (["a.yaml", "b.yaml"], "trunkline new takes no more arguments: b.yaml"),
    "no recording": (["--from", "nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
    "a recording and answers": (["--from", "x.jsonl", "--text", "hi"], "--text is an answer, and with --from"),
}
LOST = ROOT / "scenarios" / "attach" / "lost-answer.yaml"


@pytest.fixture
def new(tmp_path, trunkline, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: trunkline("new", *words)


def made(folder):
    return sorted(path.name for path in folder.iterdir())


def recorded(folder, scenario, *bugs, **named):
    """The trace file of a run of a scenario that ships."""
    path = scenario if isinstance(scenario, Path) else ROOT / "scenarios" / scenario
    run = run_scenario(load_scenario(path, names=OURS), bugs=bugs, **named)
    write_trace(folder / "run.jsonl", run.trace)
    return run


def played(folder, *bugs, name="scenario.yaml"):
    file = load_scenario(folder / name, names=OURS)
    return run_scenario(file, seed=file.scenario.seed, bugs=bugs)


def read_by_people(run):
    return [event.body.text for event in run.trace.events if isinstance(event.body, WireAccepted)]


@for_each(("words", "named"), list(WRONG.values()), ids=list(WRONG))
def test_a_wrong_answer_is_named_and_nothing_is_written(words, named, new, tmp_path):
    code, out, err = new("--yes", *words)
    assert (code, out) == (2, "")
    assert named in err
    assert made(tmp_path) == []


# From answers


def test_every_symptom_has_a_story_with_a_switch_that_causes_it():
    assert list(STORIES) == list(SYMPTOMS)
    for symptom, (bug, _) in STORIES.items():
        assert set(BUGS[bug].caught_by) & set(SYMPTOMS[symptom]), symptom


PLACES = {"telegram": "@ana", "discord": "ops/deploy", "slack": "@kim", "signal": "ops", "whatsapp": "@ben"}


#: each symptom on each of these platforms; in the sample, each of both once
SAID = [(symptom, *place) for symptom in SYMPTOMS for place in PLACES.items()]


@for_each(("symptom", "platform", "place"), scaled(SAID, SAID[:: len(PLACES) + 1]))
def test_what_is_written_holds_and_its_switch_breaks_it(symptom, platform, place, new, tmp_path):
    text, name = "It *costs* {40} euros: [see](http://a.example)", f"{symptom[:3]}-{platform}.yaml"
    answers = ["--symptom", symptom, "--platform", platform, "--place", place, "--text", text]
    code, out, err = new(name, "--yes", *answers)
    assert (code, err) == (0, "")
    bug = STORIES[symptom][0]
    file = load_scenario(tmp_path / name, names=OURS)
    assert (file.strict, file.scenario.bugs) == (True, (bug,))
    assert set(file.scenario.expect.exercised) <= set(SYMPTOMS[symptom])
    assert set(file.scenario.breaks) & set(SYMPTOMS[symptom])
    assert out.splitlines()[1:] == [f"  trunkline run {name}", f"  trunkline run {name} --bug {bug}"]
    assert run_scenario(file).holds
    assert set(run_scenario(file, bugs=(bug,)).violated) == set(file.scenario.breaks)


@pytest.mark.slow
@for_each("place", ["@ana", "ops", "ops/deploy"])
@for_each("platform", [name for name in PLATFORMS if name not in ("voice", *PLACES)])
@for_each("symptom", list(SYMPTOMS))
def test_stories_on_every_other_platform(symptom, platform, place):
    if "/" in place and platform in THREADLESS:
        return
    file = load_text(text_of(story_of(symptom, platform, place, "It costs 40 euros.")), names=OURS)
    assert run_scenario(file).violated == ()
    assert set(run_scenario(file, bugs=(STORIES[symptom][0],)).violated) & set(SYMPTOMS[symptom])


def test_the_command_plays_it_at_once_and_editors_have_the_schema(new, trunkline, tmp_path):
    assert new("--yes")[0] == 0
    assert made(tmp_path) == FILES
    text = (tmp_path / "scenario.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=scenario.schema.json\n")
    schema = (ROOT / "docs" / "scenario.schema.json").read_bytes()
    assert (tmp_path / "scenario.schema.json").read_bytes() == schema
    assert trunkline("run", "scenario.yaml")[0] == 0
    assert trunkline("run", "scenario.yaml", "--bug", "own")[0] == 0
    assert trunkline("run", "scenario.yaml", "--bug", "answered-twice")[0] == 1


def test_questions_are_asked_again_until_they_are_answered_right(new, tmp_path, monkeypatch):
    answers = ["telgram", "discord", "gone", "wrong place", "", "the room", "ops/deploy"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    code, _, err = new()
    assert code == 0
    assert [line.split()[0] for line in err.splitlines()] == ["'telgram'", "'gone'", "expected"]
    world = load_scenario(tmp_path / "scenario.yaml").scenario.world
    assert world.discord is not None and "deploy" in world.discord.rooms["ops"].threads


@pytest.mark.parametrize(
    ("answers", "option"),
    [("", "--platform"), ("slack\n", "--symptom"), ("slack\nlost\n", "--text"), ("slack\nlost\nhi\n", "--place")],
)
def test_an_end_of_the_answers_leaves_nothing(answers, option, new, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    code, _, err = new()
    assert code == 2
    assert f"so nothing is written: give {option}, or --yes for the defaults" in err
    assert made(tmp_path) == []


def test_a_text_with_which_nothing_can_be_shown(new, tmp_path):
    code, _, err = new("--yes", "--symptom", "leaked", "--text", "e")
    assert code == 2
    assert "breaks" in err
    assert made(tmp_path) == []


def test_a_file_that_is_there_is_overwritten_only_by_force(new, tmp_path):
    for name in FILES:
        (tmp_path / name).write_text("mine")
    code, _, err = new("--yes")
    assert code == 2
    assert "scenario.yaml is there: name another file, or overwrite it with --force" in err
    assert new("other.yaml", "--yes")[0] == 0, "a schema that is there stays"
    assert [(tmp_path / name).read_text() for name in FILES] == ["mine", "mine"]
    assert new("--yes", "--force")[0] == 0
    assert "mine" not in [(tmp_path / name).read_text() for name in FILES]


# From a run

#: scenarios whose recording suffices, with a switch
TOLD = {
    "tour/told-twice.yaml": "hand-announces-too",
    "museum/B007-stacked-retries.yaml": "stacked-retries",
    "museum/B043-thread-reply-in-main.yaml": "reply-loses-thread",
    "museum/B063-two-writers.yaml": "two-writers",
    "faults/one-answer.yaml": "answered-twice",
    "faults/dead-thread.yaml": "dead-thread-to-main",
}


@for_each(("scenario", "bug"), list(TOLD.items()))
def test_a_recorded_run_shows_the_same_violation_with_the_same_switch(scenario, bug, new, tmp_path):
    run = recorded(tmp_path, scenario, bug)
    assert run.violated
    code, out, err = new("--from", "run.jsonl", "--force")
    assert (code, err) == (0, "")
    assert f"trunkline run scenario.yaml --bug {bug}" in out
    file = load_scenario(tmp_path / "scenario.yaml", names=OURS)
    assert file.strict and bug in file.scenario.bugs
    assert played(tmp_path).holds
    assert set(run.violated) <= set(played(tmp_path, bug).violated)


def test_a_recorded_run_without_a_switch_holds(new, tmp_path):
    recorded(tmp_path, "tour/told-twice.yaml")
    assert new("--from", "run.jsonl")[0] == 0
    again = played(tmp_path)
    assert again.holds
    texts = read_by_people(again)
    assert texts == ["on it", "good morning, bo", "good morning, bo", "codex is done: release 2.0 is out"]


def test_a_recording_that_was_cut_before_its_defect_shows_is_a_scenario_that_holds(new, tmp_path):
    recorded(tmp_path, "tour/told-twice.yaml", "hand-announces-too")
    whole = (tmp_path / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl").write_bytes(whole[: len(whole) // 3])
    code, out, _ = new("--from", "run.jsonl")
    assert (code, "--bug" in out) == (0, False)
    assert load_scenario(tmp_path / "scenario.yaml").scenario.bugs == ()
    assert played(tmp_path).holds


def test_a_switch_of_a_plug_in_that_is_missing_is_named(new, tmp_path):
    recorded(tmp_path, "faults/one-answer.yaml", "answered-twice")
    text = (tmp_path / "run.jsonl").read_text().replace('"bugs":["answered-twice"]', '"bugs":["acme.twice"]')
    (tmp_path / "run.jsonl").write_text(text)
    code, _, err = new("--from", "run.jsonl")
    assert code == 2
    assert "the plug-in 'acme' may be missing" in err
    assert made(tmp_path) == ["run.jsonl"]


#: a scenario and a switch -> what its recording lacks
LACKING = {
    ("museum/B013-history-replayed.yaml", "dedupe-forgets-on-restart"): "how to repeat the fault replay",
    ("museum/B071-renamed-chat-type.yaml", "old-keys-left-behind"): "what led to it",
    ("museum/B078-private-words-in-a-group.yaml", "one-session-for-all"): "its texts alone do not show the cause",
    ("museum/B034-queue-at-start-only.yaml", "queue-runs-at-start-only"): "has no message of a person",
}


@for_each(("which", "named"), list(LACKING.items()))
def test_what_a_recording_lacks_is_said_and_nothing_is_written(which, named, new, tmp_path):
    scenario, bug = which
    recorded(tmp_path, scenario, bug)
    code, out, err = new("--from", "run.jsonl")
    assert (code, out) == (2, "")
    assert named in err
    assert made(tmp_path) == ["run.jsonl"]


def test_crash_points_of_an_exploration_are_lacking(new, tmp_path):
    run = recorded(tmp_path, "museum/B063-two-writers.yaml", "two-writers")
    header = {"trunkline_trace": 1, "scenario": "x", "seed": 1, "crashes": ["kill commit:3"], "path": "x y.yaml"}
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    lines[0] = json.dumps(header)
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    code, _, err = new("--from", "run.jsonl")
    assert run.violated and code == 2
    assert "how to end the process at kill commit:3" in err
    assert "trunkline run 'x y.yaml'" in err


BROKEN = {
    "empty": "",
    "a scenario": "scenario: 2\n",
    "no header": '{"seq": 1, "at": 0.0, "kind": "process.started"}\n',
    "a header alone": '{"trunkline_trace":1,"scenario":"x"}\n',
    "a configuration that is none": '{"trunkline_trace":1,"scenario":"x"}\n'
    '{"seq":1,"at":0.0,"node":"sim","kind":"world.limits","body":{"max_attempts":1,"max_age":1.0,"config":"{"}}\n',
    "a platform that nobody has": '{"trunkline_trace":1,"scenario":"x"}\n'
    '{"seq":1,"at":0.0,"node":"sim","kind":"peer.said","inbound":"a","body":{"address":{"channel":"\\u001b[31m",'
    '"account":"default","kind":"direct","conversation":"1"},"peer":{"id":"1"},"message_id":"1","text":"hi"}}\n',
}


@for_each("text", list(BROKEN.values()), ids=list(BROKEN))
def test_a_recording_that_is_none(text, new, tmp_path):
    (tmp_path / "run.jsonl").write_text(text)
    code, out, err = new("--from", "run.jsonl")
    assert (code, out) == (2, ""), out
    assert "Traceback" not in err and "\x1b" not in err
    assert made(tmp_path) == ["run.jsonl"]


# From a server


def test_a_recording_of_serve(new, tmp_path):
    with serve(tmp_path, "--port", "0", "--state", tmp_path / "state", "--record", tmp_path / "rec") as server:
        url, token = server.ready().url, (tmp_path / "state" / "token").read_text().strip()
        for number, text in enumerate(["hello", "hello {again} *", "hello"]):
            assert say(url, token, text, str(number))[0] == 200
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    [trace] = (tmp_path / "rec").iterdir()
    code, _, err = new("--from", trace)
    assert code == 2
    assert "webchat is not simulated: name with --platform what stands for it: discord, telegram" in err
    assert new("--from", trace, "--platform", "signal")[0] == 0
    run = played(tmp_path)
    assert run.holds
    texts = read_by_people(run)
    assert sorted(texts) == ["hello", "hello", "hello {again} *"]


# From the wire of a gateway that is not ours


def attach(trunkline, file, folder, defects=""):
    toy = f"env TOY_DEFECTS={defects} {sys.executable} {ROOT / 'sim' / 'attach' / 'toy' / 'gateway.py'}"
    options = ["--notice", "⚠️ *", "--settle", "1", "--patience", "4"]
    code, out, _ = trunkline("attach", file, "--command", toy, *options, "--report", folder)
    [trace] = folder.rglob("1.jsonl")
    return code, out, trace


@pytest.mark.slow
def test_a_wire_is_a_scenario_for_attach_with_the_same_violation(new, trunkline, tmp_path):
    code, out, trace = attach(trunkline, LOST, tmp_path / "first", "resends-after-reset")
    assert code == 1 and " X1 " in out
    code, out, _ = new("--from", trace)
    assert code == 0
    assert "trunkline attach scenario.yaml --command 'env TOY_DEFECTS=resends-after-reset " in out
    code, out, again = attach(trunkline, "scenario.yaml", tmp_path / "second", "resends-after-reset")
    assert code == 1 and " X1 " in out
    fired = [event.body.detail for event in read_trace(again).events if isinstance(event.body, FaultFired)]
    assert fired == ["Answer two. AZtwo-g1"]
    assert attach(trunkline, "scenario.yaml", tmp_path / "third")[0] == 0


def wire(folder, change):
    """A small wire, with one more line."""
    place = {"channel": "telegram", "account": "default", "kind": "direct", "conversation": "1"}
    said = {"address": place, "peer": {"id": "1", "name": "ana"}, "message_id": "1", "text": "hello? QZm1"}
    lines = [
        {"trunkline_trace": 1, "scenario": "x", "side": "wire", "gateway": "toy"},
        {"kind": "world.place", "body": {"address": place, "name": "@ana"}},
        {"kind": "peer.said", "inbound": "m1", "body": said},
        {"kind": "model.asked", "cause": 2, "body": {"model": "m", "said": ["hello? QZm1"], "marks": ["m1"]}},
        {"kind": "model.answered", "cause": 3, "body": {"status": 200, "text": "Hi {you}. AZm1-g1"}},
        change,
        {"kind": "run.ended", "body": {"at_rest": True}},
    ]
    numbered = [{"seq": n, "at": n / 10, "node": "sim", **line} for n, line in enumerate(lines)]
    numbered[0] = lines[0]
    (folder / "wire.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in numbered))


def fired(fault, detail=""):
    return {"kind": "fault.fired", "body": {"fault": fault, "detail": detail}}


#: what struck on the wire -> the step of the scenario
STRUCK = {
    "a lost response": (fired("send/reset", "Hi. AZm1-g1"), "at: 0s, fault: {on: send, do: reset, question: m1}"),
    "a model that fails": (fired("model/error", "hello? QZm1"), 'fault: {on: model, do: error, text: "*hello?*"}'),
    "a kill at an event": (
        fired("crash", "at model.answered"),
        "crash: {restart_after: 1s, when: {event: model.answered, question: m1, delay: 0.1}}",
    ),
    "a stop": (fired("restart"), "when: {event: model.answered, question: m1, delay: 0.1}, restart: {down: 1s}"),
    "a closed topic": (fired("archived", "@ana, locked"), "archive: true, locked: true"),
}


@for_each(("change", "step"), list(STRUCK.values()), ids=list(STRUCK))
def test_what_struck_on_a_wire_is_a_step(change, step, new, tmp_path):
    wire(tmp_path, change)
    code, _, err = new("--from", "wire.jsonl", "--force")
    if "archived" in str(change):
        # A person's conversation cannot be closed: the loader says so.
        assert (code, "does not suffice for a scenario" in err) == (2, True)
        return
    assert code == 0, err
    text = (tmp_path / "scenario.yaml").read_text()
    assert step in text
    assert 'say: "hello?"' in text and 'text: "*hello?*"' in text and "Hi {{you}}." in text


def test_what_struck_on_a_wire_and_cannot_be_repeated(new, tmp_path):
    wire(tmp_path, fired("connect/refuse-connection", "telegram"))
    code, _, err = new("--from", "wire.jsonl")
    assert code == 2
    assert "It lacks: how to repeat the fault connect/refuse-connection (telegram)" in err
    assert made(tmp_path) == ["wire.jsonl"]


def test_a_recording_from_standard_input(new, tmp_path, monkeypatch):
    wire(tmp_path, fired("send/reset", "Hi. AZm1-g1"))
    stream = io.TextIOWrapper(io.BytesIO((tmp_path / "wire.jsonl").read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    assert new("--from", "-")[0] == 0
