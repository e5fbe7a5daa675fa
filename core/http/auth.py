"""Authentication: bearer tokens, compared in constant time."""

import hmac
from collections.abc import Callable, Mapping, Sequence

import anyio

from trunkline.core.http.clients import Caller, Reach, Scope
from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import Token
from trunkline.core.values import Address

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="trunkline"'}


class Tokens:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._replaced = anyio.Event()
        self.replace(tokens)

    def replace(self, tokens: Sequence[Token]) -> None:
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

    async def until_refused(self, secret: str | None, check: Callable[[Caller], None]) -> None:
        """Wait until a token is no longer accepted, or `check` raises: connections that use it must then be closed."""
        while True:
            replaced, caller = self._replaced, None if secret is None else self.find(secret)
            if caller is None:
                return
            try:
                check(caller)
            except Problem:
                return
            await replaced.wait()


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of an ``Authorization`` header; none without one, or with another scheme."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def require(caller: Caller, scope: Scope | None, reach: Reach = Reach.GATEWAY) -> None:
    """Raise `Problem` 403 if the caller lacks a scope, or is bound where the whole gateway is concerned."""
    if scope is None:
        return
    if scope not in caller.scopes:
        detail = f"The token {caller.name!r} lacks the scope {scope.value!r}."
        raise Problem(403, "missing-scope", detail, scope=scope.value)
    if caller.bound is not None and reach is Reach.GATEWAY:
        detail = (
            f"The token {caller.name!r} is bound to {caller.bound}, and this concerns the whole gateway. Ask with a"
            " token that is not bound."
        )
        raise Problem(403, "bound-token", detail)


def check_place(caller: Caller, place: Address) -> None:
    """Raise `Problem` 403 if the caller is bound, and not to this place."""
    if caller.bound is not None and not caller.bound.holds(place):
        raise elsewhere(caller)


def elsewhere(caller: Caller) -> Problem:
    """The problem of a caller who asks for a place that its token is not bound to."""
    detail = (
        f"The token {caller.name!r} speaks and reads only for {caller.bound}, written exactly like that. Name one of"
        " them (a person in a direct conversation), or ask for a token for others."
    )
    return Problem(403, "bound-token", detail)


def check_proof(caller: Caller, channel: str, person: str) -> None:
    """Raise `Problem` 403 unless a message with this token is certainly of this person."""
    if not caller.proves(channel, person):
        if caller.bound is not None:
            raise elsewhere(caller)
        detail = (
            f"The token {caller.name!r} is bound to nobody, and the web chat shows all that is said to a person. Add"
            f" `people: [{channel}:ID]` to the token under `http.tokens` of the configuration, one token for each"
            " person, or the scope `operate` for a program that may be anybody; then reload."
        )
        raise Problem(403, "unbound-token", detail)
