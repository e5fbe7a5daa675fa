"""A fake WhatsApp in direct mode is a business number of the Cloud API; otherwise nothing of that holds."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from tests.support.contract.fake_platform_double import FakeBench, fake_bench
from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlatformError, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, Capability, IntentId, Receipt, SendRequest
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.platforms.channels.whatsapp import WindowClosed

HOUR = 3600.0
LINK = "https://example.org/lamp.png"


def play(test: Callable[[FakeBench], Awaitable[None]], settings: str = "mode: direct") -> None:
    async def main(loop: SimLoop) -> None:
        async with fake_bench(loop, "whatsapp", settings) as bench:
            await test(bench)

    run(main, seed=1)


async def sent(bench: FakeBench, place: Address, text: str = "hello", **fields: object) -> Receipt | PlatformError:
    mode = bench.adapter.capabilities.mode
    given = {"media": (), "transport": mode.first, **fields}
    request = SendRequest(
        address=place,
        text=text,
        key=text,
        intent=IntentId(text),
        chunk=0,
        attempt=1,
        **given,  # type: ignore[arg-type]
    )
    try:
        return await bench.adapter.send(request)
    except PlatformError as error:
        return error


def buttons(*titles: str) -> MessageParts:
    return MessageParts(buttons=(tuple(Button(text=title) for title in titles),))


def test_it_has_what_the_cloud_api_has() -> None:
    async def test(bench: FakeBench) -> None:
        can = bench.adapter.capabilities
        assert Capability.BUTTONS in can.can and Capability.POLL not in can.can and can.poll_options is None
        assert Action.REACT in can.actions and not can.actions & {Action.EDIT, Action.DELETE, Action.POLL}

    play(test)


def test_a_person_can_be_written_to_for_a_day_after_they_wrote() -> None:
    async def test(bench: FakeBench) -> None:
        room, person = bench.places[:2]
        await anyio.sleep(23.9 * HOUR)
        assert isinstance(await sent(bench, person, "in time"), Receipt)
        await anyio.sleep(0.2 * HOUR)
        assert isinstance(await sent(bench, person, "too late"), WindowClosed)
        # A group has no window.
        assert isinstance(await sent(bench, room, "to all"), Receipt)
        await bench.say(person, "I am back")
        assert isinstance(await sent(bench, person, "welcome"), Receipt)
        await anyio.sleep(25 * HOUR)
        assert isinstance(await sent(bench, person, "too late again"), WindowClosed)

    play(test)


def test_its_own_messages_do_not_open_the_window() -> None:
    async def test(bench: FakeBench) -> None:
        await anyio.sleep(23 * HOUR)
        assert isinstance(await sent(bench, bench.places[1], "one"), Receipt)
        await anyio.sleep(2 * HOUR)
        assert isinstance(await sent(bench, bench.places[1], "two"), WindowClosed)

    play(test)


@pytest.mark.parametrize(
    "fields",
    [
        {"media": (LINK, LINK)},
        {"media": (LINK,), "text": "x" * 1025},
        {"parts": buttons("yes"), "text": "x" * 1025},
        {"parts": buttons("1", "2", "3", "4")},
        {"parts": buttons("x" * 21)},
    ],
)
def test_what_a_message_cannot_have_is_refused(fields: dict[str, object]) -> None:
    async def test(bench: FakeBench) -> None:
        assert type(await sent(bench, bench.places[1], **fields)) is Refused  # type: ignore[arg-type]
        assert isinstance(await sent(bench, bench.places[1], "a lamp", media=(LINK,)), Receipt)
        assert isinstance(await sent(bench, bench.places[1], "well?", parts=buttons("yes", "no")), Receipt)

    play(test)


def test_the_apps_own_connection_has_no_window() -> None:
    async def test(bench: FakeBench) -> None:
        await anyio.sleep(48 * HOUR)
        assert isinstance(await sent(bench, bench.places[1], media=(LINK, LINK)), Receipt)
        assert Capability.POLL in bench.adapter.capabilities.can

    play(test, "")
