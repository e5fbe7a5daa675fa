"""The webhooks of accounts: what reaches the adapter, and what a stranger learns."""

from collections.abc import Generator
from pathlib import Path

import anyio
import httpx
import msgspec
import pytest

from tests.support.http import SETTINGS, Api, api, over_socket
from tests.support.small_gateway import TinyPlatform
from trunkline.core.adapters.port import WebhookAnswer, WebhookCall
from trunkline.core.errors import StoreError
from trunkline.core.http.settings import Rate

pytestmark = pytest.mark.anyio

HERE = "/v1/platforms/discord/default"


class CalledPlatform(TinyPlatform):
    """A platform that calls the gateway."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[WebhookCall] = []
        self.answer = WebhookAnswer()
        self.error: Exception | None = None

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        self.calls.append(call)
        if self.error is not None:
            raise self.error
        return self.answer


@pytest.fixture
def platform() -> Generator[CalledPlatform]:
    made = CalledPlatform()
    yield made
    made.close()


async def test_a_request_reaches_the_account_as_it_came(tmp_path: Path, platform: CalledPlatform) -> None:
    platform.answer = WebhookAnswer(status=202, body=b"\xff<taken>", media_type="text/plain; charset=utf-8")
    body = b'{"no": JSON \xff'
    headers = {"Authorization": "", "X-Signature": "abc", "Content-Type": "application/x-www-form-urlencoded"}
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        answer = await one.http.post(f"{HERE}/events?a=1&b=%20x&a=2", content=body, headers=headers)
        assert (answer.status_code, answer.content) == (202, b"\xff<taken>")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        [call] = platform.calls
        assert (call.method, call.tail, call.body) == ("POST", "events", body)
        assert call.query == (("a", "1"), ("b", " x"), ("a", "2"))
        assert call.headers["x-signature"] == "abc"


async def test_a_question_has_no_body(tmp_path: Path, platform: CalledPlatform) -> None:
    platform.answer = WebhookAnswer(body=b"42")
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        answer = await one.http.get(f"{HERE}?hub.challenge=42", headers={"Authorization": ""})
        assert (answer.status_code, answer.text) == (200, "42")
        assert [(call.method, call.tail, call.query) for call in platform.calls] == [
            ("GET", "", (("hub.challenge", "42"),))
        ]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/platforms/discord/other",
        "/v1/platforms/telegram/default",
        "/v1/platforms/discord/default%2Fx",
        "/v1/platforms/discord",
        "/v1/platforms/discord/default/events/more",
        "/v1/platforms",
    ],
)
async def test_a_stranger_does_not_learn_which_accounts_there_are(
    tmp_path: Path, platform: CalledPlatform, path: str
) -> None:
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        answer = await one.http.post(path, content=b"x")
        nothing = await one.http.post("/v1/there-is-nothing-at-this-address", content=b"x")
        assert _without_id(answer) == _without_id(nothing)
        assert answer.status_code == 404
        assert platform.calls == []


async def test_an_account_that_takes_no_webhooks_is_not_there(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        answer = await one.http.post(HERE, content=b"x")
        nothing = await one.http.post("/v1/there-is-nothing-at-this-address", content=b"x")
        assert _without_id(answer) == _without_id(nothing)


async def test_an_account_may_say_that_nothing_is_there(tmp_path: Path, platform: CalledPlatform) -> None:
    platform.answer = WebhookAnswer(status=404, body=b"this account asks for its updates")
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        answer = await one.http.post(HERE, content=b"x")
        nothing = await one.http.post("/v1/there-is-nothing-at-this-address", content=b"x")
        assert _without_id(answer) == _without_id(nothing)


def _without_id(answer: httpx.Response) -> tuple[int, dict[str, object], set[str]]:
    document = answer.json()
    document.pop("request_id")
    return answer.status_code, document, set(answer.headers)


async def test_too_large_a_body_never_reaches_the_account(tmp_path: Path, platform: CalledPlatform) -> None:
    limits = msgspec.structs.replace(SETTINGS.limits, body=1000)
    settings = msgspec.structs.replace(SETTINGS, limits=limits)
    async with api(tmp_path / "gateway.db", platform=platform, settings=settings) as one, over_socket(one) as (http, _):
        assert (await http.post(HERE, content=b"x" * 1001)).status_code == 413
        assert platform.calls == []
        assert (await http.post(HERE, content=b"x" * 1000)).status_code == 200


async def test_who_asks_too_often_is_put_off(tmp_path: Path, platform: CalledPlatform) -> None:
    limits = msgspec.structs.replace(SETTINGS.limits, rate=Rate(per_second=0.001, burst=3))
    settings = msgspec.structs.replace(SETTINGS, limits=limits)
    async with api(tmp_path / "gateway.db", platform=platform, settings=settings) as one:
        found = [(await one.http.post(HERE, headers={"Authorization": ""})).status_code for _ in range(5)]
        assert found == [200, 200, 200, 429, 429]


async def test_a_message_that_cannot_be_stored_is_to_come_again(tmp_path: Path, platform: CalledPlatform) -> None:
    platform.error = StoreError("the disk is full")
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        assert (await one.http.post(HERE)).status_code == 503


async def test_while_the_server_stops_a_platform_is_to_come_again(tmp_path: Path, platform: CalledPlatform) -> None:
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        one.served.stopping.set()
        for path in (HERE, "/v1/platforms/discord/other"):
            answer = await one.http.post(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert platform.calls == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_refused(tmp_path: Path, platform: CalledPlatform, method: str) -> None:
    async with api(tmp_path / "gateway.db", platform=platform) as one:
        assert (await one.http.request(method, HERE)).status_code == 405
        assert platform.calls == []


async def test_a_slow_account_holds_up_no_other_request(tmp_path: Path, platform: CalledPlatform) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def webhook(call: WebhookCall) -> WebhookAnswer:
        begun.set()
        await go_on.wait()
        return WebhookAnswer()

    platform.webhook = webhook  # type: ignore[method-assign] -- a slow one
    async with api(tmp_path / "gateway.db", platform=platform) as one, anyio.create_task_group() as group:

        async def ask() -> None:
            assert (await _posted(one)).status_code == 200

        group.start_soon(ask)
        await begun.wait()
        assert (await one.http.get("/v1/health/ready")).status_code == 200
        go_on.set()


async def _posted(one: Api) -> httpx.Response:
    return await one.http.post(HERE)
