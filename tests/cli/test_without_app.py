"""The base is the server: its commands run without the packages of judge and app, whose commands name the remedy."""

import json
import subprocess
import sys

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from tests.unit.house.test_lock import BASE, needed
from trunkline.app.cli import commands
from trunkline.core.errors import UsageError

OF_APP = [name for name in commands.COMMANDS if name not in commands._OF_BASE]
#: hides what the base does not bring, and runs commands in one process
_CODE = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import metadata
from io import StringIO

base, words_of = json.loads(sys.argv[1])
hidden = {
    module
    for module, packages in metadata.packages_distributions().items()
    if not {name.lower().replace("_", "-").replace(".", "-") for name in packages} & {*base, "trunkline"}
}


class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hiding)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in hidden else find(name, *more)
from trunkline.app.cli import main

answers = []
for words in words_of:
    sys.argv = ["trunkline", *words]
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main()
    answers.append((code, out.getvalue()))
print(json.dumps([sorted(hidden), answers]))
"""


@for_each("words", [[], ["scenario.yaml"], *([name] for name in OF_APP)])
def test_a_command_of_the_judge_names_what_installs_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None if name == "textual" else name)
    with pytest.raises(UsageError) as raised:
        commands.dispatch(words)
    named = f"trunkline {words[0]}" if words and words[0] in OF_APP else "the app"
    assert raised.value.facts == f"{named} needs textual, not installed: pip install 'trunkline[app]'"


def test_the_commands_of_the_base_run_without_the_app(tmp_path) -> None:
    config = tmp_path / "gateway.yaml"
    right = [
        *(["--help"], ["--version"], ["run", "--help"], ["attach", "--help"], ["tour", "--help"], ["serve", "--help"]),
        ["init", str(config), "--yes", "--no-check"],
        ["serve", "--check", "--config", str(config)],
        ["doctor", "--config", str(config)],
        *(["bugs", "twice"], ["invariants"], ["explain", "key", "main:main"]),
        *(["schema"], ["schema", "--gateway"], ["completion", "bash"]),
    ]
    refused = [["run"], ["tour"], ["queue", "list", "--store", str(tmp_path / "none.db")], ["fakes"]]
    base = list(needed(BASE))
    done = subprocess.run(
        [sys.executable, "-c", _CODE, json.dumps([base, [*right, *refused]])],
        cwd=ROOT, capture_output=True, text=True, check=False, env={"XDG_STATE_HOME": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    hidden, answers = json.loads(done.stdout)
    assert {"textual", "faker", "aiohttp", "telegram", "pytest"} <= set(hidden)
    wrong = [(words, answer) for words, answer in zip(right, answers, strict=False) if answer[0] != 0]
    assert wrong == []
    said = answers[len(right) :]
    assert [code for code, _ in said] == [2] * len(refused)
    assert said[0][1] == (
        "trunkline: Wrong use: trunkline run needs faker and textual, not installed: pip install 'trunkline[app]'\n"
    )
    assert "pip install 'trunkline[fakes]'" in said[3][1]
