"""The application as a whole: what every route has in common."""

from pathlib import Path

import pytest

from tests.support.http import api, over_socket

pytestmark = pytest.mark.anyio


async def test_a_gateway_that_serves_is_live_and_ready(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        for path, status in {"/v1/health/live": "live", "/v1/health/ready": "ready"}.items():
            answer = await one.http.get(path, headers={"Authorization": ""})
            assert (answer.status_code, answer.json()["status"]) == (200, status)


async def test_it_answers_over_a_real_socket(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one, over_socket(one) as (client, _):
        answer = await client.get("/v1/health/ready")
        assert answer.json()["status"] == "ready"
        missing = await client.get("/v1/nothing", headers={"X-Request-ID": "mine-1"})
        assert missing.headers["content-type"] == "application/problem+json"
        assert missing.headers["x-request-id"] == missing.json()["request_id"] == "mine-1"
