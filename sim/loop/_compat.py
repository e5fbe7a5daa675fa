"""All private names of asyncio, anyio and aiosqlite that the simulator depends on, and the checks that they exist.

A renamed attribute would not always raise: the loop could keep running and silently lose its order. So importing
`trunkline.sim.loop` checks every name and the two task behaviours that the canonical order needs, and raises
UnsupportedRuntime, which names what it found and which versions work.

CPython 3.11 to 3.13 run all of tests/determinism. For 3.14 there is the WebAssembly build of CPython 3.14.2 (Pyodide
314.0.7, C `_asyncio` included): the checks below pass there, so do the tests of order, freezing, killing and virtual
time in tests/determinism, and every scenario gives the trace that it gives on 3.11. No native 3.14 has been tried.
"""
# No other module imports a private name from asyncio or anyio.
# pyright: reportPrivateUsage=false

import asyncio
import importlib
import platform
import sys
from asyncio import events, tasks
from collections.abc import Callable, Iterable
from contextvars import Context
from importlib.metadata import version as version_of
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

from trunkline.sim.loop._errors import UnsupportedRuntime

#: Oldest and newest CPython whose event loop internals were checked; `requires-python` in pyproject.toml agrees.
OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
_WORKING = "Trunkline's simulator works on CPython 3.11 to 3.14, with anyio 4.9 or newer and aiosqlite 0.22"

_LOOP_NAMES = (
    "_asyncgen_finalizer_hook",
    "_asyncgens",
    "_closed",
    "_ready",
    "_run_once",
    "_stopping",
    "_thread_id",
    "_timer_handle_cancelled",
)
_HANDLE_NAMES = ("_callback", "_cancelled", "_context", "_run")
_TIMER_NAMES = (*_HANDLE_NAMES, "_scheduled", "_when")
_TASK_NAMES = ("_log_traceback",)
_CONNECTION_NAMES = ("_connection", "_thread", "_tx")


class LoopHandle(Protocol):
    """The parts of asyncio.Handle for the loop to read."""

    _callback: object
    _cancelled: bool
    _context: Context

    def _run(self) -> None: ...


class TimerLoopHandle(LoopHandle, Protocol):
    """The parts of asyncio.TimerHandle for the loop to read and write."""

    _scheduled: bool
    _when: float


def check_python(version: tuple[int, int], implementation: str) -> None:
    """Refuse an interpreter whose event loop internals were never checked."""
    if implementation != "CPython" or not OLDEST_PYTHON <= version <= NEWEST_PYTHON:
        found = f"{implementation} {version[0]}.{version[1]}"
        raise UnsupportedRuntime(f"{_WORKING}; this is {found}, whose event loop may order callbacks differently")


def check_names(owner: object, label: str, names: Iterable[str]) -> None:
    """Refuse an owner that lacks one of the names. `label` is the owner and its version, for the message."""
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        raise UnsupportedRuntime(f"{_WORKING}; {label} here has no {', '.join(missing)}")


class _Probe:
    """The part of an event loop that a task needs to schedule its steps. Collects them."""

    def __init__(self) -> None:
        self.caught: list[Callable[..., object]] = []

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return False

    def call_soon(self, callback: Callable[..., object], *_: object, context: Context | None = None) -> None:
        del context
        self.caught.append(callback)

    def run_next(self, task: asyncio.Task[Any], *args: object) -> None:
        """Run the last scheduled step of the task, if the step leads back to the task."""
        if not self.caught or getattr(self.caught[-1], "__self__", None) is not task:
            raise UnsupportedRuntime(f"{_WORKING}; the steps of {type(task).__qualname__} here do not lead to the task")
        self.caught.pop()(*args)


def check_steps(task_type: type[asyncio.Task[Any]] = asyncio.Task) -> None:
    """Refuse a Task class whose scheduled callbacks do not lead back to the task: they could not be ordered.

    Runs one task by hand: its first step and its wake-up must both carry it as `__self__`.
    """
    probe = _Probe()
    loop = cast(asyncio.AbstractEventLoop, probe)
    future: asyncio.Future[None] = asyncio.Future(loop=loop)

    async def wait() -> None:
        await future

    coro = wait()
    task = task_type(coro, loop=loop, name="probe")
    running = events._get_running_loop()
    events._set_running_loop(loop)
    try:
        probe.run_next(task)
        future.set_result(None)
        probe.run_next(task, future)
    finally:
        events._set_running_loop(running)
        cast(Any, task)._log_destroy_pending = False
        coro.close()
    if not task.done():
        raise UnsupportedRuntime(f"{_WORKING}; {task_type.__qualname__} here does not schedule its steps one by one")


def check_aiosqlite(connection: object) -> None:
    """Refuse an aiosqlite whose connections lack the expected attributes. `connection` need not be open."""
    check_names(connection, f"aiosqlite {version_of('aiosqlite')}", _CONNECTION_NAMES)


def _check_asyncio() -> None:
    label = f"asyncio of Python {platform.python_version()}"
    loop = asyncio.BaseEventLoop()
    check_names(loop, label, _LOOP_NAMES)
    check_names(events.Handle(check_python, (), loop), label, _HANDLE_NAMES)
    check_names(events.TimerHandle(0.0, check_python, (), loop), label, _TIMER_NAMES)
    loop.close()
    check_names(asyncio.Task, label, _TASK_NAMES)
    check_names(tasks, label, ("_enter_task", "_leave_task"))
    check_names(events, label, ("_set_running_loop",))
    check_steps()


def _anyio(module: str, name: str) -> Any:
    owner = importlib.import_module(module)
    check_names(owner, f"{module} of anyio {version_of('anyio')}", (name,))
    return getattr(owner, name)


class as_running:
    """Make a stopped loop, in this thread, appear to be running a step of one of its tasks.

    Used while the coroutines of a finished run are closed: otherwise cancel scopes would refuse to be left outside
    their task, and code that asks for the event loop would create a new one. No callback runs meanwhile.
    """

    __slots__ = ("_loop", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        self._loop = loop
        self._task = task

    def __enter__(self) -> None:
        # In this order: since 3.14, only tasks of the thread's running loop can be entered and left.
        events._set_running_loop(self._loop)
        tasks._enter_task(self._loop, self._task)

    def __exit__(self, *_: object) -> None:
        tasks._leave_task(self._loop, self._task)
        events._set_running_loop(None)


def mark_library() -> None:
    """Mark this context as asyncio's for sniffio, if installed, as anyio.run does.

    Otherwise anyio would find no async library in the loop's plain callbacks, but only where sniffio is installed.
    """
    if _sniffio is not None:
        _sniffio.current_async_library_cvar.set("asyncio")


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


check_python((sys.version_info[0], sys.version_info[1]), platform.python_implementation())
_check_asyncio()

#: Looked up once: a failing import would search the whole path again in every run.
_sniffio: Any = _installed("sniffio")
#: anyio's state of every task. Its values refer to their weak keys, so entries must be removed explicitly.
anyio_task_states: WeakKeyDictionary[asyncio.Task[Any], object] = _anyio("anyio._backends._asyncio", "_task_states")
#: anyio's variables of every event loop. The same holds for its entries.
anyio_run_vars: WeakKeyDictionary[object, object] = _anyio("anyio.lowlevel", "_run_vars")
