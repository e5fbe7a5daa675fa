"""The accounts of a gateway over HTTP: which are connected, since when, and what failed last."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.http import Api, api
from trunkline.core.events import Body
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.events.gateway import AdapterEnded, AdapterFailed
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio

NAME: dict[str, Any] = {"channel": "discord", "account": "default"}
FAILED = AdapterFailed(**NAME, reason=Reason.UNAUTHORIZED, detail="bot123:SECRET is not accepted", retry_in=1.0)


async def state(one: Api, *bodies: Body) -> dict[str, object]:
    for body in bodies:
        one.served.log.recorder("http").record(body)
    [found] = (await one.http.get("/v1/accounts")).json()["accounts"]
    return found


async def disconnected(one: Api) -> int:
    return (await one.http.get("/v1/health/ready")).json().get("disconnected", 0)


async def samples(one: Api) -> dict[str, str]:
    lines = (await one.http.get("/metrics")).text.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if 'account="default"' in line)


async def test_an_account_is_connected_once_it_says_so(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        first = await state(one)
        assert first == {**NAME, "mailbox": False, "connected": False, "since": None, "by": "", "failure": None} | {
            "dropped_updates": 0,
            "refused_webhooks": 0,
            "failed_deliveries": 0,
        }
        assert await disconnected(one) == 1
        connected = await state(one, AdapterConnected(**NAME, by="polling"))
        assert (connected["connected"], connected["by"]) == (True, "polling")
        assert isinstance(connected["since"], float)
        assert await disconnected(one) == 0


async def test_a_failure_is_remembered_without_secrets(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        one.served.admin.redact = lambda text: text.replace("bot123:SECRET", "[secret]")
        failed = await state(one, AdapterConnected(**NAME), FAILED)
        assert (failed["connected"], failed["since"]) == (False, None)
        failure = failed["failure"]
        assert isinstance(failure, dict)
        assert (failure["reason"], failure["detail"]) == ("unauthorized", "[secret] is not accepted")
        assert (await one.http.get("/v1/health/ready")).status_code == 200, "other accounts work"
        again = await state(one, AdapterConnected(**NAME))
        assert (again["connected"], again["failure"]) == (True, failure)
        ended = await state(one, AdapterEnded(**NAME))
        assert (ended["connected"], ended["since"]) == (False, None)


async def test_metrics_of_accounts(tmp_path: Path) -> None:
    dropped = UpdateDropped(**NAME, reason=Reason.BAD_UPDATE)
    refused = WebhookRefused(**NAME, reason=Reason.BAD_SIGNATURE, before=4)
    failed = DeliveryFailed(**NAME, reason=Reason.REFUSED, message_id="7")
    labels = '{channel="discord",account="default"}'
    async with api(tmp_path / "gateway.db") as one:
        assert (await samples(one))[f"trunkline_account_connected{labels}"] == "0"
        await state(one, AdapterConnected(**NAME), dropped, dropped, refused, failed)
        found = await samples(one)
        assert found[f"trunkline_account_connected{labels}"] == "1"
        assert found[f"trunkline_updates_dropped_total{labels}"] == "2"
        assert found[f"trunkline_webhooks_refused_total{labels}"] == "5"
        assert found[f"trunkline_deliveries_failed_total{labels}"] == "1"


async def test_an_account_that_is_not_served_is_not_listed(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        await state(one, AdapterConnected(channel="discord", account="another"))
        assert len((await one.http.get("/v1/accounts")).json()["accounts"]) == 1
