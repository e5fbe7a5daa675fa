"""The fake of Slack with the library's own Socket Mode client, which our adapter does not use."""

import asyncio
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.support.wire.slack import SlackBench, ask_to_leave, on_slack


def web_of(bench: SlackBench, token: str | None = None) -> AsyncWebClient:
    server = bench.server
    return AsyncWebClient(token or server.token("default", 1), base_url=f"{server.url}/api/", retry_handlers=[])


def test_its_socket_mode_client_receives_and_acknowledges() -> None:
    async def test(bench: SlackBench) -> None:
        found: list[SocketModeRequest] = []

        async def listen(client: Any, request: SocketModeRequest) -> None:
            found.append(request)
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

        feed = bench.server.socket_feed("default")
        client = SocketModeClient(bench.server.app_token("default"), web_client=web_of(bench))
        client.socket_mode_request_listeners.append(listen)
        try:
            await client.connect()
            await bench.say(bench.places[0], "hello")
            async with asyncio.timeout(5):
                while not found or any(one.unacked for one in feed.sockets):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            event = found[0].payload["event"]
            assert (found[0].type, event["text"], event["channel_type"]) == ("events_api", "hello", "channel")
            assert (found[0].retry_attempt, found[0].accepts_response_payload) == (0, False)
            # It leaves when it is asked to, and opens another socket.
            await ask_to_leave(feed, "refresh_requested")
            await bench.say(bench.places[0], "after")
            async with asyncio.timeout(10):
                while len(found) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert found[-1].payload["event"]["text"] == "after"
        finally:
            await client.close()

    on_slack(test)


def test_its_upload_of_files_posts_one_message() -> None:
    async def test(bench: SlackBench) -> None:
        answer = await web_of(bench).files_upload_v2(
            file_uploads=[{"content": "one", "filename": "a.txt"}, {"content": "two", "filename": "b.txt"}],
            channel=bench.places[0].conversation,
            initial_comment="both",
        )
        assert len(answer["files"] or ()) == 2
        [seen] = bench.server.platform.board.sent
        assert (seen.text, seen.media) == ("both", ("a.txt", "b.txt"))

    on_slack(test)


def test_its_pages_are_followed() -> None:
    async def test(bench: SlackBench) -> None:
        found: list[str] = []
        async for page in await web_of(bench).users_list(limit=1):
            found += [member["id"] for member in page["members"] or ()]
        assert len(found) == len(set(found)) == len(bench.server.platform.server.members) + 1

    on_slack(test)


@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("chat_postMessage", {"channel": "C404", "text": "x"}, "channel_not_found"),
        ("chat_postMessage", {"channel": "#one", "text": "x" * 4001}, "msg_too_long"),
        ("chat_postMessage", {"channel": "#one", "text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
        ("chat_postMessage", {"channel": "#one", "blocks": "no JSON", "text": "x"}, "invalid_blocks"),
        ("chat_update", {"channel": "#one", "ts": "1.1", "text": "x"}, "message_not_found"),
        ("reactions_add", {"channel": "#one", "timestamp": "1.1", "name": "+1"}, "message_not_found"),
        ("reactions_add", {"channel": "#one", "timestamp": "1.1", "name": "👍"}, "invalid_name"),
        ("users_info", {"user": "U404"}, "user_not_found"),
        ("conversations_replies", {"channel": "#one", "ts": "1.1"}, "thread_not_found"),
        ("conversations_list", {"cursor": "what"}, "invalid_cursor"),
        ("files_completeUploadExternal", {"files": [{"id": "F404"}], "channel_id": "#one"}, "file_not_found"),
        ("admin_users_list", {}, "unknown_method"),
        ("apps_connections_open", {"app_token": "xapp-other"}, "invalid_auth"),
    ],
)
def test_errors_have_the_codes_of_slack(method: str, arguments: dict[str, Any], code: str) -> None:
    async def test(bench: SlackBench) -> None:
        with pytest.raises(SlackApiError) as raised:
            await getattr(web_of(bench), method)(**arguments)
        assert raised.value.response["error"] == code

    on_slack(test)


def test_a_token_of_nobody() -> None:
    async def test(bench: SlackBench) -> None:
        with pytest.raises(SlackApiError) as raised:
            await web_of(bench, "xoxb-other").auth_test()
        assert raised.value.response["error"] == "invalid_auth"

    on_slack(test)
