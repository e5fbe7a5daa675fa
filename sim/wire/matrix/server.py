"""The client-server API of a Matrix homeserver on the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.errors import PlatformError
from trunkline.sim.wire.json_values import Json, mapping
from trunkline.sim.wire.matrix.account_log import AccountLog
from trunkline.sim.wire.matrix.bodies import body_of, failed
from trunkline.sim.wire.matrix.caller import MatrixCaller
from trunkline.sim.wire.matrix.hosts import MatrixHost
from trunkline.sim.wire.matrix.reading import MatrixReads
from trunkline.sim.wire.matrix.sending import MatrixSends, refusal_of
from trunkline.sim.wire.matrix.syncing import MatrixSyncs

_VERSIONS = ("r0.6.1", *(f"v1.{minor}" for minor in range(1, 13)))
_DEVICE = "TRUNKLINE"


_Handler = Callable[[MatrixCaller], Awaitable[web.StreamResponse] | web.StreamResponse]
_HOME = "example.org"
_LONGEST = 50 * 1024 * 1024


class StoredMedia(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded file."""

    body: bytes
    mime_type: str
    name: str


class MediaStore:
    """The uploaded files, by their ``mxc://`` addresses."""

    def __init__(self) -> None:
        self.files: dict[str, StoredMedia] = {}

    async def upload(self, caller: MatrixCaller) -> web.Response:
        """`POST /upload`."""
        body = await caller.request.read()
        if len(body) > _LONGEST:
            return failed(413, "M_TOO_LARGE", "Upload request body is too large")
        address = f"mxc://{_HOME}/media{len(self.files) + 1}"
        kind = caller.request.headers.get("Content-Type", "application/octet-stream")
        self.files[address] = StoredMedia(body=body, mime_type=kind, name=caller.request.query.get("filename", ""))
        return web.json_response({"content_uri": address})

    def download(self, home: str, media_id: str) -> web.Response:
        """`GET /download/{server}/{media}`."""
        found = self.files.get(f"mxc://{home}/{media_id}")
        if found is None:
            return failed(404, "M_NOT_FOUND", "Not found")
        return web.Response(body=found.body, headers={"Content-Type": found.mime_type})


