"""Who may open a socket of the web chat, and which frames it refuses."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.http import SETTINGS, authorised
from tests.support.web_chat import PATIENCE, client, web_chat
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.http.chat.frames import Close
from trunkline.core.http.chat.socket import ChatLimits

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- who may talk


async def test_the_token_may_come_in_the_header(tmp_path: Path) -> None:
    async with (
        web_chat(tmp_path / "gateway.db") as chat,
        client(chat.url, "ana", headers=authorised("token-ana"), token=None) as ana,
    ):
        assert (await ana.next())["type"] == "ready"


@pytest.mark.parametrize(
    ("hello", "code", "slug"),
    [
        pytest.param({"token": "wrong"}, Close.UNAUTHORIZED, "unauthorized", id="wrong token"),
        pytest.param({"token": None}, Close.UNAUTHORIZED, "unauthorized", id="no token"),
        pytest.param({"token": ""}, Close.UNAUTHORIZED, "unauthorized", id="empty token"),
        pytest.param({"token": "token-read"}, Close.MISSING_SCOPE, "missing-scope", id="read only"),
        pytest.param({"token": "token-operate"}, Close.MISSING_SCOPE, "missing-scope", id="operate only"),
        pytest.param({"account": "nothing"}, Close.UNKNOWN_ACCOUNT, "unknown-account", id="unknown account"),
        pytest.param({"channel": "nothing"}, Close.UNKNOWN_ACCOUNT, "unknown-channel", id="unknown channel"),
        pytest.param({"peer": {"id": ""}}, Close.BAD_HELLO, "invalid-frame", id="no id"),
        pytest.param({"peer": {"id": "x" * 5000}}, Close.BAD_HELLO, "invalid-frame", id="long id"),
        pytest.param({"peer": {"id": "a\0b"}}, Close.BAD_HELLO, "invalid-frame", id="unusable id"),
        pytest.param({"peer": {"id": " ana "}}, Close.BAD_HELLO, "invalid-frame", id="blanks around id"),
        pytest.param({"peer": {"id": "ana", "name": "x" * 5000}}, Close.BAD_HELLO, "invalid-frame", id="long name"),
        pytest.param({"after": -1}, Close.BAD_HELLO, "invalid-frame", id="negative cursor"),
        pytest.param({"after": 2**70}, Close.BAD_HELLO, "invalid-frame", id="huge cursor"),
        pytest.param({"after": "x"}, Close.BAD_HELLO, "invalid-frame", id="no cursor"),
        pytest.param({"more": 1}, Close.BAD_HELLO, "invalid-frame", id="unknown field"),
    ],
)
async def test_a_bad_hello_is_refused_with_a_problem_and_a_code(
    tmp_path: Path, hello: dict[str, Any], code: Close, slug: str
) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana", **hello) as ana:
        assert await ana.closed() == (code, slug)
        assert [frame["type"] for frame in ana.frames] == ["problem"]
        problem = ana.frames[0]["problem"]
        assert problem["type"] == f"urn:trunkline:problem:{slug}"
        assert problem["request_id"]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(b"\x00\x01", id="binary"),
        pytest.param("{", id="no JSON"),
        pytest.param("[]", id="no object"),
        pytest.param("{}", id="no type"),
        pytest.param('{"type": "other"}', id="unknown type"),
        pytest.param('{"type": "say", "id": "1", "text": "x"}', id="say"),
        pytest.param('{"type": "ping"}', id="ping"),
        pytest.param("[" * 100_000, id="nested"),
    ],
)
async def test_what_is_no_hello_ends_the_socket(tmp_path: Path, first: str | bytes) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, None) as one:
        await one.connection.send(first)
        code, _ = await one.closed()
        assert code == Close.BAD_HELLO
        assert one.frames[0]["problem"]["status"] in (400, 415, 422)


async def test_who_says_no_hello_is_sent_away(tmp_path: Path) -> None:
    limits = ChatLimits(hello_time=0.2)
    async with web_chat(tmp_path / "gateway.db", limits=limits) as chat, client(chat.url, None) as silent:
        assert await silent.closed() == (Close.HELLO_TIMEOUT, "hello-timeout")


async def test_a_gateway_that_waits_for_its_store_sends_people_away_for_a_while(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    async with web_chat(path), web_chat(path, standby=True) as waiting, client(waiting.url) as ana:
        assert await ana.closed() == (Close.STANDBY, "standby")
        assert ana.frames[0]["problem"]["status"] == 503


async def test_a_defect_ends_the_socket_and_is_logged_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_args: object, **_options: object) -> None:
        raise ValueError("what nobody outside should read")

    monkeypatch.setattr(MailboxAdapter, "read", broken)
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url) as ana:
        assert await ana.closed() == (Close.FAILED, "internal-error")
        assert "nobody" not in str(ana.frames)
    assert "nobody" in caplog.text


async def test_no_more_sockets_than_allowed(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db", limits=ChatLimits(sockets=2)) as chat:
        async with client(chat.url, "ana") as ana, client(chat.url, "ben") as ben:
            await ana.until("caught_up")
            await ben.until("caught_up")
            async with client(chat.url, None) as third:
                assert await third.closed() == (Close.TOO_MANY, "too-many-sockets")
        with anyio.fail_after(PATIENCE):
            while True:
                async with client(chat.url, "cyd") as cyd:
                    try:
                        assert (await cyd.next())["type"] == "ready"
                        break
                    except Exception:  # noqa: BLE001 (the server may still count the sockets that have just closed)
                        await anyio.sleep(0.05)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_pages_of_other_sites_open_no_socket(tmp_path: Path, origin: str) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat:
        with pytest.raises(InvalidStatus) as refused:
            await connect(chat.url, additional_headers={"Origin": origin}, proxy=None)
        assert refused.value.response.status_code == 403


async def test_the_page_of_this_server_opens_one(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat:
        own = {"Origin": f"http://127.0.0.1:{chat.port}"}
        async with client(chat.url, "ana", headers=own) as ana:
            assert (await ana.next())["type"] == "ready"


# ---------------------------------------------------------------- what is wrong later


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        pytest.param(b"\xff\xfe", 415, id="binary"),
        pytest.param("nonsense", 400, id="no JSON"),
        pytest.param('{"type": "say", "id": "1"}', 422, id="no text"),
        pytest.param('{"type": "say", "id": 1, "text": "x"}', 422, id="number as id"),
        pytest.param('{"type": "say", "id": "", "text": "x"}', 422, id="empty id"),
        pytest.param(json.dumps({"type": "say", "id": "x" * 5000, "text": "x"}), 422, id="long id"),
        pytest.param('{"type": "say", "id": "1", "text": "a\\u0000b", "more": 1}', 422, id="unknown field"),
        pytest.param('{"type": "hello", "peer": {"id": "ben"}}', 409, id="second hello"),
        pytest.param('{"type": "message", "text": "x"}', 422, id="a frame of the server"),
    ],
)
async def test_a_bad_frame_is_answered_and_the_conversation_goes_on(
    tmp_path: Path, frame: str | bytes, status: int
) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.connection.send(frame)
        problem = (await ana.until("problem"))["problem"]
        assert problem["status"] == status, problem
        await ana.send(type="say", id="a1", text="still here")
        await ana.until("message", text="you said still here")


@pytest.mark.parametrize(
    ("say", "named"),
    [
        pytest.param({"id": "a1", "text": "x" * 200_001}, "a1", id="text too long"),
        pytest.param({"id": "a1", "text": 1}, "a1", id="number as text"),
        pytest.param({"id": "x" * 201, "text": "x"}, None, id="id too long"),
    ],
)
async def test_the_problem_of_a_message_names_it(tmp_path: Path, say: dict[str, Any], named: str | None) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.send(type="say", **say)
        assert (await ana.until("problem")).get("id") == named


async def test_a_frame_over_the_limit_ends_the_socket(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.until("caught_up")
        await ana.connection.send("x" * (SETTINGS.limits.frame + 1))
        assert (await ana.closed())[0] == 1009


async def test_text_that_is_not_utf_8_ends_the_socket(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        await ana.until("caught_up")
        ana.connection.protocol.send_text(b"\xff\xfe")
        for data in ana.connection.protocol.data_to_send():
            ana.connection.transport.write(data)
        assert (await ana.closed())[0] == 1007


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.text(max_size=40),
            st.binary(max_size=40),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                max_leaves=8,
            ).map(json.dumps),
            st.fixed_dictionaries(
                {"type": st.sampled_from(["hello", "say", "ping", "said", ""])},
                optional={
                    "id": st.none() | st.text(max_size=5),
                    "text": st.none() | st.text(max_size=5),
                    "peer": st.none() | st.dictionaries(st.sampled_from(["id", "name"]), st.text(max_size=3)),
                    "after": st.integers() | st.floats(allow_nan=False),
                },
            ).map(json.dumps),
        ),
        max_size=25,
    )
)
async def test_no_frame_breaks_the_socket(tmp_path: Path, frames: list[str | bytes]) -> None:
    async with web_chat(tmp_path / "gateway.db") as chat, client(chat.url, "ana") as ana:
        for frame in frames:
            await ana.connection.send(frame)
        await ana.send(type="say", id="last", text="still here")
        said = await ana.until("said", id="last")
        assert said["status"] in ("admitted", "duplicate")
        assert all(frame["problem"]["status"] < 500 for frame in ana.frames if frame["type"] == "problem")
