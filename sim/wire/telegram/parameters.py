"""The parameters of a call of the Bot API: in the address, as a form, with files, or as JSON. Checked as Telegram does.

In a form everything is text, and objects are JSON inside of it.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

import msgspec
from aiohttp import web
from aiohttp.web_request import FileField

from trunkline.core.errors import TrunklineError
from trunkline.sim.wire.json_values import NoObject, object_in, value_in

#: numbers that fit into the API's integers
_LARGEST = 2**63


class BadParameter(TrunklineError):
    """A parameter that Telegram does not take."""


class UploadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a request."""

    name: str
    content: bytes


class Parameters:
    """The parameters of one call."""

    def __init__(self, values: dict[str, Any], files: dict[str, UploadedFile]) -> None:
        self._values = values
        self.files = files

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) not in (None, "")

    @property
    def names(self) -> frozenset[str]:
        """The names of everything that is given."""
        return frozenset(self._values)

    def raw(self, name: str) -> Any:
        """The value of a parameter, received unchanged."""
        return self._values.get(name)

    def text(self, name: str, otherwise: str = "") -> str:
        """A text; a number counts as one."""
        found = self._values.get(name)
        if found is None:
            return otherwise
        if isinstance(found, bool | int | float):
            return json.dumps(found)
        if not isinstance(found, str):
            _bad(f"can't parse {name}: expected a string")
        return found

    def integer(self, name: str) -> int | None:
        """A whole number, also as text."""
        found = self._values.get(name)
        if found is None or found == "":
            return None
        try:
            number = int(found) if isinstance(found, str | int) and not isinstance(found, bool) else None
        except ValueError:
            number = None
        if number is None or abs(number) >= _LARGEST:
            _bad(f'parameter "{name}" must be an integer')
        return number

    def flag(self, name: str) -> bool | None:
        """A yes or no, also as text."""
        found = self._values.get(name)
        if found is None or found == "":
            return None
        if isinstance(found, bool):
            return found
        word = str(found).lower()
        if word not in ("true", "false", "1", "0", "yes", "no"):
            _bad(f'parameter "{name}" must be a boolean')
        return word in ("true", "1", "yes")

    def data(self, name: str) -> Any:
        """An object or a list; in a form it is JSON."""
        found = self._values.get(name)
        if not isinstance(found, str):
            return found
        if found == "":
            return None
        try:
            return value_in(found)
        except ValueError:
            _bad(f"can't parse {name} JSON object")

    def record(self, name: str) -> dict[str, Any]:
        """An object; empty if it is not given."""
        found = self.data(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            _bad(f"can't parse {name}: expected an object")
        return cast("dict[str, Any]", found)

    def sequence(self, name: str) -> list[Any]:
        """A list; empty if it is not given."""
        found = self.data(name)
        if found is None:
            return []
        if not isinstance(found, list):
            _bad(f"can't parse {name}: expected an array")
        return cast("list[Any]", found)


def _bad(why: str) -> NoReturn:
    raise BadParameter(why)


async def read_parameters(request: web.Request) -> Parameters:
    """Read a request. Raises `BadParameter`."""
    values: dict[str, Any] = dict(request.query)
    files: dict[str, UploadedFile] = {}
    if request.content_type == "application/json" and request.can_read_body:
        try:
            values |= object_in(await request.read())
        except NoObject:
            _bad("can't parse JSON in the request body: expected an object")
        except ValueError:
            _bad("can't parse JSON in the request body")
    elif request.can_read_body:
        for name, value in (await request.post()).items():
            if isinstance(value, FileField):
                files[name] = UploadedFile(name=value.filename, content=value.file.read())
            else:
                values[name] = value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
    return Parameters(values, files)
