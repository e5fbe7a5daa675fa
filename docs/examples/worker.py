"""A worker: it takes tasks of the hand `archive` from the store of a gateway, and answers there.

    python docs/examples/worker.py FOLDER/trunkline.db
    python docs/examples/worker.py postgresql://trunkline@db.example.org/chat

The gateway is `docs/examples/hands.py`; it need not run while the worker works. Ctrl-C ends the worker. One whose tasks
take long also writes the ticket of each task to a file, so that it can still answer after a restart of its own.
"""

import math
import sys
import time
from pathlib import Path

from trunkline import HandOutcome, HandWorker
from trunkline.core.errors import StoreError

#: what the worker can find
SHELVES = {"lighthouse": "Two plans, in box 7."}


def serve_one(worker: HandWorker) -> bool:
    """Take a task and answer it. Returns whether there was one."""
    task = worker.take("archive")
    if task is None or task.ticket is None:
        return False
    worker.progress(task.delegation, task.ticket, "looking through the shelves")
    found = SHELVES.get(task.task)
    if found is None:
        worker.answer(task.delegation, task.ticket, f"nothing about {task.task}", outcome=HandOutcome.ERROR)
    else:
        worker.answer(task.delegation, task.ticket, found)
    return True


def main(store: Path | str, tasks: float = math.inf) -> None:
    """Work until that many tasks are answered."""
    worker, done = HandWorker(store, name="archive-1"), 0
    while done < tasks:
        try:
            worked = serve_one(worker)
        except StoreError as error:  # there is no store yet, or it cannot be written now
            sys.stderr.write(f"{error}\n")
            worked = False
        done += worked
        if not worked:
            time.sleep(0.5)  # noqa: TID251 -- this is a process of its own, with the real clock


if __name__ == "__main__":
    main(sys.argv[1])
