"""Events by HTTP: signatures, replays, other workspaces, further deliveries, and answers only for what is durable."""

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.wire.slack import SlackBench, SlackWebhookBench, listening_to, on_slack
from trunkline.core.adapters.port import TakesWebhooks, WebhookAnswer, WebhookCall
from trunkline.core.adapters.slack.inbound.webhook import sign
from trunkline.core.channels import LateOutcome, LateOutcomes, Reopenings
from trunkline.core.events.adapters import UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.wire.slack.shapes import TEAM

EVENT = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "1.1", "text": "hello"}


def on_http(test: Any) -> None:
    on_slack(test, SlackWebhookBench)


def callback(event: object = EVENT, team: str = TEAM) -> bytes:
    return json.dumps({"type": "event_callback", "team_id": team, "event_id": "Ev1", "event": event}).encode()


def request(
    bench: SlackBench,
    body: bytes,
    *,
    age: float = 0.0,
    secret: str | None = None,
    content_type: str = "application/json",
    method: str = "POST",
    **headers: str,
) -> WebhookCall:
    """A signed request."""
    at = str(int(bench.server.date() - age))
    signature = sign(bench.server.signing_secret("default") if secret is None else secret, at, body)
    signed = {"x-slack-request-timestamp": at, "x-slack-signature": signature, "content-type": content_type}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return WebhookCall(method=method, tail="", query=(), headers=signed | given, body=body)


async def hand_over(bench: SlackBench, call: WebhookCall) -> WebhookAnswer:
    adapter = bench.real
    assert isinstance(adapter, TakesWebhooks)
    return await adapter.webhook(call)


async def post(bench: SlackBench, body: bytes, **changes: Any) -> WebhookAnswer:
    """Hand a signed request to the adapter."""
    return await hand_over(bench, request(bench, body, **changes))


def refusals(bench: SlackBench) -> list[Reason]:
    return [body.reason for body in bench.events(WebhookRefused)]


def test_slack_learns_that_the_address_is_ours() -> None:
    async def test(bench: SlackBench) -> None:
        assert isinstance(bench, SlackWebhookBench)
        assert await bench.feed.verify()

    on_http(test)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"secret": "another"}, Reason.BAD_SIGNATURE),
        ({"x_slack_signature": ""}, Reason.BAD_SIGNATURE),
        ({"x_slack_signature": "v0=ä"}, Reason.BAD_SIGNATURE),
        ({"x_slack_request_timestamp": "1"}, Reason.BAD_SIGNATURE),
        ({"x_slack_request_timestamp": "soon"}, Reason.BAD_SIGNATURE),
        ({"x_slack_request_timestamp": "9" * 5000}, Reason.BAD_SIGNATURE),
        ({"age": 301.0}, Reason.STALE_WEBHOOK),
        ({"age": -302.0}, Reason.STALE_WEBHOOK),
    ],
)
def test_a_request_that_is_not_slacks_is_refused(changes: dict[str, Any], reason: Reason) -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            assert (await post(bench, callback(), **changes)).status == 401
            assert refusals(bench) == [reason]
            assert there.texts == []
            assert (await post(bench, callback())).status == 200
            await there.brings("hello")

    on_http(test)


def test_the_same_request_again_is_answered_again_and_starts_nothing() -> None:
    """Slack repeats within a second what it has no answer to; a refusal would make it repeat that for an hour."""

    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            once = request(bench, callback())
            assert (await hand_over(bench, once)).status == 200
            assert (await hand_over(bench, once)).status == 200
            assert refusals(bench) == []
            await there.brings("hello")
            assert there.texts == ["hello"]

    on_http(test)


def test_another_workspace_is_refused() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            assert (await post(bench, callback(team="T0OTHER"))).status == 403
            assert refusals(bench) == [Reason.OTHER_WEBHOOK_ACCOUNT]
            assert there.texts == []

    on_http(test)


def test_success_means_that_the_message_is_durable() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            answer = asyncio.create_task(post(bench, callback()))
            await there.brings("hello")
            await asyncio.sleep(0.1)
            assert not answer.done()
            await bench.real.ack(there.envelopes[0])
            assert (await answer).status == 200

    on_http(test)


def test_a_connection_that_ends_asks_for_another_delivery() -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench, acks=False) as there:
            answer = asyncio.create_task(post(bench, callback()))
            await there.brings("hello")
        assert (await answer).status == 503
        # While nobody listens too.
        assert (await post(bench, callback())).status == 503
        assert refusals(bench) == []

    on_http(test)


