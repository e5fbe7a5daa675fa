"""Errors of a simulated process, as events name them."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import cast

from trunkline.sim.events.processes import ProcessCrashed

#: traceback frames recorded for the error that killed a process
_FRAMES = 8


def one_line(error: BaseException) -> str:
    """An error in one line; of a group its first error."""
    first = _first(error)
    return f"{type(first).__name__}: {first}"


def _first(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def crashed(error: BaseException) -> ProcessCrashed:
    """The error that killed a process, with the last frames of its traceback.

    Files are named without folders, so that the event is the same on any machine.
    """
    calls = traceback.extract_tb(_first(error).__traceback__)[-_FRAMES:]
    frames = tuple(f"{Path(call.filename).name}:{call.lineno} in {call.name}" for call in calls)
    return ProcessCrashed(why=one_line(error), frames=frames)
