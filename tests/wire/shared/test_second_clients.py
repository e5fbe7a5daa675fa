"""The environments of second client libraries: what is pinned, and how a script runs in one."""

import re
import subprocess

import pytest

from tests.support.paths import ROOT
from tests.support.wire.second_clients import LOCKS, locked_versions, needs_second, run_second
from trunkline.sim.loop import RealTimeLoop, run_real_time

NAMES = sorted(lock.stem for lock in LOCKS.glob("*.lock"))
#: environment -> a package that it is made for
LIBRARIES = {name: name for name in ("aiogram", "hikari", "matrix-nio", "pywa", "slack-bolt")}


def test_every_library_has_a_lock() -> None:
    assert {*LIBRARIES} <= {*NAMES}
    assert all(LIBRARIES[name] in locked_versions(name) for name in LIBRARIES)


@pytest.mark.parametrize("name", NAMES)
def test_every_package_is_pinned_with_hashes(name: str) -> None:
    text = (LOCKS / f"{name}.lock").read_text()
    packages = re.findall(r"^\S.*(?:\n +.*)*", text, re.MULTILINE)
    assert packages
    for package in packages:
        assert re.match(r"[a-z0-9.-]+(\[[a-z,-]+\])?==\S+ ", package), package
        assert "--hash=sha256:" in package, package


def test_a_name_without_a_lock_is_refused_with_those_that_there_are() -> None:
    script = ROOT / "tools" / "second_clients.sh"
    done = subprocess.run(["sh", script, "nothing"], check=False, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "nothing.lock" in done.stderr
    assert "aiogram.lock" in done.stderr


@needs_second("aiogram")
@pytest.mark.parametrize("factor", [1.0, 20.0])
def test_a_script_runs_beside_the_loop(factor: float) -> None:
    async def main(loop: RealTimeLoop) -> tuple[object, bool]:
        ticks: list[float] = []
        loop.call_later(0.01, lambda: ticks.append(loop.time()))
        program = (
            "import aiogram, json, sys, time; time.sleep(0.2); print(json.dumps([aiogram.__version__, sys.argv[1]]))"
        )
        return await run_second("aiogram", program, "é"), bool(ticks)

    told, ticked = run_real_time(main, factor=factor)
    assert told == [locked_versions("aiogram")["aiogram"], "é"]
    assert ticked


@needs_second("aiogram")
@pytest.mark.parametrize(
    ("program", "within", "says"),
    [
        ("raise SystemExit('no such bot')", 30.0, "no such bot"),
        ("pass", 30.0, "printed nothing"),
        ("import time; time.sleep(60)", 0.3, "ended with -9"),
    ],
    ids=["it fails", "it prints nothing", "it hangs"],
)
def test_a_script_that_goes_wrong_fails_the_test(program: str, within: float, says: str) -> None:
    async def main(loop: RealTimeLoop) -> None:
        await run_second("aiogram", program, within=within)

    with pytest.raises(AssertionError, match=says):
        run_real_time(main)
