"""The command line. Importing this is cheap: commands import what they need when they are called."""

from __future__ import annotations

import sys


def main() -> int:
    """Entry point of ``trunkline``; returns the exit code: 0 holds, 1 violated, 2 wrong usage or file, 3 it broke."""
    try:
        return _told()
    except KeyboardInterrupt:
        print("trunkline: interrupted", file=sys.stderr)
        return 130


def _told() -> int:
    """Do what the arguments say. Whatever goes wrong is told in a sentence."""
    from trunkline.app.gc_policy import loading

    with loading():
        from trunkline.app.cli.commands import dispatch
        from trunkline.app.cli.io.output import UNWRITABLE, discard_output, flush_output, prepare, print_error
        from trunkline.core.errors import UsageError

    try:
        prepare()
        code = dispatch(sys.argv[1:])
        flush_output()
    except UsageError as error:
        print_error(f"trunkline: {error}")
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough (``trunkline run | head``).
        discard_output()
        return 1
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            return _broke(error)
        # Files that we open are written by those who know their names: what has none is the output.
        discard_output()
        print(f"trunkline: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 -- whatever it is, people get a sentence, and the traceback as a file
        return _broke(error)
    return code


def _broke(error: Exception) -> int:
    from trunkline.app.cli.io.crash_report import BROKE, note

    print(note(error), file=sys.stderr)
    return BROKE


__all__ = ["main"]
