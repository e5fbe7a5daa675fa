"""Slack on the wire: the Web API, Socket Mode, the Events API, uploads and response addresses."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Address, ChatKind, Envelope
from trunkline.sim.platforms.channels.slack import FakeSlack
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.slack.call import CALL, BadArguments, SlackCall, arguments_of, token_of
from trunkline.sim.wire.slack.events_api import WebhookFeed
from trunkline.sim.wire.slack.feeds import SocketFeed, UpdateFeed
from trunkline.sim.wire.slack.files import FileShelf, respond_by_url
from trunkline.sim.wire.slack.methods import METHODS
from trunkline.sim.wire.slack.shapes import callback_of

#: what Slack answers when it refuses a change of a message that is there
_CHANGES = {Action.EDIT: "cant_update_message", Action.DELETE: "cant_delete_message"}


class SlackServer(WireServer[FakeSlack]):
    """``/api/<method>``, ``/socket/<ticket>``, ``/upload/<file>`` and ``/response/<number>``."""

    channel = "slack"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: account -> how its updates reach it
        self.feeds: dict[str, UpdateFeed] = {}
        self.files = FileShelf(self)
        #: ticket of a socket -> account; a ticket is used once
        self._tickets: dict[str, str] = {}
        self._numbers = count(1)
        self._response_urls: dict[str, Envelope] = {}

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/socket/{ticket}", self._socket)
        app.router.add_post("/upload/{file}", self.files.upload)
        app.router.add_post("/response/{number}", self._respond_by_url)

    async def close(self) -> None:
        for feed in self.feeds.values():
            await feed.close()
        self.feeds.clear()

    # ------------------------------------------------------------ secrets and accounts

    def token(self, account: str, number: int) -> str:
        return f"xoxb-{account}-{number}"

    def app_token(self, account: str) -> str:
        """The app-level token, for Socket Mode."""
        return f"xapp-1-{account}"

    def signing_secret(self, account: str) -> str:
        """The signing secret, for events by HTTP."""
        return f"signing-{account}"

    def account_of_app(self, token: str) -> str | None:
        """The account of an app-level token."""
        return next((one for one in self.platform.spec.accounts if self.app_token(one) == token), None)

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

    async def report(self, account: str, event: dict[str, Any]) -> None:
        """Bring an event to an account once, such as an echo of its own message."""
        feed = self.feeds.get(account)
        if feed is not None and feed.connection is not None:
            await feed.bring_event(callback_of(self.platform, account, event, self.date()))

    def new_ticket(self, account: str) -> str:
        """A ticket for one socket."""
        ticket = f"{account}-{next(self._numbers)}"
        self._tickets[ticket] = account
        return ticket

    def response_url(self, envelope: Envelope) -> str:
        """The address with which an app answers an interaction."""
        number = str(next(self._numbers))
        self._response_urls[number] = envelope
        return f"{self.url}/response/{number}"

    # ------------------------------------------------------------ requests

    def address_of(self, call: SlackCall, name: str = "channel", thread: str | None = None) -> Address:
        """The place that an argument names: by an id, of a user too, or ``#name``. It need not be there."""
        given = call.word(name, "channel_not_found")
        named = self.platform.find(call.account, given) if given[:1] == "#" else None
        conversation = given if named is None else named.conversation
        usual = ChatKind.DIRECT if conversation[:1].upper() in ("D", "U", "W") else ChatKind.CHANNEL
        place = Address(channel=self.channel, account=call.account, kind=usual, conversation=conversation)
        room = self.platform.room_at(place)
        if room is not None:
            own = room.address(call.account)
            # The platform takes an id in lower case too; the record keeps it as it came.
            same = conversation.upper() == own.conversation.upper()
            place = msgspec.structs.replace(own, conversation=conversation) if same else own
        call.address = place if thread is None else _in_thread(place, thread)
        return call.address

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


def _in_thread(place: Address, thread: str) -> Address:
    return Address(
        channel=place.channel,
        account=place.account,
        kind=place.kind,
        conversation=place.conversation,
        thread=thread,
        parent=place.parent,
    )
