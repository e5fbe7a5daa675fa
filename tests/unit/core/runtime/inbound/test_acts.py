"""One act of a person is one turn: albums, and texts that a client has split."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.support.small_gateway import ANA, BEN, Echo, TinyPlatform, serving
from trunkline.core.channels.acts import LONG_TEXT
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundDropped, InboundReceived, TurnStarted
from trunkline.core.message_parts import FilePart, MediaKind
from trunkline.core.reasons import Reason
from trunkline.core.runtime.inbound import intake

pytestmark = pytest.mark.anyio
PICTURE = (FilePart(file=MediaKind.PICTURE),)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    return lambda seconds: monkeypatch.setattr(intake, "QUIET", seconds)


async def test_an_album_is_one_turn(path: Path, platform: TinyPlatform, quiet: Callable[[float], None]) -> None:
    quiet(0.2)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        for message, text in (("m1", "look"), ("m2", ""), ("m3", "")):
            platform.say(message, text=text, parts=PICTURE, act="a1")
        await running.until(IntentSettled)
        assert [body.message_id for body in running.recorded(InboundReceived)] == ["m1", "m2", "m3"]
        assert [body.reason for body in running.recorded(InboundDropped)] == [Reason.PART_OF_ACT] * 2
        assert len(running.recorded(TurnStarted)) == 1
        assert platform.acked == ["m1", "m2", "m3"]
    assert [text for text, _ in agent.turns] == ["look\n[picture]\n[picture]\n[picture]"]


async def test_what_comes_again_is_dropped_and_a_late_file_is_heard(
    path: Path, platform: TinyPlatform, quiet: Callable[[float], None]
) -> None:
    quiet(0.1)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        for message in ("m1", "m2"):
            platform.say(message, parts=PICTURE, text=message, act="a1")
        await running.until(IntentSettled)
    # The process ended before the third came, and the platform hands over all of them.
    async with serving(path, platform, agent) as running:
        for message in ("m1", "m2", "m3"):
            platform.say(message, parts=PICTURE, text=message, act="a1")
        dropped = await running.until(InboundDropped, 2)
        assert [body.reason for body in dropped] == [Reason.DUPLICATE_MESSAGE] * 2
        await running.until(TurnStarted)
        await running.until(IntentSettled)
    assert [text for text, _ in agent.turns] == ["m1\nm2\n[picture]\n[picture]", "m3\n[picture]"]
    assert platform.acked == ["m1", "m2", "m1", "m2", "m3"]


async def test_a_file_that_comes_again_while_the_act_is_open_is_dropped(
    path: Path, platform: TinyPlatform, quiet: Callable[[float], None]
) -> None:
    quiet(0.2)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        for message in ("m1", "m1", "m2", "m1"):
            platform.say(message, parts=PICTURE, text=message, act="a1")
        await running.until(IntentSettled)
        dropped = await running.until(InboundDropped, 3)
        reasons = [Reason.PART_OF_ACT, *[Reason.DUPLICATE_MESSAGE] * 2]
        assert [body.reason for body in dropped] == reasons
    assert [text for text, _ in agent.turns] == ["m1\nm2\n[picture]\n[picture]"]


async def test_what_was_said_at_other_times_is_no_act(
    path: Path, platform: TinyPlatform, quiet: Callable[[float], None]
) -> None:
    quiet(0.1)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        # The gateway was away for hours, and gets all of it in one go.
        for number, message in enumerate(("m1", "m2")):
            platform.say(message, parts=PICTURE, text=message, act="album", sent_at=3600.0 * number)
        await running.until(IntentSettled, 2)
    assert [text for text, _ in agent.turns] == ["m1\n[picture]", "m2\n[picture]"]


async def test_a_text_that_ends_the_act_does_not_wait(
    path: Path, platform: TinyPlatform, quiet: Callable[[float], None]
) -> None:
    quiet(3600)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="x" * 4000, act=LONG_TEXT)
        platform.say("m2", text="the end")
        # Another act of the same person ends the open one, and stands behind it.
        platform.say("m3", text="", parts=PICTURE, act="a1")
        platform.say("m4", text="what is it?")
        await running.until(IntentSettled, 3)
    assert [text for text, _ in agent.turns] == ["x" * 4000 + "\nthe end", "[picture]", "what is it?"]


async def test_nobody_else_waits_and_what_is_open_comes_again(
    path: Path, platform: TinyPlatform, quiet: Callable[[float], None]
) -> None:
    quiet(3600)
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, text="", parts=PICTURE, act="a1")
        platform.say("m2", BEN, text="hello")
        await running.until(IntentSettled)
        assert platform.acked == ["m2"]
    assert [text for text, _ in agent.turns] == ["hello"]
    quiet(0.05)
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, text="", parts=PICTURE, act="a1")
        with anyio.fail_after(30):
            await running.until(IntentSettled)
    assert agent.turns[-1][0] == "[picture]"
