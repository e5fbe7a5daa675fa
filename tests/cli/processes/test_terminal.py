"""The app in a pseudo-terminal: whatever happens, the terminal is left as it was, and nothing is a traceback."""

import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench.terminal import Picture
from tests.support.paths import ROOT

TOUR = "scenarios/tour/told-twice.yaml"
PATIENCE = 60
#: the other screen of the terminal
ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR_BACK = b"\x1b[?25h"
MOUSE_OFF = b"\x1b[?1000l"


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], own: int, size: tuple[int, int]) -> None:
        self.process = process
        self._own = own
        self.written = b""
        self._picture = Picture(*size)

    def read(self, seconds: float) -> None:
        """Take what is written by then."""
        ready, _, _ = select.select([self._own], [], [], seconds)
        if ready:
            try:
                written = os.read(self._own, 65536)
            except OSError:
                return
            self.written += written
            self._picture.write(written)

    def until(self, *words: str) -> None:
        """Wait for words: written in one piece, or standing on the screen, of which only what changed is written."""
        end = time.monotonic() + PATIENCE
        left = list(words)
        while left := [word for word in left if word.encode() not in self.written and not self._stands(word)]:
            assert time.monotonic() < end and self.process.poll() is None, "\n".join([*left, *self._picture.lines])
            self.read(0.1)

    def until_written(self, part: bytes, *, after: int = 0) -> None:
        """Wait for a part of what is written, from a place on."""
        end = time.monotonic() + PATIENCE
        while part not in self.written[after:]:
            assert time.monotonic() < end, part
            self.read(0.1)

    def until_stands(self, word: str) -> None:
        """Wait until words stand on the screen."""
        end = time.monotonic() + PATIENCE
        while not self._stands(word):
            assert time.monotonic() < end, "\n".join([word, *self._picture.lines])
            self.read(0.1)

    def _stands(self, word: str) -> bool:
        return any(word in line for line in self._picture.lines)

    def type(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def resize(self, width: int, height: int) -> None:
        self._picture = Picture(width, height)
        ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def hang_up(self) -> None:
        """The terminal is gone, and the process gets no signal."""
        os.close(self._own)

    def end(self) -> int:
        """Wait for its end; everything that it wrote is read."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.written[-3000:].decode(errors="replace")
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode

    @property
    def after(self) -> str:
        """What stands on the terminal when the app is gone."""
        return plain(self.written.rpartition(LEFT)[2])


@contextmanager
def terminal(
    *command: str, folder: Path = ROOT, size: tuple[int, int] = (80, 24), errors: int | None = None, **extra: str
):
    """A program on a terminal. `errors`: where its standard error goes instead; `extra` is for its environment."""
    own, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    before = termios.tcgetattr(its)
    # A size in the environment would count for more than that of the terminal.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | {
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT),
        "TEXTUAL_ANIMATIONS": "none",
        **extra,
    }
    process = subprocess.Popen(
        command,
        stdin=its,
        stdout=its,
        stderr=its if errors is None else errors,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        shown = Terminal(process, own, size)
        yield shown
        assert termios.tcgetattr(its) == before
        assert shown.written.count(ENTERED) == shown.written.count(LEFT)
        assert "Traceback" not in shown.written.decode(errors="replace")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(own)
        os.close(its)


def trunkline(*arguments: object, **options: Any):
    return terminal(sys.executable, "-m", "trunkline", *map(str, arguments), **options)


def with_defect(change: str, *arguments: str):
    """The command in a process in which something was changed first."""
    call = f"sys.argv = ['trunkline', *{list(arguments)!r}]\nsys.exit(main())"
    code = f"import sys\n{change}\nfrom trunkline.app.cli import main\n{call}"
    return terminal(sys.executable, "-c", code)


def restored(shown: Terminal) -> None:
    tail = shown.written[shown.written.rindex(ENTERED) :]
    assert LEFT in tail and CURSOR_BACK in tail and MOUSE_OFF in tail


def test_quitting_leaves_the_terminal_as_it_was():
    with trunkline("tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("q")
        assert shown.end() == 0
        restored(shown)
        assert shown.after.strip() == ""


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(number):
    with trunkline("tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.process.send_signal(number)
        assert shown.end() == 128 + number
        restored(shown)


def test_a_signal_right_after_the_terminal_was_taken_leaves_it_as_it_was():
    change = (
        "import os\n"
        "from textual.drivers.linux_driver import LinuxDriver\n"
        "start = LinuxDriver.start_application_mode\n"
        "def started(self): start(self); os.kill(os.getpid(), 15)\n"
        "LinuxDriver.start_application_mode = started"
    )
    with with_defect(change, "tour") as shown:
        assert shown.end() == 128 + signal.SIGTERM
        restored(shown)


def state(shown: Terminal) -> str:
    return Path(f"/proc/{shown.process.pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.slow(every=2)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux whether a process stands still")
@pytest.mark.parametrize(("number", "taken"), [(signal.SIGTSTP, 2), (signal.SIGSTOP, 1)])
def test_a_stopped_app_goes_on_with_a_fresh_picture_and_ends_in_order(number, taken):
    """With SIGTSTP the terminal is given back meanwhile; SIGSTOP leaves no time for that."""
    with trunkline("tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.process.send_signal(number)
        end = time.monotonic() + PATIENCE
        while state(shown) != "T":
            assert time.monotonic() < end
            shown.read(0.1)
        if taken == 2:
            # It stands still already, and what it wrote before is still on its way.
            shown.until_written(LEFT)
        shown.read(0.1)
        assert shown.written.count(LEFT) == taken - 1
        before = len(shown.written)
        shown.process.send_signal(signal.SIGCONT)
        shown.until_written(b"told-twice", after=before)
        shown.type("q")
        assert shown.end() == 0
        restored(shown)
        assert shown.written.count(ENTERED) == taken


def test_control_z_says_why_it_does_nothing_where_no_shell_could_wake_the_app():
    with trunkline("tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("\x1a")
        shown.until("no shell with job control")
        assert state(shown) != "T"
        shown.type("q")
        assert shown.end() == 0
        restored(shown)


def test_control_z_stops_the_whole_job_of_a_shell_and_fg_goes_on():
    """With a shell as it is in a terminal: it has its prompt back meanwhile."""
    with terminal("bash", "--norc", "-i", PS1="prompt> ", HISTFILE="") as shown:
        shown.until("prompt>")
        shown.type(f"env {shlex.quote(sys.executable)} -m trunkline tour\r")
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("\x1a")
        shown.until("Stopped")
        assert shown.written.count(LEFT) == 1
        # Who types before the prompt is there types for the app, which throws it away when it goes.
        shown.until_written(b"prompt>", after=shown.written.index(b"Stopped"))
        before = len(shown.written)
        shown.type("fg\r")
        shown.until_written(b"AUTO-PAUSED", after=before)
        shown.type("q")
        shown.until_written(LEFT, after=before)
        shown.until_written(b"prompt>", after=shown.written.rindex(LEFT))
        shown.type("exit\r")
        assert shown.end() == 0


def test_an_app_whose_terminal_went_without_a_word_does_not_wait_for_ever():
    own, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "trunkline", "tour"]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True)
    os.close(its)
    shown = Terminal(process, own, (80, 24))
    try:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.hang_up()
        assert process.wait(PATIENCE) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()


def test_the_app_does_not_draw_on_an_error_output_that_is_no_terminal():
    with Path(os.devnull).open("w") as nowhere, trunkline("tour", errors=nowhere.fileno()) as shown:
        assert shown.end() == 0
        assert ENTERED not in shown.written and "With the reported defect:" in shown.written.decode()


def test_a_terminal_that_knows_only_ascii_gets_nothing_else():
    with trunkline("tour", PYTHONIOENCODING="ascii", size=(120, 40)) as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("2")
        shown.until("Why #89")
        shown.type("q")
        assert shown.end() == 0
        assert shown.written.isascii() and b"\\u" not in shown.written and b"?" * 9 not in shown.written
        restored(shown)


def plain(written: bytes) -> str:
    """What was written, without colours and moves of the cursor."""
    return re.sub(r"\x1b\[[?<>=\d;]*[a-zA-Z]", "", written.decode(errors="replace"))


def test_a_terminal_may_become_too_small_and_large_again():
    with trunkline("tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        for width, height, says in ((59, 15, "needs 60x16, has 59x15"), (20, 5, "20x5"), (120, 40, "told-twice")):
            shown.resize(width, height)
            # On the screen, and not somewhere in what was written before.
            shown.until_stands(says)
        shown.type("q")
        assert shown.end() == 0
        restored(shown)


def test_a_defect_of_the_app_is_a_sentence_and_a_file():
    change = (
        "from trunkline.app.tui.screens.timeline.screen import TimelineScreen\n"
        "def action_fold(self): raise KeyError('no such lane')\n"
        "TimelineScreen.action_fold = action_fold"
    )
    with with_defect(change, "tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("2")
        shown.until("Why #89")
        shown.type("m")
        assert shown.end() == 3
        restored(shown)
        words = " ".join(shown.after.split())
        assert "KeyError: 'no such lane'" in words and "Please report it" in words
        kept = Path(words.partition("The traceback is in ")[2].partition(".txt")[0].replace(" ", "") + ".txt")
        assert "Traceback" in kept.read_text() and "action_fold" in kept.read_text()
        kept.unlink()


def test_a_crash_inside_a_scenarios_gateway_is_a_message():
    change = (
        "import trunkline.sim\n"
        "real = trunkline.sim.run_scenario\n"
        "def run_scenario(file, **options):\n"
        "    if options['seed'] == 2: raise ZeroDivisionError('inside the gateway')\n"
        "    return real(file, **options)\n"
        "trunkline.sim.run_scenario = run_scenario"
    )
    with with_defect(change, "tour") as shown:
        shown.until("told-twice", "AUTO-PAUSED")
        shown.type("R")
        shown.until("its run broke", "ZeroDivisionError")
        shown.type("q")
        assert shown.end() == 0
        restored(shown)


def test_a_scenario_that_does_not_load_is_listed_with_its_problem(tmp_path):
    (tmp_path / "wrong.yaml").write_text("scenario: 1\ntitle: wrong\nnonsense: true\n")
    with trunkline(tmp_path) as shown:
        shown.until("cannot be read", "the field `cast` is missing")
        shown.type("q")
        assert shown.end() == 0
        restored(shown)


@pytest.mark.parametrize(
    ("content", "message"),
    {
        "empty": (b"", "the file is empty"),
        "cut": (b'{"trunkline_trace":1,"scenario":"x"}\n', "the file was cut"),
        "newer": (b'{"trunkline_trace":9,"scenario":"x"}\n', "upgrade Trunkline"),
        "binary": (bytes(range(256)), "this is not a trace"),
    }.values(),
)
def test_a_trace_that_cannot_be_opened_never_takes_the_screen(tmp_path, content, message):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with trunkline("replay", path) as shown:
        assert shown.end() == 2
        assert ENTERED not in shown.written
        assert message in " ".join(shown.written.decode().split())
