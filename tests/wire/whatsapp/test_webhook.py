"""The webhook of a business number: who may call it, and when it is answered."""

import asyncio
import json

import httpx
import pytest

from tests.support.wire.play import play, reading, recorded
from tests.support.wire.whatsapp import CLOUD, WORD, WhatsAppBench
from trunkline.core.adapters.whatsapp.adapter import SIGNED, signature
from trunkline.core.channels import LateOutcome, LateOutcomes
from trunkline.core.events.adapters import UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason
from trunkline.sim.wire.whatsapp.server import status_parts


def body(bench: WhatsAppBench, *texts: str, number: str = "") -> bytes:
    metadata = {"phone_number_id": number or bench.server.phone_number_id("default")}
    sender = {"from": "15550001111", "timestamp": "1", "type": "text"}
    messages = [sender | {"id": f"wamid.{text}", "text": {"body": text}} for text in texts]
    value = {"messaging_product": "whatsapp", "metadata": metadata, "messages": messages}
    return json.dumps({"entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]}).encode()


async def post(bench: WhatsAppBench, content: bytes, signed: str | None = None) -> int:
    headers = {SIGNED: signature(bench.server.app_secret("default"), content) if signed is None else signed}
    async with httpx.AsyncClient(timeout=10) as client:
        return (await client.post(bench.url, content=content, headers=headers)).status_code


@pytest.mark.parametrize(
    ("query", "status", "answer"),
    [
        ({"hub.mode": "subscribe", "hub.verify_token": WORD, "hub.challenge": "1158"}, 200, "1158"),
        ({"hub.mode": "subscribe", "hub.verify_token": "guess", "hub.challenge": "1158"}, 403, ""),
        ({"hub.mode": "subscribe", "hub.verify_token": "wörd", "hub.challenge": "1158"}, 403, ""),
        ({"hub.mode": "unsubscribe", "hub.verify_token": WORD, "hub.challenge": "1158"}, 403, ""),
        ({"hub.mode": "subscribe", "hub.verify_token": WORD}, 403, ""),
        ({}, 403, ""),
    ],
    ids=["right", "wrong word", "no ASCII", "wrong mode", "no challenge", "nothing"],
)
def test_the_address_answers_for_its_word_only(query: dict[str, str], status: int, answer: str) -> None:
    async def test(bench: WhatsAppBench) -> None:
        async with httpx.AsyncClient() as client:
            found = await client.get(
                bench.url, params={name: value.replace("\udcff", "?") for name, value in query.items()}
            )
        assert (found.status_code, found.text) == (status, answer)
        assert len(recorded(bench, WebhookRefused)) == (status != 200)

    play(WhatsAppBench, test, CLOUD)


def test_only_what_the_app_signed_is_read() -> None:
    async def test(bench: WhatsAppBench) -> None:
        content = body(bench, "forged")
        right = signature(bench.server.app_secret("default"), content)
        wrong = [
            "",
            "sha256=",
            right.removeprefix("sha256="),
            right[:-1] + ("0" if right[-1] != "0" else "1"),
            signature("another secret", content),
            signature(bench.server.app_secret("default"), content + b" "),
        ]
        async with reading(bench) as found:
            assert [await post(bench, content, signed) for signed in wrong] == [403] * len(wrong)
            assert await post(bench, body(bench, "true")) == 200
            assert found.texts == ["true"]
        assert [one.reason for one in recorded(bench, WebhookRefused)] == [Reason.BAD_SIGNATURE] * len(wrong)

    play(WhatsAppBench, test, CLOUD)


def test_a_webhook_is_answered_when_its_messages_are_durable() -> None:
    async def test(bench: WhatsAppBench) -> None:
        async with reading(bench, acks=False) as found:
            call = asyncio.ensure_future(post(bench, body(bench, "one", "two")))
            await found.until(lambda: len(found.got) == 2)
            await bench.real.ack(found.got[1])
            await asyncio.sleep(0.2)
            assert not call.done()
            await bench.real.ack(found.got[0])
            assert await call == 200

    play(WhatsAppBench, test, CLOUD)


def test_a_message_that_nobody_took_is_asked_for_again() -> None:
    async def test(bench: WhatsAppBench) -> None:
        assert await post(bench, body(bench, "early")) == 503
        async with reading(bench, acks=False) as found:
            # Nobody acknowledges it: it is asked for again after `webhook_timeout`.
            assert await post(bench, body(bench, "late")) == 503
            call = asyncio.ensure_future(post(bench, body(bench, "left")))
            await found.until(lambda: "left" in found.texts)
        # The reader has gone: no reason to wait.
        async with asyncio.timeout(1):
            assert await call == 503

    play(WhatsAppBench, test, CLOUD)


def test_a_replayed_webhook_brings_the_same_id_again() -> None:
    """Meta signs no time, so a replay looks like a repeated delivery: the gateway drops the second by its id."""

    async def test(bench: WhatsAppBench) -> None:
        async with reading(bench) as found:
            assert [await post(bench, body(bench, "once")) for _ in range(2)] == [200, 200]
            assert [one.message_id for one in found.got] == ["wamid.once"] * 2

    play(WhatsAppBench, test, CLOUD)


def test_a_webhook_for_another_number_is_not_taken() -> None:
    async def test(bench: WhatsAppBench) -> None:
        mixed = json.loads(body(bench, "mine"))
        mixed["entry"] += json.loads(body(bench, "theirs", number="999"))["entry"]
        async with reading(bench) as found:
            assert await post(bench, body(bench, "theirs", number="999")) == 403
            assert await post(bench, json.dumps(mixed).encode()) == 403
            assert found.texts == ["mine"]
        refused = recorded(bench, WebhookRefused)
        assert [one.reason for one in refused] == [Reason.OTHER_WEBHOOK_ACCOUNT] * 2
        assert "999" in refused[0].detail

    play(WhatsAppBench, test, CLOUD)


def test_a_bad_message_is_recorded_and_not_asked_for_again() -> None:
    async def test(bench: WhatsAppBench) -> None:
        mixed = json.loads(body(bench, "good"))
        mixed["entry"][0]["changes"][0]["value"]["messages"].insert(0, {"id": "wamid.bad", "type": "text"})
        async with reading(bench) as found:
            assert await post(bench, json.dumps(mixed).encode()) == 200
            assert await post(bench, b"no json") == 200
            assert await post(bench, body(bench, "next")) == 200
            assert found.texts == ["good", "next"]
        dropped = recorded(bench, UpdateDropped)
        assert [(one.reason, one.update) for one in dropped] == [
            (Reason.BAD_UPDATE, "wamid.bad"),
            (Reason.BAD_UPDATE, ""),
        ]

    play(WhatsAppBench, test, CLOUD)


def test_a_failure_after_the_acceptance_is_reported() -> None:
    async def test(bench: WhatsAppBench) -> None:
        found = list[LateOutcome]()
        assert isinstance(bench.real, LateOutcomes)
        bench.real.connect_late(found.append)
        title = "Re-engagement message"
        status = status_parts("wamid.1", "+15550001111", "failed", 1.0)
        error = {"code": 131047, "title": title, "message": title, "error_data": {"details": title}}
        status["statuses"][0]["errors"] = [error]
        whole = json.loads(body(bench))
        whole["entry"][0]["changes"][0]["value"] |= {**status, "messages": []}
        assert await post(bench, json.dumps(whole).encode()) == 200
        [failed] = found
        assert (failed.message_id, failed.recipient, failed.code) == ("wamid.1", "15550001111", "131047")
        assert (failed.place.conversation, failed.reason) == ("15550001111", Reason.REFUSED)
        assert "only a template reaches them" in failed.detail

    play(WhatsAppBench, test, CLOUD)
