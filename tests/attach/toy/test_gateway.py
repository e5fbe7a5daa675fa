"""The toy gateway as a program: what it needs, and what it says when that is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from trunkline.sim.attach.toy import gateway

PROGRAM = Path(gateway.__file__)


def started(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(PROGRAM)]
    return subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def test_an_unknown_defect_is_refused_with_those_that_there_are(tmp_path) -> None:
    done = started(tmp_path, TOY_DEFECTS="greets,forgetful", TELEGRAM_API_ROOT="http://127.0.0.1:9")
    assert done.returncode == 1
    assert "unknown defects: forgetful; there are: resends-after-reset, " in done.stderr


def test_a_platform_that_cannot_be_reached_ends_it_with_its_address(tmp_path) -> None:
    done = started(tmp_path, TELEGRAM_API_ROOT="http://127.0.0.1:9", TELEGRAM_BOT_TOKEN="1:a")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("toy: http://127.0.0.1:9 cannot be reached: ")


def test_it_needs_nothing_but_the_standard_library() -> None:
    """It runs without site-packages; nothing of the project is imported."""
    assert "trunkline" not in PROGRAM.read_text()


def test_a_line_of_its_log_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    gateway.log("first\nsecond \x1b[31m red")
    assert capsys.readouterr().err.count("\n") == 1
