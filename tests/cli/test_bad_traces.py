"""Damaged traces: truncated, with flipped bytes, or another kind of file. Each is shown, or reported with its line."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.app.cli.io.trace_input import open_trace
from trunkline.app.report.sections import report
from trunkline.app.runs.model import Run
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.diff.compare import Diff, as_lines
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.messages.rows import chunks
from trunkline.app.view.overview.cards import latest_facts
from trunkline.app.view.timeline.status_line import verdict_chip
from trunkline.core.errors import UsageError
from trunkline.core.events import Trace, encode_trace
from trunkline.sim import judge, load_scenario, run_scenario

TOUR = "scenarios/tour/told-twice.yaml"


@pytest.fixture(scope="module")
def whole() -> bytes:
    """A trace in which things go wrong."""
    file = load_scenario(ROOT / "scenarios" / "tour" / "told-twice.yaml")
    return encode_trace(run_scenario(file, bugs=("hand-announces-too",)).trace)


@pytest.fixture
def given(tmp_path):
    """Writes a file to be opened."""

    def write(content: bytes) -> Path:
        path = tmp_path / "run.jsonl"
        path.write_bytes(content)
        return path

    return write


# ---------------------------------------------------------------- as far as it goes


def cut_after(content: bytes, events: int) -> bytes:
    return b"\n".join(content.split(b"\n")[: events + 1]) + b"\n"


@pytest.mark.parametrize("tail", [b"", b'{"seq":35,"at":1.0,"no', b"\x00" * 512])
def test_a_trace_without_its_end_is_opened_when_asked(trunkline, given, whole, tail):
    path = given(cut_after(whole, 34) + tail)
    code, out, err = trunkline("report", path)
    assert (code, out) == (2, "") and err.rstrip().endswith("With --cut it is opened as far as it goes")
    code, out, err = trunkline("report", path, "--cut")
    assert (code, err) == (0, "")
    assert "events     34, until" in out and "verdict    all hold up to the cut, " in out
    assert f"cut        {path}:3" in out and "violations that only the end of a run can prove were not judged" in out


def test_violations_before_the_cut_are_judged(trunkline, given, whole):
    path = given(cut_after(whole, 94))
    code, out, _ = trunkline("replay", path, "--cut")
    assert code == 1 and "violated: D2 R1 C3" in out and f"  cut       {path}:95: " in out
    assert trunkline("diff", path, path, "--cut")[0] == 0


def test_a_whole_trace_is_the_same_with_and_without_the_switch(trunkline, given, whole):
    path = given(whole)
    assert trunkline("report", path, "--cut") == trunkline("report", path)


def test_the_screens_say_that_the_end_is_missing(given, whole):
    trace = open_trace(given(cut_after(whole, 34)), cut=True)
    view = opened(trace).view
    assert verdict_chip(view, 34).text.startswith("cut: ✓ so far (")
    told = {fact.label: fact.text for fact in latest_facts(view, opened(trace).verdicts, 34, "")}
    assert told["cut"].startswith("the trace is truncated") and "up to the cut" in told["verdict"]


# ---------------------------------------------------------------- what is no trace


FOREIGN = {
    "gzip": (gzip.compress, "zcat FILE"),
    "utf-16": (lambda content: content.decode().encode("utf-16"), "save it as UTF-8"),
    "zeros": (lambda _: b"\x00" * 4096, "zero bytes"),
    "store": (lambda _: b"SQLite format 3\x00" + bytes(80), "trunkline queue list --store"),
    "scenario": (lambda _: (ROOT / "scenarios/tour/told-twice.yaml").read_bytes(), "it looks like a scenario"),
    "no header": (lambda content: content.split(b"\n", 1)[1], "its header is missing"),
    "empty": (lambda _: b"", ":1: the file is empty"),
    "events of something else": (lambda _: b'{"at": 1, "kind": "login"}\n' * 3, ":1: the first line has no"),
    "a log": (lambda _: b'{"time": 1, "level": "info"}\n' * 3, ":1: the first line has no 'trunkline_trace'"),
    "two runs": (lambda content: content + content, "two runs in one file"),
    "blank line": (lambda content: content.replace(b"\n", b"\n\n", 5), ":2: not an event line (it is blank)"),
}


@pytest.mark.parametrize(("make", "says"), FOREIGN.values(), ids=FOREIGN)
def test_another_kind_of_file_is_recognized(trunkline, given, whole, make, says):
    code, out, err = trunkline("replay", given(make(whole)))
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize("command", ["report", "replay", "diff"])
def test_a_folder_is_refused(trunkline, tmp_path, command: str):
    code, out, err = trunkline(command, *[tmp_path] * (2 if command == "diff" else 1))
    assert (code, out, err) == (2, "", f"trunkline: Unreadable trace: {tmp_path}: Is a directory\n")


@pytest.mark.parametrize(
    "change", [lambda c: b"\xef\xbb\xbf" + c, lambda c: c.replace(b"\n", b"\r\n"), lambda c: c + b"\n"]
)
def test_what_editors_do_to_a_file_does_no_harm(given, whole, change):
    assert encode_trace(open_trace(given(change(whole)))) == whole


def test_names_with_control_characters_do_not_reach_the_terminal(trunkline, given, whole, tmp_path):
    header = json.dumps({"trunkline_trace": 1, "scenario": "\x1b[31mx", "path": "\x1b]0;x\x07", "bugs": ["\x1b[2J"]})
    path = given(header.encode() + b"\n" + whole.split(b"\n", 1)[1])
    for arguments in (("replay", path), ("report", path), ("report", path, "--plain"), ("diff", path, path)):
        assert "\x1b" not in trunkline(*arguments)[1]
    assert "\x1b" not in trunkline("replay", tmp_path / "\x1b[31m.jsonl")[2]


# ---------------------------------------------------------------- whatever it is


def flipped(content: bytes, dice: random.Random) -> bytes:
    spoilt = bytearray(content)
    spoilt[dice.randrange(len(spoilt))] ^= 1 << dice.randrange(8)
    return bytes(spoilt)


ODD = [None, 0, -1, 10**9, 2**63, 1e308, -1e308, "", "x", [], {}, "\x00", "\x1b[2J", True, -0.5]


def altered(content: bytes, dice: random.Random) -> bytes:
    """Values that fit and make no sense: another event's, odd ones, none; and events that are gone."""
    lines = content.splitlines()
    for _ in range(dice.choice([1, 2, 4])):
        at = dice.randrange(1, len(lines))
        event, other = json.loads(lines[at]), json.loads(dice.choice(lines[1:]))
        match dice.randrange(4):
            case 0:
                event[dice.choice([name for name in event if name != "seq"])] = dice.choice(ODD)
            case 1 if isinstance(event["body"], dict) and isinstance(other["body"], dict):
                name = dice.choice(list(event["body"]) or ["x"])
                event["body"][name] = other["body"].get(name, dice.choice(ODD))
            case 2:
                event["kind"], event["body"] = other["kind"], other["body"]
            case _:
                event = {name: value for name, value in event.items() if name not in ("intent", "turn", "inbound")}
        lines[at] = json.dumps(event).encode()
    return b"\n".join(lines) + b"\n"


