"""Socket Mode: sockets that break, refresh, go silent, and what they bring."""

import asyncio
import json

import pytest

from tests.support.wire.slack import SlackBench, ask_to_leave, listening_to, on_slack
from trunkline.core.adapters.slack.inbound.sockets import SocketMode
from trunkline.core.errors import NotSent, PlatformError, Refused, Unauthorized
from trunkline.core.events.adapters import AdapterConnected, UpdateDropped
from trunkline.core.reasons import Reason
from trunkline.sim.events.world import PlatformPushed


def pushes(bench: SlackBench) -> int:
    return len(bench.events(PlatformPushed))


def test_an_update_is_acknowledged_only_when_its_message_is_durable() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")
            [socket] = bench.server.socket_feed("default").sockets
            assert len(socket.unacked) == 1
            await bench.real.ack(there.envelopes[0])
            await there.until(lambda: not socket.unacked)

    on_slack(test)


def test_an_update_that_nobody_acknowledged_comes_again_on_the_same_connection() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")
            [socket] = bench.server.socket_feed("default").sockets
            [unanswered] = socket.unacked.values()
            bench.server.platform.pushes.deliver_again(unanswered)
            await there.until(lambda: there.texts == ["hello", "hello"])
            first, second = there.envelopes
            assert first.message_id == second.message_id
            # Both deliveries are acknowledged by one acknowledgement of the gateway.
            await bench.real.ack(second)
            await asyncio.sleep(0.6)
            assert len(there.texts) == 2

    on_slack(test)


def test_slack_asks_for_a_new_socket_and_nothing_is_lost() -> None:
    async def test(bench: SlackBench) -> None:
        feed = bench.server.socket_feed("default")
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "before")
            await there.brings("before")
            old = feed.sockets[0]
            await ask_to_leave(feed, "warning")
            await there.until(lambda: len(feed.sockets) == 2)
            # The old socket still takes acknowledgements, and then closes; the connection goes on.
            await bench.real.ack(there.envelopes[0])
            await there.until(lambda: not old.unacked)
            await old.response.close()
            await there.until(lambda: feed.sockets != [] and old not in feed.sockets)
            await bench.say(bench.places[0], "after")
            await there.brings("before", "after")
            assert there.error is None
        assert len(bench.events(AdapterConnected)) == 1

    on_slack(test)


def test_what_an_old_socket_had_not_acknowledged_comes_on_the_new_one() -> None:
    async def test(bench: SlackBench) -> None:
        feed = bench.server.socket_feed("default")
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")
            old = feed.sockets[0]
            await ask_to_leave(feed, "refresh_requested")
            await there.until(lambda: len(feed.sockets) == 2)
            await old.response.close()
            await there.until(lambda: there.texts == ["hello", "hello"])
            await bench.real.ack(there.envelopes[0])
            await there.until(lambda: not any(one.unacked for one in feed.sockets))

    on_slack(test)


@pytest.mark.parametrize(("reason", "error"), [("link_disabled", Refused), ("too_many_websockets", NotSent)])
def test_slack_ends_a_socket_for_good(reason: str, error: type[Exception]) -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            await ask_to_leave(bench.server.socket_feed("default"), reason)
            await there.until(lambda: there.error is not None)
            assert isinstance(there.error, error)

    on_slack(test)


