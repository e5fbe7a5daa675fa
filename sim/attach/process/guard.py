"""The process that holds all processes of a gateway. A program of its own, of the standard library alone.

    python -I -S guard.py CONTROL STATUS      the numbers of two pipes

It reads a line of JSON from CONTROL (`command`, `environment`, `folder`, `namespace`), starts the command, and then
obeys single letters: see `STOP` and its neighbours. It reports on STATUS, a JSON object a line: ``refused``, ``init``,
``failed``, ``done``, ``exit``. At the end of CONTROL, which comes also when who holds it was killed, everything dies.

On Linux it is the first process of a PID namespace where the system allows it: one signal to it, and the kernel ends
every process in it at once, daemons too. Elsewhere it adopts what loses its parent, as far as the system lets it.
"""

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

#: what CONTROL takes: SIGSTOP and SIGCONT to everything, SIGTERM to the first process, SIGKILL to everything
STOP, CONTINUE, TERMINATE, KILL = b"S", b"C", b"T", b"K"

NEW_USER, NEW_NET, NEW_PID, NEW_MOUNTS = 0x10000000, 0x40000000, 0x20000000, 0x00020000
_NO_SUID_DEV_EXEC = 0x2 | 0x4 | 0x8
_DIE_WITH_PARENT, _ADOPT = 1, 36
#: seconds that processes have to die where they are killed one by one
_TO_DIE = 5.0
_BETWEEN = 0.002


def unshare(flags: int) -> None:
    """Leave namespaces for new ones, with the same user and group. Raises `OSError`. Needs a process of one thread."""
    user, group = os.getuid(), os.getgid()
    _check("unshare", _libc().unshare(flags | NEW_USER))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _wake(*_: object) -> None:
    """A child has ended: `select` wakes, and that is all that the signal is for."""


def descendants(pid: int) -> list[int]:
    """All processes below another, the nearest first."""
    found, todo = list[int](), [pid]
    table: dict[int, list[int]] | None = None
    while todo:
        parent = todo.pop(0)
        children = _children(parent)
        if children is None:
            table = _table() if table is None else table
            children = table.get(parent, [])
        found += children
        todo += children
    return found


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    spec = json.loads(_line(control))
    if spec["namespace"]:
        _enter_namespace(status, control)
    else:
        with contextlib.suppress(OSError, AttributeError):
            _prctl(_ADOPT, 1)
        _say(status, init=os.getpid())
    _Guard(spec, control, status).run()


class _Guard:
    def __init__(self, spec: dict[str, Any], control: int, status: int) -> None:
        self._spec, self._control, self._status = spec, control, status
        self._alone: bool = spec["namespace"]
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.set_wakeup_fd(wake)
        self._main = self._start()

    def _start(self) -> int:
        pid = os.fork()
        if pid:
            return pid
        spec = self._spec
        name: str = spec["folder"]
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            os.chdir(name)
            name = spec["command"][0]
            os.execvpe(name, spec["command"], spec["environment"])  # noqa: S606 -- no shell is wanted
        except OSError as error:
            _say(self._status, failed=_not_run(name, error, folder=name == spec["folder"]))
        os._exit(127)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._control in ready:
                orders = os.read(self._control, 4096)
                if not orders:
                    self._end()
                for number in orders:
                    self._obey(bytes([number]))

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == self._main:
                left = sum(_runs(child) for child in descendants(os.getpid()))
                _say(self._status, exit=os.waitstatus_to_exitcode(status), left=left)
                self._end()
            if not pid:
                return

    def _obey(self, order: bytes) -> None:
        if order == KILL:
            self._end()
        elif order == TERMINATE:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._main, signal.SIGTERM)
        else:
            self._signal_all(signal.SIGSTOP if order == STOP else signal.SIGCONT)
            _say(self._status, done=order.decode())

    def _signal_all(self, number: int) -> None:
        if self._alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)
            return
        seen = set[int]()
        # What a process starts before it is hit is found in the next round.
        while new := set(descendants(os.getpid())) - seen:
            for pid in new:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            seen |= new

    def _end(self) -> None:
        rounds = 0 if self._alone else round(_TO_DIE / _BETWEEN)
        for _ in range(rounds):
            self._signal_all(signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not descendants(os.getpid()):
                break
            select.select([], [], [], _BETWEEN)
        os._exit(0)


def _enter_namespace(status: int, control: int) -> None:
    """Go on as the first process of a new PID namespace; the caller waits for it. Ends with ``refused`` if denied."""
    number = os.getpid()
    try:
        unshare(NEW_PID | NEW_MOUNTS)
    except (OSError, AttributeError) as error:
        _say(status, refused=str(error))
        os._exit(0)
    first = os.fork()
    if first:
        _say(status, init=first)
        os.close(status)
        os.close(control)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.waitpid(first, 0)
        os._exit(0)
    try:
        _prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        # Else /proc would show the processes of the machine, by other numbers than the gateway knows itself by.
        _check("mount", _libc().mount(b"proc", b"/proc", b"proc", _NO_SUID_DEV_EXEC, None))
    except OSError as error:
        _say(status, refused=str(error))
        os._exit(0)
    # Numbers go on from start to start: a file with the number of an earlier process must not look as if it still ran.
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number))


def _children(pid: int) -> list[int] | None:
    """The children of a process; None where the system lists no children."""
    folder = Path(f"/proc/{pid}/task")
    try:
        tasks = list(folder.iterdir())
    except FileNotFoundError:
        return None if not Path("/proc/self/task").exists() else []
    except OSError:
        return []
    found = list[int]()
    for task in tasks:
        try:
            found += map(int, (task / "children").read_text().split())
        except FileNotFoundError:
            if task.exists():
                return None
        except OSError:
            continue
    return found


def _not_run(name: str, error: OSError, *, folder: bool) -> str:
    """Why a program cannot be run, or its folder not be entered."""
    if error.errno == errno.ENOEXEC:
        return f"{name}: it is neither a program of this machine nor a script that begins with #!"
    if error.errno != errno.ENOENT or folder:
        return f"{name}: {error.strerror or error}"
    if "/" in name and Path(name).exists():
        return f"{name}: its first line names a program that is not there"
    return f"command not found: {name}"


def _runs(pid: int) -> bool:
    """Whether a process is more than the entry of one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc/self/stat").exists()
    except (OSError, IndexError):
        return False


def _table() -> dict[int, list[int]]:
    import subprocess

    found: dict[int, list[int]] = {}
    command = ["ps", "-A", "-o", "pid=,ppid="]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ps:  # noqa: S603
        assert ps.stdout is not None
        for line in ps.stdout:
            pid, parent = map(int, line.split())
            if pid != ps.pid:
                found.setdefault(parent, []).append(pid)
    return found


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(what: int, value: int) -> None:
    _check("prctl", _libc().prctl(what, value, 0, 0, 0))


def _check(what: str, result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _say(status: int, **fields: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(status, json.dumps(fields).encode() + b"\n")


def _line(descriptor: int) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        more = os.read(descriptor, 1)
        if not more:
            os._exit(0)
        found += more
    return found


if __name__ == "__main__":
    main()