def opened(trace: Trace) -> OpenRun:
    return OpenRun(Run(trace=trace, verdicts=judge(trace.events)))


def look(trace: Trace, beside: RunView, dice: random.Random) -> None:
    """Everything that reports and screens compute of a run."""
    run = opened(trace)
    view = run.view
    for plain in (True, False):
        assert all(line.replace("\n", "").isprintable() for line in report(view.run, plain=plain))
    assert [run.unfolded, run.sessions, run.histories, run.messages, run.queue, run.hands]
    assert list(as_lines(Diff(beside, view)))
    for seq in (0, view.last, dice.randrange(view.last + 1)):
        view.sessions.at(seq)
        explain(view, seq)
        assert verdict_chip(view, seq).text
        assert [run.queue.ledger(seq), run.queue.wrong(seq)]
        assert len(run.queue.rows) == len([run.queue.line(row, seq) for row in run.queue.rows])
        assert all(run.messages.head(history, seq).cells for history in run.messages.histories)
        assert len(run.hands.rows(seq)) == len(run.hands)


@pytest.mark.parametrize("spoil", [flipped, altered])
def test_whatever_a_file_holds_it_is_a_sentence_or_a_run(given, whole, spoil):
    dice = random.Random(6)
    path = given(whole)
    beside = opened(open_trace(path)).view
    refused: list[str] = []
    times = scaled(120, 40)
    for _ in range(times):
        path.write_bytes(spoil(whole, dice))
        try:
            trace = open_trace(path, cut=dice.random() < 0.3)
        except UsageError as error:
            refused.append(error.facts)
        else:
            look(trace, beside, dice)
    assert times / 6 < len(refused) < times * 0.92
    assert all(facts.startswith(f"{path}:") and "\n" not in facts for facts in refused)


def test_a_message_of_a_million_chunks_does_not_stop_the_queue(given, whole):
    """A row draws a sign for each chunk: the app stood still, and took all memory, where the number was altered."""
    trace = open_trace(given(re.sub(rb'"chunks":\d+', b'"chunks":1000000', whole)))
    run, last = opened(trace), trace.events[-1].seq
    assert len(run.histories) and all(chunks(history, last) is None for history in run.histories)
    assert all("/" not in run.queue.line(row, last).cells["tries"].text for row in run.queue.rows)


def with_time(path, number, at):
    """Change the time of a line, counted from 1."""
    lines = path.read_text().splitlines()
    lines[number - 1] = re.sub(r'"at":[\d.]+', f'"at":{at}', lines[number - 1])
    path.write_text("\n".join(lines) + "\n")


def test_a_time_before_the_clock_began_is_refused_with_its_line(trunkline, tmp_path):
    path = tmp_path / "run.jsonl"
    trunkline("run", TOUR, "--trace", path)
    with_time(path, 9, "-4.5")
    code, _, err = trunkline("report", path)
    assert code == 2
    assert f"{path}:9: event 8 has the time -4.5, which is before the clock began" in err


@pytest.mark.parametrize("command", ["report", "replay"])
def test_a_clock_that_runs_back_is_judged_with_a_warning_that_names_the_line(trunkline, tmp_path, command):
    path = tmp_path / "run.jsonl"
    trunkline("run", TOUR, "--trace", path)
    assert trunkline(command, path)[2] == ""
    with_time(path, 60, "7000")
    code, out, err = trunkline(command, path)
    assert code in (0, 1) and out
    assert f"warning: {path}:61: event 60 is 699" in err
    assert err.count("\n") == 1


HUGE = "9" * 5000
QUOTED = (
    ("run", TOUR, "--seed", HUGE),
    ("run", TOUR, "--inject", f"{{at: -{HUGE}s, crash: {{}}}}"),
    ("run", "x" * 5000),
    ("run", TOUR, "--bug", "b" * 5000),
    ("explore", TOUR, "--at", f"step:{HUGE}"),
    ("explain", "key", HUGE),
)


@pytest.mark.parametrize("arguments", QUOTED, ids=lambda words: " ".join(word[:20] for word in words))
def test_no_message_repeats_an_endless_word_or_number(trunkline, arguments):
    code, out, err = trunkline(*arguments)
    assert code == 2
    assert len(out + err) < 700
    assert "set_int_max_str_digits" not in err
