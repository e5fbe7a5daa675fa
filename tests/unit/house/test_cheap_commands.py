"""Operators' commands load neither the gateway nor the configuration: each module costs time at a prompt.

Counted in modules, which a busy machine does not change.
"""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

#: modules after an interpreter's own that a command may load, with those of the command line's library
MOST = 400
#: rooms and libraries that these commands have no use for
HEAVY = (
    "trunkline.core.config", "trunkline.core.gateway", "trunkline.core.routing", "trunkline.core.adapters",
    "trunkline.sim", "trunkline.app.tui", "trunkline.app.view", "pydantic", "textual", "asyncio", "markdown_it",
)  # fmt: skip
_CODE = """
import sys
from trunkline.app.cli import main
sys.argv = ["trunkline", *WORDS]
before = len(sys.modules)
try:
    main()
except SystemExit:
    pass
print(len(sys.modules) - before, *sys.modules, file=sys.stderr)
"""


def _loaded(*words: str) -> tuple[int, set[str]]:
    """How many modules a command loads, and all that are loaded then."""
    code = _CODE.replace("WORDS", repr(list(words)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    count, *names = done.stderr.splitlines()[-1].split()
    return int(count), set(names)


@pytest.mark.parametrize(
    "words",
    [*(["queue", "list", "--store", "none.db"], ["hands", "list", "--store", "none.db"], ["bugs"])],
    ids=" ".join,
)
def test_a_command_of_operators_loads_little(words: list[str]) -> None:
    count, loaded = _loaded(*words)
    # Only where the bug switches of plug-ins are asked for.
    heavy = HEAVY if words == ["bugs"] else (*HEAVY, "importlib.metadata")
    assert not [name for name in heavy if name in loaded]
    assert count <= MOST


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["queue", "list", "--help"], ["help", "run"]], ids=" ".join
)
def test_what_is_ready_is_printed_without_loading_anything(words: list[str]) -> None:
    count, loaded = _loaded(*words)
    assert count <= 4
    assert "importlib.metadata" not in loaded
