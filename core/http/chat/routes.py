"""The route of the WebSocket. Tokens, `Host` and `Origin` are those of the HTTP API."""

from __future__ import annotations

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket

from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.chat.direct_chat import DirectChat, open_chat
from trunkline.core.http.chat.frames import Close, HelloFrame
from trunkline.core.http.chat.rooms import Rooms
from trunkline.core.http.chat.socket import ChatLimits, ChatSocket
from trunkline.core.http.clients import Scope
from trunkline.core.http.served import Served

PATH = "/v1/chat/ws"


def chat_routes(served: Served, limits: ChatLimits | None = None) -> list[BaseRoute]:
    """The WebSocket of the web chat, for `build_app`. Call it on the event loop that serves."""
    rooms, limits = Rooms(served.log), limits or ChatLimits()
    opened = 0

    async def talk(socket: WebSocket) -> None:
        nonlocal opened
        await socket.accept()
        if opened >= limits.sockets:
            await socket.close(Close.TOO_MANY, "too-many-sockets")
            return
        opened += 1
        try:
            chat = ChatSocket(socket, served, rooms, limits)
            await chat.run(lambda hello: _greet(socket, served, hello), lambda hello: _until_revoked(socket, hello))
        finally:
            opened -= 1

    served.metrics.chat_sockets = lambda: opened
    return [WebSocketRoute(PATH, talk)]


def _greet(socket: WebSocket, served: Served, hello: HelloFrame) -> DirectChat:
    tokens: Tokens = socket.app.state.tokens
    require(tokens.caller(_token(socket, hello)), Scope.SEND)
    return open_chat(served, hello)


async def _until_revoked(socket: WebSocket, hello: HelloFrame) -> None:
    tokens: Tokens = socket.app.state.tokens
    await tokens.until_revoked(_token(socket, hello), Scope.SEND)


def _token(socket: WebSocket, hello: HelloFrame) -> str | None:
    return hello.token or bearer(socket.headers)
