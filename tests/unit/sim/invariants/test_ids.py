"""The ids of invariants, which their docstrings begin with."""

import subprocess
import sys

from trunkline.sim.invariants import CHECKERS, Checker


def test_every_docstring_begins_with_the_id() -> None:
    assert len(CHECKERS) > 70
    assert all((checker.__doc__ or "").startswith(f"{checker.id}: ") for checker in CHECKERS)


def test_an_id_that_is_said_counts_and_a_base_has_none() -> None:
    class Said(Checker):
        """Y1: says something else."""

        id = "acme.said"

    class Base(Checker):
        """The part of Y1: a base of others."""

    assert Said.id == "acme.said"
    assert not hasattr(Base, "id")


def test_without_docstrings_nothing_is_judged_in_silence() -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import trunkline.sim.invariants"], capture_output=True, check=False
    )
    assert done.returncode
    assert b"-OO" in done.stderr
