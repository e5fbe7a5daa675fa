"""The WebSocket of the web chat over real sockets: its frames, what it refuses, and what a client misses: nothing."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import anyio
import msgspec
import pytest
from websockets.exceptions import ConnectionClosedError

from tests.support.http import TOKENS
from tests.support.small_gateway import Echo
from tests.support.web_chat import PATIENCE, client, web_chat
from trunkline import Turn
from trunkline.core.errors import AgentFailed
from trunkline.core.events.gateway import InboundReceived
from trunkline.core.http.chat.frames import Close
from trunkline.core.http.chat.socket import ChatLimits
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentId, SendRequest

pytestmark = pytest.mark.anyio


async def test_a_person_says_something_and_gets_the_answer(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        ready = await ana.next()
        assert ready == {
            "type": "ready",
            "channel": "webchat",
            "account": "default",
            "peer": {"id": "ana", "name": "Ana"},
            "after": 0,
            "pruned": 0,
            "max_frame": 262_144,
        }
        assert await ana.until("caught_up") == {"type": "caught_up", "cursor": 0}
        await ana.send(type="say", id="a1", text="good morning")
        said = await ana.until("said")
        assert (said["id"], said["status"], said["agent"]) == ("a1", "admitted", "main")
        assert said["inbound"] and said["session_id"]
        message = await ana.until("message")
        assert message["text"] == "you said good morning"
        assert message["cursor"] > 0 and message["at"] > 1e9


async def test_the_answers_of_many_messages_come_in_order(tmp_path: Path) -> None:
    count = 120
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        for n in range(count):
            await ana.send(type="say", id=f"a{n}", text=str(n))
        while len(ana.texts()) < count:
            await ana.next()
        assert ana.texts() == [f"you said {n}" for n in range(count)]
        cursors = [frame["cursor"] for frame in ana.frames if frame["type"] == "message"]
        assert cursors == sorted(set(cursors))


async def test_a_client_that_comes_again_misses_nothing_and_gets_nothing_twice(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat:
        async with client(chat.url, "ana") as ana:
            await ana.send(type="say", id="a1", text="one")
            first = await ana.until("message")
            await ana.send(type="say", id="a2", text="two")
            await ana.until("said", id="a2")
        async with client(chat.url, "ana", after=first["cursor"]) as ana:
            assert (await ana.next())["after"] == first["cursor"]
            second = await ana.until("message")
            assert ana.texts() == ["you said two"]
        async with client(chat.url, "ana", after=second["cursor"]) as ana:
            await ana.until("caught_up")
            assert ana.texts() == []
        async with client(chat.url, "ana") as ana:
            await ana.until("caught_up")
            assert ana.texts() == ["you said one", "you said two"], "without a cursor, all that the mailbox holds"


async def test_messages_outlive_the_server(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.send(type="say", id="a1", text="one")
        first = await ana.until("message")
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana", after=first["cursor"]) as ana:
        await ana.send(type="say", id="a1", text="one")
        repeated = await ana.until("said")
        assert (repeated["status"], repeated["reason"]) == ("duplicate", "duplicate-message")
        await ana.send(type="say", id="a2", text="two")
        await ana.until("message")
        assert ana.texts() == ["you said two"]


async def test_a_person_sees_nothing_of_a_group_that_has_the_same_id(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat:
        [mailbox] = chat.served.gateway.adapters.values()
        group = Address(channel="webchat", account="default", kind=ChatKind.GROUP, conversation="ana")
        request = SendRequest(key="k/0", intent=IntentId("k"), chunk=0, address=group, text="among us", attempt=1)
        await mailbox.send(request)
        async with client(chat.url, "ana") as ana:
            await ana.until("caught_up")
            await mailbox.send(msgspec.structs.replace(request, key="k/1", chunk=1))
            await ana.send(type="say", id="a1", text="one")
            await ana.until("message")
            assert ana.texts() == ["you said one"]


async def test_a_socket_whose_token_is_revoked_is_closed(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.until("caught_up")
        chat.tokens.replace(TOKENS)
        await ana.send(type="say", id="a1", text="one")
        await ana.until("message")
        chat.tokens.replace([one for one in TOKENS if one.caller.name != "all"])
        with anyio.fail_after(PATIENCE):
            assert await ana.closed() == (Close.UNAUTHORIZED, "unauthorized")


async def test_the_same_id_with_another_text_is_refused(tmp_path: Path) -> None:
    agent = Echo()
    async with web_chat(tmp_path / "gateway.db", agent) as chat, client(chat.url, "ana") as ana:
        await ana.send(type="say", id="a1", text="one")
        first = await ana.until("said")
        await ana.send(type="say", id="a1", text="one")
        again = await ana.until("said")
        assert (again["status"], again["inbound"]) == ("duplicate", first["inbound"])
        await ana.send(type="say", id="a1", text="another")
        refused = await ana.until("problem", id="a1")
        assert refused["problem"]["status"] == 409
        await ana.send(type="say", id="a2", text="two")
        while len(ana.texts()) < 2:
            await ana.next()
    assert [text for text, _ in agent.turns] == ["one", "two"]


async def test_tabs_of_a_person_see_the_same_and_others_see_nothing(tmp_path: Path) -> None:
    async with (
        web_chat(tmp_path / "gateway.db") as chat,
        client(chat.url, "ana") as first,
        client(chat.url, "ana") as second,
        client(chat.url, "ben") as ben,
    ):
        for one in (first, second, ben):
            await one.until("caught_up")
        await first.send(type="say", id="a1", text="hello")
        own = await second.until("own")
        assert (own["id"], own["text"]) == ("a1", "hello")
        for one in (first, second):
            await one.until("message", text="you said hello")
        await ben.send(type="say", id="b1", text="I am Ben")
        await ben.until("message")
        assert ben.texts() == ["you said I am Ben"]
        assert not [frame for frame in ben.frames if frame["type"] == "own"]
        assert not [frame for frame in first.frames if frame["type"] == "own"], "it has said so itself"


async def test_a_duplicate_is_shown_to_no_other_tab(tmp_path: Path) -> None:
    async with (
        web_chat(tmp_path / "gateway.db") as chat,
        client(chat.url, "ana") as first,
        client(chat.url, "ana") as second,
    ):
        await second.until("caught_up")
        for text in ("one", "one"):
            await first.send(type="say", id="a1", text=text)
            await first.until("said")
        await first.send(type="say", id="a2", text="two")
        await second.until("own", id="a2")
        assert [frame["id"] for frame in second.frames if frame["type"] == "own"] == ["a1", "a2"]


async def test_typing_says_while_a_turn_is_under_way(tmp_path: Path) -> None:
    go = anyio.Event()

    async def wait(turn: Turn) -> str:
        await go.wait()
        return "done"

    async with web_chat(tmp_path / "gateway.db", Echo(wait)) as chat, client(chat.url, "ana") as ana:
        await ana.send(type="say", id="a1", text="work")
        await ana.until("typing", on=True)
        async with client(chat.url, "ana") as late, client(chat.url, "ben") as ben:
            await late.until("typing", on=True)
            await ben.until("caught_up")
            go.set()
            for one in (ana, late):
                await one.until("message", text="done")
                if not any(frame == {"type": "typing", "on": False} for frame in one.frames):
                    await one.until("typing", on=False)
            assert not [frame for frame in ben.frames if frame["type"] == "typing"]


async def test_a_turn_that_fails_is_said_to_its_person_alone(tmp_path: Path) -> None:
    class Refusing:
        async def turn(self, turn: Turn) -> str:
            raise AgentFailed("no model today", Reason.AGENT_REFUSED)

    async with (
        web_chat(tmp_path / "gateway.db", Refusing()) as chat,
        client(chat.url, "ana") as ana,
        client(chat.url, "ben") as ben,
    ):
        await ben.until("caught_up")
        await ana.until("caught_up")
        await ana.send(type="say", id="a1", text="hello")
        assert await ana.until("failed") == {"type": "failed", "reason": "agent-refused"}
        typing = [frame["on"] for frame in ana.frames if frame["type"] == "typing"]
        assert typing[-1:] == [False]
        await ben.send(type="ping")
        await ben.until("pong")
        assert not [frame for frame in ben.frames if frame["type"] == "failed"]


async def test_a_press_names_the_message_of_its_button(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        received: list[InboundReceived] = []
        chat.served.log.subscribe(lambda event: received.append(cast("Any", event.body)), InboundReceived)
        await ana.send(type="say", id="a1", text="yes", pressed=7)
        await ana.until("message", text="you said yes")
        assert [(one.pressed, one.message_id) for one in received] == [("7", "a1")]


async def test_a_blank_message_is_dropped_and_said_so(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.send(type="say", id="a1", text="  \n")
        said = await ana.until("said")
        assert (said["status"], said["reason"]) == ("dropped", "empty-message")


async def test_pings_are_answered_in_order(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.send(type="ping")
        assert await ana.until("pong") == {"type": "pong"}


# ---------------------------------------------------------------- slow clients, restarts, many people


async def test_a_client_that_takes_nothing_is_cut_and_comes_again_with_its_cursor(tmp_path: Path) -> None:
    size, count = 30_000, 200

    async def long(turn: Turn) -> str:
        return f"{turn.text} " + "x" * size

    limits = ChatLimits(write_time=0.5, close_time=PATIENCE, per_second=10_000, burst=10_000)
    async with web_chat(tmp_path / "gateway.db", Echo(long), limits=limits) as chat:
        async with client(chat.url) as quick, client(chat.url, small=True) as slow:
            await slow.until("caught_up")
            slow.connection.transport.pause_reading()
            for n in range(count):
                await quick.send(type="say", id=f"a{n}", text=str(n))
            while len(quick.texts()) < count:
                await quick.next()
            await anyio.sleep(2 * limits.write_time)
            slow.connection.transport.resume_reading()
            assert await slow.closed() == (Close.LAGGED, "lagged")
        cursor = max((frame["cursor"] for frame in slow.frames if frame["type"] == "message"), default=0)
        async with client(chat.url, after=cursor) as again:
            await again.until("caught_up")
        assert slow.texts() + again.texts() == quick.texts(), "the rest, and nothing twice"
        assert again.texts(), "it was cut before the end"


async def test_a_client_that_never_reads_again_loses_its_connection(tmp_path: Path) -> None:
    async def long(turn: Turn) -> str:
        return "x" * 30_000

    limits = ChatLimits(write_time=0.2, close_time=0.2, linger=0.2, per_second=10_000, burst=10_000)
    async with (
        web_chat(tmp_path / "gateway.db", Echo(long), limits=limits) as chat,
        client(chat.url) as quick,
        client(chat.url, small=True) as slow,
    ):
        await slow.until("caught_up")
        slow.connection.transport.pause_reading()
        for n in range(200):
            await quick.send(type="say", id=f"a{n}", text=str(n))
        while len(quick.texts()) < 200:
            await quick.next()
        await anyio.sleep(2)
        slow.connection.transport.resume_reading()
        with pytest.raises(ConnectionClosedError) as end:
            await slow.until("nothing")
        assert end.value.rcvd is None, "the connection was cut, without a close frame"
        assert len(slow.texts()) < len(quick.texts())


async def test_a_client_that_asks_and_does_not_read_costs_a_bounded_number_of_frames(tmp_path: Path) -> None:
    limits = ChatLimits(waiting=20, write_time=PATIENCE, close_time=PATIENCE, per_second=1e6, burst=1_000_000)
    async with web_chat(tmp_path / "gateway.db", limits=limits) as chat, client(chat.url) as ana:
        await ana.until("caught_up")
        ana.connection.transport.pause_reading()
        bad = json.dumps({"type": "x" * 20_000})
        with anyio.move_on_after(PATIENCE):
            for _ in range(5_000):
                with anyio.move_on_after(1) as blocked:
                    await ana.connection.send(bad)
                if blocked.cancelled_caught:
                    break
        ana.connection.transport.resume_reading()
        assert await ana.closed() == (Close.LAGGED, "lagged")


async def test_a_server_that_stops_says_so(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url) as ana:
        await ana.until("caught_up")
        chat.server.stop()
        assert (await ana.closed())[0] == Close.RESTART


async def test_fifty_people_talk_at_once(tmp_path: Path) -> None:
    people, each = 50, 4
    got: dict[str, list[str]] = {}

    async def talk(url: str, name: str) -> None:
        async with client(url, name) as one:
            for n in range(each):
                await one.send(type="say", id=f"{name}-{n}", text=f"{name} {n}")
            while len(one.texts()) < each:
                await one.next()
            got[name] = one.texts()

    async with web_chat(tmp_path / "gateway.db") as chat, anyio.create_task_group() as group, AsyncExitStack():
        for n in range(people):
            group.start_soon(talk, chat.url, f"p{n}")
    assert got == {f"p{n}": [f"you said p{n} {m}" for m in range(each)] for n in range(people)}
