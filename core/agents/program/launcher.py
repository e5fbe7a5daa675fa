"""The parent of an agent's program: ends all descendants with the program, on request, or with the gateway.

Started as a script of its own, the parent of the program. Whatever the program starts, also in sessions of its own,
becomes a child of this process when its own parent ends: nothing can leave it.

    python -I -S launcher.py GATEWAY_PID KEEP_LC_CTYPE COMMAND...
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: prctl(2): the signal that a process gets when its parent dies, and that it adopts the orphans among its descendants
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: asks for the end of everything; no program sends it to its own group
END = signal.SIGRTMAX if sys.platform == "linux" else signal.SIGTERM
#: what shells exit with when they cannot start a program
_NOT_STARTED = 127


def main(arguments: list[str]) -> int:
    """Run the command, then end all descendants; exits like the command."""
    gateway, keep_locale, *command = arguments
    prctl = ctypes.CDLL(None).prctl
    # Nothing but the two that it waits for: SIGTERM to the group is for the program.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(_PR_SET_PDEATHSIG, END)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != int(gateway):
        # It has died already, and so will send no signal.
        return _NOT_STARTED
    launcher = os.getpid()
    program = os.fork()
    if program == 0:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == launcher:
            _become(command, keep_locale=keep_locale == "yes", mask=before)
        os._exit(_NOT_STARTED)
    # The pipes are the program's: what closes them is its end, not that of this process.
    for descriptor in range(3):
        os.close(descriptor)
    ended = dict[int, int]()
    while program not in ended and signal.sigwait({signal.SIGCHLD, END}) != END:
        _reap(ended, os.WNOHANG)
    _end_all(program, ended)
    _end_as(ended.get(program, signal.SIGKILL))
    return _NOT_STARTED


def _become(command: list[str], *, keep_locale: bool, mask: Iterable[int]) -> None:
    """Replace this process by the command; returns only after a failure."""
    # Python ignores these two, and what is ignored stays ignored in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if not keep_locale:
        # Python adds it under the locale C.
        os.environ.pop("LC_CTYPE", None)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        os.execvp(command[0], command)  # noqa: S606 -- the command of the configuration, without a shell
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        sys.stderr.flush()


def _reap(ended: dict[int, int], how: int) -> bool:
    while True:
        try:
            pid, status = os.waitpid(-1, how)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        ended[pid] = status
        how = os.WNOHANG


def _end_all(program: int, ended: dict[int, int]) -> None:
    """Kill all children, and orphans that become children, until none is left."""
    while _reap(ended, os.WNOHANG):
        try:
            children = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()]
        except OSError:
            children = [] if program in ended else [program]
        for pid in children:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reap(ended, 0)


def _end_as(status: int) -> None:
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        import resource

        # Its core, if it left one, is that of the program.
        with suppress(OSError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
