"""Errors that Trunkline did not expect, for people: one line to read, and a file with the traceback to report."""

import os
import tempfile
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from trunkline.core.errors import UsageError
from trunkline.core.events.trace import TraceError

#: exit code after an unexpected error; 1 is a violated run, 2 is wrong usage
CRASHED = 3


def error_line(error: BaseException) -> str:
    """An error in one line: its type, its message, and the place in the code."""
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{f': {message}' if message else ''}{where}"


def crash_message(error: BaseException) -> str:
    """Write the traceback to a temporary file, and return the message that names it."""
    text = "".join(traceback.format_exception(error))
    try:
        descriptor, name = tempfile.mkstemp(prefix="trunkline-broke-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        saved = f"The traceback is in {name}."
    except OSError as unwritten:
        saved = f"The traceback could not be written ({unwritten.filename}: {unwritten.strerror})."
    return f"trunkline: unexpected error: {error_line(error)}\n{saved} Please report it."


@contextmanager
def inconsistent_as_error(name: str) -> Generator[None, None, None]:
    """Turn any error inside into a `TraceError`: a trace whose lines are valid may still contradict itself."""
    try:
        yield
    except (UsageError, BrokenPipeError):
        raise
    except Exception as error:
        raise TraceError(
            f"{name}: its lines are valid, but its events make no sense together ({error_line(error)}). "
            "Record it again; if the file was not changed, this is a defect of Trunkline: please report it"
        ) from error
