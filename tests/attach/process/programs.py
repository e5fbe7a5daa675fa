"""Small programs that behave as badly as gateways do."""

import sys
from collections.abc import Callable
from pathlib import Path

#: each of its processes locks a file for as long as it lives
_HEAD = """
import os, signal, subprocess, sys, time, fcntl

def here(name):
    held = os.open(f"{name}.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    globals().setdefault("kept", []).append(held)
    open(f"{name}.up", "w").close()

def forked(name, do=lambda: time.sleep(1000)):
    if os.fork() == 0:
        here(name)
        do()
        os._exit(0)
"""


def program(folder: Path, body: str) -> tuple[str, ...]:
    """The command of a program."""
    file = folder / "program.py"
    file.write_text(_HEAD + body)
    return (sys.executable, "-S", "-B", str(file))


def lives(folder: Path, name: str) -> bool:
    """Whether the process of this name lives."""
    import fcntl

    with (folder / f"{name}.lock").open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is true. Raises `TimeoutError`."""
    import anyio

    with anyio.fail_after(seconds):
        while not true():  # noqa: ASYNC110 -- what another process does notifies nobody
            await anyio.sleep(0.01)
