"""The client-server API of a Matrix homeserver on the wire."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import Json, mapping, object_in
from trunkline.sim.wire.matrix import bodies, sending
from trunkline.sim.wire.matrix.bodies import MatrixSays, body_of, event, failed
from trunkline.sim.wire.matrix.hosts import AccountLog, LogEntry, MatrixCall, MatrixHost
from trunkline.sim.wire.sockets import reset

# Syncs and pages of the past, from the log of an account.

#: events of a room in one answer, by default and at most; events of a page
_USUAL, _MOST, _PAGE = 10, 100, 10


class MatrixSyncs:
    """Answers syncs, and keeps a log for each account."""

    def __init__(self, server: MatrixHost) -> None:
        self._server = server
        self._logs: dict[str, AccountLog] = {}
        self._connections: dict[str, Connection] = {}
        self._pumps: dict[str, asyncio.Task[None]] = {}

    def hang_up(self) -> None:
        for account, pump in tuple(self._pumps.items()):
            pump.cancel()
            self._server.platform.pushes.disconnect(account, self._connections[account])
        self._pumps.clear()
        self._connections.clear()

    def log(self, account: str) -> AccountLog:
        log = self._logs.setdefault(account, AccountLog(self._server.world.ids_from))
        for room_id in self._server.names.joined(account):
            log.join(room_id)
        for message in self._server.platform.board.sent:
            if message.account == account and message.id not in log.events:
                room_id = self._server.names.id_of(message.room)
                log.add(room_id, self._server.sent_event(room_id, message))
        return log

    def _connected(self, account: str) -> AccountLog:
        log = self.log(account)
        if account not in self._connections:
            connection = self._server.platform.pushes.connect(account, Node("wire"), deeds=True)
            while not connection.queue.empty():
                found = connection.queue.get_nowait()
                if isinstance(found, Envelope):
                    self._hear(log, found)
            self._connections[account] = connection
            self._pumps[account] = asyncio.get_running_loop().create_task(self._pump(account, connection))
        return log

    async def _pump(self, account: str, connection: Connection) -> None:
        """Take what people say as it comes, until the connection breaks."""
        while True:
            found = await connection.queue.get()
            log = self.log(account)
            if isinstance(found, PlatformError):
                if self._connections.get(account) is connection:
                    del self._connections[account], self._pumps[account]
                log.broke()
                return
            self._hear(log, found)

    def _hear(self, log: AccountLog, envelope: Envelope) -> None:
        account = envelope.address.account
        room = self._server.platform.room_above(envelope.address)
        if room is None:
            return
        room_id = self._server.names.id_of(room)
        log.join(room_id)
        at = self._server.date(envelope.sent_at)
        kind, content = bodies.content_of(envelope)
        heard = event(room_id, kind, envelope.message_id, envelope.peer.id, at, content)
        heard |= {"redacts": content["redacts"]} if "redacts" in content else {}
        log.add(room_id, heard, envelope)
        assert account == room.owner or not room.owner

    async def sync(self, caller: MatrixCall) -> web.StreamResponse:
        request, query = caller.request, caller.request.query
        since, wait = _position(query.get("since")), _number(query.get("timeout"), 0)
        wanted = _filter(query.get("filter"))
        if since is None:
            raise MatrixSays(400, "M_UNKNOWN", "Invalid stream token")
        if wait is None or wanted is None:
            raise MatrixSays(400, "M_INVALID_PARAM", "Invalid query parameter")
        if self._server.world.account_fault("connect", self._server.channel, caller.account):
            raise reset(request)
        log = self._connected(caller.account)
        if log.take_break():
            raise reset(request)
        if since > log.end:
            return failed(400, "M_UNKNOWN", "Invalid stream token")
        for envelope in log.confirm(since):
            self._server.platform.pushes.ack(envelope)
        until = self._server.world.now() + wait / 1000
        while "since" in query and log.end == since and self._server.world.now() < until:
            await log.wait_for_change(until - self._server.world.now())
            log = self.log(caller.account)
            if log.take_break():
                raise reset(request)
        return web.json_response(self._answer(caller, log, since, wanted, full="since" not in query))

    def _answer(self, caller: MatrixCall, log: AccountLog, since: int, wanted: Json, *, full: bool) -> Json:
        room_filter = mapping(wanted.get("room"))
        fresh = list(log.after(since))
        joined: Json = {}
        for room_id in self._server.names.joined(caller.account):
            is_new = full or log.rooms[room_id] > since
            timeline = mapping(room_filter.get("timeline"))
            entries = [new for new in fresh if new.room == room_id and _fits(new, timeline)]
            if is_new or entries:
                joined[room_id] = self._joined(caller, room_id, entries, room_filter, since, is_new=is_new)
        answer: Json = {
            "next_batch": f"s{log.end}",
            "device_one_time_keys_count": {"signed_curve25519": 0},
            "device_unused_fallback_key_types": [],
        }
        if joined:
            answer["rooms"] = {"join": joined}
        if full or any(entry.event is None for entry in fresh):
            direct = {"type": "m.direct", "content": self._server.names.direct(caller.account)}
            answer["account_data"] = {
                "events": [direct] if _passes("m.direct", mapping(wanted.get("account_data"))) else []
            }
        return answer

    def _joined(
        self, caller: MatrixCall, room_id: str, entries: list[LogEntry], wanted: Json, since: int, *, is_new: bool
    ) -> Json:
        limit = min(_MOST, _number(mapping(wanted.get("timeline")).get("limit"), _USUAL) or _USUAL)
        kept = entries[-limit:]
        first = kept[0].position - 1 if kept else since
        state, only = self._server.state(caller.account, room_id) if is_new else [], mapping(wanted.get("state"))
        return {
            "timeline": {
                "events": [bodies.in_sync(entry.event) for entry in kept if entry.event is not None],
                "prev_batch": f"s{first}",
                "limited": len(entries) > limit or is_new,
            },
            "state": {"events": [bodies.in_sync(entry) for entry in state if _passes(entry["type"], only)]},
            "account_data": {"events": []},
            "ephemeral": {"events": []},
            "unread_notifications": {"notification_count": 0, "highlight_count": 0},
            "summary": {},
        }

    def messages(self, caller: MatrixCall) -> web.Response:
        caller.check_member()
        query, log, room_id = caller.request.query, self.log(caller.account), caller.part("room")
        backwards = query.get("dir", "b")
        start = _position(query.get("from"), log.end if backwards == "b" else 0)
        until = _position(query.get("to"), 0 if backwards == "b" else log.end)
        limit, wanted = _number(query.get("limit"), _PAGE), _filter(query.get("filter"))
        if start is None or until is None or limit is None or wanted is None or backwards not in ("b", "f"):
            return failed(400, "M_INVALID_PARAM", "Invalid query parameter")
        low, high = (until, start) if backwards == "b" else (start, until)
        there = [
            entry for entry in log.between(low, high) if entry.room == room_id and entry.event and _fits(entry, wanted)
        ]
        page = (there[::-1] if backwards == "b" else there)[:limit]
        answer: Json = {
            "chunk": [self._server.as_now(caller.account, entry.event) for entry in page],
            "start": f"s{start}",
        }
        if len(page) < len(there):
            answer["end"] = f"s{page[-1].position - (backwards == 'b')}"
        return web.json_response(answer)


def _fits(entry: LogEntry, wanted: Json) -> bool:
    return entry.event is not None and _passes(entry.event["type"], wanted)


def _passes(kind: str, wanted: Json) -> bool:
    """Whether a filter lets a type of events through; ``*`` at its end means any text."""

    def named(types: Any) -> bool:
        return any(kind == pattern or (pattern.endswith("*") and kind.startswith(pattern[:-1])) for pattern in types)

    return ("types" not in wanted or named(wanted["types"])) and not named(wanted.get("not_types", ()))


def _filter(text: str | None) -> Json | None:
    """A filter in a query; None: it is none. The id of a stored one means everything."""
    if text is None or text.isdecimal():
        return {}
    try:
        return object_in(text)
    except ValueError:
        return None


def _position(token: str | None, default: int = 0) -> int | None:
    """The position that a token names; None: it is no token."""
    if token is None:
        return default
    return int(token[1:]) if token[:1] == "s" and token[1:].isascii() and token[1:].isdecimal() else None


def _number(value: object, default: int) -> int | None:
    if value is None:
        return default
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else None


# Reads of clients: events, their relations, state, members, profiles.

_REFERENCE = "m.reference"
_RESPONSE = "org.matrix.msc3381.poll.response"


def _found_event(at: MatrixCall) -> web.Response:
    room, event_id = at.room, at.part("event")
    found = None if room is None else _event(at, room, event_id)
    return failed(404, "M_NOT_FOUND", "Event not found.") if found is None else web.json_response(found)


def _event(at: MatrixCall, room: Room, event_id: str) -> Json | None:
    server = at.server
    message = server.platform.board.get(room, event_id)
    if message is not None:
        return server.as_now(at.account, _event_of(at, message))
    thread = server.platform.room_at(server.names.address(at.account, at.part("room"), event_id))
    if thread is None or thread.closed is not None:
        return server.log(at.account).events.get(event_id)
    # A thread of the scenario has no message: its root is one that nobody has seen.
    content = {"msgtype": "m.text", "body": thread.title or thread.name}
    return event(at.part("room"), "m.room.message", event_id, at.me, server.date(0.0), content)


def _event_of(at: MatrixCall, message: BoardMessage) -> Json:
    known = at.server.log(at.account).events.get(message.id)
    if known is not None:
        return known
    if isinstance(message, PostedMessage):
        return at.server.sent_event(at.part("room"), message)
    content: Json = {"msgtype": "m.text", "body": message.text}
    return event(at.part("room"), "m.room.message", message.id, message.author, at.server.date(message.at), content)


async def _relations(at: MatrixCall) -> web.StreamResponse:
    """`GET /rooms/{room}/relations/{event}` and `/{rel}`, newest first; without `rel` of all kinds.

    What the tool's questions need goes through the platform, so that faults strike it.
    """
    server, room, event_id, rel = at.server, at.room, at.part("event"), at.part("rel")
    message = None if room is None else server.platform.board.get(room, event_id)
    if rel in ("", "m.thread"):
        thread = server.platform.room_at(server.names.address(at.account, at.part("room"), event_id))
        there = [] if thread is None else list(server.platform.board.within(thread))
        reactions = message.reactions if message is not None and not rel else {}
        known = bodies.reactions_of(at.part("room"), event_id, reactions, server.date())
        return _chunk([*(_event_of(at, said) for said in there), *known])
    if message is None:
        raise MatrixSays(404, "M_UNKNOWN", "Unknown parent event.")
    action = Action.POLL_RESULTS if rel == _REFERENCE else Action.REACTIONS
    query = ActionQuery(action=action, address=message.room.address(at.account), message_id=message.id)

    def answer(found: Any) -> web.StreamResponse:
        now = server.date()
        if action is Action.REACTIONS:
            there = {str(reaction["emoji"]): list(reaction["users"]) for reaction in found}
            return _chunk(bodies.reactions_of(at.part("room"), message.id, there, now))
        return _chunk([_vote(at.part("room"), message, voter, chosen, now) for voter, chosen in message.votes.items()])

    return await server.ask(at.request, query, at.token, answer)


def _members(at: MatrixCall) -> web.Response:
    at.check_member()
    found = at.server.members(at.account, at.part("room"))
    return _ok({"joined": {user: {"display_name": name, "avatar_url": None} for user, name in found.items()}})


def _state(at: MatrixCall) -> web.Response:
    at.check_member()
    for entry in at.server.state(at.account, at.part("room")):
        if entry["type"] == at.part("type") and entry["state_key"] == at.part("key"):
            return _ok(entry["content"])
    return failed(404, "M_NOT_FOUND", "Event not found.")


def _all_state(at: MatrixCall) -> web.Response:
    at.check_member()
    return web.json_response(at.server.state(at.account, at.part("room")))


def _profile(at: MatrixCall) -> web.Response:
    name = at.server.name_of(at.part("user"))
    if name is None:
        return failed(404, "M_NOT_FOUND", "Profile was not found")
    return _ok({"displayname": name} if at.part("field") in ("", "displayname") else {})


def _alias(at: MatrixCall) -> web.Response:
    """`GET /directory/room/{alias}`: rooms have the alias of their name in the scenario."""
    alias = at.part("alias")
    for room_id, room in at.server.names.joined(at.account).items():
        if room.kind is not ChatKind.DIRECT and alias == f"#{room.name}:example.org":
            return _ok({"room_id": room_id, "servers": ["example.org"]})
    return failed(404, "M_NOT_FOUND", f"Room alias {alias} not found")


def _vote(room_id: str, message: BoardMessage, voter: str, chosen: tuple[int, ...], at: float) -> Json:
    answers = [str(number + 1) for number in chosen]
    relation = {"rel_type": _REFERENCE, "event_id": message.id}
    content = {"m.relates_to": relation, _RESPONSE: {"answers": answers}}
    return event(room_id, _RESPONSE, bodies.derived_id("vote", message.id, voter), voter, at, content)


def _chunk(events: list[Json]) -> web.Response:
    return web.json_response({"chunk": events[::-1]})


_VERSIONS = ("r0.6.1", *(f"v1.{minor}" for minor in range(1, 13)))
_DEVICE = "TRUNKLINE"
#: kinds of push rules; a client asks for them before its first sync
_RULES = ("override", "content", "room", "sender", "underride")


_Handler = Callable[[MatrixCall], Awaitable[web.StreamResponse] | web.StreamResponse]
_HOME = "example.org"
_LONGEST = 50 * 1024 * 1024


class StoredMedia(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    mime_type: str
    name: str


class MediaStore:
    """The uploaded files, by their ``mxc://`` addresses."""

    def __init__(self) -> None:
        self.files: dict[str, StoredMedia] = {}

    async def upload(self, caller: MatrixCall) -> web.Response:
        body = await caller.request.read()
        if len(body) > _LONGEST:
            return failed(413, "M_TOO_LARGE", "Upload request body is too large")
        address = f"mxc://{_HOME}/media{len(self.files) + 1}"
        kind = caller.request.headers.get("Content-Type", "application/octet-stream")
        self.files[address] = StoredMedia(body=body, mime_type=kind, name=caller.request.query.get("filename", ""))
        return web.json_response({"content_uri": address})

    def download(self, at: MatrixCall) -> web.Response:
        found = self.files.get(f"mxc://{at.part('server')}/{at.part('media')}")
        if found is None:
            return failed(404, "M_NOT_FOUND", "Not found")
        return web.Response(body=found.body, headers={"Content-Type": found.mime_type})


