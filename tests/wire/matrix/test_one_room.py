"""What goes wrong in one room, or is written there, stops no other room."""
# pyright: reportPrivateUsage=false

import json
from typing import Any

import pytest
from aiohttp import web

from tests.support.wire.matrix import MatrixBench, a_send, hearing
from tests.wire.matrix.test_syncs import _ME, _ROOM, Scripted, _event, _play, _sync
from trunkline.core.errors import Ambiguous, PlaceGone, Refused
from trunkline.core.values import ChatKind

_DEAD = "!dead:example.net"


class Answering(Scripted):
    """With answers to other requests, by the end of their path."""

    def __init__(self, **answers: tuple[int, Any]) -> None:
        super().__init__()
        self.answers = {name: list(given) for name, given in answers.items()}
        self.requests: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        for name, (status, body) in self.answers.items():
            if request.path.endswith(f"/{name}") or f"/{name}/" in request.path:
                if isinstance(body, str):
                    return web.Response(status=status, text=body, content_type="text/html")
                return web.json_response(body, status=status)
        return await super().handle(request)


def _answered(status: int, body: Any) -> Any:
    return status, body


DEEP = json.dumps(_sync("t1", _event(1), _event(2, content={"msgtype": "m.text", "body": "deep", "x": "HERE"})))
WRITTEN = {
    "nested": DEEP.replace('"HERE"', "[" * 20_000 + '"]\\"["' + "]" * 20_000),
    "many-digits": DEEP.replace('"HERE"', "9" * 5000),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_value_that_cannot_be_read_hides_no_other(name: str) -> None:
    script = Scripted()
    script.syncs = [web.Response(text=WRITTEN[name], content_type="application/json"), _sync("t2", _event(3))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(3) == ["no 1", "deep", "no 3"]

    _play(script, test)


def test_a_field_with_half_a_sign_stops_nobody() -> None:
    script = Scripted()
    script.syncs = [_sync("t1", _event(1), {**_event(2), "\ud83d": 1}, _event(3))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 1", "no 3"]
        assert [one.update for one in bench.dropped()] == ["$2"]

    _play(script, test)


def test_a_gap_that_may_not_be_read_is_visible_and_what_follows_is_heard() -> None:
    script = Answering(messages=_answered(403, {"errcode": "M_FORBIDDEN", "error": "no"}))
    script.syncs = [_sync("t1", _event(1), limited=True, prev_batch="p"), _sync("t2", _event(2))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 1", "no 2"]
        assert [one.update for one in bench.dropped()] == [_ROOM]

    _play(script, test)


def test_a_gap_whose_answer_has_no_events_is_read_again() -> None:
    script = Answering(messages=_answered(200, {"hello": 1}))
    script.syncs = [_sync("t1", _event(1), limited=True, prev_batch="p")]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert isinstance(await ear.ended(), Ambiguous)
            assert ear.heard == []
        script.answers["messages"] = [200, {"chunk": [_event(0)]}]
        script.syncs = [_sync("t1", _event(1), limited=True, prev_batch="p")]
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 0", "no 1"]

    _play(script, test)


@pytest.mark.parametrize("status", [429, 502])
def test_an_invitation_to_a_server_that_never_answers_stops_nobody(status: int) -> None:
    script = Answering(join=_answered(status, {"errcode": "M_UNKNOWN", "error": "cannot be reached"}))
    invited = {**_sync("t1", _event(1))}
    invited["rooms"] = {**invited["rooms"], "invite": {_DEAD: {}}}

    async def test(bench: MatrixBench) -> None:
        for _ in range(2):
            script.syncs = [invited]
            async with hearing(bench) as ear:
                assert await ear.ended() is not None
        script.syncs = [invited, _sync("t2", _event(2))]
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 1", "no 2"]
        assert [one.update for one in bench.dropped()] == [_DEAD]
        assert len([one for one in script.requests if one.endswith("/join")]) == 3

    _play(script, test)


def test_the_page_of_a_proxy_does_not_prove_that_a_room_is_open_or_gone() -> None:
    script = Answering(state=_answered(404, "<html>not here</html>"))

    async def test(bench: MatrixBench) -> None:
        with pytest.raises(Refused) as caught:
            await bench.bot.send(a_send(bench.places[0]))
        assert not isinstance(caught.value, PlaceGone)
        assert not [one for one in script.requests if "/send/" in one]

    _play(script, test)


class Renaming(Answering):
    """Ana's name changes between the first and the second sync, which does not say so."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = "Ana" if len(self.asked) < 2 else "Anna"
        self.answers["joined_members"] = [
            200,
            {"joined": {"@ana:example.org": {"display_name": name}, "@bo:x": {}, "@cy:x": {}}},
        ]
        return await super().handle(request)


@pytest.mark.parametrize("gap", [True, False], ids=["gap", "no-gap"])
def test_who_is_in_a_room_is_asked_again_after_a_gap(gap: bool) -> None:
    script = Renaming(messages=_answered(200, {"chunk": []}))
    second = _sync("t2", _event(2), limited=True, prev_batch="p") if gap else _sync("t2", _event(2))
    script.syncs = [_sync("t1", _event(1)), second]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 1", "no 2"]
        assert [one.peer.name for one in ear.heard] == ["Ana", "Anna" if gap else "Ana"]

    _play(script, test)


class _NoAccountData(Scripted):
    """A server on which the account may not store what is direct."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/joined_members"):
            return web.json_response({"joined": {_ME: {}, "@ana:example.org": {}}})
        if request.method == "PUT" and request.path.endswith("/account_data/m.direct"):
            return web.json_response({"errcode": "M_FORBIDDEN", "error": "no"}, status=403)
        return await super().handle(request)


def test_a_message_is_heard_where_the_server_does_not_store_that_its_room_is_direct() -> None:
    script = _NoAccountData()
    script.syncs = [_sync("t1", _event(1)), _sync("t2", _event(2))]

    async def test(bench: MatrixBench) -> None:
        async with hearing(bench) as ear:
            assert await ear.until(2) == ["no 1", "no 2"]
            assert {one.address.kind for one in ear.heard} == {ChatKind.DIRECT}

    _play(script, test)
