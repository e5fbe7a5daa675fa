"""Syncs that break, come again, come in pieces, or cannot be read."""

import asyncio
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.wire.bench import MemoryCursors
from tests.support.wire.matrix import MatrixBench, hearing, play_matrix
from trunkline.core.adapters.matrix.adapter import MatrixAdapter
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import LateOutcome, LateOutcomes
from trunkline.core.errors import Ambiguous, PlatformError
from trunkline.core.reasons import Reason
from trunkline.sim.wire.matrix.bodies import event
from trunkline.sim.wire.sockets import HOST

_ROOM, _ME = "!room:example.org", "@bot-default:example.org"
#: half of a sign, which no text can end in
_HALF = "$\ud83d"
_THREAD = {"rel_type": "m.thread"}


def test_what_was_said_while_it_was_away_comes_in_order_and_once() -> None:
    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            await bench.say(bench.places[0], "first")
            assert await ear.until(1) == ["first"]
        said = [f"no {number}" for number in range(130)]
        for text in said:
            await bench.say(bench.places[0], text)
        async with hearing(bench) as ear:
            assert sorted(await ear.until(len(said)), key=said.index) == said
        async with hearing(bench) as ear:
            await bench.say(bench.places[1], "last")
            assert await ear.until(1) == ["last"]

    play_matrix(test)


def test_a_message_that_the_platform_delivers_twice_is_the_same_message() -> None:
    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            await bench.say(bench.places[0], "once")
            await ear.until(1)
            await asyncio.sleep(0.2)
            bench.server.platform.people.replay((), None)
            assert await ear.until(2) == ["once", "once"]
        one, two = ear.heard
        assert (one.message_id, one.address) == (two.message_id, two.address)

    play_matrix(test)


def test_a_message_that_somebody_else_redacts_is_told() -> None:
    async def test(bench: MatrixBench) -> None:
        lost = list[LateOutcome]()
        assert isinstance(bench.real, LateOutcomes)
        bench.real.connect_late(lost.append)
        place, log = bench.places[0], bench.server.log("default")
        async with hearing(bench) as ear:
            for number, (who, more) in enumerate(
                [("@mod:example.org", {"redacts": "$1"}), ("@mod:example.org", {}), (_ME, {"redacts": "$3"})]
            ):
                found = event(place.conversation, "m.room.redaction", f"$r{number}", who, 1, {"redacts": "$2", **more})
                log.add(place.conversation, {**found, **more})
            await bench.say(place, "after")
            # The gateway finds out whether it is a message of a person.
            assert await ear.until(3) == ["", "", "after"]
            deleted = [heard.deed.of for heard in ear.heard if heard.deed is not None]
            assert deleted == ["$1", "$2"]
        assert [(one.place.conversation, one.message_id) for one in lost] == [
            (place.conversation, "$1"),
            (place.conversation, "$2"),
        ]

    play_matrix(test)


def test_a_server_that_restarts_is_asked_again_from_the_saved_token() -> None:
    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            await bench.say(bench.places[0], "before")
            await ear.until(1)
            await bench.listener.close()
            assert isinstance(await ear.ended(), PlatformError)
        await bench.listener.open()
        await bench.say(bench.places[0], "after")
        async with hearing(bench) as ear:
            assert await ear.until(1) == ["after"]

    play_matrix(test)


# ---------------------------------------------------------------- a homeserver that says what it is told


class Scripted:
    """A homeserver whose syncs are given; it knows one room with Ana."""

    def __init__(self) -> None:
        self.syncs: list[Any] = []
        self.asked: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/_matrix/client/v3")
        if path == "/account/whoami":
            return web.json_response({"user_id": _ME, "device_id": "D"})
        if path == "/sync":
            self.asked.append(request.query.get("since", ""))
            if not self.syncs:
                # Dead, without saying so.
                await asyncio.sleep(3600)
            found = self.syncs.pop(0)
            return found if isinstance(found, web.Response) else web.json_response(found)
        if path.endswith("/joined_members"):
            return web.json_response({"joined": {_ME: {}, "@ana:example.org": {"display_name": "Ana"}, "@bo:x": None}})
        return web.json_response({"errcode": "M_NOT_FOUND", "error": "no"}, status=404)


def _event(number: int, **more: Any) -> dict[str, Any]:
    content = {"msgtype": "m.text", "body": f"no {number}"}
    usual = {"type": "m.room.message", "event_id": f"${number}", "sender": "@ana:example.org", "content": content}
    return {**usual, "origin_server_ts": 1000 * number, **more}


def _sync(token: str, *events: Any, **timeline: Any) -> dict[str, Any]:
    rooms = {"join": {_ROOM: {"timeline": {"events": list(events), **timeline}}}}
    return {"next_batch": token, "rooms": rooms, "a field of the future": [1, {}]}


