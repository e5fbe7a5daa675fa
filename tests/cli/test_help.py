"""The help of the commands: in groups, with examples that parse, and advice for a wrong word."""

import io
import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.support.for_each import for_each
from tools.docs import command_paths
from trunkline.app.cli import stored_help
from trunkline.app.cli.commands import COMMANDS, app, examples_of


def is_called(words):
    """Whether a command does something by itself, and is not only a group of others."""
    command = app
    for word in words:
        command = command[word]
    return command.default_command is not None


PATHS = [words for words in command_paths() if words and is_called(words)]


def examples(words):
    return [line.strip() for line in examples_of(words).splitlines()[1:]]


@for_each("words", PATHS, ids=" ".join)
def test_each_command_has_an_example_that_it_understands(words):
    found = examples(words)
    assert found
    for line in found:
        _, *tokens = shlex.split(line)
        assert tuple(tokens[: len(words)]) == words
        app.parse_args(tokens, exit_on_error=False, print_error=False)


def test_the_example_of_a_command_that_there_is_not_would_be_seen():
    assert ("queue", "resolve") in PATHS
    assert examples(["nonsense"]) == examples([]) == ["trunkline tour"]


def test_the_overview_has_the_commands_in_groups_in_the_order_of_the_table(trunkline):
    code, out, err = trunkline("--help")
    assert (code, err) == (0, "")
    titles = re.findall(r"^╭─ (\w+) ─", out, re.MULTILINE)
    assert titles == ["Judge", "Run", "Operate", "Look", "Arguments", "Parameters", "Looks"]
    assert tuple(re.findall(r"^│ ([a-z]+)  ", out, re.MULTILINE)) == COMMANDS
    assert out.endswith("\nExample:\n  trunkline tour\n")


@for_each(
    ("asked", "same"),
    [
        (["help"], ["--help"]),
        (["help", "queue", "resolve"], ["queue", "resolve", "--help"]),
        (["-h"], ["--help"]),
        (["-V"], ["--version"]),
    ],
)
def test_other_words_for_help_and_version(asked, same, trunkline):
    assert trunkline(*asked) == trunkline(*same)
    assert trunkline(*asked)[0] == 0


# Stored pages


class Terminal(io.TextIOWrapper):
    """Standard output that is a terminal or not, with an encoding of its own."""

    def __init__(self, encoding="utf-8", *, tty=False):
        super().__init__(io.BytesIO(), encoding=encoding)
        self.tty = tty

    def isatty(self):
        return self.tty


@pytest.fixture
def columns(monkeypatch):
    def set_them(number, stream):
        monkeypatch.setenv("COLUMNS", str(number))
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", stream)

    return set_them


def test_every_command_has_a_stored_page(columns):
    columns(120, Terminal())
    for words in command_paths():
        page = stored_help.stored_page([*words, "--help"])
        assert page is not None and page.startswith("Usage: trunkline"), words
        assert page == stored_help.stored_page([*words, "-h"]) == stored_help.stored_page(["help", *words])


@for_each(
    ("number", "stream", "words"),
    {
        "a narrow terminal": (79, Terminal(), ["queue", "--help"]),
        "an encoding without the lines of the boxes": (80, Terminal("ascii"), ["queue", "--help"]),
        "a command that there is not": (80, Terminal(), ["queue", "lst", "--help"]),
        "a command with an option": (80, Terminal(), ["queue", "list", "--json", "--help"]),
        "no help": (80, Terminal(), ["queue", "list"]),
        "nothing": (80, Terminal(), []),
    }.values(),
)
def test_what_has_no_stored_page_is_answered_as_before(columns, number, stream, words):
    columns(number, stream)
    assert stored_help.stored_page(words) is None


def test_a_narrow_terminal_gets_narrow_lines():
    # In a process of its own: the command line keeps the width of its first page.
    command = [sys.executable, "-m", "trunkline", "queue", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "60"})
    assert max(len(line) for line in done.stdout.splitlines() if line[:1] in "╭│╰") == 60


def test_at_a_terminal_names_have_a_colour_unless_none_is_wanted(columns, monkeypatch):
    columns(80, Terminal(tty=True))
    page = stored_help.stored_page(["queue", "list", "--help"])
    assert page is not None and page.startswith("\x1b[1mUsage: trunkline queue list [OPTIONS]\x1b[0m\n")
    assert "│ \x1b[36m--limit INT\x1b[0m  List at most" in page
    monkeypatch.setenv("NO_COLOR", "")
    page = stored_help.stored_page(["queue", "list", "--help"])
    assert page is not None and "\x1b" not in page


NEAR = {
    "a command": (
        ["rum"],
        "'rum' is neither a command nor a file or folder of scenarios; did you mean `trunkline run`?",
    ),
    "a command in capitals": (["SERVE"], "did you mean `trunkline serve`?"),
    "a command of a group": (["queue", "lst"], 'Unknown command "lst". Did you mean "list"?'),
    "an option": (["serve", "--chek"], "Unknown option: --chek. Did you mean --check?"),
    "a choice": (["completion", "bsh"], 'Did you mean "bash"?'),
    "nothing near": (
        ["xyzzy"],
        "'xyzzy' is neither a command nor a file or folder of scenarios. Commands: tour, attach",
    ),
}


@for_each(("words", "named"), list(NEAR.values()), ids=list(NEAR))
def test_the_word_that_was_meant_is_named(words, named, trunkline):
    code, out, err = trunkline(*words)
    assert (code, out) == (2, "")
    assert named in err


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "trunkline", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{app.version}\n"


# Completion


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ZSH", raising=False)
    monkeypatch.delenv("ZSH_CUSTOM", raising=False)
    return tmp_path


#: what is typed -> what a shell proposes
TYPED = {
    "qu": {"queue"},
    "queue re": {"retry", "resolve"},
    "serve --log-l": {"--log-level"},
    "serve --log-level ": {"debug", "info", "warning", "error"},
}


def test_bash_completes_commands_options_and_choices(home, trunkline):
    code, out, err = trunkline("completion", "bash", "--install")
    path = home / ".local/share/bash-completion/completions/trunkline"
    assert (code, out, err) == (0, f"{path} is written. A new bash completes `trunkline`.\n", "")
    assert str(path) in (home / ".bashrc").read_text()
    script = [f"source {path}"]
    for typed in TYPED:
        words = ["trunkline", *typed.split(" ")]
        script += [f"COMP_WORDS=({' '.join(map(shlex.quote, words))})", f"COMP_CWORD={len(words) - 1}"]
        script += ["COMPREPLY=()", "_trunkline", 'echo "${COMPREPLY[@]}"']
    done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True, cwd=home)
    assert [set(line.split()) for line in done.stdout.splitlines()] == list(TYPED.values())


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(shell, marks=pytest.mark.slow) for shell in ("zsh", "fish"))])
def test_the_script_of_a_shell_has_every_command_and_is_the_same_each_time(shell, home, trunkline):
    code, out, err = trunkline("completion", shell)
    assert (code, err) == (0, "")
    assert [name for name in COMMANDS if not re.search(rf"\b{name}\b", out)] == []
    assert trunkline("completion", shell)[1] == out
    assert list(home.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_another_way(home, trunkline):
    (home / ".config").write_text("")
    code, _, err = trunkline("completion", "fish", "--install")
    assert code == 2
    assert f"{home}/.config/fish/completions cannot be written: Not a directory" in err
    assert err.endswith("trunkline completion fish\n")
