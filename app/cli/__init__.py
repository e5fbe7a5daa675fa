"""The command line. Importing this is cheap: each command imports what it needs when it is called."""

from __future__ import annotations

import sys

from trunkline.app.gc_policy import loading


def main() -> int:
    """Entry point of ``trunkline``. Exit code: 0 holds, 1 violated, 2 wrong usage or file, 3 unexpected error."""
    try:
        return _run()
    except KeyboardInterrupt:
        print("trunkline: interrupted", file=sys.stderr)
        return 130


def _run() -> int:
    """Run the command, and report any error in a sentence."""
    with loading():
        from trunkline.app.terminal.output import (
            UNWRITABLE,
            discard_output,
            flush_output,
            print_error,
            set_encoding_fallback,
        )
        from trunkline.core.errors import UsageError

    try:
        set_encoding_fallback()
        code = _execute(sys.argv[1:])
        flush_output()
    except UsageError as error:
        print_error(f"trunkline: {error}")
        return 2
    except BrokenPipeError:
        # The reader has seen enough (``trunkline run | head``).
        discard_output()
        return 1
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            return _crashed(error)
        # An error about a file of ours names it; without a name it is about standard output.
        discard_output()
        print_error(f"trunkline: the output cannot be written: {error.strerror or error}")
        return 2
    except Exception as error:  # noqa: BLE001 -- any error gets a sentence for people, and a file with the traceback
        return _crashed(error)
    return code


def _execute(arguments: list[str]) -> int:
    """Run the command, or print the version, for which nothing else is loaded."""
    if arguments == ["--version"]:
        from trunkline.app.terminal.version import installed_version

        print(installed_version())
        return 0
    with loading():
        from trunkline.app.cli.commands import dispatch
    return dispatch(arguments)


def _crashed(error: Exception) -> int:
    from trunkline.app.errors import CRASHED, crash_message
    from trunkline.app.terminal.output import print_error

    print_error(crash_message(error))
    return CRASHED
