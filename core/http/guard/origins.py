"""Hosts that a request may name, and pages that may make requests: against rebound names and pages of other sites."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache

from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import HttpSettings

_LOOPBACK_NAME = "localhost"
#: a name, an IPv4 or IPv6 address, and perhaps a port
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_PORT = re.compile(r":[0-9]{1,5}$")

Headers = Sequence[tuple[bytes, bytes]]
ByName = dict[bytes, list[str]]


def check_origin(given: ByName, settings: HttpSettings) -> None:
    """Raise `Problem` for a host that is not ours, and for a page that may not use the API.

    A page whose name is rebound to this address asks for its own name, which is no address and not configured. A page
    of another site says so in `Origin` or `Sec-Fetch-Site`, which no script can change.
    """
    hosts = given.get(b"host", [])
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        raise Problem(400, "bad-host", "A request has one `Host`, a name or an address with an optional port.")
    if settings.only_hosts and not _is_ours(hosts[0], settings.hosts):
        detail = "This host is not served here. Name it in `http.hosts` of the configuration, or ask for the address."
        raise Problem(421, "host-not-served", detail)
    origins = given.get(b"origin")
    if origins:
        allowed = len(origins) == 1 and (_is_same(origins[0], hosts[0]) or origins[0].lower() in settings.origins)
    else:
        site = given.get(b"sec-fetch-site", [])
        allowed = "cross-site" not in site or given.get(b"sec-fetch-mode") == ["navigate"]
    if not allowed:
        raise Problem(403, "cross-site", "Pages of other sites may not use this API, unless `http.origins` names them.")


def by_name(headers: Headers) -> ByName:
    """The values of each header."""
    found: ByName = {}
    for name, value in headers:
        found.setdefault(name, []).append(value.decode("latin-1").strip())
    return found


@lru_cache(maxsize=256)
def _is_ours(host: str, names: Sequence[str]) -> bool:
    name = host.rpartition(":")[0] if _PORT.search(host) else host
    name = name.strip("[]").lower()
    return name == _LOOPBACK_NAME or name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same(origin: str, host: str) -> bool:
    scheme, _, rest = origin.lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()