def _play(script: Scripted, test: Any) -> None:
    async def over(bench: MatrixBench) -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", script.handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0).start()
        config = {"homeserver": f"http://{HOST}:{runner.addresses[0][1]}", "user": _ME, "token": {"env": "TOKEN"}}
        bench.cursors = MemoryCursors()
        bench.cursors.values[f"since {_ME}"] = "saved"
        settings = MatrixConfig.model_validate({**config, "poll_seconds": 1, "request_timeout": 1})
        bench.real = MatrixAdapter(settings, _with(bench.host, bench.cursors))
        async with bench.bot.running():
            try:
                await test(bench)
            finally:
                await runner.cleanup()

    play_matrix(over)


def _with(host: AdapterHost, cursors: MemoryCursors) -> AdapterHost:
    return AdapterHost(
        account=host.account,
        env=host.env,
        cursors=cursors,
        events=host.events,
        folder=host.folder,
        environ=host.environ,
    )


def test_events_that_cannot_be_read_stop_nobody() -> None:
    script = Scripted()
    bad = [
        _event(2, content="no object"),
        _event(3, event_id=7),
        _event(4, sender=None),
        _event(5, origin_server_ts="yesterday"),
        _event(6, event_id="$\ud83d"),
        _event(7, content={"msgtype": "m.text"}),
        _event(8, content={"msgtype": "m.text", "body": "x", "m.relates_to": {**_THREAD, "event_id": _HALF}}),
        "no event",
        None,
        [],
    ]
    ignored = [_event(20, type="m.future.thing"), _event(21, state_key=""), _event(22, sender=_ME)]
    half = _event(9, content={"msgtype": "m.text", "body": "half \ud83d a sign", "m.relates_to": "odd", "new": {}})
    script.syncs = [_sync("t1", _event(1), *bad, *ignored, half), _sync("t2", _event(10))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(3) == ["no 1", "half ? a sign", "no 10"]
        assert len(bench.dropped()) == len(bad)
        assert {one.reason for one in bench.dropped()} == {Reason.BAD_UPDATE}
        assert bench.cursors.values[f"since {_ME}"] == "t2"

    _play(script, test)


def test_answers_that_are_none_break_the_connection_and_move_nothing() -> None:
    script = Scripted()
    script.syncs = [
        *({"next_batch": token} for token in (7, None, "")),
        [],
        web.Response(text="<html>hello</html>", content_type="text/html"),
        web.Response(body=b'{"next_batch": ', content_type="application/json"),
        web.Response(body=b'{"next_batch": "\xff"}', content_type="application/json"),
        web.Response(text="gone", status=502),
    ]

    async def test(bench: MatrixBench) -> None:
        for _ in range(len(script.syncs)):
            try:
                async with bench.bot.connect():
                    raise AssertionError("it has connected")
            except Ambiguous:
                pass
        assert bench.cursors.values == {f"since {_ME}": "saved"}
        # Odd parts of an answer are no rooms.
        script.syncs = [{"next_batch": "t1", "rooms": {"join": [], "invite": 3, "leave": None}, "account_data": "x"}]
        script.syncs += [_sync("t2", _event(1))]
        async with hearing(bench) as ear:
            assert await ear.until(1) == ["no 1"]

    _play(script, test)


def test_a_server_that_is_silent_for_too_long_counts_as_gone() -> None:
    script = Scripted()
    script.syncs = [_sync("t1", _event(1))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            await ear.until(1)
            assert isinstance(await ear.ended(), Ambiguous)
        assert script.asked == ["saved", "t1"]

    _play(script, test)


def test_ten_megabytes_of_an_event_are_read() -> None:
    script = Scripted()
    text = "x" * 10_000_000
    script.syncs = [_sync("t1", _event(1, content={"msgtype": "m.text", "body": text}), _event(2))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert (await ear.until(2))[1] == "no 2"
            assert len(ear.heard[0].text) == len(text)

    _play(script, test)


def test_what_a_client_asks_for_before_its_first_sync_and_of_a_new_thread_is_there() -> None:
    """matrix-js-sdk never syncs without push rules, and ends by itself without the relations of a thread's root."""

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear, aiohttp.ClientSession() as client:
            assert bench.thread is not None
            await bench.say(bench.thread, "in the thread")
            await ear.until(1)
            room = next(iter(bench.server.names.joined("default")))
            for path in ("v3/pushrules/", f"v1/rooms/{room}/relations/{bench.thread.thread}?dir=b"):
                url = f"{bench.server.url}/_matrix/client/{path}"
                headers = {"Authorization": f"Bearer {bench.server.token('default', 1)}"}
                async with client.get(url, headers=headers) as response:
                    assert response.status == 200
                    found = await response.json()
            assert [event["content"]["body"] for event in found["chunk"]] == ["in the thread"]

    play_matrix(test)
