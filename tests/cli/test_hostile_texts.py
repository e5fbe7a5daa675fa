"""Texts of strangers on the command line: whatever a command prints, nothing of it commands the terminal."""

import re
import sqlite3
import sys

import pytest

from tests.cli.processes.test_terminal import terminal
from tests.support.paths import FIXTURES, ROOT
from trunkline.app.terminal import output

EVIL = FIXTURES / "reported" / "simulator" / "evil.yaml"
PEOPLE = ROOT / "scenarios" / "faults" / "strange-names.yaml"
TITLE = FIXTURES / "reported" / "simulator" / "evil2.yaml"
NASTY = "x\x1b]52;c;cHduZWQ=\x07\x9b31m\x08\r\u202e\u2066\u200f\ufeff\ufffe\U000e0001[bold]y[/] 👩\u200d🚀"
QUESTIONS = (
    ("run", "{evil}"),
    ("run", "{evil}", "--bug", "own"),
    ("run", "{evil}", "{title}", "-k", NASTY),
    ("run", "{evil}", "--inject", f"{{at: 1s, as: {NASTY!r}}}"),
    ("run", NASTY),
    ("report", "{trace}"),
    ("report", "{trace}", "--plain"),
    ("report", NASTY),
    ("replay", "{trace}"),
    ("watch", "{trace}"),
    ("run", "{people}"),
    ("report", "{people_trace}"),
    ("watch", "{people_trace}"),
    ("diff", "{trace}", "{other}"),
    ("tour", NASTY),
    (NASTY,),
    ("explain", "target", NASTY),
    ("explain", "send", "--to", NASTY, "--channel", "discord"),
    ("explain", "key", NASTY),
    ("explore", "{title}", "--at", NASTY),
    ("queue", "list", "--store", NASTY),
    ("queue", "show", NASTY, "--store", "{store}"),
    ("transcript", NASTY, "--store", "{store}"),
    ("bindings", "list", "--store", "{store}"),
    ("--theme", NASTY),
)


def commanding(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.isprintable()]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The files that the commands are called with."""
    from trunkline.core.events import write_trace
    from trunkline.sim import load_scenario, run_scenario

    folder = tmp_path_factory.mktemp("hostile")
    found = {"evil": str(EVIL), "title": str(TITLE), "store": str(folder / "store.db")}
    found["people"] = str(PEOPLE)
    for name, path in (("trace", EVIL), ("other", TITLE), ("people_trace", PEOPLE)):
        found[name] = str(folder / f"{name}.jsonl")
        write_trace(folder / f"{name}.jsonl", run_scenario(load_scenario(path)).trace)
    sqlite3.connect(found["store"]).close()
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda words: " ".join(words).encode("ascii", "replace").decode())
def test_nothing_that_is_printed_commands_the_terminal(trunkline, names, question):
    arguments = [word.format(**names) if word.strip("{}") in names else word for word in question]
    _, out, err = trunkline(*arguments)
    assert out or err
    assert (commanding(out), commanding(err)) == ([], [])


def test_a_scenario_that_explore_tries_is_printed_as_text(trunkline):
    _, out, _ = trunkline("explore", TITLE, "--every-step", "1000", "--stops", "0", "--second", "0", "--jobs", "1")
    assert commanding(out) == []


def test_junit_and_json_hold_no_control_character(trunkline, tmp_path):
    trunkline("run", EVIL, "--junit", tmp_path / "junit.xml", "--json", tmp_path / "run.json")
    for file in ("junit.xml", "run.json"):
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert [char for char in text if char < " " and char != "\n"] == []


def test_json_on_a_terminal_is_the_same_document_without_what_a_terminal_obeys(capsys):
    output.print_json('{"a": "\x9b31m\u202e é 好"}')
    printed = capsys.readouterr().out
    assert printed == '{"a": "\\u009b31m\\u202e é 好"}\n'


def test_text_is_printed_by_the_functions_that_clean_it():
    # Those that print only what is ours: the sentence after Ctrl-C, the version, the schemas, the list of keys,
    # examples of commands, and the scripts that complete them.
    own = {"app/cli/__init__.py": 2, "app/cli/schema.py": 2, "app/tui/keys.py": 1, "app/terminal/output.py": 2}
    own |= {"app/cli/commands.py": 1, "app/cli/completion.py": 1}
    used = {
        path.relative_to(ROOT).as_posix(): path.read_text().count(" print(") for path in (ROOT / "app").rglob("*.py")
    }
    assert {path: count for path, count in used.items() if count} == own


@pytest.mark.slow
def test_the_app_writes_no_command_of_a_stranger_to_its_terminal(names):
    command = (sys.executable, "-m", "trunkline", "replay", names["trace"])
    with terminal(*command, size=(140, 45)) as shown:
        shown.until("Timeline")
        for keys in ("1", "2", "3", "4", "5", "6", "7", "8", "9", "2", "jjj\r", "e", "\x1b", "/", "\x1b"):
            shown.type(keys)
            shown.read(0.3)
        shown.process.terminate()
        shown.end()
    # Textual's own: the shape of the mouse pointer.
    written = re.sub(r"\x1b]22;[a-z-]+\x07", "", shown.written.decode(errors="replace"))
    # A copy that somebody makes in the app is OSC 52 too; nothing is copied here.
    forbidden = ("\x1b]52", "\x1b]0;", "\x1b[5m", "o\x1b[31m", "hi \x1b[2J", "\u202e", "\x9b", "\x07", "\ufffe")
    assert [command for command in forbidden if command in written] == []
