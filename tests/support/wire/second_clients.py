"""Second client libraries, in environments of their own: `tools/second_clients.sh` makes them."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

LOCKS = ROOT / "tests" / "wire" / "second_clients"
#: seconds between two looks at a script that runs
_LOOK = 0.05


def second_python(name: str) -> Path:
    """The interpreter of an environment, whether it exists or not."""
    folder = ROOT / ".venvs" / f"second-{name}"
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def needs_second(name: str) -> pytest.MarkDecorator:
    """Marks tests that run in an environment. CI makes every one, so that there a missing one fails the test."""
    missing = not second_python(name).is_file() and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"not installed: tools/second_clients.sh {name}")


async def run_second(name: str, script: Path | str, *args: str, within: float = 60.0) -> Any:
    """Run a script in an environment, beside the event loop, and return the JSON value that it prints last.

    `script`: a file, or the text of a program. `args`: its arguments. Fails if it fails, or takes longer than `within`
    seconds of the machine.
    """
    what = [str(script)] if isinstance(script, Path) else ["-c", script]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as wrong:
        command = [second_python(name), *what, *args]
        # A loop of the simulator starts no processes, and has no threads: so it is started here, and polled.
        process = subprocess.Popen(command, stdout=said, stderr=wrong)  # noqa: ASYNC220 -- see above
        try:
            await _ended(process, within)
        finally:
            process.kill()
            process.wait()
        lines, errors = _text(said).splitlines(), _text(wrong)
    assert process.returncode == 0, f"{name} ended with {process.returncode}:\n{errors}"
    assert lines, f"{name} printed nothing:\n{errors}"
    return json.loads(lines[-1])


async def _ended(process: subprocess.Popen[bytes], within: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + within * getattr(loop, "factor", 1.0)
    while process.poll() is None and loop.time() < until:  # noqa: ASYNC110 -- nothing notifies it
        await asyncio.sleep(_LOOK)


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def locked_versions(name: str) -> dict[str, str]:
    """Package -> version of an environment, by its lock file."""
    lines = (LOCKS / f"{name}.lock").read_text().splitlines()
    pins: Sequence[str] = [line.split(" ")[0] for line in lines if "==" in line and not line.startswith(" ")]
    return dict(pin.split("==") for pin in pins)
