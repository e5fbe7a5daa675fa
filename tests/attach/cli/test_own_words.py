"""``trunkline attach`` with bots that ask no model, as the first lines of a tutorial have them."""

import shlex
import sys

import pytest

from tests.support.paths import ROOT

BOT = ROOT / "tests" / "attach" / "anchors" / "bots" / "echo.py"


@pytest.mark.parametrize(
    ("scenario", "variables", "code", "says"),
    [
        ("plain", {}, 0, "holds in 1 try"),
        ("said-while-down", {"DROPS": "1"}, 1, "X4 1 of 1"),
        ("plain", {"SAYS": "Welcome!"}, 2, "never asked the model at OPENAI_BASE_URL"),
    ],
    ids=["an echo", "an echo that drops what waits", "one that shows no mark"],
)
def test_a_bot_without_a_model(scenario, variables, code, says, trunkline):
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable, str(BOT)]
    path = ROOT / "scenarios" / "attach" / f"{scenario}.yaml"
    options = ("--settle", "1", "--patience", "3")
    found, out, err = trunkline("attach", path, "--command", shlex.join(words), *options)
    assert (found, err) == (code, ""), out
    assert says in out
    assert out.count("nothing can be judged") == (1 if code == 2 else 0)
