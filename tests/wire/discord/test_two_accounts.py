"""Two accounts in one process, on two servers; buttons, and what people do beside writing."""

import anyio

from tests.support.wire.bench import wire_bench
from tests.support.wire.discord import DiscordBench, play
from trunkline.core.message_parts import Button, MessageParts
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.platforms.channels.discord import FakeDiscord


def press(bench: DiscordBench, message: str, button: str) -> None:
    """Ana presses a button."""
    platform = bench.server.platform
    assert isinstance(platform, FakeDiscord)
    room = platform.room_at(bench.place)
    assert room is not None
    found = platform.board.get(room, message)
    assert found is not None
    platform.people.press(f"press {button}", bench.ana, (), found, button)


def test_accounts_on_two_servers_do_not_disturb_each_other() -> None:
    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, DiscordBench) as one, wire_bench(loop, DiscordBench) as two:
            assert isinstance(one, DiscordBench)
            assert isinstance(two, DiscordBench)
            async with one.listening() as first, two.listening() as second:
                for bench, text in ((one, "to one"), (two, "to two"), (one, "to one again")):
                    await bench.adapter.send(bench.request(text, text))
                await one.say(one.place, "from one")
                await two.say(two.place, "from two")
                await one.brought(first, "from one")
                await two.brought(second, "from two")
                assert [len(inbox.envelopes) for inbox in (first, second)] == [1, 1]
            assert (one.texts(), two.texts()) == (["to one", "to one again"], ["to two"])

    run_real_time(main)


def test_a_press_is_an_inbound_message_and_is_answered_at_once() -> None:
    async def test(bench: DiscordBench) -> None:
        buttons = ((Button(text="Yes", value="go"), Button(text="No"), Button(text="Docs", url="https://x.invalid")),)
        request = bench.request("Deploy?", parts=MessageParts(buttons=buttons))
        receipt = await bench.adapter.send(request)
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            press(bench, receipt.provider_id, "Yes")
            [found] = await bench.brought(inbox, "go")
            assert (found.pressed, found.subject) == (receipt.provider_id, receipt.provider_id)
            assert found.address == bench.place
            assert found.peer.id == bench.ana.id
            await anyio.sleep(0.1)
            assert bench.server.answered == set(bench.server.interactions)
            await bench.adapter.ack(found)
            press(bench, receipt.provider_id, "No")
            await bench.brought(inbox, "No")

    play(test)


def test_a_press_that_is_not_acknowledged_comes_again() -> None:
    async def test(bench: DiscordBench) -> None:
        request = bench.request("Deploy?", parts=MessageParts(buttons=((Button(text="Yes"),),)))
        receipt = await bench.adapter.send(request)
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            press(bench, receipt.provider_id, "Yes")
            [first] = await bench.brought(inbox, "Yes")
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            [again] = await bench.brought(inbox, "Yes")
            assert again.message_id == first.message_id

    play(test)


def test_more_buttons_than_fit_into_a_row_go_on_in_the_next() -> None:
    async def test(bench: DiscordBench) -> None:
        buttons = (tuple(Button(text=f"b{number}") for number in range(7)),)
        await bench.adapter.send(bench.request("Which?", parts=MessageParts(buttons=buttons)))
        [sent] = bench.server.platform.board.sent
        assert sent.request.parts is not None
        assert [len(row) for row in sent.request.parts.buttons] == [5, 2]

    play(test)
