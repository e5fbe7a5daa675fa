"""The command line. Importing this is cheap: commands import what they need when they are called."""

from __future__ import annotations

import sys


def main() -> int:
    """Entry point of ``trunkline``; returns the exit code: 0 holds, 1 violated, 2 wrong usage or file, 3 it broke."""
    from app.view.calm import loading

    with loading():
        from app.cli.commands import dispatch
        from core.errors import UsageError

    try:
        return dispatch(sys.argv[1:])
    except UsageError as error:
        print(f"trunkline: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough (``trunkline run | head``).
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        print("trunkline: interrupted", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001 -- whatever it is, people get a sentence, and the traceback as a file
        from app.broken import BROKE, note

        print(note(error), file=sys.stderr)
        return BROKE


__all__ = ["main"]
