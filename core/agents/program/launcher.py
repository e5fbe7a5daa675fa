"""Becomes the program of an agent, which the kernel kills when the gateway dies.

Started as a script of its own. A function between fork and exec would do the same without another interpreter, but is
not safe in a process with threads.

    python -I -S launcher.py GATEWAY_PID KEEP_LC_CTYPE COMMAND...
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

#: prctl(2): the signal that a process gets when its parent dies
_PR_SET_PDEATHSIG = 1
#: what shells exit with when they cannot start a program
_NOT_STARTED = 127


def main(arguments: list[str]) -> int:
    """Replace this process by the command; returns only after a failure."""
    gateway, keep_locale, *command = arguments
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(gateway):
        # It has died already, and so will send no signal.
        return _NOT_STARTED
    # Python ignores these two, and what is ignored stays ignored in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if keep_locale == "no":
        # Python adds it under the locale C.
        os.environ.pop("LC_CTYPE", None)
    try:
        os.execvp(command[0], command)  # noqa: S606 -- the command of the configuration, without a shell
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
    return _NOT_STARTED


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
