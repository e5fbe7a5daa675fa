"""A request of a client, once its token is known."""

from __future__ import annotations

import msgspec
from aiohttp import web


class MatrixCaller(msgspec.Struct, frozen=True, kw_only=True):
    """A request with a token that is accepted."""

    request: web.Request
    account: str
    #: number of the token
    token: int
    #: the account's user
    me: str

    def part(self, name: str) -> str:
        """A part of the path."""
        return self.request.match_info[name]
