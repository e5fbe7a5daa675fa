"""What is sent, what is refused, directories, and upstream's rules."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.client_sends import ANA, failing
from tests.support.factories import room
from tests.support.sending import Platform, WithDirectory, message, places, serving, stored, texts
from tests.support.tool_calls import Answering
from trunkline import Button, MessageParts, Resolved, SendFailed
from trunkline.core.errors import (
    AmbiguousTarget,
    InvalidSend,
    PlaceGone,
    RateLimited,
    TargetError,
    UnknownName,
    UsageError,
)
from trunkline.core.events.delivery import IntentPrepared, SendRefused, SendRequested, TargetResolved
from trunkline.core.events.gateway import SessionCreated
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio
HALL = room("500")


@pytest.fixture
def telegram(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform("telegram")
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- what is sent


async def test_media_go_with_the_first_part_and_the_transcript_keeps_their_names(
    path: Path, platform: Platform
) -> None:
    media = ("https://e.com/a%20b.png?x=1", "/out/c.pdf")
    async with serving(path, platform, channels={"discord": {"text_limit": 5}}) as running:
        await running.gateway.send(message(text=f"one two\nMEDIA:{media[1]}", media=media[:1]))
        assert await running.transcript("main:discord:default:direct:100") == [
            ("assistant", "one\ntwo\na b.png, c.pdf")
        ]
        [prepared] = running.recorded(IntentPrepared)
        assert prepared.media == ("a b.png", "c.pdf")
    assert [(request.text, request.media) for request in platform.sent] == [("one", media), ("two", ())]


async def test_media_need_no_text(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message(text="", media=("/a.png",)))
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "a.png")]
    assert [(request.text, request.media) for request in platform.sent] == [("", ("/a.png",))]


async def test_media_are_kept_over_a_restart(path: Path, platform: Platform) -> None:
    platform.hold()
    async with anyio.create_task_group() as tasks, serving(path, platform) as running:
        tasks.start_soon(failing, running, message(media=("/a.png",)))
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform) as running:
        assert (await running.gateway.send(message())).cached
    assert [(request.text, request.media) for request in platform.sent] == [("hi", ("/a.png",))]


async def test_a_reply_quotes_the_message_that_it_answers(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message("channel:500", reply_to="9"))
    assert [(request.address, request.reply_to) for request in platform.sent] == [(HALL, "9")]


async def test_a_reply_on_slack_is_a_thread(path: Path, anyio_backend: str) -> None:
    platform = Platform("slack")
    async with serving(path, platform) as running:
        await running.gateway.send(message("channel:C1", reply_to="171.2"))
    place = room("C1", channel="slack", thread="171.2")
    assert [(request.address, request.reply_to) for request in platform.sent] == [(place, None)]
    platform.close()


# ---------------------------------------------------------------- what is refused


REFUSED = [
    pytest.param({"channel": "slack"}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="channel"),
    pytest.param({}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="no channel"),
    pytest.param({"channel": "discord", "account": "work"}, UnknownName, Reason.UNKNOWN_ACCOUNT, id="account"),
    pytest.param({"channel": "discord", "to": "123"}, AmbiguousTarget, Reason.AMBIGUOUS_TARGET, id="digits"),
    pytest.param({"channel": "discord", "to": "@ana"}, TargetError, Reason.BAD_TARGET, id="name"),
    pytest.param({"channel": "discord", "to": " "}, InvalidSend, Reason.BAD_TARGET, id="no target"),
    pytest.param({"channel": "discord", "to": "channel:"}, TargetError, Reason.BAD_TARGET, id="no id"),
    pytest.param({"channel": "discord", "to": "user:1\x00"}, TargetError, Reason.BAD_TARGET, id="control character"),
    pytest.param({"channel": "discord", "to": "user:1\ud800"}, TargetError, Reason.BAD_TARGET, id="half a character"),
    pytest.param({"channel": "discord", "thread": "7\x00"}, TargetError, Reason.BAD_TARGET, id="thread"),
    pytest.param({"channel": "discord", "reply_to": "7\ud800"}, TargetError, Reason.BAD_TARGET, id="reply"),
    pytest.param({"channel": "discord", "text": " "}, InvalidSend, Reason.NOTHING_TO_SEND, id="no text"),
    pytest.param({"channel": "discord", "text": "cut \ud83d"}, InvalidSend, Reason.BAD_TEXT, id="half a text"),
    pytest.param({"channel": "discord", "media": ("/a\ud83d.png",)}, InvalidSend, Reason.BAD_TEXT, id="half a name"),
    pytest.param({"channel": "discord", "key": " "}, InvalidSend, Reason.BAD_IDEMPOTENCY_KEY, id="no key"),
    pytest.param({"channel": "discord", "key": "\udc00"}, InvalidSend, Reason.BAD_IDEMPOTENCY_KEY, id="half a key"),
    pytest.param({"channel": "discord", "agent": "nobody"}, InvalidSend, Reason.UNKNOWN_AGENT, id="agent"),
    pytest.param({"channel": "discord", "session_key": "x:y"}, InvalidSend, Reason.BAD_SESSION_KEY, id="session"),
    pytest.param({"to": room("C1", channel="slack")}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="place"),
    pytest.param({"to": room("500", account="work")}, UnknownName, Reason.UNKNOWN_ACCOUNT, id="account of a place"),
    pytest.param({"to": room("lobby")}, TargetError, Reason.BAD_TARGET, id="place that cannot be"),
]


@pytest.mark.parametrize(("fields", "error", "reason"), REFUSED)
async def test_a_send_that_cannot_be_done_is_refused_and_leaves_nothing(
    path: Path, platform: Platform, telegram: Platform, fields: dict[str, Any], error: type[UsageError], reason: Reason
) -> None:
    asked = message(**{"to": "user:100", **fields})
    async with serving(path, platform, telegram) as running:
        with pytest.raises(error) as caught:
            await running.gateway.send(asked)
        [refused] = running.recorded(SendRefused)
        assert type(caught.value) is error
        assert refused.reason is reason
        assert not any(stored(path).values())
        assert running.recorded(SessionCreated, IntentPrepared, TargetResolved) == []
        # The key is free.
        if asked.key == "k":
            assert not (await running.gateway.send(message(channel="discord"))).cached
            assert texts(platform) == ["hi"]
    assert telegram.sent == []


async def test_what_is_refused_can_be_written_down(path: Path, platform: Platform) -> None:
    asked = message(
        "user:\ud800",
        key="\ud800",
        channel="\ud800",
        account="\ud800",
        session_key="\ud800",
        agent="\ud800",
        text="\ud800",
    )
    async with serving(path, platform) as running:
        with pytest.raises(UsageError):
            await running.gateway.send(asked)
        with pytest.raises(UsageError):
            await running.gateway.send(message("user:1", account="\ud800"))
        with pytest.raises(UsageError):
            await running.gateway.send(message("user:1", agent="\ud800"))
        for body in running.recorded(SendRequested, SendRefused):
            assert str(body).encode()


# ---------------------------------------------------------------- directories


async def test_a_directory_says_what_a_target_is(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(Resolved(target="user:100"))
    async with serving(path, platform) as running:
        await running.gateway.send(message(" ana "))
        [resolved] = running.recorded(TargetResolved)
    assert (platform.asked, places(platform), resolved.target) == (["ana"], [ANA], "user:100")
    platform.close()


@pytest.mark.parametrize("error", [RateLimited("slow down"), ZeroDivisionError("oh")])
async def test_a_failing_directory_says_nothing_and_that_is_recorded(
    path: Path, anyio_backend: str, error: Exception
) -> None:
    platform = WithDirectory(error)
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        [resolved] = running.recorded(TargetResolved)
        assert resolved.steps[0].startswith("the look-up in the directory of discord failed")
        with pytest.raises(AmbiguousTarget, match="look-up in the directory of discord failed"):
            await running.gateway.send(message("123", key="k2"))
    assert places(platform) == [ANA]
    platform.close()


async def test_what_a_directory_refuses_is_refused(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(TargetError("there are two of that name"))
    async with serving(path, platform) as running:
        with pytest.raises(TargetError, match="two of that name"):
            await running.gateway.send(message())
        assert [body.reason for body in running.recorded(SendRefused)] == [Reason.BAD_TARGET]
    platform.close()


# ---------------------------------------------------------------- upstream's rules


async def test_upstream_keys_send_once_even_after_a_failure(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, profile="openclaw") as running:
        for cached in (False, True):
            with pytest.raises(SendFailed) as caught:
                await running.gateway.send(message("channel:500"))
            assert caught.value.cached is cached
    assert platform.sent == []


async def test_upstream_targets_without_a_route_have_no_place_to_send_to(path: Path, anyio_backend: str) -> None:
    platform = Platform("whatsapp")
    async with serving(path, platform, profile="openclaw") as running:
        with pytest.raises(InvalidSend):
            await running.gateway.send(message("someone@example.org"))
        assert [body.reason for body in running.recorded(SendRefused)] == [Reason.BAD_TARGET]
        assert not any(stored(path).values())
    platform.close()


async def test_upstream_entries_are_stored_as_upstream_writes_them(path: Path, anyio_backend: str) -> None:
    platform = Platform("slack")
    async with serving(path, platform, profile="openclaw") as running:
        await running.gateway.send(message("channel:C1"))
        assert await running.transcript("agent:main:slack:channel:c1") == [("assistant", "hi")]
    with closing(sqlite3.connect(path)) as db:
        [(entry,)] = db.execute("SELECT entry FROM session_map").fetchall()
    assert '"sender":"slack:channel:C1"' in entry
    platform.close()


# ---------------------------------------------------------------- parts


async def test_a_client_may_send_buttons_and_silence_with_the_first_part(path: Path, anyio_backend: str) -> None:
    platform, parts = Answering(), MessageParts(silent=True, buttons=((Button(text="Yes", value="y"),),))
    async with serving(path, platform, channels={"discord": {"text_limit": 5}}) as running:
        await running.gateway.send(message(text="one two", parts=parts))
    platform.close()
    assert [request.parts for request in platform.tried] == [parts, None]


async def test_a_card_needs_no_text(path: Path, anyio_backend: str) -> None:
    platform = Answering()
    async with serving(path, platform) as running:
        await running.gateway.send(message(text="", parts=MessageParts(card="{}")))
    platform.close()
    assert [(request.text, request.parts) for request in platform.tried] == [("", MessageParts(card="{}"))]


UNUSABLE_PARTS: list[Any] = [
    ("silent", Reason.BAD_ARGUMENT),
    (MessageParts(silent="yes"), Reason.BAD_ARGUMENT),  # pyright: ignore[reportArgumentType]
    (MessageParts(effect="half \ud83d"), Reason.BAD_ARGUMENT),
    (MessageParts(silent=True), Reason.UNSUPPORTED),
]


@pytest.mark.parametrize(("parts", "reason"), UNUSABLE_PARTS)
async def test_parts_that_cannot_be_sent_are_refused(
    path: Path, platform: Platform, parts: Any, reason: Reason
) -> None:
    async with serving(path, platform) as running:
        with pytest.raises(InvalidSend) as caught:
            await running.gateway.send(message(parts=parts))
    assert caught.value.reason is reason
    assert platform.sent == []
