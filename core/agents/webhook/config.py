"""The configuration of a webhook as an agent."""

import re
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from trunkline.core.agents.turn_limits import TurnLimits
from trunkline.core.config.base import Duration, Flag, is_loopback
from trunkline.core.config.secrets import Secret

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
#: headers that the gateway itself sets
_OWN = frozenset(
    {
        "accept",
        "accept-encoding",
        "idempotency-key",
        "host",
        "content-type",
        "content-length",
        "transfer-encoding",
        "connection",
    }
)
_OWN_PREFIX = "trunkline-"


class WebhookConfig(TurnLimits):
    """A URL to which each turn is posted as JSON; the response has the answer, or calls of tools."""

    url: str
    """`https`, or `http` to this machine. Redirects are not followed."""
    allow_http: Flag = False
    """Allow `http` to another machine: then everybody on the way can read the messages."""
    secret: Secret | None = None
    """Signs each request, so that the receiver knows that it is from this gateway."""
    headers: dict[str, str | Secret] = Field(default_factory=dict)
    """More headers of each request: texts, or secrets such as that of `Authorization`."""
    ca_file: str | None = None
    """Certificates to trust instead of the public ones, as a PEM file relative to the configuration file."""
    request_timeout: Duration = Field(default=60.0, gt=0, le=86_400)
    """How long one request may take; a turn with calls has several."""
    connect_timeout: Duration = Field(default=5.0, gt=0, le=3600)
    """How long the connection may take."""
    max_rounds: int = Field(default=20, ge=1, le=1000)
    """How many requests a turn may have: the first, and another after each response with calls."""
    retries: int = Field(default=2, ge=0, le=20)
    """How often a request is made again that certainly did not reach the receiver."""
    repeatable: Flag = False
    """Make a request again, too, that may have reached the receiver. It has the same `Idempotency-Key`."""
    max_response: int = Field(default=1_000_000, ge=1000, le=100_000_000)
    """Bytes that a response may have."""
    connections: int = Field(default=100, ge=1, le=1000)
    """How many requests are made at the same time; others wait, within `timeout`."""

    @field_validator("url")
    @classmethod
    def _is_plain_url(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"not a URL: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise ValueError("write a URL such as https://example.org/turn")
        if parts.username is not None or parts.password is not None:
            raise ValueError("a URL has no user name or password here: put them into `headers`, as a secret")
        if parts.fragment:
            raise ValueError("a fragment (#...) is not sent to a server: leave it out")
        if not url.isascii() or any(character.isspace() or ord(character) < 32 for character in url):
            raise ValueError("a URL has neither spaces nor letters beyond ASCII: percent-encode them")
        return url

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: dict[str, str | Secret]) -> dict[str, str | Secret]:
        for name, value in headers.items():
            if not _HEADER.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a header")
            if name.lower() in _OWN or name.lower().startswith(_OWN_PREFIX):
                raise ValueError(f"the gateway itself sets {name}")
            if isinstance(value, str) and (wrong := wrong_header(value)):
                raise ValueError(f"the value of {name} {wrong}")
        return headers

    @model_validator(mode="after")
    def _is_private(self) -> "WebhookConfig":
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "http" and not (self.allow_http or is_loopback(host) or host.endswith(".localhost")):
            raise ValueError("http to another machine can be read on the way: use https, or set `allow_http: true`")
        return self


def wrong_header(value: str) -> str:
    """The reason against a text as the value of a header; empty for an allowed text."""
    if value.isascii() and value.isprintable():
        return ""
    return "has line breaks, control characters or letters beyond ASCII"
