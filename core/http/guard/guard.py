"""The guard around the application: gives each request its id, and answers errors as problems."""

from __future__ import annotations

import logging
import re

import msgspec
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.core.http.problems import PROBLEM_JSON, document_of, problem_of
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpSettings

LOG = logging.getLogger("trunkline.http")
#: what is taken over from a client as the id of its request
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class Guard:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, served: Served, settings: HttpSettings) -> None:
        self._app = app
        self._served = served
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or one WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = self._request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = scope["raw_path"].decode("ascii", "replace")
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                LOG.exception("request %s failed", request_id)
            if begun:
                raise
            content = msgspec.json.encode(document_of(problem, request_id))
            headers = {**problem.headers, "Content-Type": PROBLEM_JSON, "Content-Length": str(len(content))}
            raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
            await answer({"type": "http.response.start", "status": problem.status, "headers": raw})
            await answer({"type": "http.response.body", "body": content})

    def _request_id(self, scope: Scope) -> str:
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                return value.decode()
        return self._served.env.ids.new("request")
