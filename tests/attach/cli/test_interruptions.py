"""``trunkline attach`` when it is interrupted, and when nobody reads what it says any more."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attach.cli.toys import toy_profile, toy_scenario
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

#: a shell's background jobs ignore Ctrl-C, and what they start inherits that
MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from trunkline.app.cli import main; sys.exit(main())"
)


def alive(word: str) -> list[str]:
    """Processes whose command line has a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def named(tmp_path: Path, word: str) -> list[str]:
    """A command that plays a try of a second and one of a minute, with a gateway whose command line has a word."""
    steps = '{at: 60s, as: ana, in: "telegram/@ana", say: late}'
    files = toy_scenario(tmp_path, "quick"), toy_scenario(tmp_path, "slow", steps)
    started = f'["${{python}}", -I, -S, "${{attach}}/toy/gateway.py", {word}]'
    profile = toy_profile(tmp_path, command=started, name="mine")
    command = [sys.executable, "-c", MAIN, "attach", *map(str, files), "--gateway", str(profile)]
    return [*command, "--report", str(tmp_path / "report"), "--jobs", "2"]


def until_one_is_finished(tmp_path: Path) -> None:
    until = time.monotonic() + 60
    while not list((tmp_path / "report").glob("tries/mine/quick/*/1.json")):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_an_interruption_ends_every_process_and_keeps_what_is_finished(number, tmp_path):
    word = f"attach-{os.getpid()}-{number}"
    with subprocess.Popen(
        named(tmp_path, word),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        until_one_is_finished(tmp_path)
        assert alive(word)
        process.send_signal(number)
        out, err = process.communicate(timeout=40)
    assert process.returncode == 130, (out, err)
    assert "interrupted. So far: 2 scenarios on a gateway, 1 try: 1 holds, 1 without a result" in out
    assert "Traceback" not in err
    assert (tmp_path / "report" / "index.html").is_file()
    time.sleep(0.3)
    assert alive(word) == []


def test_the_end_of_its_terminal_ends_every_process_and_writes_the_report(tmp_path):
    word = f"attach-{os.getpid()}-terminal"
    ours, theirs = pty.openpty()
    command = named(tmp_path, word)
    environment = {**os.environ, "TERM": "xterm", "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    )
    os.close(theirs)
    until_one_is_finished(tmp_path)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(40) != 0
    assert (tmp_path / "report" / "index.html").is_file()
    assert list((tmp_path / "temporary").iterdir()) == []
    time.sleep(0.3)
    assert alive(word) == []


def test_one_whose_output_nobody_reads_any_more_writes_the_report(tmp_path):
    word = f"attach-{os.getpid()}-pipe"
    command = [*named(tmp_path, word), "--tries", "2", "-k", "quick"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 1
    assert (tmp_path / "report" / "index.html").is_file()
    time.sleep(0.3)
    assert alive(word) == []
