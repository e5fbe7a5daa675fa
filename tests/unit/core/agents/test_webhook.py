"""A webhook as an agent on a real gateway, over real sockets."""

import hashlib
import hmac
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.agents.attached import Attached, attached
from tests.support.agents.webhook_server import WebhookServer, webhook_server
from tests.support.factories import direct
from tests.support.small_gateway import BEN
from trunkline import system_env
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.agents.factory import make_agent
from trunkline.core.errors import ConfigError
from trunkline.core.events.gateway import TurnEnded

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def webhook(
    folder: Path, environ: dict[str, str] | None = None, /, **settings: Any
) -> AsyncGenerator[tuple[Attached, WebhookServer], None]:
    async with (
        webhook_server() as server,
        attached(folder, {"webhook": {"url": server.url, **settings}}, environ) as main,
    ):
        yield main, server


async def failed(main: Attached, text: str) -> tuple[str, str]:
    ended = await main.ask(text)
    assert ended.outcome == "failed" and ended.reason is not None
    assert "hidden" not in ended.detail
    return ended.reason.value, ended.detail


async def test_a_webhook_answers_each_message(tmp_path: Path) -> None:
    async with webhook(tmp_path) as (main, server):
        assert await main.answer("echo grüße 👋") == "grüße 👋"
        assert (await main.ask("silent")).outcome == "silent"
        assert await main.answer("echo next", BEN) == "next"
        request = server.requests[0]
        assert request.line == "POST /turn?key=hidden HTTP/1.1"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["trunkline-agent"] == "main" and request.headers["trunkline-protocol"] == "1"
        document = request.document
        assert document["type"] == "turn" and document["round"] == 0 and document["calls"] == []
        assert request.headers["idempotency-key"] == f"{document['id']}/0"


async def test_fifty_turns_at_once_get_their_own_answers(tmp_path: Path) -> None:
    async with webhook(tmp_path, connections=10) as (main, _):
        people = [direct(str(1000 + n)) for n in range(50)]
        for place in people:
            main.say(f"echo for {place.conversation}", place)
        await main.answers(50)
        said = {request.address.conversation: request.text for request in main.platform.sent}
        assert said == {place.conversation: f"for {place.conversation}" for place in people}


