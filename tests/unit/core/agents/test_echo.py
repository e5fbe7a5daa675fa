"""The echo agent on a real gateway."""

from pathlib import Path

import pytest

from tests.support.agents.attached import attached
from tests.support.small_gateway import BEN
from trunkline import Address, ChatKind
from trunkline.core.events.gateway import TurnEnded

pytestmark = pytest.mark.anyio

GROUP = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="900")


async def test_echo_answers_with_the_text(tmp_path: Path) -> None:
    async with attached(tmp_path, {"echo": {}}) as main:
        assert await main.answer("hello **you** \u2028") == "hello **you** \u2028"
        assert await main.answer("again", BEN) == "again"


async def test_in_a_conversation_of_several_people_echo_names_the_author(tmp_path: Path) -> None:
    async with attached(tmp_path, {"echo": {}}) as main:
        assert await main.answer("hello", GROUP) == "peer 900: hello"


async def test_echo_introduces_itself_once_in_each_session(tmp_path: Path) -> None:
    async with attached(tmp_path, {"echo": {"introduction": "I only echo."}}, session={"dm_scope": "per-peer"}) as main:
        assert await main.answer("one") == "one\n\nI only echo."
        assert await main.answer("two") == "two"
        assert await main.answer("three", BEN) == "three\n\nI only echo."


async def test_echo_says_nothing_to_a_wake_up(tmp_path: Path) -> None:
    async with attached(tmp_path, {"echo": {"introduction": "I only echo."}}) as main:
        await main.gateway.gateway.wake("main", "wake up")
        (ended,) = await main.gateway.until(TurnEnded)
        assert ended.outcome == "silent"
