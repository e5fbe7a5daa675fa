"""The control interface of the fakes, for tests in any language: JSON over HTTP, on loopback only."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast, runtime_checkable
from urllib.parse import urlsplit

import anyio
import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.core.config import parse_duration
from trunkline.core.config.files.problems import FileError
from trunkline.core.errors import TrunklineError, UnknownName
from trunkline.core.events import Event, encode_event
from trunkline.sim.events.script import FaultFired
from trunkline.sim.scenario.place_refs import all_places
from trunkline.sim.wire.fakes.fakes import Fakes, plain_field
from trunkline.sim.wire.fakes.messages import MessageFilter
from trunkline.sim.wire.model.answers import WrittenAnswer
from trunkline.sim.wire.model.server import ModelServer
from trunkline.sim.wire.play.accounts import VERIFY, DeliversToAddress, account_on
from trunkline.sim.wire.server import WireListener
from trunkline.sim.wire.sockets import LoopbackSite

# Overview of the fakes: addresses, tokens and settings, for people and for programs.


def overview(fakes: Fakes, control: str) -> dict[str, Any]:
    """The addresses, tokens and settings for a test, as JSON."""
    model = fakes.model
    return {
        "control": control,
        "platforms": {name: platform_of(listener) for name, listener in fakes.listeners.items()},
        "model": None if model is None else {"url": model.url, "name": "echo", "key": "any"},
        "people": list(fakes.world.scenario.world.people),
        "places": list(all_places(fakes.world.file.world)),
        "environment": environment(fakes),
        "accounts": sections(fakes),
        "endpoints": list(ENDPOINTS),
    }


ENDPOINTS = (
    "GET /",
    "POST /steps",
    "GET /messages?in=&by=&text=&after=&deleted=",
    "GET /messages/wait?count=&timeout=&in=&by=&text=&after=",
    "GET /faults",
    "POST /faults",
    "DELETE /faults",
    "POST /servers/{name}/{break|stop|start|restart}",
    "POST /tokens/{platform}",
    "POST /webhooks/{platform}",
    "POST /model/answers",
    "GET /model/asked?after=",
    "GET /events?after=",
    "POST /reset",
)


@runtime_checkable
class SignsRequests(Protocol):
    """A server with signatures on deliveries to an address."""

    def signing_secret(self, account: str) -> str: ...


def platform_of(listener: WireListener) -> dict[str, Any]:
    server = listener.server
    newest = server.platform.tokens.newest
    tokens = {account: server.token(account, newest(account)) for account in server.platform.spec.accounts}
    found: dict[str, Any] = {"url": server.url, "listens": listener.is_open, "tokens": tokens}
    if isinstance(server, SignsRequests):
        found["signing_secrets"] = {account: server.signing_secret(account) for account in tokens}
    return found


def sections(fakes: Fakes) -> list[dict[str, Any]]:
    """The section `accounts` of the file of `trunkline serve`. Its secrets are those of `environment`."""
    found: list[dict[str, Any]] = []
    for name, listener in fakes.listeners.items():
        server = listener.server
        for account in server.platform.spec.accounts:
            reached = account_on(server, server.platform, account)
            prefix = prefix_of(name, account, len(server.platform.spec.accounts))
            dumped = reached.config.model_dump(mode="json", exclude_unset=True, by_alias=True)
            found.append(_named(dumped, {secret: f"{prefix}{secret}" for secret in reached.environ}))
    return found


def environment(fakes: Fakes) -> dict[str, str]:
    """The secrets of all accounts, as environment variables."""
    found: dict[str, str] = {}
    for name, listener in fakes.listeners.items():
        server = listener.server
        for account in server.platform.spec.accounts:
            prefix = prefix_of(name, account, len(server.platform.spec.accounts))
            reached = account_on(server, server.platform, account)
            used = str(reached.config.model_dump(mode="json", exclude_unset=True))
            found.update(
                {f"{prefix}{secret}": value for secret, value in reached.environ.items() if f"'{secret}'" in used}
            )
    return found


def prefix_of(platform: str, account: str, accounts: int) -> str:
    """The prefix of an account's variables: ``TELEGRAM_``, with several accounts ``TELEGRAM_OPS_``."""
    own = "".join(char if char.isalnum() else "_" for char in account)
    return f"{platform}_".upper() if accounts == 1 else f"{platform}_{own}_".upper()


