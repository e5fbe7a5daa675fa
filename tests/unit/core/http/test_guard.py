"""What stands before every route: hosts, origins, rates, sizes, times, headers."""

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.http import SETTINGS, Api, api, authorised, over_socket
from tests.support.notes_api import Notes
from trunkline.core.http import guard
from trunkline.core.http.guard import RateLimit
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import HttpLimits, HttpSettings, Rate

pytestmark = pytest.mark.anyio

replace = msgspec.structs.replace


def limited(**limits: Any) -> HttpSettings:
    return replace(SETTINGS, limits=HttpLimits(**limits))


def notes_api(path: Path, notes: Notes, settings: HttpSettings = SETTINGS) -> Any:
    return api(path / "gateway.db", endpoints=notes.endpoints(), settings=settings)


async def status_of(one: Api, **headers: str) -> int:
    return (await one.http.get("/v1/notes/x", headers=headers)).status_code


# Hosts and origins


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8420", 200),
        ("127.0.0.1", 200),
        ("localhost:8420", 200),
        ("LocalHost", 200),
        ("[::1]:8420", 200),
        ("192.168.1.7:8420", 200),
        ("chat.example.org", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1@evil.example", 400),
        ("", 400),
        ("a b", 400),
        ("localhost:x", 400),
    ],
)
async def test_only_own_hosts_are_served(tmp_path: Path, host: str, status: int) -> None:
    settings = replace(SETTINGS, hosts=("chat.example.org",))
    async with notes_api(tmp_path, Notes(), settings) as one:
        assert await status_of(one, Host=host) == status


async def test_every_host_is_served_where_the_operator_wants_it(tmp_path: Path) -> None:
    async with notes_api(tmp_path, Notes(), replace(SETTINGS, only_hosts=False)) as one:
        assert await status_of(one, Host="any.example") == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Origin": "https://friend.example"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200),
    ],
)
async def test_pages_of_other_sites_are_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async with notes_api(tmp_path, Notes(), replace(SETTINGS, origins=("https://friend.example",))) as one:
        assert await status_of(one, **headers) == status


async def test_no_page_gets_leave_by_default(tmp_path: Path) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    async with notes_api(tmp_path, Notes()) as one:
        answer = await one.http.options("/v1/notes", headers=asked)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_page_that_is_named_gets_leave(tmp_path: Path) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    async with notes_api(tmp_path, Notes(), replace(SETTINGS, origins=("https://friend.example",))) as one:
        answer = await one.http.options("/v1/notes", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"
        refused = await one.http.get("/v1/nothing", headers=asked)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (404, "https://friend.example")


async def test_every_answer_has_the_headers_that_protect_it(tmp_path: Path) -> None:
    async with notes_api(tmp_path, Notes()) as one:
        for path in ("/v1/notes/x", "/v1/notes/defect", "/nothing"):
            headers = (await one.http.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "default-src 'none'" in headers["content-security-policy"]


# Rates


async def test_a_token_that_asks_too_often_has_to_wait(tmp_path: Path) -> None:
    settings = limited(rate=Rate(per_second=0.01, burst=3))
    async with notes_api(tmp_path, Notes(), settings) as one:
        assert [await status_of(one) for _ in range(4)] == [200, 200, 200, 429]
        late = await one.http.get("/v1/notes/x")
        assert 1 <= int(late.headers["retry-after"]) <= 100
        assert late.json()["type"] == "urn:trunkline:problem:too-many-requests"
        assert await status_of(one, **authorised("token-read")) == 200, "another token has its own rate"


async def test_guessing_tokens_is_slowed_down(tmp_path: Path) -> None:
    async with notes_api(tmp_path, Notes(), limited(rate=Rate(per_second=0.01, burst=2))) as one:
        statuses = [await status_of(one, **authorised(f"guess-{n}")) for n in range(4)]
        assert statuses == [401, 401, 429, 429]
        assert await status_of(one) == 200, "who has a token is not held up by who guesses"


def test_a_bucket_fills_again_with_time() -> None:
    now = 100.0
    limit = RateLimit(Rate(per_second=2.0, burst=2), lambda: now)
    limit.take("a")
    limit.take("a")
    with pytest.raises(Problem):
        limit.take("a")
    now += 0.5
    limit.take("a")
    with pytest.raises(Problem):
        limit.take("a")
    now += 1000
    limit.take("a")
    limit.take("a")
    with pytest.raises(Problem):
        limit.take("a")


def test_buckets_are_bounded() -> None:
    limit = RateLimit(Rate(), lambda: 0.0)
    for n in range(20_000):
        limit.take(str(n))
    assert len(limit._buckets) == 10_000


# Sizes and times


async def test_a_declared_length_over_the_limit_is_refused_at_once(tmp_path: Path) -> None:
    notes = Notes()
    async with notes_api(tmp_path, notes, limited(body=100)) as one:
        answer = await one.http.post("/v1/notes", content=b'{"text": "' + b"x" * 200 + b'"}')
        assert answer.status_code == 413
        assert notes.kept == []


async def test_a_body_of_50_mb_is_refused_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes, piece = Notes(), b"x" * 65_536
    # This client sends everything before it reads, for which a slow machine needs more than the two seconds it has.
    monkeypatch.setattr(guard, "_LINGER_TIME", 120.0)

    async def pieces():
        for _ in range(800):
            yield piece

    async with notes_api(tmp_path, notes) as one, over_socket(one) as (client, _):
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/v1/notes", content=pieces(), headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:trunkline:problem:body-too-large")
        assert answer.headers["connection"] == "close"
        assert notes.kept == []
        assert (await client.get("/v1/notes/x")).status_code == 200


async def test_a_request_more_than_the_limit_is_asked_to_come_again(tmp_path: Path) -> None:
    async with notes_api(tmp_path, Notes(), limited(requests=2)) as one, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(one.http.get, "/v1/wait")
        await anyio.wait_all_tasks_blocked()
        answer = await one.http.get("/v1/notes/x")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        group.cancel_scope.cancel()


async def test_a_request_that_was_cut_no_longer_counts(tmp_path: Path) -> None:
    async with notes_api(tmp_path, Notes(), limited(requests=1)) as one:
        with anyio.move_on_after(0.1):
            await one.http.get("/v1/wait")
        assert await status_of(one) == 200
