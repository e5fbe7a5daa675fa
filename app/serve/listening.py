"""Where the server listens: the socket is bound before anything else begins."""

from __future__ import annotations

import errno
import socket

from trunkline.app.serve.config import LISTEN
from trunkline.app.serve.settings import Settings
from trunkline.core.errors import ConfigError, UsageError
from trunkline.core.http.settings import is_loopback

_BACKLOG = 2048


def address_of(settings: Settings) -> tuple[str, int]:
    """Host and port to listen on. Raises `ConfigError` for an unusable one, and for a public one without a token."""
    given = settings.overrides.listen
    host, port = _split(settings.config.http.listen if given is None else given)
    if settings.overrides.port is not None:
        port = settings.overrides.port
    if not 0 <= port <= 65535:
        raise ConfigError(f"{port} is not a port: expected 0 to 65535, where 0 takes a free one")
    if not is_loopback(host) and not settings.token_named:
        raise ConfigError(
            f"{host} is not a loopback address, so other machines could reach the gateway: say which token lets them"
            " in, with `token_file` or `tokens` under `http` of the configuration, or with --token-file FILE"
        )
    return host, port


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `UsageError` that names the port and what to do."""
    try:
        # A name may have addresses of both families; the first one is taken.
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"cannot listen on {host!r}: it is no address of this machine ({error})") from error
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            remedy = "stop what has it, or take another port with --port; --port 0 takes a free one"
            raise UsageError(f"port {port} on {host} is taken, perhaps by another gateway: {remedy}") from error
        raise UsageError(f"cannot listen on port {port} of {host}: {error.strerror or error}") from error
    return made


def url_of(made: socket.socket, host: str, *, tls: bool) -> str:
    """The address of the server, for people on this machine."""
    found = made.getsockname()
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- shown, not bound
    name = f"[{shown}]" if ":" in shown else shown
    return f"{'https' if tls else 'http'}://{name}:{found[1]}"


def _split(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif not colon or ":" in host or text.endswith("]"):
        host, port = text.removeprefix("[").removesuffix("]"), "8420"
    if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"{text!r} is not an address to listen on: expected HOST:PORT, e.g. {LISTEN} or [::1]:8420")
    return host, int(port)
