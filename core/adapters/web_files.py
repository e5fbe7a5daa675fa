"""Files on the web, sent by agents, for platforms which load none themselves.

An agent chooses the address, and may have been talked into it: the machine of the gateway can reach pages that nobody
outside can, such as the metadata service of a cloud. So only public addresses are loaded, and others only from the
hosts that the account lists. A name is looked up once, and the connection goes to the address that was checked.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import anyio
import httpx
import msgspec

from trunkline.core.errors import NotSent, Refused

_OK = 200
_MOVED = frozenset({301, 302, 303, 307, 308})
#: failures that may be over soon, although their status blames the request
_LATER = frozenset({408, 425, 429})
_MOST_MOVES = 5
#: IPv4 addresses behind a translator (RFC 6052)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: of the time for a file, what opening one connection may take
_TO_CONNECT = 0.3

LookUp = Callable[[str, int], Awaitable[Collection[str]]]


class WebFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file, and the media type from the server; empty without a type."""

    content: bytes
    media_type: str


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, best first. Raises `OSError`."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class WebFiles:
    """Loads files of at most `limit` bytes, each within `timeout` seconds and without a proxy.

    `hosts`: names or addresses that may be private.
    """

    def __init__(self, *, timeout: float, limit: int, hosts: Collection[str] = (), look_up: LookUp = look_up) -> None:
        self._timeout = timeout
        self._limit = limit
        self._hosts = frozenset(host.lower() for host in hosts)
        self._look_up = look_up

    async def fetch(self, address: str) -> WebFile:
        """Load a file; redirects are followed, each checked like the first address.

        Raises `Refused` for a file that is missing, too large or not public, and `NotSent` if it cannot be had now:
        nothing was sent to the platform then.
        """
        try:
            with anyio.fail_after(self._timeout):
                return await self._fetch(httpx.URL(address))
        except TimeoutError:
            raise NotSent("the file could not be loaded in time") from None
        except (httpx.InvalidURL, UnicodeError, ValueError):
            raise Refused("the file's address is none") from None
        except (httpx.HTTPError, OSError) as error:
            raise NotSent(f"the file cannot be loaded: {type(error).__name__}") from error

    async def _fetch(self, url: httpx.URL) -> WebFile:
        timeout = httpx.Timeout(self._timeout, connect=self._timeout * _TO_CONNECT)
        # A proxy would look the name up once more.
        async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
            for _ in range(_MOST_MOVES + 1):
                response = await self._request_first_reachable(client, url)
                try:
                    if response.status_code in _MOVED and "location" in response.headers:
                        url = url.join(response.headers["location"])
                        continue
                    return await self._read(response)
                finally:
                    await response.aclose()
        raise Refused(f"the file's address leads on more than {_MOST_MOVES} times")

    async def _request_first_reachable(self, client: httpx.AsyncClient, url: httpx.URL) -> httpx.Response:
        """Make the request at the first reachable address of the host."""
        hosts = await self._addresses(url)
        for n, host in enumerate(hosts):
            try:
                return await client.send(_pinned(client, url, host), stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if n == len(hosts) - 1:
                    raise
        raise AssertionError("no addresses")

    async def _addresses(self, url: httpx.URL) -> list[str]:
        """The allowed addresses of a URL. Raises `Refused` if there is none."""
        host = url.raw_host.decode("ascii").lower()
        if url.scheme not in ("http", "https") or not host:
            raise Refused("the file's address is not one of http or https")
        found = await self._look_up(host, url.port or (443 if url.scheme == "https" else 80))
        fine = [address for address in found if host in self._hosts or is_public(address)]
        if not found:
            raise NotSent(f"the host {host!r} of a file has no address")
        if not fine:
            raise Refused(f"{host!r} is not a public host: to load files from it, list it in `file_hosts`")
        return fine

    async def _read(self, response: httpx.Response) -> WebFile:
        status = response.status_code
        if status != _OK:
            facts = f"the file's address answers with status {status}"
            raise Refused(facts) if 400 <= status < 500 and status not in _LATER else NotSent(facts)
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > self._limit:
                raise Refused(f"the file is larger than {self._limit // 1024 // 1024} MB")
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        return WebFile(content=bytes(content), media_type=kind)


def is_public(address: str) -> bool:
    """Whether an IP address is public: not private, of this machine, of a link or for groups."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _inner(found) if isinstance(found, ipaddress.IPv6Address) else None
    return all(ip.is_global and not ip.is_multicast for ip in ((found,) if inner is None else (inner,)))


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address behind an IPv6 address."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _pinned(client: httpx.AsyncClient, url: httpx.URL, address: str) -> httpx.Request:
    """A request to an address, in the name of the URL's host, which the certificate must have."""
    more: dict[str, Any] = {}
    host = url.raw_host.decode("ascii")
    if url.scheme == "https" and host != address:
        more["sni_hostname"] = host
    headers = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"}
    return client.build_request("GET", url.copy_with(host=address), headers=headers, extensions=more)
