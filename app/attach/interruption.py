"""Ctrl-C, SIGTERM and the end of a terminal, while processes and files are in hand."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def terminated_like_interrupted() -> Generator[None, None, None]:
    """SIGTERM and SIGHUP raise `KeyboardInterrupt`, as Ctrl-C does."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, _NAMES[1:]):
        yield


@contextmanager
def not_interrupted() -> Generator[None, None, None]:
    """Run a block to its end, within a bounded time; interruptions are ignored meanwhile."""
    with _handled(signal.SIG_IGN, _NAMES):
        yield


@contextmanager
def _handled(by: Callable[[int, Any], object] | signal.Handlers, names: tuple[str, ...]) -> Generator[None, None, None]:
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, by) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
