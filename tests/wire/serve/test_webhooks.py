"""Strangers, mistakes and broken requests at the webhooks of real adapters, through the server."""

import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Overrides, load_settings
from trunkline.core.adapters.account_events import MOST

pytestmark = pytest.mark.anyio

#: nothing listens there: what matters here comes before any connection
FILE = """\
accounts:
  - telegram:
      token: {env: TELEGRAM}
      api_root: http://127.0.0.1:9
      webhook: {url: 'https://gateway.example.org', secret: {env: SECRET}}
  - account: polling
    telegram: {token: {env: POLLING}, api_root: 'http://127.0.0.1:9'}
  - slack: {bot_token: {env: SLACK}, signing_secret: {env: SECRET}, api_root: 'http://127.0.0.1:9/api/'}
  - whatsapp:
      phone_number_id: '1'
      token: {env: SECRET}
      app_secret: {env: SECRET}
      verify_token: {env: SECRET}
      api_root: http://127.0.0.1:9
  - channel: webchat
"""
SECRET = "secret-of-the-webhooks"
ENVIRON = {"TELEGRAM": "7000001:AAtoken", "POLLING": "7000002:AAtoken", "SLACK": "xoxb-1-abcdef", "SECRET": SECRET}

Headers = dict[str, str]


def by_telegram(body: bytes) -> Headers:
    return {"X-Telegram-Bot-Api-Secret-Token": SECRET}


def by_slack(body: bytes, at: float | None = None) -> Headers:
    stamp = str(int(time.time() if at is None else at))
    signed = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={signed}", "Content-Type": "application/json"}


def by_whatsapp(body: bytes) -> Headers:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}


SIGNERS: dict[str, Callable[[bytes], Headers]] = {"telegram": by_telegram, "slack": by_slack, "whatsapp": by_whatsapp}
#: bodies that are no updates
BROKEN: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe\x00",
    "a number": b"7",
    "null": b"null",
    "a list": b"[]",
    "an empty object": b"{}",
    "half a surrogate": b'{"update_id": 1, "message": {"message_id": 1, "text": "\\ud83d", "chat": {"id": "\\ud83d"}}}',
    "wrong types": b'{"update_id": "x", "message": 7, "type": 7, "event": [], "entry": "x", "object": {}}',
    "deep": b'{"event":' * 2000 + b"1" + b"}" * 2000,
    "a large number": b'{"update_id": ' + b"9" * 5000 + b"}",
    "html": b"<html><body>502 Bad Gateway</body></html>",
    "a form": b"payload=%7B%22type%22%3A",
    "of a future version": json.dumps(
        {"update_id": 5, "quantum_message": {"text": "?"}, "type": "v3", "object": "x"}
    ).encode(),
}


@asynccontextmanager
async def server(folder: Path) -> AsyncGenerator[tuple[Serving, httpx.AsyncClient]]:
    path = folder / "gateway.yaml"
    path.write_text(FILE)
    made = load_settings(path, state=folder / "state", overrides=Overrides(port=0), environ=ENVIRON)
    async with serving(made) as one, httpx.AsyncClient(base_url=one.url, trust_env=False, timeout=30) as http:
        with anyio.fail_after(30):
            while not one.gateway.serving:  # noqa: ASYNC110 (the gateway has no event for it)
                await anyio.sleep(0.01)
        yield one, http


def refused(one: Serving, channel: str) -> int:
    return next(state.refused_webhooks for state in one.served.accounts.all() if state.channel == channel)


@pytest.mark.parametrize("channel", SIGNERS)
async def test_what_the_platform_has_not_signed_is_refused(tmp_path: Path, channel: str) -> None:
    path = f"/v1/platforms/{channel}/default"
    async with server(tmp_path) as (one, http):
        for n, body in enumerate(BROKEN.values(), 1):
            wrong = {name: f"{value}x" for name, value in SIGNERS[channel](body).items()}
            for headers in ({}, wrong, SIGNERS[channel](body + b" ") if channel != "telegram" else {}):
                answer = await http.post(path, content=body, headers=headers)
                assert 400 <= answer.status_code < 500, (body[:40], headers, answer.text)
            # What comes after the tenth in a minute is counted with the next event.
            assert refused(one, channel) == min(3 * n, MOST)
        # Nobody else is affected.
        assert (await http.get("/v1/health/ready")).status_code == 200


@pytest.mark.parametrize("channel", SIGNERS)
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_a_broken_update_of_the_platform_ends_nothing(tmp_path: Path, channel: str, body: bytes) -> None:
    async with server(tmp_path) as (_, http):
        answer = await http.post(f"/v1/platforms/{channel}/default", content=body, headers=SIGNERS[channel](body))
        assert answer.status_code < 500, answer.text
        assert (await http.get("/v1/health/ready")).status_code == 200


async def test_an_old_request_of_slack_is_refused(tmp_path: Path) -> None:
    body = b'{"type": "url_verification", "challenge": "abc"}'
    async with server(tmp_path) as (one, http):
        path = "/v1/platforms/slack/default"
        answer = await http.post(path, content=body, headers=by_slack(body))
        assert answer.status_code == 200
        assert "abc" in answer.text
        for at in (time.time() - 3600, time.time() + 3600, 0):
            answer = await http.post(path, content=body, headers=by_slack(body, at))
            assert 400 <= answer.status_code < 500
        assert refused(one, "slack") == 3


@pytest.mark.parametrize(
    "path", ["telegram/polling", "telegram/other", "webchat/default", "signal/default", "slack/default/no/such"]
)
async def test_an_account_without_a_webhook_is_not_there(tmp_path: Path, path: str) -> None:
    async with server(tmp_path) as (_, http):
        answer = await http.post(f"/v1/platforms/{path}", content=b"{}", headers=by_telegram(b"{}"))
        nothing = await http.post("/v1/nothing", content=b"{}")
        assert answer.json() | {"request_id": ""} == nothing.json() | {"request_id": ""}


@pytest.mark.parametrize("channel", SIGNERS)
async def test_ten_megabytes_are_not_read(tmp_path: Path, channel: str) -> None:
    body = b'{"update_id": 1, "x": "' + b"x" * 10_000_000 + b'"}'
    async with server(tmp_path) as (_, http):
        answer = await http.post(f"/v1/platforms/{channel}/default", content=body, headers=SIGNERS[channel](body))
        assert answer.status_code == 413
