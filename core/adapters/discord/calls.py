"""Requests to Discord's REST API as values. Pure."""

import hashlib
from typing import Any
from urllib.parse import quote

import msgspec

#: a snowflake has 17 to 20 digits; a longer id would move the position past everything that will ever be written
SNOWFLAKE = r"\A[0-9]{1,20}\Z"


class UploadFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str
    content: bytes

    def __repr__(self) -> str:
        """Without the content."""
        return f"UploadFile(name={self.name!r}, type={self.type!r}, {len(self.content)} bytes)"


class RestCall(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    #: below the API's root, quoted
    path: str
    json: object = None
    params: dict[str, str] = {}
    #: for the server's audit log
    reason: str = ""
    #: with these, the body is multipart
    files: tuple[UploadFile, ...] = ()
    #: field name of the only file and plain fields of a multipart body that has no JSON part (stickers)
    form: dict[str, str] | None = None
    #: the token to use; None: the account's own. Empty: none
    token: str | None = None

    def __repr__(self) -> str:
        """The call without token, path and body: paths of webhooks and interactions contain secrets."""
        return f"RestCall(method={self.method!r})"


def at(*parts: str) -> str:
    """A path from parts, which may be any text.

    >>> at("channels", "1", "messages", "a/b")
    '/channels/1/messages/a%2Fb'
    """
    return "".join(f"/{quote(part, safe='@', errors='replace')}" for part in parts)


def get(*parts: str, **params: object) -> RestCall:
    return RestCall(method="GET", path=at(*parts), params=_texts(params))


def post(*parts: str, json: object = None, reason: str = "") -> RestCall:
    """A request to create something."""
    return RestCall(method="POST", path=at(*parts), json=json, reason=reason)


def patch(*parts: str, json: object, reason: str = "") -> RestCall:
    return RestCall(method="PATCH", path=at(*parts), json=json, reason=reason)


def put(*parts: str, json: object = None, reason: str = "") -> RestCall:
    """A repeatable change."""
    return RestCall(method="PUT", path=at(*parts), json=json, reason=reason)


def delete(*parts: str, reason: str = "") -> RestCall:
    return RestCall(method="DELETE", path=at(*parts), reason=reason)


def nonce_of(key: str) -> str:
    """The nonce of a send: 24 characters from the key, the same in every process. Discord takes up to 25."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _texts(params: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}
