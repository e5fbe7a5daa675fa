"""Standard output and error: some encodings lack characters, and a disk may be full. A progress bar."""

import codecs
import errno
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

#: the disk is full, a limit is reached, the device fails, or the stream is closed
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
#: the name of our encoding error handler
_FALLBACK = "trunkline-fallback"
#: what JSON leaves as it is: C1 controls, line separators, direction marks and overrides, and what is no character
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


def set_encoding_fallback() -> None:
    """Make both streams write an ASCII substitute for a character that their encoding lacks, instead of failing.

    UTF-8 needs it too: it cannot encode the undecodable bytes of a file name.
    """
    codecs.register_error(_FALLBACK, _fallback)
    for stream in (sys.stdout, sys.stderr):
        # A process may have been started without them.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_FALLBACK)


def speaks_utf8(stream: TextIO) -> bool:
    """Whether every character can be written."""
    try:
        return codecs.lookup(stream.encoding).name.startswith("utf-8")
    except LookupError:
        return False


def _fallback(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Imported here: the app's table imports Textual, and hardly any terminal needs the table.
    from trunkline.app.text.cells import ASCII

    text = error.object[error.start : error.end]
    return "".join(_plain(char.translate(ASCII), char) for char in text), error.end


def _plain(substitute: str, char: str) -> str:
    """The substitute of a character, as wide as the character; question marks where it has none."""
    if substitute.isascii():
        return substitute
    if unicodedata.combining(char):
        return ""
    return "??" if unicodedata.east_asian_width(char) in "WF" else "?"


def print_lines(*lines: str, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print lines for people, without control characters; a line end inside a line is drawn as a sign.

    Commands print all text with this, and JSON with `print_json`.
    """
    from trunkline.app.text.cells import clean

    for line in lines:
        print(clean(line), file=file, end=end, flush=flush)


def print_error(text: str) -> None:
    """Print a message of one or more lines on standard error: a quoted file name may contain any character."""
    print_lines(*text.split("\n"), file=sys.stderr)


def print_json(text: str) -> None:
    """Print a JSON document. What a terminal could obey is escaped; outside of strings there is no such character."""
    print(_OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def flush_output() -> None:
    """Flush standard output. Raises `OSError`."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_output() -> None:
    """Send standard output to the null device: buffered output would fail again when the interpreter exits."""
    with suppress(OSError, ValueError, AttributeError):
        output = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output)
        os.close(nowhere)


# A progress bar on standard error, at a terminal.

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


@contextmanager
def progress_bar(
    what: str, total: float | None, *columns: "ProgressColumn", own_thread: bool = False
) -> Generator[Callable[..., object] | None]:
    """Show a bar while the block runs, and give what updates it, as `rich.progress.Progress.update` does.

    None where standard error is no terminal. Without a thread of its own the bar is drawn at updates that ask for it:
    the thread would be copied into the processes that are forked meanwhile.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Printed lines go above the bar when both are on the screen, else straight to standard output.
    on_screen, console = sys.stdout.isatty(), Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=on_screen, auto_refresh=own_thread
    ) as progress:
        yield partial(progress.update, progress.add_task(what, total=total))
