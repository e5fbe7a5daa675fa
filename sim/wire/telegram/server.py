"""The Telegram Bot API on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from trunkline.core.errors import Unauthorized
from trunkline.sim.wire.telegram.answers import failed, ok
from trunkline.sim.wire.telegram.base import BotCaller, TelegramBase
from trunkline.sim.wire.telegram.changes import BotChanges
from trunkline.sim.wire.telegram.deliveries import Deliveries
from trunkline.sim.wire.telegram.objects import bot_self, file_object
from trunkline.sim.wire.telegram.parameters import BadParameter, Parameters, read_parameters
from trunkline.sim.wire.telegram.sends import BotSends

#: methods that succeed and change nothing that a gateway or a person could notice
_WITHOUT_EFFECT = frozenset(
    {
        "setmycommands",
        "deletemycommands",
        "setmyname",
        "setmydescription",
        "setmyshortdescription",
        "setchatmenubutton",
        "setmydefaultadministratorrights",
    }
)


class TelegramServer(TelegramBase):
    """``/bot<token>/<method>``, and the files below ``/file/bot<token>/``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.deliveries = Deliveries(self)
        self._sending = BotSends(self)
        self._changing = BotChanges(self)
        self._questions: dict[str, Callable[[BotCaller, Parameters], web.StreamResponse]] = {
            "getme": lambda caller, _: ok(bot_self(self.platform, caller.account)),
            "setwebhook": self.deliveries.set_webhook,
            "deletewebhook": self.deliveries.delete_webhook,
            "getwebhookinfo": lambda caller, _: self.deliveries.webhook_info(caller),
            "getchat": self._changing.chat,
            "getfile": self._get_file,
            "getmycommands": lambda _caller, _given: ok([]),
        }

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/bot{token}/{method}", self._call)
        app.on_startup.append(self._open)
        app.router.add_route("GET", "/file/bot{token}/{path:.+}", self._download)

    async def _open(self, app: web.Application) -> None:
        await self.deliveries.open()

    async def close(self) -> None:
        await self.deliveries.close()

    def hang_up(self) -> None:
        self.deliveries.hang_up()

    async def _call(self, request: web.Request) -> web.StreamResponse:
        owner = self.owner_of(request.match_info["token"])
        if owner is None:
            return failed(*((401, "Unauthorized") if ":" in request.match_info["token"] else (404, "Not Found")))
        caller = BotCaller(request=request, account=owner[0], token=owner[1])
        method = request.match_info["method"].lower()
        try:
            given = await read_parameters(request)
            return await self._answer(method, caller, given)
        except BadParameter as error:
            return failed(400, f"Bad Request: {error.facts}")

    async def _answer(self, method: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Answer a call. Sends, changes and the fake's own calls check the token when they arrive."""
        if self._sending.handles(method):
            return await self._sending.handle(method, caller, given)
        if self._changing.handles(method):
            return await self._changing.handle(method, caller, given)
        try:
            self.platform.tokens.check(caller.account, caller.token)
        except Unauthorized as error:
            return self.refusal(caller.request, error)
        if method == "getupdates":
            return await self.deliveries.get_updates(caller, given)
        if method in self._questions:
            return self._questions[method](caller, given)
        return ok(True) if method in _WITHOUT_EFFECT else failed(404, "Not Found")

    # ------------------------------------------------------------ files

    def _get_file(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        found = self.files.get(given.text("file_id"))
        if found is None:
            raise BadParameter("invalid file_id")
        return ok({**file_object(found.file_id), "file_size": len(found.content), "file_path": found.path})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        found = self.files.at(request.match_info["path"])
        if self.owner_of(request.match_info["token"]) is None or found is None:
            return failed(404, "Not Found")
        return web.Response(body=found.content, content_type="application/octet-stream")