def test_what_nobody_took_is_delivered_again() -> None:
    async def test(bench: SlackBench) -> None:
        await bench.say(bench.places[0], "hello")
        await asyncio.sleep(0.3)
        async with listening_to(bench) as there:
            await there.brings("hello")

    on_http(test)


@pytest.mark.parametrize(
    "body",
    [b"no JSON", b"[1]", callback(5), callback({**EVENT, "ts": None}), callback({**EVENT, "text": "x" * 5_000_000})],
    ids=["text", "list", "no-event", "no-ts", "large"],
)
def test_a_bad_update_is_dropped_and_not_asked_for_again(body: bytes) -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            assert (await post(bench, body)).status == 200
            assert [body.reason for body in bench.events(UpdateDropped)] == [Reason.BAD_UPDATE]
            assert (await post(bench, callback())).status == 200
            await there.brings("hello")

    on_http(test)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "app_rate_limited", "team_id": TEAM},
        {"type": "event_callback", "team_id": TEAM, "event": {"type": "reaction_added", "user": "U1"}},
        {"type": "event_callback", "team_id": TEAM, "event": {"type": "of_the_future", "new": {"field": 1}}},
    ],
)
def test_what_is_no_message_is_taken_and_left(body: dict[str, Any]) -> None:
    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            assert (await post(bench, json.dumps(body).encode())).status == 200
            assert there.texts == []
            assert bench.events(UpdateDropped) == []

    on_http(test)


def test_a_press_comes_as_a_form() -> None:
    payload = {
        "type": "block_actions",
        "user": {"id": "U1", "name": "ana"},
        "team": {"id": TEAM},
        "channel": {"id": "C1", "name": "ops"},
        "message": {"ts": "5.5", "thread_ts": "4.4"},
        "trigger_id": "1.2.three",
        "actions": [{"type": "button", "action_id": "a", "value": "yes", "action_ts": "6.6"}],
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()

    async def test(bench: SlackBench) -> None:
        async with listening_to(bench) as there:
            assert (await post(bench, body, content_type="application/x-www-form-urlencoded")).status == 200
            [press] = there.envelopes
            assert (press.text, press.pressed, press.message_id) == ("yes", "5.5", "1.2.three")
            assert (press.address.conversation, press.address.thread, press.peer.name) == ("C1", "4.4", "ana")
            broken = await post(bench, b"payload=%7B", content_type="application/x-www-form-urlencoded")
            assert broken.status == 200
            assert len(bench.events(UpdateDropped)) == 1

    on_http(test)


def test_only_post_and_only_with_a_signing_secret() -> None:
    async def test(bench: SlackBench) -> None:
        assert (await post(bench, callback(), method="GET")).status == 405

    on_http(test)

    async def by_socket(bench: SlackBench) -> None:
        assert (await post(bench, callback())).status == 404

    on_slack(by_socket)


def test_only_an_address_that_answers_is_subscribed() -> None:
    async def test(bench: SlackBench) -> None:
        assert isinstance(bench, SlackWebhookBench)
        assert not await bench.server.subscribe("default", bench.url.replace("default", "nobody"), "")
        assert bench.server.feeds["default"] is bench.feed
        assert await bench.server.subscribe("default", bench.url, "")
        async with listening_to(bench) as there:
            await bench.say(bench.places[0], "hello")
            await there.brings("hello")

    on_http(test)


def test_channels_that_are_unarchived_and_messages_that_are_deleted_are_told() -> None:
    async def test(bench: SlackBench) -> None:
        opened, lost = list[Address](), list[LateOutcome]()
        assert isinstance(bench.real, Reopenings)
        assert isinstance(bench.real, LateOutcomes)
        bench.real.connect_reopened(opened.append)
        bench.real.connect_late(lost.append)
        async with listening_to(bench) as there:
            for kind in ("channel_archive", "channel_unarchive", "group_unarchive"):
                event = {"type": kind, "channel": "C1", "user": "U1"}
                assert (await post(bench, callback(event))).status == 200
                assert (await post(bench, callback(event, team="T0OTHER"))).status == 403
            assert there.texts == []
            deleted = {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": "C1"}
            for more in ({"deleted_ts": "1.000200"}, {"deleted_ts": 5}, {}):
                assert (await post(bench, callback({**deleted, **more}))).status == 200
                assert (await post(bench, callback({**deleted, **more}, team="T0OTHER"))).status == 403
            # The gateway finds out whether it is a message of a person.
            assert there.texts == [""]
        assert [place.lane for place in opened] == [("slack", "default", "C1", "")] * 2
        [outcome] = lost
        assert (outcome.place.lane, outcome.message_id) == (("slack", "default", "C1", ""), "1.000200")

    on_http(test)
