"""Authentication: bearer tokens, compared in constant time."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence

import anyio

from trunkline.core.http.clients import Caller, Scope
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import Token

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="trunkline"'}


class Tokens:
    """The tokens that a server accepts."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._replaced = anyio.Event()
        self.replace(tokens)

    def replace(self, tokens: Sequence[Token]) -> None:
        """Replace the tokens: from now on no others are accepted."""
        self._tokens = tuple((token.secret.encode(), token.caller) for token in tokens if token.secret)
        before, self._replaced = self._replaced, anyio.Event()
        before.set()

    def find(self, secret: str) -> Caller | None:
        """The caller that a token identifies. Takes the same time for a wrong token as for any of the right ones."""
        given = secret.encode(errors="surrogateescape")
        found: Caller | None = None
        for known, caller in self._tokens:
            # Every token is compared: the time says nothing about which of them is nearest.
            if hmac.compare_digest(given, known):
                found = caller
        return found

    def caller(self, secret: str | None) -> Caller:
        """The caller that a token identifies. Raises `Problem` 401 for no token and for a wrong one."""
        found = None if secret is None else self.find(secret)
        if found is None:
            said = "no token came with the request" if secret is None else "the token is not known"
            raise Problem(
                401, "unauthorized", f"Not authorised: {said}. Send `Authorization: Bearer TOKEN`.", headers=_CHALLENGE
            )
        return found

    async def until_revoked(self, secret: str | None, scope: Scope) -> None:
        """Wait until a token is no longer accepted, or lacks the scope: connections that use it must then be closed."""
        while True:
            replaced, caller = self._replaced, None if secret is None else self.find(secret)
            if caller is None or scope not in caller.scopes:
                return
            await replaced.wait()


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of an ``Authorization`` header; none without one, or with another scheme."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def require(caller: Caller, scope: Scope | None) -> None:
    """Raise `Problem` 403 if the caller lacks a scope."""
    if scope is not None and scope not in caller.scopes:
        detail = f"The token {caller.name!r} lacks the scope {scope.value!r}."
        raise Problem(403, "missing-scope", detail, scope=scope.value)
