"""Mutants that an invariant finds are found again, each in its scenario; and the harness tries what it says."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.mutants.operators import Mutant, mutants_of, mutated
from tests.support.paths import ROOT
from tests.support.scale import scaled


def test_an_invariant_finds_each_kept_mutant() -> None:
    # A process of its own: the collector of this one leaves alone what is loaded, so that nothing could be replaced.
    command = [sys.executable, "-m", "tests.mutants", "--replay", str(scaled(1, 20))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_change_has_its_name_and_is_made(tmp_path: Path) -> None:
    source = textwrap.dedent('''
        LIMIT = 3

        def f(a, b):
            """Kept."""
            if a < b and b:
                record(a, b, cause=None)
            return a + LIMIT
    ''')
    path = tmp_path / "m.py"
    path.write_text(source)
    found = mutants_of(path, tmp_path)
    assert len({mutant.name for mutant in found}) == len(found)
    changes = {mutant.change for mutant in found}
    assert {
        "a < b  ->  a <= b",
        "a < b and b  ->  a < b or b",
        "a < b and b  ->  b",
        "3  ->  4",
        "a + LIMIT  ->  a - LIMIT",
    } <= changes
    assert "record(a, b, cause=None)  ->  pass" in changes
    assert all(compile(mutated(source, mutant), "m.py", "exec") for mutant in found)


def test_a_mutant_that_is_gone_is_an_error(tmp_path: Path) -> None:
    gone = Mutant(path="core/x.py", where="f", operator="negate", nth=7, line=1, change="")
    with pytest.raises(LookupError, match=r"core/x\.py::f::negate::7"):
        mutated("def f(): return 1", gone)
