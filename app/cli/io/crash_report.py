"""What is said when something breaks that should not: a sentence to read, and the traceback in a file to report."""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path

#: exit code of a Trunkline that broke; 1 is a violated run, 2 is wrong use
BROKE = 3


def sentence(error: BaseException) -> str:
    """An error in one line: its type, its words, and the place in the code."""
    words = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{f': {words}' if words else ''}{where}"


def note(error: BaseException) -> str:
    """The same, with the file that has the traceback."""
    story = "".join(traceback.format_exception(error))
    try:
        descriptor, name = tempfile.mkstemp(prefix="trunkline-broke-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(story)
        kept = f"The traceback is in {name}."
    except OSError as unwritten:
        kept = f"The traceback could not be written ({unwritten.filename}: {unwritten.strerror})."
    return f"trunkline: this broke, and should not have: {sentence(error)}\n{kept} Please report it."
