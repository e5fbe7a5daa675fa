"""The control interface of the fakes, for tests in any language: JSON over HTTP, on loopback only."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.core.errors import UnknownName
from trunkline.core.events import Event, encode_event
from trunkline.sim.events.script import FaultFired
from trunkline.sim.wire.fakes.fakes import Fakes
from trunkline.sim.wire.fakes.messages import MessageFilter
from trunkline.sim.wire.fakes.overview import overview
from trunkline.sim.wire.fakes.problems import BadRequest, answer, problem, with_problems
from trunkline.sim.wire.fakes.requests import (
    LONGEST_WAIT,
    Restart,
    Rotation,
    Subscription,
    body_of,
    converted,
    filter_of,
    json_of,
    number_of,
    seconds_of,
)
from trunkline.sim.wire.listener import HOST, TO_END, WireListener
from trunkline.sim.wire.model.answers import WrittenAnswer
from trunkline.sim.wire.model.server import ModelServer
from trunkline.sim.wire.play.accounts import DeliversToAddress

_LONGEST_BODY = 16 * 1024 * 1024
_WAIT = 10.0
#: names of this machine
_OURS = ("127.0.0.1", "localhost", "::1")


class Control:
    """The endpoints."""

    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes
        self._runner: web.AppRunner | None = None
        self.url = ""

    def app(self) -> web.Application:
        """The application with all endpoints."""
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
                web.post("/tokens/{platform}", self._rotate),
                web.post("/webhooks/{platform}", self._subscribe),
                web.post("/model/answers", self._answers),
                web.get("/model/asked", self._asked),
                web.get("/events", self._events),
                web.post("/reset", self._reset),
            ]
        )
        return app

    async def open(self, port: int = 0) -> None:
        """Listen. Raises `OSError` for a port that is taken."""
        runner = self._runner = web.AppRunner(
            self.app(), handler_cancellation=True, access_log=None, shutdown_timeout=TO_END
        )
        await runner.setup()
        await web.TCPSite(runner, HOST, port, reuse_address=True).start()
        self.url = f"http://{HOST}:{runner.addresses[0][1]}"

    async def close(self) -> None:
        """Close the socket."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    # ------------------------------------------------------------ people

    async def _overview(self, _request: web.Request) -> web.Response:
        return answer(overview(self._fakes, self.url))

    async def _steps(self, request: web.Request) -> web.Response:
        """Play a step, or several, in order until one is wrong."""
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

    # ------------------------------------------------------------ faults

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

    # ------------------------------------------------------------ servers and tokens

    async def _server(self, request: web.Request) -> web.Response:
        name, do = request.match_info["name"], request.match_info["do"]
        listener = self._fakes.listeners.get(name)
        if listener is None:
            there = ", ".join(self._fakes.listeners)
            raise BadRequest("", f"there is no server {name!r}", f"there are: {there}", status=404)
        broken = await self._do(listener, do, request)
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

    def _listener(self, request: web.Request) -> tuple[str, WireListener]:
        name = request.match_info["platform"]
        listener = self._fakes.listeners.get(name)
        if listener is None:
            there = ", ".join(self._fakes.listeners)
            raise BadRequest("", f"there is no platform {name!r}", f"there are: {there}", status=404)
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

    # ------------------------------------------------------------ the model

    def _model(self) -> ModelServer:
        if self._fakes.model is None:
            raise BadRequest("", "there is no model", "start the fakes with `--platforms ...,model`", status=404)
        return self._fakes.model

    async def _answers(self, request: web.Request) -> web.Response:
        """Answers that the model gives next, in order; afterwards it echoes again."""
        model, given = self._model(), await json_of(request)
        several = cast("list[object]", given) if isinstance(given, list) else [given]
        answers = converted(several, list[WrittenAnswer])
        model.then(*(written.made() for written in answers))
        return answer({"left": model.left})

    async def _asked(self, request: web.Request) -> web.Response:
        after = int(number_of(request.query, "after", 0.0, 1e15))
        asked = self._model().asked
        return answer({"count": len(asked), "asked": [question.body for question in asked[after:]]})

    # ------------------------------------------------------------ the world

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
    """Whether an address is one of this machine."""
    try:
        return urlsplit(address).hostname in _OURS
    except ValueError:
        return False
