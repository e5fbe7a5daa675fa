"""Standard output and error as they are: some cannot write every character, and a disk may be full."""

from __future__ import annotations

import codecs
import errno
import os
import sys
import unicodedata
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

#: the disk is full, a limit is reached, the device fails, there is no such output
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
#: the name under which Python knows what stands for characters that an encoding does not have
_TWINS = "trunkline-twins"


def prepare() -> None:
    """Have both write the plain twin of a character that their encoding does not have, instead of breaking.

    UTF-8 has no place for the odd bytes of a file name, either.
    """
    codecs.register_error(_TWINS, _twins)
    for stream in (sys.stdout, sys.stderr):
        # In a process without an output there is none.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_TWINS)


def speaks_utf8(stream: TextIO) -> bool:
    """Whether every character can be written."""
    try:
        return codecs.lookup(stream.encoding).name.startswith("utf-8")
    except LookupError:
        return False


def _twins(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Not above: the table of the app needs its screen library, and hardly any terminal needs the table.
    from trunkline.app.tui.theme import ASCII

    text = error.object[error.start : error.end]
    return "".join(_plain(char.translate(ASCII), char) for char in text), error.end


def _plain(twin: str, char: str) -> str:
    """The twin of a character, as wide as it is; a question mark where it has none."""
    if twin.isascii():
        return twin
    if unicodedata.combining(char):
        return ""
    return "??" if unicodedata.east_asian_width(char) in "WF" else "?"


def print_error(text: str) -> None:
    """Print lines on standard error. They may quote names of files, which may hold anything."""
    from trunkline.app.view.text.cells import clean

    for line in text.split("\n"):
        print(clean(line), file=sys.stderr)


def flush_output() -> None:
    """Write what is still held back. Raises `OSError` where that cannot be."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_output() -> None:
    """Give up standard output: what is still held back would fail again when the interpreter ends."""
    with suppress(OSError, ValueError, AttributeError):
        output = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output)
        os.close(nowhere)
