"""A call of the Web API: its account, its arguments, and what the response to a failure needs to know."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.values import Address
from trunkline.sim.wire.json_values import NoObject, mappings, object_in, sequence, value_in

_JSON = "application/json"


class BadArguments(Exception):
    """The call itself is wrong; its text is the error code of Slack."""


@dataclass(slots=True, kw_only=True)
class SlackCall:
    """A call of a method."""

    request: web.Request
    method: str
    account: str
    #: number of the token
    token: int
    given: dict[str, Any]
    #: what a failure is about
    address: Address | None = None
    text: str = ""
    message_id: str | None = None
    action: Action | None = None
    warnings: list[str] = field(default_factory=list[str])

    def word(self, name: str, missing: str = "invalid_arguments") -> str:
        """A required argument. Raises `BadArguments` with the code `missing`."""
        found = self.given.get(name)
        if not isinstance(found, str | int) or isinstance(found, bool) or not str(found).strip():
            raise BadArguments(missing)
        return str(found)

    def maybe(self, name: str) -> str | None:
        """An argument that may be missing."""
        found = self.given.get(name)
        return str(found) if isinstance(found, str | int) and str(found).strip() else None

    def objects(self, name: str, wrong: str) -> list[dict[str, Any]]:
        """A list of objects, which a form gives as JSON. Raises `BadArguments` with the code `wrong`."""
        found = self.given.get(name)
        if isinstance(found, str):
            try:
                found = value_in(found)
            except ValueError:
                raise BadArguments(wrong) from None
        if found is None:
            return []
        objects = mappings(found)
        if not isinstance(found, list) or len(objects) != len(sequence(cast("object", found))):
            raise BadArguments(wrong)
        return objects

    def page(self, most: int = 1000) -> tuple[int, int]:
        """Where a list begins, and how many of its entries are asked for. Raises `BadArguments`."""
        cursor, limit = self.maybe("cursor") or "0", self.maybe("limit") or "100"
        if not cursor.isdecimal():
            raise BadArguments("invalid_cursor")
        if not limit.isdecimal():
            raise BadArguments("invalid_limit")
        return int(cursor), max(1, min(int(limit), most))

    def answer(self, **fields: Any) -> web.Response:
        """A successful response."""
        return self._respond({"ok": True, **fields})

    def error(self, code: str, **fields: Any) -> web.Response:
        """A response with an error code: its status is 200 too."""
        return self._respond({"ok": False, "error": code, **fields})

    def _respond(self, body: dict[str, Any]) -> web.Response:
        if self.warnings:
            body["warning"] = ",".join(self.warnings)
            body.setdefault("response_metadata", {})["warnings"] = self.warnings
        return web.json_response(body)


#: the call that is answered, for the response to a failure
CALL: ContextVar[SlackCall] = ContextVar("slack-call")


async def arguments_of(request: web.Request) -> tuple[dict[str, Any], list[str]]:
    """The arguments of a request, from its query, a form or a JSON object, and warnings. Raises `BadArguments`."""
    given: dict[str, Any] = dict(request.query)
    if request.content_type == _JSON:
        try:
            given |= object_in(await request.text())
        except NoObject:
            raise BadArguments("json_not_object") from None
        except ValueError:
            raise BadArguments("invalid_json") from None
        return given, [] if request.charset else ["missing_charset"]
    if request.method == "POST":
        given |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return given, []


def token_of(request: web.Request, given: dict[str, Any]) -> str:
    """The token of a call: in its header, or among its arguments."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token else str(given.get("token", ""))
