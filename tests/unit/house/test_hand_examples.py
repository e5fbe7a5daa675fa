"""The examples of delegated work run: a gateway and a worker in processes of their own, and the blocks of the pages."""

import ast
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import anyio
import pytest

from tests.support.pages import DOCS, only_block
from trunkline import (
    Agent,
    EventLog,
    Gateway,
    GatewayConfig,
    HandOutcome,
    HandResult,
    SqliteStore,
    connect_file,
    system_env,
)
from trunkline.core.errors import StoreError

EXAMPLES = DOCS / "examples"
#: seconds until a task comes
PATIENCE = 60
ANSWERS = [
    "archive works on it.",
    "count works on it.",
    "count: 5 words",
    "scout works on it.",
    "scout: I saw the tower, Ana.",
]


@pytest.fixture
def example(monkeypatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(EXAMPLES)
    yield __import__
    for name in ("echo", "worker", "hands"):
        sys.modules.pop(name, None)


@contextmanager
def gateway_process(folder: Path, answer: str) -> Iterator[None]:
    """The gateway of the example. It ends by itself once everything was answered, and has printed it."""
    command = [sys.executable, str(EXAMPLES / "hands.py"), str(folder)]

    def give_up(_number: int, _frame: object) -> None:
        # A worker waits for tasks without an end: for ever, where this process has ended by a failure.
        raise TimeoutError(f"no task came within {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, give_up)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            signal.alarm(PATIENCE)
            yield
            signal.alarm(0)
            printed, _ = process.communicate(timeout=60)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            process.kill()
    assert process.returncode == 0, printed
    assert sorted(printed.splitlines()) == sorted([*ANSWERS, answer])


def test_the_worker_answers_the_gateway_of_another_process(tmp_path: Path, example) -> None:
    worker: ModuleType = example("worker")
    with gateway_process(tmp_path, "archive: Two plans, in box 7."):
        worker.main(tmp_path / "trunkline.db", tasks=1)


@pytest.mark.parametrize("fails", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_worker_of_the_hands_page_answers(tmp_path: Path, monkeypatch, *, fails: bool) -> None:
    block = only_block(DOCS / "hands.md", "python", "HandWorker(").text.replace("store.db", "trunkline.db")
    monkeypatch.chdir(tmp_path)

    def search(task: str) -> str:
        if fails:
            raise OSError("the cellar is closed")
        return f"{task}: 3"

    with gateway_process(tmp_path, "archive failed: the cellar is closed" if fails else "archive: lighthouse: 3"):
        for _ in range(600):
            names: dict[str, Any] = {"search": search}
            try:
                exec(compile(block, "hands.md", "exec"), names)
            except StoreError:
                names["task"] = None
            if names["task"] is not None:
                return
            anyio.run(anyio.sleep, 0.1)
    raise AssertionError("no task came")


class Mailer:
    def has(self, hand: str) -> bool:
        return hand == "mailer"

    async def run(self, task) -> str:
        return f"47 mails for {task.task}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("hand", "answer"), [("mailer", "mailer reports: 47 mails for me"), ("robot", "robot reports: welded")]
)
async def test_the_agent_and_the_worker_of_the_embedding_page(tmp_path: Path, example, hand: str, answer: str) -> None:
    page = DOCS / "embedding.md"
    names: dict[str, Any] = {"HandOutcome": HandOutcome, "HandResult": HandResult, "Turn": object}
    exec(
        compile(
            only_block(page, "python", "turn.callback is not None").text.replace("mailer", hand), page.name, "exec"
        ),
        names,
    )
    take = compile(
        only_block(page, "python", "gateway.hands.take").text, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    )
    env = system_env()
    platform = example("echo").Loopback(env)
    events = EventLog(env.now).recorder("gateway", generation=1)
    gateway = names["gateway"] = Gateway(
        config=GatewayConfig.model_validate({"hands": {"each": {"robot": {"worker": True}}}}),
        store=SqliteStore(lambda: connect_file(tmp_path / "gateway.db"), events),
        adapters=[platform],
        agents={"main": cast("Agent", type("Main", (), {"turn": names["turn"]})())},
        hands=Mailer(),
        env=env,
        events=events,
    )
    platform.say("me", message_id="1")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(gateway.run)
            while answer not in [request.text for request in platform.accepted]:
                await eval(take, names)
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()
    first = platform.accepted[0].text
    assert first.startswith("Right away (") and first.endswith(".hand1).")
