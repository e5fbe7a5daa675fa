"""What goes wrong between the adapter and Meta, on the socket."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.wire.play import message, outcome, play, reading
from tests.support.wire.whatsapp import CLOUD, WhatsAppBench
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Receipt
from trunkline.sim.scenario.model.faults import Fault


def strike(bench: WhatsAppBench, do: str, **fields: Any) -> None:
    bench._world.arm(Fault.model_validate({"on": "send", "do": do, **fields}))


@pytest.mark.parametrize(
    ("do", "fields", "kind", "accepted"),
    [
        ("reset", {}, Ambiguous, 1),
        ("reset-before", {}, Ambiguous, 0),
        ("half-answer", {}, Ambiguous, 1),
        ("lose-response", {}, Ambiguous, 1),
        ("drop", {}, Ambiguous, 0),
        ("html", {}, Ambiguous, 0),
        ("error", {}, Ambiguous, 0),
        ("no-receipt", {}, Ambiguous, 1),
        ("slow-loris", {"for": "30s"}, Ambiguous, 1),
        ("slow-loris", {"for": "1s"}, Receipt, 1),
        ("rate-limit", {"for": "7s"}, RateLimited, 0),
        ("refuse", {}, Refused, 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_leaves_the_truth(do: str, fields: dict[str, Any], kind: type[Any], accepted: int) -> None:
    async def test(bench: WhatsAppBench) -> None:
        strike(bench, do, **fields)
        found = await outcome(bench.real.send(message(bench)))
        assert type(found) is kind
        assert len(await bench.accepted()) == accepted
        # One request for one call, and the next one works.
        assert await bench.requests() == 1
        assert isinstance(await outcome(bench.real.send(message(bench, "again"))), Receipt)

    play(WhatsAppBench, test, CLOUD)


def test_a_server_that_is_down_was_not_reached_and_one_that_is_back_is() -> None:
    async def test(bench: WhatsAppBench) -> None:
        async with reading(bench) as found:
            await bench.listener.close()
            assert type(await outcome(bench.real.send(message(bench)))) is NotSent
            await bench.listener.open()
            assert isinstance(await outcome(bench.real.send(message(bench, "again"))), Receipt)
            await bench.say(bench.places[0], "after the restart")
            await found.until(lambda: found.texts == ["after the restart"])

    play(WhatsAppBench, test, CLOUD)


def test_a_revoked_token_is_not_accepted() -> None:
    async def test(bench: WhatsAppBench) -> None:
        bench._platform.tokens.rotate("default", None)
        found = await outcome(bench.real.send(message(bench)))
        assert type(found) is Unauthorized and "190" in found.facts
        assert await bench.accepted() == []

    play(WhatsAppBench, test, CLOUD)


def test_a_person_who_wrote_long_ago_is_out_of_reach_for_good() -> None:
    async def test(bench: WhatsAppBench) -> None:
        place = bench.places[1]
        bench.server.platform.window_seconds = 0.5
        await asyncio.sleep(0.8)
        found = await outcome(bench.real.send(message(bench, address=place)))
        assert type(found) is Refused and "131047" in found.facts
        await bench.say(place, "I am back")
        assert isinstance(await outcome(bench.real.send(message(bench, "welcome", address=place))), Receipt)

    play(WhatsAppBench, test, CLOUD)


def test_a_message_that_comes_twice_or_late_is_the_same_message() -> None:
    async def test(bench: WhatsAppBench) -> None:
        for text in ("one", "two", "three"):
            await bench.say(bench.places[0], text)
        await asyncio.sleep(0.5)
        # Nobody listened: all of them come again, in any order.
        async with reading(bench) as found:
            await found.until(lambda: {"one", "two", "three"} <= set(found.texts))
            # What is still being delivered is not delivered a second time beside that.
            await found.until(lambda: not bench._platform.pushes.waiting)
            bench._platform.people.replay((), None)
            await found.until(lambda: len(found.got) >= 6)
            assert len({one.message_id for one in found.got}) == 3

    play(WhatsAppBench, test, CLOUD)


# ---------------------------------------------------------------- files


def with_files(folder: Path) -> type[WhatsAppBench]:
    """The bench of an account that may send the files of a folder."""

    class Bench(WhatsAppBench):
        """With the folder."""

        files = str(folder)

    return Bench


@pytest.mark.parametrize("given", [True, False], ids=["another folder", "no folder"])
def test_a_file_outside_of_the_folder_is_refused(tmp_path: Path, given: bool) -> None:
    (tmp_path / "outbox").mkdir()
    secret = tmp_path / "lamp.png"
    secret.write_bytes(b"secret")
    (tmp_path / "outbox" / "link.png").symlink_to(secret)

    async def test(bench: WhatsAppBench) -> None:
        for media in (str(secret), "../lamp.png", "link.png", f"file://{secret}"):
            assert type(await outcome(bench.real.send(message(bench, media=(media,))))) is Refused, media
        assert await bench.requests() == 0

    play(with_files(tmp_path / "outbox") if given else WhatsAppBench, test, CLOUD)


def test_a_file_is_uploaded_and_then_sent(tmp_path: Path) -> None:
    file = tmp_path / "lamp.png"
    file.write_bytes(b"\x89PNG")

    async def test(bench: WhatsAppBench) -> None:
        assert isinstance(await outcome(bench.real.send(message(bench, media=(str(file),)))), Receipt)
        [seen] = await bench.accepted()
        assert (seen.text, seen.media) == ("hello", ("lamp.png",))
        [(_, name, kind, content)] = bench.server._files.values()
        assert (name, kind, content) == ("lamp.png", "image/png", b"\x89PNG")

    play(with_files(tmp_path), test, CLOUD)


def test_a_file_that_is_not_there_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async def test(bench: WhatsAppBench) -> None:
        found = await outcome(bench.real.send(message(bench, media=(str(tmp_path / "none.png"),))))
        assert type(found) is Refused
        assert await bench.requests() == 0

    play(with_files(tmp_path), test, CLOUD)


def test_a_failed_upload_leaves_no_doubt(tmp_path: Path) -> None:
    file = tmp_path / "lamp.png"
    file.write_bytes(b"\x89PNG")

    async def test(bench: WhatsAppBench) -> None:
        listening = bench.cloud._config.api_root
        bench.cloud._config = bench.cloud._config.model_copy(update={"api_root": f"{listening}/lost"})
        found = await outcome(bench.real.send(message(bench, media=(str(file),))))
        assert isinstance(found, PlatformError) and not found.ambiguous
        assert await bench.requests() == 0

    play(with_files(tmp_path), test, CLOUD)
