"""The fake against another client library, and against the types of the published Bot API."""

import asyncio
from pathlib import Path

from tests.support.wire.second_clients import needs_second, run_second
from tests.support.wire.telegram import TelegramBench, a_send, play_telegram
from trunkline.core.message_parts import Button, MessageParts

SCRIPT = Path(__file__).with_name("aiogram_script.py")


@needs_second("aiogram")
def test_aiogram_understands_every_answer() -> None:
    async def test(bench: TelegramBench) -> None:
        assert bench.thread is not None
        room, person, _ = bench.places
        parts = MessageParts(buttons=((Button(text="Yes", value="y"),),))
        receipt = await bench.bot.send(a_send(room, "choose", parts=parts))
        await bench.say(room, "hello")
        await bench.say(bench.thread, "in the topic")
        bench.press(receipt, "y")
        await asyncio.sleep(0.5)
        facts = (bench.server.token("default", 1), room.conversation, str(bench.thread.thread), person.conversation)
        assert await run_second("aiogram", SCRIPT, bench.server.url, *facts) == []
        assert bench.server.platform.pushes.waiting == 0

    play_telegram(test)