def test_a_successor_that_fails_in_its_own_way_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the old socket would close, and nothing would ever come again."""

    async def fails(_: SocketMode) -> None:
        raise ValueError("an address that nobody foresaw")

    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            monkeypatch.setattr(SocketMode, "dial", fails)
            await ask_to_leave(bench.server.socket_feed("default"), "warning")
            await there.until(lambda: there.error is not None)
            assert isinstance(there.error, NotSent)

    on_slack(test)


def test_a_socket_that_is_dead_without_saying_so_is_noticed() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            bench.fault("dead", on="connect", **{"for": "60s"})
            await bench.say(bench.places[0], "into the silence")
            # Pings are sent every second here, and have half of that for their answers.
            await there.until(lambda: there.error is not None, seconds=4.0)
            assert isinstance(there.error, NotSent)
            assert there.texts == []
        async with listening_to(bench) as there:
            await there.brings("into the silence")

    on_slack(test)


def test_a_server_that_restarts_ends_the_connection_and_the_next_one_has_everything() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")
            await bench.listener.restart()
            await there.until(lambda: there.error is not None)
            with pytest.raises(NotSent):
                await bench.real.ack(there.envelopes[0])
        async with listening_to(bench) as there:
            await there.brings("hello")

    on_slack(test)


def test_a_platform_that_is_away_is_an_error_of_the_connection() -> None:
    async def test(bench: SlackBench) -> None:
        await bench.listener.close()
        with pytest.raises(NotSent):
            async with bench.real.connect():
                pass

    on_slack(test)


def test_a_revoked_token_is_an_error_of_the_connection() -> None:
    async def test(bench: SlackBench) -> None:
        bench.server.platform.tokens.rotate("default", None)
        with pytest.raises(Unauthorized):
            async with bench.real.connect():
                pass
        with pytest.raises(Unauthorized):
            await bench.real.send(bench.message("hello"))

    on_slack(test)


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[1, 2]",
        "9" * 5000,
        "[" * 100_000,
        json.dumps({"type": "events_api", "envelope_id": "e1"}),
        json.dumps({"type": "events_api", "envelope_id": "e1", "payload": {"event": 5}}),
        '{"type": "events_api", "envelope_id": "e\\ud83d", "payload": {"event": 5}}',
        json.dumps({"type": "events_api", "envelope_id": "e1", "payload": {"event": {"type": "message", "ts": 7}}}),
        '{"type": "events_api", "envelope_id": "e1", "payload": {"event": {"type": "message", "user": "U1", '
        '"channel": "C\\ud83d", "ts": "1.1", "text": "x"}}}',
        json.dumps(
            {
                "type": "events_api",
                "envelope_id": "e1",
                "payload": {
                    "event": {"type": "message", "user": "U1", "channel": "C1", "ts": "1.1", "text": "x" * 10_000_000}
                },
            }
        ),
    ],
    ids=[
        "text",
        "list",
        "number",
        "deep",
        "no-payload",
        "no-event",
        "half-an-id",
        "no-channel",
        "half-a-surrogate",
        "10-megabytes",
    ],
)
def test_a_bad_update_is_dropped_and_the_next_one_comes(text: str) -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            await bench.server.socket_feed("default").sockets[0].response.send_str(text)
            await bench.say(bench.places[0], "the next")
            await there.brings("the next")
            assert there.error is None
        [dropped] = bench.events(UpdateDropped)
        assert dropped.reason is Reason.BAD_UPDATE
        assert dropped.detail

    on_slack(test)


def test_an_update_for_another_workspace_is_dropped() -> None:
    async def test(bench: SlackBench) -> None:
        event = {"type": "message", "user": "U1", "channel": "C1", "ts": "1.1", "text": "not for us"}
        payload = {"team_id": "T0OTHER", "type": "event_callback", "event": event}
        frame = {"type": "events_api", "envelope_id": "e1", "payload": payload}
        async with listening_to(bench) as there:
            await bench.server.socket_feed("default").sockets[0].response.send_str(json.dumps(frame))
            await bench.say(bench.places[0], "the next")
            await there.brings("the next")
        [dropped] = bench.events(UpdateDropped)
        assert dropped.reason is Reason.OTHER_WEBHOOK_ACCOUNT

    on_slack(test)


def test_duplicates_have_the_same_id() -> None:
    async def test(bench: SlackBench) -> None:
        bench.fault("duplicate", on="push")
        async with listening_to(bench) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello", "hello")
            assert there.envelopes[0].message_id == there.envelopes[1].message_id
            assert pushes(bench) == 2

    on_slack(test)


def test_an_acknowledgement_on_a_closed_connection_says_so() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")
            bench.server.socket_feed("default").broken()
            await there.until(lambda: there.error is not None)
            with pytest.raises(PlatformError):
                await bench.real.ack(there.envelopes[0])

    on_slack(test)


def test_what_came_while_every_socket_was_closing_comes_on_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(bench: SlackBench) -> None:
        feed = bench.server.socket_feed("default")
        async with listening_to(bench) as there:
            await there.until(lambda: len(feed.sockets) == 1)
            [old] = feed.sockets
            with monkeypatch.context() as closing:
                closing.setattr(feed, "_next", lambda: None)
                await bench.say(bench.places[0], "hello")
                await asyncio.sleep(0.2)
            await ask_to_leave(feed, "warning")
            await there.until(lambda: len(feed.sockets) == 2)
            await old.response.close()
            await there.brings("hello")

    on_slack(test)
