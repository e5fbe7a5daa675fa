"""Who may control the fakes: programs of this machine, and no page that a browser of it has open."""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.sim.wire.fakes.problems import problem

#: names of this machine
_OURS = ("127.0.0.1", "localhost", "::1")


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
