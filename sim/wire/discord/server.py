"""Discord on the wire: the REST API, and the gateway that ``GET /gateway/bot`` names."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from trunkline.core.errors import PlatformError
from trunkline.sim.wire.discord.errors import DiscordSays, nothing, refusal_of, reply
from trunkline.sim.wire.discord.exchange import RestExchange, read_json
from trunkline.sim.wire.discord.guilds import GUILD_ROUTES
from trunkline.sim.wire.discord.hosts import DiscordHost
from trunkline.sim.wire.discord.messages import MESSAGE_ROUTES
from trunkline.sim.wire.discord.threads import CHANNEL_ROUTES, WEBHOOK_ROUTES

_VERSIONS = "{version:v9|v10}"
#: answers to interactions that a client may give
_CALLBACKS = frozenset({1, 4, 5, 6, 7, 8, 9, 10, 12})

RestHandler = Callable[[RestExchange], Awaitable[web.StreamResponse]]


class DiscordServer(DiscordHost):
    """``/api/v10`` and ``/gateway``."""

    def add_routes(self, app: web.Application) -> None:
        root = f"/api/{_VERSIONS}"
        for (method, path), handler in {**MESSAGE_ROUTES, **CHANNEL_ROUTES, **GUILD_ROUTES}.items():
            app.router.add_route(method, root + path, self._with_token(handler))
        for (method, path), handler in WEBHOOK_ROUTES.items():
            app.router.add_route(method, f"{root}/webhooks/{{webhook}}/{{token}}{path}", self._with_secret(handler))
        app.router.add_get(f"{root}/gateway", self._gateway)
        app.router.add_get(f"{root}/gateway/bot", self._with_token(self._gateway_bot))
        app.router.add_post(f"{root}/interactions/{{interaction}}/{{token}}/callback", self._callback)
        app.router.add_get("/gateway", self.hub.handle)
        app.router.add_get("/gateway/", self.hub.handle)
        app.router.add_route("*", "/{anything:.*}", self._unknown)

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return refusal_of(error)

    async def close(self) -> None:
        await self.hub.close()

    async def _callback(self, request: web.Request) -> web.StreamResponse:
        """The answer to an interaction, which needs its token and no other one."""
        interaction = request.match_info["interaction"]
        try:
            if self.interactions.get(interaction) != request.match_info["token"]:
                raise DiscordSays(10062)
            if interaction in self.answered:
                raise DiscordSays(40060)
            if (await read_json(request)).get("type") not in _CALLBACKS:
                raise DiscordSays(50035, field="type")
        except DiscordSays as error:
            return error.response()
        self.answered.add(interaction)
        return nothing()

    def _with_token(self, handler: RestHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for requests with a bot's token. An old token goes to the platform, which refuses it."""

        async def handle(request: web.Request) -> web.StreamResponse:
            kind, _, token = request.headers.get("Authorization", "").partition(" ")
            return await self._answer(handler, request, self.owner_of(token) if kind == "Bot" else None, 0)

        return handle

    async def _answer(
        self, handler: RestHandler, request: web.Request, owner: tuple[str, int] | None, unknown: int
    ) -> web.StreamResponse:
        """The response of a handler, or to an error. `unknown`: the code for a request of nobody."""
        try:
            if owner is None:
                raise DiscordSays(unknown)
            return await handler(RestExchange(server=self, request=request, account=owner[0], number=owner[1]))
        except DiscordSays as error:
            return error.response()
        except PlatformError as error:
            return refusal_of(error)

    def _with_secret(self, handler: RestHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:

        async def handle(request: web.Request) -> web.StreamResponse:
            webhook, token = request.match_info["webhook"], request.match_info["token"]
            accounts = self.platform.spec.accounts
            newest = self.platform.tokens.newest
            owners = ((account, newest(account)) for account in accounts if self.secret(account, webhook) == token)
            return await self._answer(handler, request, next(owners, None), 50027)

        return handle

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        return reply({"url": self.gateway_url})

    async def _gateway_bot(self, call: RestExchange) -> web.StreamResponse:
        self.platform.tokens.check(call.account, call.number)
        limit = {"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}
        return reply({"url": self.gateway_url, "shards": 1, "session_start_limit": limit})

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        return DiscordSays(520000).response()
