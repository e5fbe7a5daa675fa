"""The settings of the HTTP server, as values; `app/serve` makes them from the configuration file."""

import ssl

import msgspec

from trunkline.core.http.clients import Caller


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token and what it allows. Never printed: its `repr` has the name only."""

    caller: Caller
    secret: str

    def __repr__(self) -> str:
        return f"Token({self.caller.name!r})"


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A token bucket: so many requests per second over time, and so many at once."""

    per_second: float = 1_000.0
    burst: int = 2_000


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for each request, connection and token. Times in seconds, sizes in bytes."""

    #: largest body
    body: int = 1_048_576
    #: time in which a body must have come
    body_time: float = 30.0
    #: request line and headers together
    headers: int = 16_384
    #: path and query
    target: int = 8_192
    #: time in which the request line and the headers must have come
    headers_time: float = 10.0
    #: time in which a client must have read what is written to it
    write_time: float = 30.0
    #: time after which an idle connection is closed
    idle_time: float = 75.0
    #: time that running requests get when the server stops
    stop_time: float = 10.0
    #: connections open at once; `trunkline serve` derives it from the open files that the process may have
    connections: int = 2_000
    #: those of one address, or one /64 of IPv6, also as requests and sockets behind a proxy; with `serve` half
    per_address: int = 1_000
    #: connections above that, for health and webhooks of platforms alone
    reserve: int = 32
    #: connections that wait to be accepted
    backlog: int = 2_048
    #: connections accepted in one turn of the loop; four turns pass until one is counted and another is closed for it
    accepts: int = 100
    #: requests in work at once, streams not counted
    requests: int = 1_000
    #: requests of one token, or of one address without a token
    rate: Rate = Rate()
    #: largest frame of a WebSocket
    frame: int = 262_144


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the HTTP server: tokens, limits, hosts and TLS."""

    tokens: tuple[Token, ...] = ()
    limits: HttpLimits = HttpLimits()
    #: names that a request may ask for in its `Host`, lower case, without port; loopback is always allowed
    hosts: tuple[str, ...] = ()
    #: whether a `Host` outside of `hosts` and loopback is refused: against pages that rebind their name to this address
    only_hosts: bool = True
    #: origins of pages of other hosts that may use the API, e.g. ``https://chat.example.org``
    origins: tuple[str, ...] = ()
    #: addresses and networks of proxies: the client of their requests is in `X-Forwarded-For`
    trusted_proxies: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None


def is_token(text: str) -> bool:
    """Whether a text can be a token: letters, digits and signs without spaces, as a header can carry them."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
