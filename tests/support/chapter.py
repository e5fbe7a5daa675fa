"""A chapter of the documentation as a story: files that its reader saves, and commands with what they print.

A block of code below `Save it as NAME:` is a file, a block of `diff` below `Change NAME:` changes it, and a block of
`console` has commands, each with its output. Everything is done in the order of the page, as a person does it: in one
shell, in an empty folder, with an empty home.

What a page shows is compared with what is printed. In it, `...` stands for any text, as a line of its own for any
lines, and durations are not compared. People look again until what they wait for has come; so a command that only looks
is repeated until it prints what the page shows.
"""

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.pages import FENCE

#: seconds that anything here may take, on a busy machine too
PATIENCE = 120.0
_NAMED = re.compile(r"\b(Save|Change)\b[^`]*`([^`\s]+)`[^`]*:\s*\Z")
_LOOKS = re.compile(r"(?:cat|curl (?!.* -d )|grep|head|ls|tail|trunkline (?:queue|transcript) )")
_DURATION = re.compile(r"\b\d+(?:\.\d+)?s\b")
#: what a shell says of a job that was ended
_OF_SHELL = re.compile(r"^bash: line \d+: +\d+ (?:Killed|Terminated)\b.*\n", re.MULTILINE)
_END = "\x01end"


class File(NamedTuple):
    """A file that the reader saves."""

    name: str
    text: str


class Change(NamedTuple):
    """A change of a file, as a block of `diff`."""

    name: str
    text: str

    def of(self, text: str) -> str:
        lines = self.text.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        assert text.count(old) == 1, f"{self.name} has no such lines:\n{old}"
        return text.replace(old, new)


class Command(NamedTuple):
    """A command, and what the page shows below it."""

    line: int
    words: str
    shown: str


def steps(text: str) -> Iterator[File | Change | Command]:
    """What a reader does, in order."""
    end = 0
    for found in FENCE.finditer(text):
        language, body, before = found[1], found[2], text[end : found.start()]
        end = found.end()
        named = _NAMED.search(before)
        if language == "console":
            yield from _commands(body, text.count("\n", 0, found.start()) + 2)
        elif named is not None:
            yield (File if named[1] == "Save" else Change)(named[2], body)


def _commands(body: str, line: int) -> Iterator[Command]:
    pieces = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert pieces[0] == "", f"line {line}: a block begins with a command"
    for piece in pieces[1:]:
        words = re.match(r"(?:.*\\\n)*.*\n", piece)
        assert words is not None
        yield Command(line, words[0].rstrip("\n"), piece[words.end() :])
        line += piece.count("\n")


def agrees(shown: str, printed: str) -> bool:
    """Whether a command printed what the page shows."""
    shown, printed = (_DURATION.sub("0s", text).rstrip("\n") for text in (shown, printed))
    pattern = re.escape(shown).replace(re.escape("..."), ".*?")
    # A line of its own, with its end: any lines, or none.
    pattern = re.sub(r"(?:^|(?<=\\\n))\.\*\?(?:\\\n|$)", lambda _: "(?:.*?)", pattern)
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


class Shell:
    """A shell in a folder; `ports`: the ports of the page, each with one that is free on this machine."""

    def __init__(self, folder: Path, home: Path, ports: Mapping[str, str]) -> None:
        self._ports = ports
        environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8"}
        if "TMPDIR" in os.environ:
            environ["TMPDIR"] = os.environ["TMPDIR"]
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, words: str) -> str:
        """Run a command, and return what it prints, with the ports of the page."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        for port, free in self._ports.items():
            words = words.replace(port, free)
        # The code of the command stays that of the last one, for `echo $?`.
        self._bash.stdin.write(f"{words}\n{{ code=$?; echo; echo '{_END}'; (exit $code); }} 2>&1\n".encode())
        self._bash.stdin.flush()
        printed, until = b"", time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as ready:
            ready.register(self._bash.stdout, selectors.EVENT_READ)
            while not printed.endswith(f"\n{_END}\n".encode()):
                assert ready.select(until - time.monotonic()), f"{words}: no end; so far:\n{printed.decode()}"
                piece = os.read(self._bash.stdout.fileno(), 65_536)
                assert piece, f"{words}: the shell ended; so far:\n{printed.decode()}"
                printed += piece
        text = _OF_SHELL.sub("", printed.decode().removesuffix(f"\n{_END}\n"))
        for port, free in self._ports.items():
            text = text.replace(free, port)
        return text

    def close(self) -> None:
        """End the shell, and all that was started in it."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()


def free_ports(pages: Sequence[str]) -> dict[str, str]:
    """A free port of this machine for each port of a page, all of them different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in pages]
    found = {page: str(each.getsockname()[1]) for page, each in zip(pages, sockets, strict=True)}
    for each in sockets:
        each.close()
    return found


def play(text: str, folder: Path) -> None:
    """Do all that a chapter says. Raises `AssertionError` with the first command that prints something else."""
    home, place = folder / "home", folder / "place"
    home.mkdir()
    place.mkdir()
    shell = Shell(place, home, free_ports(sorted(set(re.findall(r"\b8[0-9]{3}\b", text)))))
    try:
        for step in steps(text):
            if isinstance(step, File):
                (place / step.name).write_text(step.text, "utf-8")
            elif isinstance(step, Change):
                file = place / step.name
                file.write_text(step.of(file.read_text("utf-8")), "utf-8")
            else:
                _command(shell, step)
    finally:
        shell.close()


def _command(shell: Shell, step: Command) -> None:
    until = time.monotonic() + PATIENCE
    printed = shell.run(step.words)
    while not agrees(step.shown, printed):
        again = _LOOKS.match(step.words) and time.monotonic() < until
        assert again, f"line {step.line}: {step.words}\nshown:\n{step.shown}\nprinted:\n{printed}"
        time.sleep(0.1)
        printed = shell.run(step.words)
