"""The bench of the adapter kit over the real Slack adapter, by Socket Mode and by HTTP events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from tests.support.wire.bench import WireBench
from trunkline.core.adapters.port import TakesWebhooks, WebhookCall
from trunkline.core.testing.adapter_kit import NotTried, SeenMessage
from trunkline.sim.wire.listener import HOST
from trunkline.sim.wire.slack.server import SlackServer

PAYLOAD = '{"blocks": [{"type": "divider"}], "unfurl_links": false}'


class SlackBench(WireBench):
    """Socket Mode."""

    platform = "slack"
    payload = PAYLOAD
    config: dict[str, Any] = {  # noqa: RUF012 -- set by subclasses
        "bot_token": {"env": "TOKEN"},
        "app_token": {"env": "APP_TOKEN"},
        "api_root": "{url}/api/",
        "ping_every": 1.0,
    }

    @property
    def server(self) -> SlackServer:
        server = self.listener.server
        assert isinstance(server, SlackServer)
        return server

    async def accepted(self) -> Sequence[SeenMessage]:
        """Slack transports no key."""
        return [msgspec.structs.replace(message, key=None) for message in await super().accepted()]

    def secrets(self) -> dict[str, str]:
        return {
            "APP_TOKEN": self.server.app_token("default"),
            "SIGNING_SECRET": self.server.signing_secret("default"),
        }


class SlackWebhookBench(SlackBench):
    """Events by HTTP, to a server that stands for the gateway's."""

    config = {  # noqa: RUF012 -- as in the base
        "bot_token": {"env": "TOKEN"},
        "signing_secret": {"env": "SIGNING_SECRET"},
        "api_root": "{url}/api/",
    }
    #: seconds before further deliveries
    retries = (0.2, 0.5, 1.0)

    async def open(self) -> None:
        await super().open()
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_route("*", "/v1/platforms/slack/default", self._taken)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, HOST, 0).start()
        self.url = f"http://{HOST}:{runner.addresses[0][1]}/v1/platforms/slack/default"
        self.feed = self.server.send_events_to("default", self.url, retries=self.retries)

    async def _taken(self, request: web.Request) -> web.StreamResponse:
        adapter = self.real
        assert isinstance(adapter, TakesWebhooks)
        call = WebhookCall(
            method=request.method,
            tail="",
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
        )
        answer = await adapter.webhook(call)
        return web.Response(status=answer.status, body=answer.body, headers={"Content-Type": answer.media_type})

    async def break_stream(self) -> None:
        raise NotTried("Slack calls the gateway: there is no connection that could break")
