"""Tasks in the instructions of a heartbeat, each with its own interval.

The block ``tasks:`` is a YAML list of ``name``, ``interval`` and ``prompt``. It ends at the first line that is neither
blank, nor indented, nor a list item.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from trunkline.core.config.base import parse_duration

_BLOCK = re.compile(r"^tasks:[ \t]*\r?\n((?:[ \t]*\r?\n|[ \t]+[^\n]*\n?|-[^\n]*\n?)+)", re.MULTILINE)


class HeartbeatTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One task; `interval` in seconds."""

    name: str
    interval: float
    prompt: str


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of instructions, and the instructions without them."""

    tasks: tuple[HeartbeatTask, ...] = ()
    rest: str = ""

    def due(self, last: float | None, now: float) -> tuple[HeartbeatTask, ...]:
        """The tasks of which a time lies after the last run, up to `now`; all of them if there was none.

        The times of a task are the multiples of its interval since the epoch: nothing needs to be stored for each.
        """
        return tuple(task for task in self.tasks if last is None or now // task.interval > last // task.interval)


def parse_tasks(text: str | None) -> TaskList:
    """Find the tasks. A block that is not a list of complete tasks is text like any other."""
    block = _BLOCK.search(text or "")
    tasks = () if block is None else tuple(_tasks(block[1]))
    if block is None or not tasks:
        return TaskList(rest=text or "")
    return TaskList(tasks=tasks, rest=f"{block.string[: block.start()]}{block.string[block.end() :]}".strip())


class Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The instructions of one run. `due`: number of tasks among them; None if the instructions list no tasks."""

    text: str | None
    due: int | None = None


def assignment(text: str | None, last: float | None, due: float | None) -> Assignment:
    """The instructions of a run: those without tasks, and the tasks that are due.

    `last`, `due`: when the schedule wanted the last run and this one; None: it does not. A run that something else asks
    for has all instructions as they are, and puts off no task.
    """
    listed = parse_tasks(text)
    if due is None or not listed.tasks:
        return Assignment(text=text)
    tasks = listed.due(last, due)
    parts = [listed.rest, *(f"{task.name}: {task.prompt}" for task in tasks)]
    return Assignment(text="\n\n".join(part for part in parts if part), due=len(tasks))


def _tasks(block: str) -> Iterator[HeartbeatTask]:
    # Only instructions with tasks need it.
    import yaml

    try:
        items = yaml.safe_load(block)
    except yaml.YAMLError:
        return
    found = [_task(item) for item in cast("list[object]", items)] if isinstance(items, list) else []
    if all(task is not None for task in found):
        yield from (task for task in found if task is not None)


def _task(item: object) -> HeartbeatTask | None:
    if not isinstance(item, dict):
        return None
    given = cast("dict[object, Any]", item)
    name, prompt = given.get("name"), given.get("prompt")
    try:
        interval = parse_duration(given.get("interval"))
    except ValueError:
        return None
    if not isinstance(name, str) or not isinstance(prompt, str) or not prompt.strip() or interval < 1:
        return None
    return HeartbeatTask(name=name, interval=interval, prompt=prompt.strip())