class MatrixServer(MatrixHost):
    """``/_matrix/client/v3``, with the rooms of the world as their members see them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.syncing = MatrixSyncs(self)
        self.media = MediaStore()

    async def close(self) -> None:
        self.syncing.hang_up()

    def hang_up(self) -> None:
        self.syncing.hang_up()

    def token(self, account: str, number: int) -> str:
        return f"syt_{account}_{number}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return sending.refusal_of(request, error)

    def add_routes(self, app: web.Application) -> None:
        client, media = "/_matrix/client/{v:v3|r0|v1}", "/_matrix/media/{v:v3|r0}"
        app.router.add_get("/_matrix/client/versions", self._versions)
        app.router.add_get(f"{client}/login", self._flows)
        app.router.add_post(f"{client}/login", self._login)
        routes: dict[tuple[str, str], _Handler] = {
            ("GET", "/account/whoami"): _whoami,
            ("GET", "/sync"): self.syncing.sync,
            ("GET", "/joined_rooms"): lambda at: _ok({"joined_rooms": list(self.names.joined(at.account))}),
            ("GET", "/capabilities"): lambda at: _ok({"capabilities": {"m.room_versions": {"default": "10"}}}),
            ("POST", "/user/{user}/filter"): lambda at: _ok({"filter_id": "0"}),
            ("GET", "/pushrules/"): lambda at: _ok({"global": {kind: [] for kind in _RULES}}),
            ("GET", "/user/{user}/account_data/{type}"): _account_data,
            ("PUT", "/user/{user}/account_data/{type}"): lambda at: _ok({}),
            ("GET", "/directory/room/{alias}"): _alias,
            ("GET", "/profile/{user}"): _profile,
            ("GET", "/profile/{user}/{field}"): _profile,
            ("PUT", "/profile/{user}/displayname"): sending.rename,
            ("GET", "/rooms/{room}/joined_members"): _members,
            ("GET", "/rooms/{room}/messages"): self.syncing.messages,
            ("GET", "/rooms/{room}/event/{event}"): _found_event,
            ("GET", "/rooms/{room}/state"): _all_state,
            ("GET", "/rooms/{room}/state/{type}"): _state,
            ("GET", "/rooms/{room}/state/{type}/{key}"): _state,
            ("PUT", "/rooms/{room}/state/{type}"): sending.put_state,
            ("PUT", "/rooms/{room}/send/{type}/{txn}"): sending.send,
            ("PUT", "/rooms/{room}/redact/{event}/{txn}"): sending.redact,
            ("POST", "/rooms/{room}/join"): _join,
            ("POST", "/join/{room}"): _join,
            ("PUT", "/rooms/{room}/typing/{user}"): lambda at: _ok({}),
            ("POST", "/rooms/{room}/receipt/{type}/{event}"): lambda at: _ok({}),
            ("POST", "/rooms/{room}/read_markers"): lambda at: _ok({}),
            ("GET", "/rooms/{room}/relations/{event}"): _relations,
            ("GET", "/rooms/{room}/relations/{event}/{rel}"): _relations,
            ("GET", "/rooms/{room}/relations/{event}/{rel}/{type}"): _relations,
            ("GET", "/media/download/{server}/{media}"): self.media.download,
            ("GET", "/media/config"): lambda at: _ok({"m.upload.size": _LONGEST}),
        }
        for (method, path), handler in routes.items():
            app.router.add_route(method, client + path, self._with_token(handler))
        app.router.add_post(f"{media}/upload", self._with_token(self.media.upload))
        app.router.add_get(f"{media}/download/{{server}}/{{media}}", self._with_token(self.media.download))
        app.router.add_route("*", "/{tail:.*}", _unrecognised)

    def _with_token(self, handler: _Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:

        async def handle(request: web.Request) -> web.StreamResponse:
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or not token:
                return failed(401, "M_MISSING_TOKEN", "Missing access token")
            owner = self.owner_of(token)
            if owner is None:
                return failed(401, "M_UNKNOWN_TOKEN", "Unrecognised access token", soft_logout=False)
            account, number = owner
            me = self.platform.bot_id(account)
            call = MatrixCall(server=self, request=request, account=account, token=number, me=me)
            # The platform itself checks the tokens of what it is asked to change, and records the refusal.
            if request.method == "GET" and number < self.platform.tokens.newest(account):
                return failed(401, "M_UNKNOWN_TOKEN", "Access token has expired", soft_logout=True)
            try:
                found = handler(call)
                return found if isinstance(found, web.StreamResponse) else await found
            except MatrixSays as error:
                return error.response

        return handle

    async def _versions(self, _: web.Request) -> web.Response:
        return _ok({"versions": list(_VERSIONS), "unstable_features": {}})

    async def _flows(self, _: web.Request) -> web.Response:
        return _ok({"flows": [{"type": "m.login.password"}]})

    async def _login(self, request: web.Request) -> web.Response:
        """The password of an account's user is its newest token."""
        try:
            content = body_of(await request.read())
        except MatrixSays as error:
            return error.response
        for account in self.platform.spec.accounts:
            me, token = self.platform.bot_id(account), self.token(account, self.platform.tokens.newest(account))
            user = mapping(content.get("identifier")).get("user", content.get("user"))
            if user in (me, me[1:].partition(":")[0]) and content.get("password") == token:
                return _ok({"user_id": me, "access_token": token, "home_server": "example.org", "device_id": _DEVICE})
        return failed(403, "M_FORBIDDEN", "Invalid username or password")

    def log(self, account: str) -> AccountLog:
        return self.syncing.log(account)


def _whoami(at: MatrixCall) -> web.Response:
    return _ok({"user_id": at.me, "device_id": _DEVICE, "is_guest": False})


def _account_data(at: MatrixCall) -> web.Response:
    if at.part("user") != at.me:
        raise MatrixSays(403, "M_FORBIDDEN", "Cannot get account data for other users.")
    if at.part("type") == "m.direct" and (direct := at.server.names.direct(at.account)):
        return _ok(direct)
    return failed(404, "M_NOT_FOUND", "Account data not found")


def _join(at: MatrixCall) -> web.Response:
    if at.room is None:
        raise MatrixSays(403, "M_FORBIDDEN", "You are not invited to this room.")
    return _ok({"room_id": at.part("room")})


def _ok(found: Json) -> web.Response:
    return web.json_response(found)


async def _unrecognised(_: web.Request) -> web.Response:
    return failed(404, "M_UNRECOGNIZED", "Unrecognized request")