class MatrixServer(MatrixHost):
    """``/_matrix/client/v3``, with the rooms of the world as their members see them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.syncing = MatrixSyncs(self)
        self.sending = MatrixSends(self)
        self.reading = MatrixReads(self)
        self.media = MediaStore()

    async def close(self) -> None:
        self.syncing.hang_up()

    def hang_up(self) -> None:
        self.syncing.hang_up()

    def token(self, account: str, number: int) -> str:
        return f"syt_{account}_{number}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return refusal_of(request, error)

    # ------------------------------------------------------------ routes

    def add_routes(self, app: web.Application) -> None:
        client, media = "/_matrix/client/{v:v3|r0|v1}", "/_matrix/media/{v:v3|r0}"
        app.router.add_get("/_matrix/client/versions", self._versions)
        app.router.add_get(f"{client}/login", self._flows)
        app.router.add_post(f"{client}/login", self._login)
        sending, reading, sync = self.sending, self.reading, self.syncing
        routes: dict[tuple[str, str], _Handler] = {
            ("GET", "/account/whoami"): self._whoami,
            ("GET", "/sync"): sync.sync,
            ("GET", "/joined_rooms"): lambda at: _ok({"joined_rooms": list(self.names.joined(at.account))}),
            ("GET", "/capabilities"): lambda at: _ok({"capabilities": {"m.room_versions": {"default": "10"}}}),
            ("POST", "/user/{user}/filter"): lambda at: _ok({"filter_id": "0"}),
            ("GET", "/user/{user}/account_data/{type}"): self._account_data,
            ("PUT", "/user/{user}/account_data/{type}"): lambda at: _ok({}),
            ("GET", "/directory/room/{alias}"): lambda at: reading.alias(at, at.part("alias")),
            ("GET", "/profile/{user}"): lambda at: reading.profile(at.part("user"), ""),
            ("GET", "/profile/{user}/{field}"): lambda at: reading.profile(at.part("user"), at.part("field")),
            ("PUT", "/profile/{user}/displayname"): sending.rename,
            ("GET", "/rooms/{room}/joined_members"): lambda at: reading.members(at, at.part("room")),
            ("GET", "/rooms/{room}/messages"): self._messages,
            ("GET", "/rooms/{room}/event/{event}"): lambda at: reading.event(at, at.part("room"), at.part("event")),
            ("GET", "/rooms/{room}/state"): lambda at: reading.all_state(at, at.part("room")),
            ("GET", "/rooms/{room}/state/{type}"): lambda at: reading.state(at, at.part("room"), at.part("type"), ""),
            ("GET", "/rooms/{room}/state/{type}/{key}"): lambda at: reading.state(
                at, at.part("room"), at.part("type"), at.part("key")
            ),
            ("PUT", "/rooms/{room}/state/{type}"): lambda at: sending.put_state(at, at.part("room"), at.part("type")),
            ("PUT", "/rooms/{room}/send/{type}/{txn}"): lambda at: sending.send(
                at, at.part("room"), at.part("type"), at.part("txn")
            ),
            ("PUT", "/rooms/{room}/redact/{event}/{txn}"): lambda at: sending.redact(
                at, at.part("room"), at.part("event"), at.part("txn")
            ),
            ("POST", "/rooms/{room}/join"): self._join,
            ("POST", "/join/{room}"): self._join,
            ("PUT", "/rooms/{room}/typing/{user}"): lambda at: _ok({}),
            ("POST", "/rooms/{room}/receipt/{type}/{event}"): lambda at: _ok({}),
            ("POST", "/rooms/{room}/read_markers"): lambda at: _ok({}),
        }
        for tail in ("/{rel}", "/{rel}/{type}"):
            path = "/rooms/{room}/relations/{event}" + tail
            routes["GET", path] = lambda at: reading.relations(at, at.part("room"), at.part("event"), at.part("rel"))
        for (method, path), handler in routes.items():
            app.router.add_route(method, client + path, self._with_token(handler))
        app.router.add_post(f"{media}/upload", self._with_token(self.media.upload))
        for prefix in (f"{media}/download", f"{client}/media/download"):
            path = prefix + "/{server}/{media}"
            app.router.add_get(
                path, self._with_token(lambda at: self.media.download(at.part("server"), at.part("media")))
            )
        app.router.add_get(
            f"{client}/media/config", self._with_token(lambda at: _ok({"m.upload.size": 50 * 1024 * 1024}))
        )
        app.router.add_route("*", "/{tail:.*}", _unrecognised)

    def _with_token(self, handler: _Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for requests with a token that is accepted."""

        async def handle(request: web.Request) -> web.StreamResponse:
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or not token:
                return failed(401, "M_MISSING_TOKEN", "Missing access token")
            owner = self.owner_of(token)
            if owner is None:
                return failed(401, "M_UNKNOWN_TOKEN", "Unrecognised access token", soft_logout=False)
            account, number = owner
            caller = MatrixCaller(request=request, account=account, token=number, me=self.platform.bot_id(account))
            # The platform itself checks the tokens of what it is asked to change, and records the refusal.
            if request.method == "GET" and number < self.platform.tokens.newest(account):
                return failed(401, "M_UNKNOWN_TOKEN", "Access token has expired", soft_logout=True)
            found = handler(caller)
            return found if isinstance(found, web.StreamResponse) else await found

        return handle

    async def _versions(self, _: web.Request) -> web.Response:
        return _ok({"versions": list(_VERSIONS), "unstable_features": {}})

    async def _flows(self, _: web.Request) -> web.Response:
        return _ok({"flows": [{"type": "m.login.password"}]})

    async def _login(self, request: web.Request) -> web.Response:
        """The password of an account's user is its newest token."""
        content = body_of(await request.read())
        if isinstance(content, web.Response):
            return content
        for account in self.platform.spec.accounts:
            me, token = self.platform.bot_id(account), self.token(account, self.platform.tokens.newest(account))
            user = mapping(content.get("identifier")).get("user", content.get("user"))
            if user in (me, me[1:].partition(":")[0]) and content.get("password") == token:
                return _ok({"user_id": me, "access_token": token, "home_server": "example.org", "device_id": _DEVICE})
        return failed(403, "M_FORBIDDEN", "Invalid username or password")

    def _whoami(self, at: MatrixCaller) -> web.Response:
        return _ok({"user_id": at.me, "device_id": _DEVICE, "is_guest": False})

    def _account_data(self, at: MatrixCaller) -> web.Response:
        if at.part("user") != at.me:
            return failed(403, "M_FORBIDDEN", "Cannot get account data for other users.")
        if at.part("type") == "m.direct" and (direct := self.names.direct(at.account)):
            return _ok(direct)
        return failed(404, "M_NOT_FOUND", "Account data not found")

    def _join(self, at: MatrixCaller) -> web.Response:
        if at.part("room") in self.names.joined(at.account):
            return _ok({"room_id": at.part("room")})
        return failed(403, "M_FORBIDDEN", "You are not invited to this room.")

    def _messages(self, at: MatrixCaller) -> web.Response:
        if at.part("room") not in self.names.joined(at.account):
            return failed(403, "M_FORBIDDEN", f"User {at.me} not in room {at.part('room')}")
        return self.syncing.messages(at, at.part("room"))

    def log(self, account: str) -> AccountLog:
        return self.syncing.log(account)


def _ok(found: Json) -> web.Response:
    return web.json_response(found)


async def _unrecognised(_: web.Request) -> web.Response:
    return failed(404, "M_UNRECOGNIZED", "Unrecognized request")
