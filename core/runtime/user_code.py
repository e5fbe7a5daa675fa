"""The border between the gateway and user code: agents, hands, hooks, adapters. Every call to it crosses here.

What user code raises is an error of that call and of nothing else. A `CancelledError` that the gateway did not ask for,
such as that of a library whose own task was cancelled, would end a task group without an error, and `SystemExit` the
process; both become `UserCodeEscape`, an ordinary error. Only what is meant for the gateway passes: a cancellation of
its task, and `KeyboardInterrupt`.
"""

import asyncio
from types import TracebackType
from typing import Any

from trunkline.core.errors import UserCodeEscape
from trunkline.core.well_formed import describe


class Border:
    """The state of the current task before user code, and the judgement of what that raised."""

    __slots__ = ("_cancelling", "_task")

    _task: asyncio.Task[Any]
    _cancelling: int

    def _leave(self, error: BaseException | None) -> None:
        """Raise `UserCodeEscape` for a forbidden error."""
        if error is None or isinstance(error, Exception):
            # Some libraries cancel the task they run in to stop a wait, and never take that back.
            while self._task.cancelling() > self._cancelling:
                self._task.uncancel()
        elif not self._is_meant_for_us(error):
            raise UserCodeEscape(describe(error)) from error

    def _is_meant_for_us(self, error: BaseException) -> bool:
        if isinstance(error, asyncio.CancelledError):
            # A cancellation of the task increments its count; a future that was cancelled elsewhere does not.
            return self._task.cancelling() > self._cancelling
        if isinstance(error, GeneratorExit):
            return not self._is_running()
        return isinstance(error, KeyboardInterrupt)

    def _is_running(self) -> bool:
        """False while the interpreter closes a suspended coroutine, which must not continue."""
        try:
            return asyncio.current_task() is self._task
        except RuntimeError:
            return False


class UserCode(Border):
    """A context manager around one call to user code, including the await. Not reentrant."""

    __slots__ = ()

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)
