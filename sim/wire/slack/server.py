"""Slack on the wire: the Web API, Socket Mode, the Events API, uploads and response addresses."""

from __future__ import annotations

import math
from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.sim.wire.slack.call import CALL, BadArguments, SlackCall, arguments_of, token_of
from trunkline.sim.wire.slack.events_api import WebhookFeed
from trunkline.sim.wire.slack.feeds import SocketFeed, UpdateFeed
from trunkline.sim.wire.slack.files import respond_by_url
from trunkline.sim.wire.slack.hosts import SlackHost
from trunkline.sim.wire.slack.methods import METHODS
from trunkline.sim.wire.slack.shapes import callback_of

#: what Slack answers when it refuses a change of a message that is there
_CHANGES = {Action.EDIT: "cant_update_message", Action.DELETE: "cant_delete_message"}


class SlackServer(SlackHost):
    """``/api/<method>``, ``/socket/<ticket>``, ``/upload/<file>`` and ``/response/<number>``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: account -> how its updates reach it
        self.feeds: dict[str, UpdateFeed] = {}

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/socket/{ticket}", self._socket)
        app.router.add_post("/upload/{file}", self.files.upload)
        app.router.add_post("/response/{number}", self._respond_by_url)

    async def close(self) -> None:
        for feed in self.feeds.values():
            await feed.close()
        self.feeds.clear()

    # ------------------------------------------------------------ updates

    def socket_feed(self, account: str) -> SocketFeed:
        """The sockets of an account."""
        found = self.feeds.get(account)
        if not isinstance(found, SocketFeed):
            found = self.feeds[account] = SocketFeed(self, account)
        return found

    def send_events_to(self, account: str, url: str, **options: Any) -> WebhookFeed:
        """Send the updates of an account to an address from now on, instead of over sockets."""
        feed = self.feeds[account] = WebhookFeed(self, account, url, **options)
        feed.connect()
        return feed

    async def subscribe(self, account: str, url: str, verify_token: str) -> bool:
        """Send the updates of an account to an address, if it answers as Slack requires. Slack asks with no word."""
        feed = WebhookFeed(self, account, url)
        if not await feed.verify():
            await feed.close()
            return False
        earlier, self.feeds[account] = self.feeds.get(account), feed
        if earlier is not None:
            await earlier.close()
        feed.connect()
        return True

    def report(self, account: str, event: dict[str, Any]) -> None:
        feed = self.feeds.get(account)
        if feed is not None:
            feed.spawn(self._report(feed, event))

    async def _report(self, feed: UpdateFeed, event: dict[str, Any]) -> None:
        if feed.connection is not None:
            await feed.bring_event(callback_of(self.platform, feed.account, event, self.date()))

    # ------------------------------------------------------------ requests

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        call = SlackCall(request=request, method=method, account="", token=0, given={})
        CALL.set(call)
        try:
            call.given, call.warnings = await arguments_of(request)
            token = token_of(request, call.given)
            if not token:
                return call.error("not_authed")
            app = self.account_of_app(token)
            owner = (app, 0) if app is not None else self.owner_of(token)
            if owner is None:
                return call.error("invalid_auth")
            call.account, call.token = owner
            handler = METHODS.get(method)
            if handler is None:
                return call.error("unknown_method", req_method=method)
            if (app is not None) != (method == "apps.connections.open"):
                return call.error("not_allowed_token_type")
            return await handler(self, call)
        except BadArguments as error:
            return call.error(str(error))

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        call = CALL.get()
        if isinstance(error, RateLimited):
            wait = {"Retry-After": str(math.ceil(error.retry_after or 1))}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=wait)
        return call.error(self._code(call, error))

    def _code(self, call: SlackCall, error: PlatformError) -> str:
        """The error code for an error of the platform, by what it is and what the call was about."""
        if isinstance(error, Unauthorized):
            return "invalid_auth"
        if isinstance(error, PlaceArchived):
            return "is_archived"
        if isinstance(error, PlaceGone):
            return "channel_not_found"
        if not isinstance(error, Refused):
            # Nothing was done, and it can be done later.
            return "team_added_to_org"
        room = None if call.address is None else self.platform.room_at(call.address)
        if call.address is not None and (room is None or call.account not in room.accounts):
            return "channel_not_found"
        if room is not None and call.account in room.left:
            return "not_in_channel"
        if len(call.text) > self.platform.text_limit:
            return "msg_too_long"
        if call.message_id is not None and room is not None:
            message = self.platform.board.get(room, call.message_id)
            if message is None or message.deleted:
                return "message_not_found"
        return "restricted_action" if call.action is None else _CHANGES.get(call.action, "restricted_action")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        account = self._tickets.pop(request.match_info["ticket"], None)
        if account is None:
            return web.Response(status=403)
        return await self.socket_feed(account).serve(request)

    async def _respond_by_url(self, request: web.Request) -> web.StreamResponse:
        envelope = self._response_urls.get(request.match_info["number"])
        if envelope is None:
            return web.Response(status=404, text="used_url")
        return await respond_by_url(self, request, envelope)
