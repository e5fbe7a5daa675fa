"""The border to user code: what passes, what becomes an error, and that no call goes around it."""

import ast
import asyncio
import re
from functools import cache

import anyio
import anyio.lowlevel
import pytest

from tests.support.paths import ROOT
from trunkline.core.agent import Agent
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels.adapter import ChannelAdapter, Directory, Readiness
from trunkline.core.errors import UserCodeEscape
from trunkline.core.hands.port import HandRunner
from trunkline.core.runtime.deadlines import Deadline, Deadlines
from trunkline.core.runtime.user_code import Border, UserCode


class Base(BaseException):
    pass


async def guarded(call):
    with UserCode():
        return await call()


def raising(error):
    async def call():
        raise error

    return call


@pytest.mark.parametrize("error", [asyncio.CancelledError("x"), SystemExit(3), GeneratorExit(), Base("x")])
def test_what_would_end_a_task_or_the_process_is_an_error_of_the_call(error):
    async def main():
        with pytest.raises(UserCodeEscape, match=type(error).__name__):
            await guarded(raising(error))
        await anyio.lowlevel.checkpoint()

    asyncio.run(main())


def test_an_exception_stays_what_it_is():
    with pytest.raises(ValueError, match="x"):
        asyncio.run(guarded(raising(ValueError("x"))))


def test_the_interrupt_of_a_person_passes():
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(guarded(raising(KeyboardInterrupt())))


@pytest.mark.parametrize("how", ["task", "anyio scope", "deadline", "asyncio timeout"])
def test_a_cancellation_of_the_task_passes(how):
    async def main():
        if how == "task":
            task = asyncio.create_task(guarded(anyio.sleep_forever))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif how == "anyio scope":
            with anyio.move_on_after(0.01) as scope:
                await guarded(anyio.sleep_forever)
            assert scope.cancelled_caught
        elif how == "asyncio timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await guarded(anyio.sleep_forever)
        else:
            with Deadlines().within(0.01) as limit:
                await guarded(anyio.sleep_forever)
            assert limit.expired
        assert asyncio.current_task().cancelling() == 0  # pyright: ignore[reportOptionalMemberAccess]

    asyncio.run(main())


def test_a_cancellation_inside_the_call_that_is_taken_back_passes_nothing():
    async def call():
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        return "done"

    assert asyncio.run(guarded(call)) == "done"


def test_a_count_that_a_library_leaves_behind_is_taken_back():
    async def call():
        asyncio.current_task().cancel()  # pyright: ignore[reportOptionalMemberAccess]
        try:
            await anyio.lowlevel.checkpoint()
        except asyncio.CancelledError:
            return "stopped waiting"

    async def main():
        assert await guarded(call) == "stopped waiting"
        assert asyncio.current_task().cancelling() == 0  # pyright: ignore[reportOptionalMemberAccess]

    asyncio.run(main())


def test_a_coroutine_that_is_closed_does_not_go_on():
    after = []

    async def serve(forever):
        try:
            await guarded(lambda: forever)
        except Exception:  # noqa: BLE001 -- what must not be reached
            after.append(1)

    async def main():
        coroutine = serve(asyncio.get_running_loop().create_future())
        coroutine.send(None)
        return coroutine

    # As when the loop has ended and the coroutine is collected.
    asyncio.run(main()).close()
    assert after == []


# ---------------------------------------------------------------- no call goes around it

PORTS = (Agent, HandRunner, ChannelAdapter, Readiness, Directory, BindsConversations)
METHODS = {name for port in PORTS for name, member in vars(port).items() if callable(member) and name[0] != "_"}
#: the names under which `core` holds user code
HOLDERS = {"adapter", "agent", "hands", "hook", "item.adapter", "ctx.hands", "self._ctx.hands"}
#: helpers that call what they are given behind the border
HELPERS = {"self._ask", "self._ask_in_time"}
#: a `Deadline` is one too
BORDERS = ("UserCode()", "self._limits.within(")
#: calls of the same names on parts of ours
OURS = {"self._platforms", "self._bindings", "self.bindings"}


#: what a module has that calls one of them; others need not be parsed
_CALL = re.compile(rf"\.\s*(?:{'|'.join([*METHODS, 'call'])})\b")


def calls_of(path):
    """Calls to user code in a module: line, text, and whether each is behind the border."""
    source = path.read_text()
    if not _CALL.search(source):
        return
    tree = ast.parse(source)
    inside, helped = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith) and any(
            ast.unparse(item.context_expr).startswith(BORDERS) for item in node.items
        ):
            inside.update(id(each) for part in node.body for each in ast.walk(part))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in HELPERS:
            helped.update(id(each) for part in node.args for each in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = ast.unparse(node.func.value)
            named = node.func.attr in METHODS | {"call"} and holder not in OURS
            if named and (holder in HOLDERS or holder.endswith(("adapter", "hands"))):
                yield f"{path.name}:{node.lineno} {ast.unparse(node.func)}", id(node) in inside | helped


MODULES = sorted((ROOT / "core").rglob("*.py"))


@cache
def calls():
    """The calls of every module of `core`."""
    return [found for path in MODULES if "testing" not in path.parts for found in calls_of(path)]


def test_every_call_to_user_code_is_behind_the_border():
    assert [name for name, guarded in calls() if not guarded] == []


def test_no_method_of_a_port_is_missed():
    """Except for those that the gateway does not call: the test above would pass without finding any call."""
    called = {name.rpartition(".")[2] for name, _ in calls()}
    assert called == METHODS


def test_the_helpers_call_behind_the_border():
    for path, call in (("bindings/service.py", "call()"), ("outbound/hook_runner.py", "call(message)")):
        text = (ROOT / "core" / "runtime" / path).read_text()
        before, _, _ = text.partition(f"return await {call}")
        line = before.rstrip().splitlines()[-1]
        assert any(border in line for border in BORDERS), line


def test_a_deadline_is_a_border():
    assert issubclass(Deadline, Border)
