"""Tasks in instructions: what is one, and which are due."""

from itertools import pairwise

from tests.support.for_each import for_each
from trunkline.core.heartbeat.tasks import Assignment, HeartbeatTask, TaskList, assignment, parse_tasks

HOUR = 3600.0
TEXT = """\
# Heartbeat
Be brief.

tasks:
- name: inbox
  interval: 2h
  prompt: Look at the inbox.

- name: disks
  interval: 30m
  prompt: "Look at the disks: all of them."
# Afterwards
Say what you did.
"""
INBOX = HeartbeatTask(name="inbox", interval=2 * HOUR, prompt="Look at the inbox.")
DISKS = HeartbeatTask(name="disks", interval=HOUR / 2, prompt="Look at the disks: all of them.")


def test_the_block_is_a_list_of_tasks_and_the_rest_stays() -> None:
    found = parse_tasks(TEXT)
    assert found.tasks == (INBOX, DISKS)
    assert found.rest == "# Heartbeat\nBe brief.\n\n# Afterwards\nSay what you did."
    indented = parse_tasks("tasks:\n  - {name: disks, interval: 30m, prompt: 'Look at the disks: all of them.'}")
    assert (indented.tasks, indented.rest) == ((DISKS,), "")


@for_each(
    "text",
    [
        None,
        "",
        "tasks:\n",
        "tasks: later\n- name: x\n",
        "tasks:\n- call mum\n",
        "tasks:\n- {name: x, interval: soon, prompt: y}\n",
        "tasks:\n- {name: x, interval: 0s, prompt: y}\n",
        "tasks:\n- {name: x, interval: 1h}\n",
        "tasks:\n- {name: x, interval: 1h, prompt: y}\n- {name: z}\n",
        "tasks:\n- {name: [\n",
        "tasks:\n  a: b\n",
        "my tasks:\n- {name: x, interval: 1h, prompt: y}\n",
    ],
)
def test_anything_else_is_text(text: str | None) -> None:
    assert parse_tasks(text) == TaskList(rest=text or "")


def test_a_task_is_due_once_for_each_interval() -> None:
    tasks = parse_tasks(TEXT)
    assert tasks.due(None, HOUR) == (INBOX, DISKS)
    # A heartbeat at seven past and half an hour later.
    runs = [minutes * 60.0 for minutes in range(7, 7 + 300, 30)]
    due = [tasks.due(last, now) for last, now in pairwise(runs)]
    assert [DISKS in one for one in due] == [True] * 9
    assert [INBOX in one for one in due] == [False, False, False, True, False, False, False, True, False]
    assert tasks.due(HOUR, HOUR) == ()
    # What was due during a pause is due once.
    assert tasks.due(0.0, 100 * HOUR) == (INBOX, DISKS)


def test_a_run_of_the_schedule_has_the_tasks_that_are_due() -> None:
    rest = "# Heartbeat\nBe brief.\n\n# Afterwards\nSay what you did."
    disks = "disks: Look at the disks: all of them."
    assert assignment(TEXT, HOUR, 1.5 * HOUR) == Assignment(text=f"{rest}\n\n{disks}", due=1)
    assert assignment(TEXT, HOUR, 1.1 * HOUR) == Assignment(text=rest, due=0)
    # Something else asks for the run, or there are no tasks.
    assert assignment(TEXT, HOUR, None) == Assignment(text=TEXT)
    assert assignment("Look.", HOUR, 2 * HOUR) == Assignment(text="Look.")
    assert assignment(None, HOUR, 2 * HOUR) == Assignment(text=None)
