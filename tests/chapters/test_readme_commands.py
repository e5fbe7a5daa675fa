"""Every command of README's blocks: most are run here, in the clone; the others name the test that runs them."""

import re
import shlex

import pytest

from tests.cli.conftest import _at_home, trunkline  # noqa: F401 -- fixtures
from tests.support.pages import blocks
from tests.support.paths import ROOT

#: command without options that only say where its output goes -> exit code, and what its last lines say
RUN_HERE = {
    "trunkline attach scenarios/attach/lost-answer.yaml --gateway toy": (0, "1 scenario on a gateway, 1 try: 1 holds"),
    "trunkline run scenarios/museum/B001-announced-twice.yaml --bug own": (0, "all show what is declared"),
    "trunkline explore scenarios/tour": (0, "all hold"),
}
#: command -> the module whose tests run it
RUN_ELSEWHERE = {
    "make demo": "tests/packaging/test_environment.py",
    "make install": "tests/packaging/test_environment.py",
    "source .venv/bin/activate": "tests/packaging/test_environment.py",
    "trunkline serve": "tests/cli/processes/test_serve.py",
    "trunkline attach scenarios/attach/lost-answer.yaml --command 'env TOY_DEFECTS=resends-after-reset python3"
    " sim/attach/toy/gateway.py' --report found": "tests/attach/cli/test_readme.py",
    "trunkline init": "tests/cli/first_hour/test_init.py",
    "trunkline serve --check --config gateway.yaml": "tests/chapters/test_chapters.py",
    "trunkline serve --config gateway.yaml": "tests/chapters/test_chapters.py",
    "trunkline run scenarios": "tests/scenario/test_scenarios.py",
    "trunkline": "tests/cli/processes/test_terminal.py",
}


def commands() -> list[str]:
    lines = [
        line
        for block in blocks((ROOT / "README.md").read_text("utf-8"))
        if block.language == "sh"
        for line in block.text.splitlines()
    ]
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines]


def test_every_command_of_the_readme_is_run() -> None:
    assert sorted(commands()) == sorted([*RUN_HERE, *RUN_ELSEWHERE])
    assert [module for module in RUN_ELSEWHERE.values() if not (ROOT / module).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN_HERE)
def test_it_says_what_the_readme_says(command: str, trunkline) -> None:  # noqa: F811
    code, out, err = trunkline(*shlex.split(command)[1:])
    assert (code, err) == (RUN_HERE[command][0], "")
    assert RUN_HERE[command][1] in out
