"""An address on loopback for platforms that call the gateway, for runs without the gateway's own server."""

from __future__ import annotations

from aiohttp import web

from trunkline.core.adapters.port import TakesWebhooks, WebhookCall

_HOST = "127.0.0.1"
_LARGEST = 64 * 1024 * 1024
#: seconds that requests have to end when the address closes; for aiohttp, none would be for ever
_TO_END = 0.05


class WebhookReceiver:
    """Hands requests to adapters: ``/v1/platforms/{channel}/{account}``, as `trunkline serve` does."""

    def __init__(self) -> None:
        self._adapters: dict[tuple[str, str], TakesWebhooks] = {}
        self._runner: web.AppRunner | None = None
        #: address of the server, once it listens
        self.root = ""

    def hand_over(self, channel: str, account: str, adapter: TakesWebhooks) -> str:
        """Hand the requests for an account to an adapter, in place of an earlier one. Returns the address."""
        self._adapters[channel, account] = adapter
        return f"{self.root}/v1/platforms/{channel}/{account}"

    async def open(self) -> None:
        """Listen on a free port."""
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/v1/platforms/{channel}/{account}{tail:.*}", self._call)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_TO_END, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, _HOST, 0).start()
        self.root = f"http://{_HOST}:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Close the socket."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _call(self, request: web.Request) -> web.Response:
        at = request.match_info
        adapter = self._adapters.get((at["channel"], at["account"]))
        if adapter is None:
            return web.Response(status=404)
        call = WebhookCall(
            method=request.method,
            tail=at["tail"],
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
        )
        answer = await adapter.webhook(call)
        return web.Response(status=answer.status, body=answer.body, headers={"Content-Type": answer.media_type})
