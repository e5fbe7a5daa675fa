"""Files of this machine, files that Telegram keeps, and stickers."""

from pathlib import Path

import aiohttp
import pytest

from tests.support.wire.telegram import TelegramBench, a_send, play_telegram
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.sim.events.wire import WireAccepted


async def content(bench: TelegramBench, file_id: str) -> bytes:
    """What Telegram keeps under an id."""
    token = bench.server.token("default", 1)
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{bench.server.url}/bot{token}/getFile", params={"file_id": file_id}) as answer:
            path = (await answer.json())["result"]["file_path"]
        async with http.get(f"{bench.server.url}/file/bot{token}/{path}") as answer:
            return await answer.read()


def play(tmp_path: Path, test: object) -> None:
    for name in ("lamp.png", "bulb.jpg", "plan.pdf", "voice.ogg"):
        (tmp_path / name).write_bytes(name.encode())

    class WithFiles(TelegramBench):
        config = {**TelegramBench.config, "files": str(tmp_path)}  # noqa: RUF012 -- constant

    play_telegram(test, WithFiles)  # type: ignore[arg-type] -- a test


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("lamp.png", MessageParts(buttons=((Button(text="Yes", value="y"),),), silent=True)),
        ("plan.pdf", MessageParts(file_name="the plan.pdf")),
        ("voice.ogg", MessageParts(as_voice=True)),
    ],
)
def test_a_file_of_the_folder_is_uploaded(tmp_path: Path, name: str, parts: MessageParts) -> None:
    async def test(bench: TelegramBench) -> None:
        await bench.bot.send(a_send(bench.places[0], "look", media=(name,), parts=parts))
        [accepted] = bench.events(WireAccepted)
        shown = parts.file_name or name
        assert (accepted.text, accepted.media) == ("look", (shown,))
        assert accepted.parts is not None or not parts.buttons
        [stored] = bench.server.files.by_id.values()
        assert (await content(bench, stored.file_id), stored.source) == (name.encode(), shown)

    play(tmp_path, test)


def test_an_album_is_uploaded_as_one(tmp_path: Path) -> None:
    async def test(bench: TelegramBench) -> None:
        receipt = await bench.bot.send(a_send(bench.places[0], "both", media=("lamp.png", "bulb.jpg")))
        [accepted] = bench.events(WireAccepted)
        assert (accepted.text, accepted.media, accepted.provider_id) == (
            "both",
            ("lamp.png", "bulb.jpg"),
            receipt.provider_id,
        )
        assert sorted(one.content for one in bench.server.files.by_id.values()) == [b"bulb.jpg", b"lamp.png"]

    play(tmp_path, test)


def test_what_telegram_keeps_is_sent_by_its_id(tmp_path: Path) -> None:
    async def test(bench: TelegramBench) -> None:
        await bench.bot.send(a_send(bench.places[0], "first", media=("plan.pdf",)))
        [stored] = bench.server.files.by_id.values()
        again = f"telegram-file:{stored.file_id}"
        await bench.bot.send(a_send(bench.places[1], "again", media=(again,)))
        await bench.bot.send(a_send(bench.places[1], "", html=None, parts=MessageParts(sticker=stored.file_id)))
        accepted = bench.events(WireAccepted)
        assert [one.media for one in accepted] == [("plan.pdf",), (again,), ()]
        assert accepted[2].parts == MessageParts(sticker=stored.file_id)
        with pytest.raises(Refused, match="wrong file identifier"):
            await bench.bot.send(a_send(bench.places[1], "none", media=(f"telegram-file:{'x' * 20}",)))

    play(tmp_path, test)


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "missing.png"])
def test_nothing_outside_of_the_folder_leaves_the_machine(tmp_path: Path, path: str) -> None:
    async def test(bench: TelegramBench) -> None:
        with pytest.raises(Refused):
            await bench.bot.send(a_send(bench.places[0], "look", media=(path,)))
        assert bench.server.files.by_id == {}
        assert await bench.accepted() == []

    (tmp_path / "files").mkdir()
    (tmp_path / "secret").write_text("secret")
    play(tmp_path / "files", test)


def test_a_caption_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async def test(bench: TelegramBench) -> None:
        with pytest.raises(Refused, match="caption is too long"):
            await bench.bot.send(a_send(bench.places[0], "x" * 1025, media=("lamp.png",)))
        assert await bench.accepted() == []

    play(tmp_path, test)
