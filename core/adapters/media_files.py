"""Files sent by agents, by their source: a ``data:`` URL, an address of the web, or a path on this machine.

An agent chooses the source, so a path is read only in the folder that the account names, and the web only through
`WebFiles`.
"""

import base64
import binascii
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import anyio
import anyio.to_thread
import httpx
import msgspec

from trunkline.core.adapters.port import AdapterHost
from trunkline.core.errors import NotSent, Refused

# Files on the web, sent by agents, for platforms which load none themselves.
#
# An agent chooses the address, and may have been talked into it: the machine of the gateway can reach pages that nobody
# outside can, such as the metadata service of a cloud. So only public addresses are loaded, and others only from the
# hosts that the account lists. A name is looked up once, and the connection goes to the address that was checked.

_OK = 200
_MOVED = frozenset({301, 302, 303, 307, 308})
#: failures that may be over soon, although their status blames the request
_LATER = frozenset({408, 425, 429})
_MOST_MOVES = 5
#: special ranges of IPv4 by the registry of IANA, and those for groups. Those that are reached from everywhere are not
#: among them, apart from two addresses in 192.0.0.0/24
_RANGES_4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
    " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
_SPECIAL_4 = tuple(map(ipaddress.IPv4Network, _RANGES_4.split()))
#: the only range of IPv6 with public addresses, and what is special in it: Teredo and the like, documentation, 6to4
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
#: addresses of IPv4: mapped, and behind a public translator (RFC 6052), as resolvers give them where IPv6 is alone
_CARRIES_IPV4 = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
#: of the time for a file, what opening one connection may take
_TO_CONNECT = 0.3

LookUp = Callable[[str, int], Awaitable[Collection[str]]]


class MediaFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to send. Name and media type are empty where the source names none."""

    name: str
    media_type: str = ""
    content: bytes


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

    async def fetch(self, address: str) -> MediaFile:
        """Load a file; redirects are followed, each checked like the first address.

        Raises `Refused` for a file that is missing, too large or not public, and `NotSent` if it cannot be had now:
        nothing was sent to the platform then.
        """
        try:
            with anyio.fail_after(self._timeout):
                media_type, content = await self._fetch(httpx.URL(address))
        except TimeoutError:
            raise NotSent("the file could not be loaded in time") from None
        except (httpx.InvalidURL, UnicodeError, ValueError):
            raise Refused("the file's address is none") from None
        except (httpx.HTTPError, OSError) as error:
            raise NotSent(f"the file cannot be loaded: {type(error).__name__}") from error
        name = PurePosixPath(unquote(urlsplit(address).path)).name
        return MediaFile(name=name, media_type=media_type, content=content)

    async def _fetch(self, url: httpx.URL) -> tuple[str, bytes]:
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

    async def _read(self, response: httpx.Response) -> tuple[str, bytes]:
        """The media type from the server, or an empty text, and the content."""
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
        return kind, bytes(content)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet: no special range of IPv4 or IPv6 has the address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if not any(found in network for network in _CARRIES_IPV4):
            return found in _PUBLIC_6 and not any(found in network for network in _SPECIAL_6)
        found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return not any(found in network for network in _SPECIAL_4)


def _pinned(client: httpx.AsyncClient, url: httpx.URL, address: str) -> httpx.Request:
    """A request to an address, in the name of the URL's host, which the certificate must have."""
    more: dict[str, Any] = {}
    host = url.raw_host.decode("ascii")
    if url.scheme == "https" and host != address:
        more["sni_hostname"] = host
    headers = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"}
    return client.build_request("GET", url.copy_with(host=address), headers=headers, extensions=more)


#: bytes; platforms usually take less
LARGEST_FILE = 100 * 1024 * 1024


class MediaFiles:
    """Loads the files of an account. After every failure nothing was sent: `Refused`, or `NotSent` for now.

    `folder`: whose files may be sent, relative to the configuration; None: no file of this machine. `hosts`: names or
    addresses that may be private. `limit`: bytes of a file.
    """

    def __init__(
        self,
        host: AdapterHost,
        folder: str | None,
        timeout: float,
        *,
        hosts: Collection[str] = (),
        limit: int = LARGEST_FILE,
    ) -> None:
        self._folder = None if folder is None else host.folder / folder
        self._web = WebFiles(timeout=timeout, limit=limit, hosts=hosts)
        self._limit = limit

    async def load(self, source: str) -> MediaFile:
        if source.lower().startswith("data:"):
            return _from_data_url(source, self._limit)
        return await (self._web.fetch(source) if is_address(source) else self.read(source))

    async def read(self, address: str) -> MediaFile:
        """Read a file of this machine. `address`: a path, relative to the folder or absolute, or a ``file://`` address.

        A file outside of the folder is refused, whatever the path looks like.
        """
        return await anyio.to_thread.run_sync(read_local, address, self._folder, self._limit)


def read_local(address: str, folder: Path | None, limit: int) -> MediaFile:
    """Read a file in a folder, as `MediaFiles.read` does. Raises `Refused`, also for more than `limit` bytes."""
    if folder is None:
        raise Refused(f"files of this machine are not sent: set `files` of the account to their folder ({address!r})")
    path = Path(unquote(urlsplit(address).path) if address.startswith("file://") else address)
    try:
        whole = (folder / path).resolve(strict=True)
        if not whole.is_relative_to(folder.resolve()) or not whole.is_file():
            raise Refused(f"{address!r} is no file in {str(folder)!r}")
        with whole.open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise Refused(f"{address!r} cannot be read: {type(error).__name__}") from None
    if len(content) > limit:
        raise Refused(f"{address!r} has more than {limit // 1024 // 1024} MB")
    return MediaFile(name=whole.name, content=content)


def is_address(source: str) -> bool:
    """Whether a file is named by an address of the web, and not by a path."""
    return source.lower().startswith(("https://", "http://"))


def _from_data_url(url: str, limit: int) -> MediaFile:
    """The file in a ``data:`` URL, with the name as a parameter (`trunkline.core.message_tool.attachments`)."""
    head, comma, text = url[len("data:") :].partition(",")
    media_type, *parameters = head.split(";")
    name = next((unquote(word.removeprefix("name=")) for word in parameters if word.startswith("name=")), "")
    try:
        content = base64.b64decode(text, validate=True) if "base64" in parameters else unquote_to_bytes(text)
    except (binascii.Error, ValueError):
        raise Refused("the file in a data: URL is not base64") from None
    if not comma:
        raise Refused("the file in a data: URL has no comma before its content")
    if len(content) > limit:
        raise Refused(f"the file in a data: URL is larger than {limit // 1024 // 1024} MB")
    return MediaFile(name=name, media_type=media_type, content=content)
