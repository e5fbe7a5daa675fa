"""What goes wrong between the adapter and signal-cli, on the socket."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.wire.play import message, outcome, play, recorded
from tests.support.wire.signal import SignalBench
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, RateLimited, Refused
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.values import Receipt
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.wire.signal import server


def strike(bench: SignalBench, do: str, **fields: Any) -> None:
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
    async def test(bench: SignalBench) -> None:
        strike(bench, do, **fields)
        found = await outcome(bench.real.send(message(bench)))
        assert type(found) is kind
        assert len(await bench.accepted()) == accepted
        # One request for one call, and the next one works.
        assert await bench.requests() == 1
        assert isinstance(await outcome(bench.real.send(message(bench, "again"))), Receipt)

    play(SignalBench, test)


def test_a_daemon_that_is_down_was_not_reached() -> None:
    async def test(bench: SignalBench) -> None:
        await bench.listener.close()
        assert type(await outcome(bench.real.send(message(bench)))) is NotSent
        await bench.listener.open()
        assert isinstance(await outcome(bench.real.send(message(bench, "again"))), Receipt)

    play(SignalBench, test)


def test_a_group_that_the_account_is_no_member_of_is_gone() -> None:
    """signal-cli has no code for it, so the adapter asks."""

    async def test(bench: SignalBench) -> None:
        room = bench._platform.room_at(bench.places[0])
        assert room is not None
        strike(bench, "refuse")
        assert type(await outcome(bench.real.send(message(bench)))) is Refused
        room.left.add("default")
        assert type(await outcome(bench.real.send(message(bench, "again")))) is PlaceGone
        # Nobody else is affected.
        assert isinstance(await outcome(bench.real.send(message(bench, "other", address=bench.places[2]))), Receipt)

    play(SignalBench, test)


def test_members_of_a_group_who_did_not_get_it_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def on_each_member(daemon: server.SignalServer, request: Any, place: Any) -> Any:
        def answer(receipt: Receipt) -> Any:
            kinds = ("SUCCESS", "UNREGISTERED_FAILURE")
            results = [server.result_for(daemon.platform, place, kind) for kind in kinds]
            return server._result(request[server._CALL].id, {"timestamp": int(receipt.provider_id), "results": results})

        return answer

    async def test(bench: SignalBench) -> None:
        found = await outcome(bench.real.send(message(bench)))
        assert isinstance(found, Receipt)
        [failed] = recorded(bench, DeliveryFailed)
        assert (failed.message_id, failed.code) == (found.provider_id, "UNREGISTERED_FAILURE")

    monkeypatch.setattr(server.SignalServer, "_sent", on_each_member)
    play(SignalBench, test)


# ---------------------------------------------------------------- files


def test_files_travel_with_their_content(tmp_path: Path) -> None:
    file = tmp_path / "a lamp;.png"
    file.write_bytes(b"lamp")

    async def test(bench: SignalBench) -> None:
        assert isinstance(await outcome(bench.real.send(message(bench, media=(str(file),)))), Receipt)
        [seen] = await bench.accepted()
        assert seen.media == ("data:image/png;filename=a_lamp_.png;base64,bGFtcA==",)

    play(with_files(tmp_path), test)


def with_files(folder: Path) -> type[SignalBench]:
    """The bench of an account that may send the files of a folder."""

    class Bench(SignalBench):
        """With the folder."""

        config = {**SignalBench.config, "files": str(folder)}  # noqa: RUF012 -- as the base

    return Bench


@pytest.mark.parametrize("given", [True, False], ids=["another folder", "no folder"])
def test_a_file_outside_of_the_folder_is_refused(tmp_path: Path, given: bool) -> None:
    (tmp_path / "outbox").mkdir()
    secret = tmp_path / "token"
    secret.write_bytes(b"secret")
    (tmp_path / "outbox" / "link").symlink_to(secret)

    async def test(bench: SignalBench) -> None:
        for media in (str(secret), "../token", "link", f"file://{secret}"):
            assert type(await outcome(bench.real.send(message(bench, media=(media,))))) is Refused, media
        assert await bench.requests() == 0

    play(with_files(tmp_path / "outbox") if given else SignalBench, test)


def test_a_file_that_cannot_be_had_is_refused_or_not_sent(tmp_path: Path) -> None:
    async def test(bench: SignalBench) -> None:
        root = bench.server.url
        tried = {str(tmp_path / "none.png"): Refused, f"{root}/none.png": Refused, "http://127.0.0.1:1/a.png": NotSent}
        tried |= {f"{root.replace('127.0.0.1', 'localhost')}/none.png": Refused}
        for media, kind in tried.items():
            assert type(await outcome(bench.real.send(message(bench, media=(media,))))) is kind
        assert await bench.requests() == 0

    class Bench(SignalBench):
        """With a host that is not public."""

        config = {**SignalBench.config, "file_hosts": ["127.0.0.1"]}  # noqa: RUF012 -- as the base

    play(Bench, test)