async def test_a_signed_request_proves_its_sender_and_time(tmp_path: Path) -> None:
    async with webhook(tmp_path, {"SECRET": "between us"}, secret={"env": "SECRET"}) as (main, server):
        await main.answer("echo x")
        (request,) = server.requests
        at, given = (part.partition("=")[2] for part in request.headers["trunkline-signature"].split(","))
        assert abs(time.time() - int(at)) < 60
        expected = hmac.new(b"between us", at.encode() + b"." + request.body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(given, expected)


async def test_headers_of_the_configuration_are_sent_and_none_of_the_environment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    headers = {"Authorization": {"env": "TOKEN"}, "X-Team": "blue"}
    async with webhook(tmp_path, {"TOKEN": "Bearer abc"}, headers=headers) as (main, server):
        assert await main.answer("echo x") == "x"
        assert server.requests[0].headers["authorization"] == "Bearer abc"
        assert server.requests[0].headers["x-team"] == "blue"
        assert "trunkline-signature" not in server.requests[0].headers


async def test_calls_are_carried_out_and_their_results_posted(tmp_path: Path) -> None:
    async with webhook(tmp_path) as (main, server):
        main.say("parts 2")
        await main.gateway.until(TurnEnded)
        assert await main.answers(3) == ["part 0", "part 1", "after 2 parts"]
        last = server.requests[2].document
        assert [one["call"] for one in last["calls"]] == ["0", "1"]
        assert all(one["ok"] and one["result"]["status"] == "queued" for one in last["calls"])
        keys = [one.headers["idempotency-key"] for one in server.requests]
        assert keys == [f"{last['id']}/{n}" for n in range(3)]


async def test_a_refused_call_comes_back_with_its_error(tmp_path: Path) -> None:
    async with webhook(tmp_path) as (main, _):
        (done,) = json.loads(await main.answer('call message {"action": "dance"}'))
        assert done["ok"] is False and "dance" in done["error"] and "result" not in done


@pytest.mark.slow(every=6)
@pytest.mark.parametrize(
    ("text", "settings", "reason", "says"),
    [
        pytest.param("fail no tokens left", {}, "agent-raised", "no tokens left", id="fails"),
        pytest.param("refuse not that", {}, "agent-refused", "not that", id="refuses"),
        pytest.param("close", {}, "agent-broke-off", "broke off", id="closes-without-response"),
        pytest.param("cut", {}, "agent-broke-off", "broke off", id="closes-in-the-middle"),
        pytest.param("nonsense", {}, "agent-broke-off", "broke off", id="no-http"),
        pytest.param("never", {"request_timeout": 2}, "agent-timeout", "within 2 s", id="never-answers"),
        pytest.param("drip", {"request_timeout": 2}, "agent-timeout", "within 2 s", id="drips"),
        pytest.param("never", {"timeout": 2}, "agent-timeout", "see `timeout`", id="turn-takes-too-long"),
        pytest.param("status 500 No", {}, "agent-unreachable", "answered 500: no \\x1b[31mroom", id="status-500"),
        pytest.param("status 404 No", {}, "agent-unreachable", "answered 404", id="status-404"),
        pytest.param("status 202 Later", {}, "bad-answer", "belongs to a hand", id="status-202"),
        pytest.param("status 204 None", {}, "bad-answer", "answered 204", id="status-204"),
        pytest.param("redirect", {}, "agent-unreachable", "redirects are not followed", id="redirect"),
        pytest.param("type text/html", {}, "bad-answer", "'text/html' instead of application/json", id="html"),
        pytest.param("type application/json; charset=latin-1", {}, "bad-answer", "charset latin-1", id="charset"),
        pytest.param("gzip", {}, "bad-answer", "Content-Encoding gzip", id="compressed"),
        pytest.param("body ", {}, "bad-answer", "no reply", id="empty"),
        pytest.param("body nothing", {}, "bad-answer", "no reply", id="no-json"),
        pytest.param("body []", {}, "bad-answer", "no reply", id="no-object"),
        pytest.param("body {}", {}, "bad-answer", "it has none of them", id="no-field"),
        pytest.param('body {"answer": 7}', {}, "bad-answer", "no reply", id="answer-is-a-number"),
        pytest.param('body {"text": "x"}', {}, "bad-answer", "no reply", id="unknown-field"),
        pytest.param('body {"answer": "x", "error": "y"}', {}, "bad-answer", "answer and error", id="two-fields"),
        pytest.param('body {"calls": []}', {}, "bad-answer", "`calls` is empty", id="no-calls"),
        pytest.param(
            'body {"answer": "x", "refused": true}', {}, "bad-answer", "goes with `error`", id="refused-answer"
        ),
        pytest.param(
            'body {"calls": [{"call": "\\ud800", "tool": "x"}]}',
            {},
            "bad-answer",
            "half a character",
            id="half-character",
        ),
        pytest.param("body " + "[" * 100_000, {}, "bad-answer", "no reply", id="endless-nesting"),
        pytest.param("bytes 7b22616e73776572223a22ff227d", {}, "bad-answer", "no reply", id="no-utf-8"),
        pytest.param("long 5000", {"max_response": 2000}, "answer-too-long", "`max_response`", id="large-body"),
        pytest.param("long 5000", {"max_answer": 4999}, "answer-too-long", "`max_answer`", id="long-answer"),
        pytest.param("many 1000", {}, "too-many-calls", "`max_calls`", id="thousand-calls"),
        pytest.param("parts 1000", {"max_rounds": 3}, "too-many-calls", "`max_rounds`", id="endless-rounds"),
        pytest.param("parts 1000", {"max_calls": 3}, "too-many-calls", "`max_calls`", id="endless-calls"),
    ],
)
async def test_whatever_goes_wrong_ends_the_turn_with_its_reason(
    tmp_path: Path, text: str, settings: dict[str, Any], reason: str, says: str
) -> None:
    async with webhook(tmp_path, **settings) as (main, _):
        found, facts = await failed(main, text)
        assert (found, says in facts) == (reason, True), (found, facts)
        assert await main.answer("echo next") == "next"


async def test_what_may_have_reached_the_receiver_is_not_asked_again(tmp_path: Path) -> None:
    async with webhook(tmp_path) as (main, server):
        assert (await failed(main, "passing 503 Later"))[0] == "agent-unreachable"
        assert (await failed(main, "close"))[0] == "agent-broke-off"
        assert len(server.requests) == 2


async def test_a_repeatable_request_is_made_again_under_its_key(tmp_path: Path) -> None:
    async with webhook(tmp_path, repeatable=True) as (main, server):
        assert await main.answer("passing 503 Later") == "at the second try"
        first, second = server.requests
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
        assert first.body == second.body


async def test_repeats_are_bounded(tmp_path: Path) -> None:
    async with webhook(tmp_path, repeatable=True, retries=1) as (main, server):
        reason, facts = await failed(main, "status 503 Busy")
        assert reason == "agent-unreachable" and "(2 requests)" in facts
        assert len(server.requests) == 2


async def test_a_receiver_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    async with webhook_server() as server:
        url = server.url
    async with attached(tmp_path, {"webhook": {"url": url, "retries": 1}}) as main:
        reason, facts = await failed(main, "echo x")
        assert reason == "agent-unreachable"
        assert "cannot be reached" in facts and "(2 requests)" in facts


async def test_a_turn_that_a_stop_cuts_off_is_posted_again_with_the_same_key(tmp_path: Path) -> None:
    async with webhook_server() as server:
        implementation = {"webhook": {"url": server.url}}
        async with attached(tmp_path, implementation) as main:
            main.say("never")
            with anyio.fail_after(10):
                while not server.requests:  # noqa: ASYNC110 -- the server has a list
                    await anyio.sleep(0.02)
        async with attached(tmp_path, implementation):
            with anyio.fail_after(10):
                while len(server.requests) < 2:  # noqa: ASYNC110 -- the server has a list
                    await anyio.sleep(0.02)
        first, second = server.requests
        assert (first.document["again"], second.document["again"]) == (False, True)
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


@pytest.fixture
def certificate(tmp_path: Path) -> ssl.SSLContext:
    """A certificate of its own for localhost, also as `server.pem` in the folder."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "server.pem")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "key.pem")
    return context


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, certificate) -> None:
    async with webhook_server(certificate) as server:
        async with attached(tmp_path, {"webhook": {"url": server.url, "retries": 0}}) as main:
            reason, facts = await failed(main, "echo x")
            assert reason == "agent-unreachable" and "certificate" in facts.lower()
        assert server.requests == []


async def test_a_certificate_of_the_configuration_is_trusted(tmp_path: Path, certificate) -> None:
    async with webhook_server(certificate) as server:
        settings = {"webhook": {"url": server.url, "ca_file": "server.pem"}}
        async with attached(tmp_path, settings) as main:
            assert await main.answer("echo x") == "x"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"secret": {"env": "NOWHERE"}}, "agents.main.webhook: the environment variable NOWHERE"),
        ({"headers": {"Authorization": {"env": "LINES"}}}, "headers.Authorization: the value has line breaks"),
        ({"ca_file": "nowhere.pem"}, "ca_file"),
    ],
)
def test_what_is_missing_at_the_start_is_named(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    one = AgentImplementation.model_validate({"webhook": {"url": "https://example.org", **settings}})
    with pytest.raises(ConfigError) as caught:
        make_agent("main", one, folder=tmp_path, environ={"LINES": "a\nb"}, env=system_env())
    assert says in str(caught.value)
    assert "a\nb" not in str(caught.value)