def _named(value: Any, names: dict[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    if set(given) == {"env"}:
        return {"env": names.get(given["env"], given["env"])}
    return {key: _named(item, names) for key, item in given.items() if item is not None}


# Errors of the control interface: what is wrong, where, and what to do about it.


class BadRequest(Exception):
    """A wrong request, with the place and the remedy."""

    def __init__(self, at: str, message: str, remedy: str = "", *, status: int = 400) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.remedy = remedy
        self.status = status


def answer(value: object, status: int = 200) -> web.Response:
    """A JSON response, in ASCII: half a character of a stranger's text breaks nobody's decoder."""
    return web.Response(status=status, text=json.dumps(value) + "\n", content_type="application/json")


def problem(status: int, code: str, message: str, remedy: str = "", *, at: str = "") -> web.Response:
    return _problems(status, code, message, [(at, message, remedy)])


def _problems(status: int, code: str, message: str, found: Iterable[tuple[str, str, str]]) -> web.Response:
    listed = [{"at": at, "problem": wrong, "remedy": remedy} for at, wrong, remedy in found]
    return answer({"error": {"code": code, "message": message, "problems": listed}}, status)


@web.middleware
async def with_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Respond to errors: 4xx for those of the request, 409 for what the world does not allow now."""
    try:
        return await handler(request)
    except BadRequest as error:
        return problem(error.status, "bad-request", error.message, error.remedy, at=error.at)
    except FileError as error:
        named = [(problem, problem.message.replace("script[0]", "a step")) for problem in error.problems]
        found = [(plain_field(problem.field), message, problem.hint) for problem, message in named]
        return _problems(422, "bad-step", "; ".join(f"{at or 'the step'}: {wrong}" for at, wrong, _ in found), found)
    except UnknownName as error:
        return problem(409, "not-now", error.facts or str(error))
    except TrunklineError as error:
        return problem(409, "not-now", str(error))
    except web.HTTPRequestEntityTooLarge:
        return problem(413, "too-large", "the body is too large", "send at most 16 MB")
    except web.HTTPNotFound:
        return problem(404, "not-found", f"there is no {request.path}", "GET / lists what there is")
    except web.HTTPMethodNotAllowed as error:
        there = ", ".join(sorted(error.allowed_methods))
        wrong = f"{request.path} takes {there}, not {request.method}"
        return problem(405, "not-allowed", wrong, "GET / lists what there is")


# Requests of clients of the control interface: bodies and parameters, checked.

T = TypeVar("T")
#: seconds that a client may wait for messages at once
LONGEST_WAIT = 600.0


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a server is down: seconds, or a text such as ``2s``."""

    down: float | str = 0.0


class Rotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The account whose token is replaced; by default the only account, or ``default``."""

    account: str | None = None


class Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a platform delivers its webhooks. `verify_token`: that of the settings, unless the bot has its own."""

    url: str
    account: str | None = None
    verify_token: str = VERIFY


async def json_of(request: web.Request) -> Any:
    """The JSON value of a body. Raises `BadRequest`."""
    try:
        return msgspec.json.decode(await request.read())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("", f"the body is no JSON: {error}", "send a JSON value, in UTF-8") from None


async def body_of(request: web.Request, kind: type[T]) -> T:
    """The value of a body of a kind; without a body the default value."""
    return converted(await json_of(request) if request.can_read_body else {}, kind)


def converted(given: object, kind: type[T]) -> T:
    """A JSON value as a kind. Raises `BadRequest` with the field."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$")
        raise BadRequest(at.rstrip("`").lstrip("."), message, "docs/fakes.md says what may stand there") from None


_FILTERS: Mapping[str, str] = {"in": "place", "by": "by", "text": "text", "after": "after", "deleted": "deleted"}
_OF_WAITING = ("count", "timeout")


def filter_of(query: Mapping[str, str]) -> MessageFilter:
    """Which messages the parameters mean. Raises `BadRequest`."""
    known = (*_FILTERS, *_OF_WAITING)
    for name in query:
        if name not in known:
            raise BadRequest(name, f"there is no parameter {name!r}", f"there are: {', '.join(known)}")
    return MessageFilter(
        place=query.get("in"),
        by=query.get("by"),
        text=query.get("text"),
        after=int(number_of(query, "after", 0.0, 1e15)),
        deleted=query.get("deleted", "false") in ("true", "1"),
    )


def number_of(query: Mapping[str, str], name: str, default: float, most: float) -> float:
    """A parameter as a number, at most `most`. Raises `BadRequest`."""
    return default if name not in query else _checked(name, query[name], float, most)


def seconds_of(given: float | str) -> float:
    """Seconds, from a number or a text such as ``2s``. Raises `BadRequest`."""
    return _checked("down", given, parse_duration, LONGEST_WAIT)


def _checked(name: str, given: Any, read: Callable[[Any], float], most: float) -> float:
    try:
        found = read(given)
    except ValueError:
        found = -1.0
    if not 0 <= found <= most:
        wrong = f"expected a number from 0 to {most:g}, found {str(given)[:40]!r}"
        raise BadRequest(name, wrong, "write seconds as a plain number")
    return found


_LONGEST_BODY = 16 * 1024 * 1024
_WAIT = 10.0
#: names of this machine
_OURS = ("127.0.0.1", "localhost", "::1")


class Control(LoopbackSite):
    def __init__(self, fakes: Fakes) -> None:
        super().__init__()
        self._fakes = fakes

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_LONGEST_BODY, middlewares=[only_this_machine, with_problems])
        app.add_routes(
            [
                web.get("/", self._overview),
                web.post("/steps", self._steps),
                web.get("/messages", self._messages),
                web.get("/messages/wait", self._wait),
                web.get("/faults", self._faults),
                web.post("/faults", self._arm),
                web.delete("/faults", self._heal),
                web.post("/servers/{name}/{do:break|stop|start|restart}", self._server),
                web.post("/tokens/{name}", self._rotate),
                web.post("/webhooks/{name}", self._subscribe),
                web.post("/model/answers", self._answers),
                web.get("/model/asked", self._asked),
                web.get("/events", self._events),
                web.post("/reset", self._reset),
            ]
        )
        return app

    async def _overview(self, _request: web.Request) -> web.Response:
        return answer(overview(self._fakes, self.url))

    async def _steps(self, request: web.Request) -> web.Response:
        """Play a step, or several, in order until a wrong step."""
        given = await json_of(request)
        steps = cast("list[object]", given) if isinstance(given, list) else [given]
        played: list[dict[str, str]] = []
        for number, step in enumerate(steps):
            try:
                name = self._fakes.play(step)
            except UnknownName as error:
                at = f"[{number}]" if isinstance(given, list) else ""
                remedy = f"{number} steps before it were played" if number else ""
                raise BadRequest(at, error.facts or str(error), remedy, status=409) from error
            played.append({"message": name} if name else {})
        return answer({"played": played})

    async def _messages(self, request: web.Request) -> web.Response:
        return answer({"messages": self._found(filter_of(request.query))})

    def _found(self, wanted: MessageFilter) -> list[Any]:
        try:
            return [msgspec.to_builtins(message) for message in self._fakes.messages.find(wanted)]
        except UnknownName as error:
            raise BadRequest("in" if wanted.place else "by", error.facts or str(error), status=422) from error

    async def _wait(self, request: web.Request) -> web.Response:
        """Wait for messages; 408 with those that there are if they do not come in time."""
        wanted = filter_of(request.query)
        count = int(number_of(request.query, "count", 1.0, 1_000_000))
        within = number_of(request.query, "timeout", _WAIT, LONGEST_WAIT)
        found = self._found(wanted)
        # The clock of the loop is that of the machine here.
        with anyio.move_on_after(within):
            while len(found) < count:
                await self._fakes.change()
                found = self._found(wanted)
        if len(found) >= count:
            return answer({"messages": found})
        message = f"{len(found)} of {count} within {within:g} s"
        return answer({"messages": found, "error": {"code": "timeout", "message": message}}, 408)

    async def _faults(self, _request: web.Request) -> web.Response:
        armed = [
            {**armed.fault.model_dump(by_alias=True, exclude_unset=True, mode="json"), "left": armed.left}
            for armed in self._fakes.world.faults.armed
        ]
        fired = [
            {"fault": event.body.fault, "detail": event.body.detail, "at": event.at}
            for event in self._fakes.world.log.events
            if isinstance(event.body, FaultFired)
        ]
        return answer({"armed": armed, "fired": fired})

    async def _arm(self, request: web.Request) -> web.Response:
        self._fakes.play({"fault": await json_of(request)})
        return await self._faults(request)

    async def _heal(self, request: web.Request) -> web.Response:
        self._fakes.world.faults.heal()
        return await self._faults(request)

    async def _server(self, request: web.Request) -> web.Response:
        name, listener = self._listener(request, "server")
        broken = await self._do(listener, request.match_info["do"], request)
        return answer({"server": name, "url": listener.server.url, "listens": listener.is_open, "broken": broken})

    async def _do(self, listener: WireListener, do: str, request: web.Request) -> int:
        broken = listener.break_connections() if do == "break" else 0
        if do == "restart":
            await listener.restart(seconds_of((await body_of(request, Restart)).down))
        elif do == "stop":
            await listener.close()
        elif do == "start":
            await listener.open()
        return broken

    def _listener(self, request: web.Request, kind: str = "platform") -> tuple[str, WireListener]:
        name = request.match_info["name"]
        listener = self._fakes.listeners.get(name)
        if listener is None:
            there = ", ".join(self._fakes.listeners)
            raise BadRequest("", f"there is no {kind} {name!r}", f"there are: {there}", status=404)
        return name, listener

    def _account(self, name: str, given: str | None) -> str:
        """The given account of a platform, or the one that is meant without. Raises `BadRequest`."""
        accounts = self._fakes.world.platforms[name].spec.accounts
        if given is not None and given not in accounts:
            raise BadRequest("account", f"there is no account {given!r}", f"there are: {', '.join(accounts)}")
        account = self._fakes.world.account_of(name, given)
        if account not in accounts:
            raise BadRequest("account", "there are several accounts", f"name one: {', '.join(accounts)}")
        return account

    async def _subscribe(self, request: web.Request) -> web.Response:
        """Let a platform that calls its bots call one at an address, which it asks first."""
        name, listener = self._listener(request)
        server, given = listener.server, await body_of(request, Subscription)
        if not isinstance(server, DeliversToAddress):
            why = f"{name} calls nobody here: its bots ask for updates, or connect"
            raise BadRequest("", why, "leave this out", status=404)
        if not given.url.startswith("http://127.0.0.1") and not given.url.startswith("http://localhost"):
            raise BadRequest("url", "expected an address of this machine", "begin with http://127.0.0.1:")
        account = self._account(name, given.account)
        if not await server.subscribe(account, given.url, given.verify_token):
            why = "it does not answer the question for its word as the platform requires"
            raise BadRequest("url", why, "start your bot first, with the same `verify_token`", status=409)
        return answer({"platform": name, "account": account, "url": given.url})

    async def _rotate(self, request: web.Request) -> web.Response:
        """Replace a token: requests with the old one are refused."""
        name, listener = self._listener(request)
        account = self._account(name, (await body_of(request, Rotation)).account)
        self._fakes.play({"rotate": {"platform": name, "account": account}})
        number = listener.server.platform.tokens.newest(account)
        return answer({"platform": name, "account": account, "token": listener.server.token(account, number)})

    def _model(self) -> ModelServer:
        if self._fakes.model is None:
            raise BadRequest("", "there is no model", "start the fakes with `--platforms ...,model`", status=404)
        return self._fakes.model

    async def _answers(self, request: web.Request) -> web.Response:
        """Answers that the model gives next, in order; afterwards it echoes again."""
        self._model()
        given, written = await json_of(request), self._fakes.echo.written
        several = cast("list[object]", given) if isinstance(given, list) else [given]
        answers = converted(several, list[WrittenAnswer])
        written += [put.reply for put in answers]
        return answer({"left": len(written)})

    async def _asked(self, request: web.Request) -> web.Response:
        after = int(number_of(request.query, "after", 0.0, 1e15))
        asked = self._model().asked
        return answer({"count": len(asked), "asked": [question.body for question in asked[after:]]})

    async def _events(self, request: web.Request) -> web.Response:
        """Respond with the events so far, a JSON object a line, as in the file of `--record`."""
        after = int(number_of(request.query, "after", 0.0, 1e15))
        events: list[Event] = [event for event in self._fakes.world.log.events if event.seq > after]
        body = b"".join(encode_event(event) + b"\n" for event in events)
        return web.Response(body=body, content_type="application/jsonl")

    async def _reset(self, _request: web.Request) -> web.Response:
        await self._fakes.reset()
        return answer(overview(self._fakes, self.url))


@web.middleware
async def only_this_machine(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests with a foreign `Host`, as by DNS rebinding, and those that a page of another origin makes."""
    if not is_ours(f"//{request.headers.get('Host', '')}"):
        return problem(403, "foreign-host", "the request is for another host", "use the address that was printed")
    origin = request.headers.get("Origin")
    if origin is not None and not is_ours(origin):
        remedy = "call it from a program, not from a page"
        return problem(403, "foreign-origin", "a page of another origin asks", remedy)
    return await handler(request)


def is_ours(address: str) -> bool:
    try:
        return urlsplit(address).hostname in _OURS
    except ValueError:
        return False
