"""The routes of the page. It is open to everybody: what it can do depends on the token that is typed into it."""

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

#: path -> file beside this module, and its type
_FILES = {
    "/chat": ("index.html", "text/html; charset=utf-8"),
    "/chat/chat.css": ("chat.css", "text/css; charset=utf-8"),
    "/chat/chat.js": ("chat.js", "text/javascript; charset=utf-8"),
    "/chat/connection.js": ("connection.js", "text/javascript; charset=utf-8"),
    "/chat/history.js": ("history.js", "text/javascript; charset=utf-8"),
    "/chat/markdown.js": ("markdown.js", "text/javascript; charset=utf-8"),
    "/chat/messages.js": ("messages.js", "text/javascript; charset=utf-8"),
    "/chat/icon.svg": ("icon.svg", "image/svg+xml"),
}
_HEADERS = {
    # Scripts, styles and the socket come from this server only; nothing is inline, framed or sent elsewhere.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # The files of another version must not be mixed with these.
    "Cache-Control": "no-cache",
}


def page_routes() -> list[BaseRoute]:
    """The page with all files, for `build_app`; `/` leads to it."""
    routes: list[BaseRoute] = [_file(path, name, type_) for path, (name, type_) in _FILES.items()]
    return [Route("/", _to_page), *routes]


async def _to_page(request: Request) -> Response:
    return RedirectResponse("/chat", 307, {"Cache-Control": "no-cache"})


def _file(path: str, name: str, type_: str) -> Route:
    content = (Path(__file__).parent / name).read_bytes()
    headers = {**_HEADERS, "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=type_)

    return Route(path, answer)
