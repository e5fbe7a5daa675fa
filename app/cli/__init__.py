"""The command line. Importing this is cheap: each command imports what it needs when it is called."""

import sys


def main() -> int:
    """Entry point of ``trunkline``. Exit code: 0 holds, 1 violated, 2 wrong usage or file, 3 unexpected error."""
    try:
        return _run()
    except KeyboardInterrupt:
        print("trunkline: interrupted", file=sys.stderr)
        return 130


def _run() -> int:
    """Run the command, and report any error in a sentence."""
    # Nothing else is loaded for these, not even `contextlib`. What cannot be written is said below.
    try:
        if (text := _ready_answer(sys.argv[1:])) is not None:
            print(text, flush=True)
            return 0
    except OSError:
        pass
    from trunkline.app.gc_policy import loading

    with loading():
        from trunkline.app.terminal import output
        from trunkline.core.errors import StoreError, UsageError

    try:
        output.set_encoding_fallback()
        with loading():
            from trunkline.app.cli.commands import dispatch
        code = dispatch(sys.argv[1:])
        output.flush_output()
    except (UsageError, StoreError) as error:
        output.print_error(f"trunkline: {error}")
        return 2
    except BrokenPipeError:
        # The reader has seen enough (``trunkline run | head``).
        output.discard_output()
        return 1
    except OSError as error:
        if error.errno not in output.UNWRITABLE or error.filename is not None:
            return _crashed(error)
        # An error about a file of ours names it; without a name it is about standard output.
        output.discard_output()
        output.print_error(f"trunkline: the output cannot be written: {error.strerror or error}")
        return 2
    except Exception as error:  # noqa: BLE001 -- any error gets a sentence for people, and a file with the traceback
        return _crashed(error)
    return code


def _ready_answer(arguments: list[str]) -> str | None:
    """The text that needs no work: the version, or a stored page of help."""
    if arguments == ["--version"]:
        from trunkline.core import VERSION

        return VERSION
    from trunkline.app.cli.stored_help import stored_page

    return stored_page(arguments)


def _crashed(error: Exception) -> int:
    from trunkline.app.errors import CRASHED, crash_message
    from trunkline.app.terminal.output import print_error

    print_error(crash_message(error))
    return CRASHED
