"""One call of Slack's Web API is one request."""

import pytest
from aiohttp import web

from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import Ambiguous

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(f"{request.method} {request.path}")
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack = SlackWeb("xoxb-1", f"http://127.0.0.1:{runner.addresses[0][1]}/api/", 5.0)
    try:
        async with slack.running():
            with pytest.raises(Ambiguous):
                await slack.call("chat.postMessage", channel="C1", text="hello")
    finally:
        await runner.cleanup()
    assert seen == ["POST /api/chat.postMessage"]
