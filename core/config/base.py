"""Parts of all configuration models: base class, times, addresses, and ids in the form of numbers."""

import re
from ipaddress import ip_address
from typing import Annotated

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    Strict,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
#: seconds; a longer time is surely a mistake
_FOREVER = 1e12
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")


def parse_duration(value: object) -> float:
    """Seconds from a number or from text such as ``1m30s``. Raises `ValueError` with the accepted forms."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("expected a time such as 5s, 250ms or 1m30s")
    if isinstance(value, str):
        text = value.replace(" ", "")
        if not _WHOLE.fullmatch(text):
            raise ValueError(f"{value!r} is not a time: write 5s, 250ms or 1m30s")
        value = round(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)), 6)
    if value < 0:
        raise ValueError("a time cannot be negative")
    if not value < _FOREVER:
        raise ValueError("the time is too long")
    return float(value)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(float),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "examples": ["5s", "1m30s"]}]}),
]


def _http_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError("expected an address that begins with https:// or http://")
    return text.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host of an address is this machine, and reached by nobody else."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


#: an address on the web, without a slash at the end
HttpAddress = Annotated[str, AfterValidator(_http_address)]


#: a boolean of a file: `true` or `false`. Nothing else opens a policy: not `yes`, not `on`, not 1.
Flag = Annotated[bool, Strict()]


class Model(BaseModel):
    """Base of all configuration models: frozen, and unknown fields are errors.

    The text under a field is its reference documentation (`core.config.files.model_fields.texts_of`). Pydantic does
    not read it, because that would parse the source at every start. Validators are built on first use.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name))),
    )


def id_text(value: object) -> object:
    """An id as text; files often write a platform's numeric ids as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
