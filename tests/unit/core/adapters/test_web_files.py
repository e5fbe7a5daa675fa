"""Files that agents name by an address: only public hosts are asked, at the address that was checked."""

import asyncio
import ipaddress
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from tests.support.for_each import for_each
from trunkline.core.adapters.media_files import WebFiles, is_public
from trunkline.core.errors import NotSent, PlatformError, Refused

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HERE = "127.0.0.1"
MOST = 1024


class Site:
    """A server on loopback."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[tuple[str, str]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.headers["Host"], request.path))
        if request.path.startswith("/status/"):
            return web.Response(status=int(request.path.rpartition("/")[2]))
        if request.path == "/to":
            raise web.HTTPFound(request.query["url"])
        if request.path == "/circle":
            raise web.HTTPFound("/circle")
        if request.path == "/slow":
            await asyncio.sleep(30)
        size = MOST + 1 if request.path == "/large" else 4
        return web.Response(body=b"lamp" if size == 4 else bytes(size), content_type="image/png")


@asynccontextmanager
async def site() -> AsyncGenerator[Site]:
    found = Site()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", found.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, HERE, 0).start()
    found.port = runner.addresses[0][1]
    try:
        yield found
    finally:
        await runner.cleanup()


class Names:
    """Names of this test, with all their addresses."""

    def __init__(self, **hosts: list[str]) -> None:
        self._hosts = hosts
        self.asked: list[str] = []

    async def look_up(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self._hosts[host]


async def failure(files: WebFiles, address: str) -> PlatformError:
    with pytest.raises(PlatformError) as caught:
        await files.fetch(address)
    return caught.value


@for_each(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::5db8:d822", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        # Forms that a translator or an old stack takes for an address of IPv4.
        ("::127.0.0.1", False),
        ("::93.184.216.34", False),
        ("::ffff:0:127.0.0.1", False),
        ("64:ff9b:1::7f00:1", False),
        ("2001:0:7f00:1::", False),
        ("fec0::1", False),
        ("2002:7f00:1::", False),
        ("not an address", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


#: the special-purpose registries of IANA for IPv4 (RFC 6890 and later, as of 2025) and IPv6, with groups and what was
#: deprecated: block, and whether it is reached from everywhere
REGISTRY = {
    "0.0.0.0/8": False,
    "0.0.0.0/32": False,
    "10.0.0.0/8": False,
    "100.64.0.0/10": False,
    "127.0.0.0/8": False,
    "169.254.0.0/16": False,
    "172.16.0.0/12": False,
    "192.0.0.0/24": False,
    "192.0.0.0/29": False,
    "192.0.0.8/32": False,
    "192.0.0.170/32": False,
    "192.0.0.171/32": False,
    "192.0.2.0/24": False,
    "192.31.196.0/24": True,
    "192.52.193.0/24": True,
    "192.88.99.0/24": False,
    "192.88.99.2/32": False,
    "192.168.0.0/16": False,
    "192.175.48.0/24": True,
    "198.18.0.0/15": False,
    "198.51.100.0/24": False,
    "203.0.113.0/24": False,
    "224.0.0.0/4": False,
    "240.0.0.0/4": False,
    "255.255.255.255/32": False,
    "::/128": False,
    "::1/128": False,
    "::/96": False,
    "::ffff:0:0:0/96": False,
    "64:ff9b:1::/48": False,
    "100::/64": False,
    "100:0:0:1::/64": False,
    "2001::/23": False,
    "2001::/32": False,
    "2001:2::/48": False,
    "2001:10::/28": False,
    "2001:db8::/32": False,
    "2002::/16": False,
    "2620:4f:8000::/48": True,
    "3fff::/20": False,
    "5f00::/16": False,
    "fc00::/7": False,
    "fe80::/10": False,
    "fec0::/10": False,
    "ff00::/8": False,
}


def _ends(block: str) -> tuple[Network, list[int]]:
    network = ipaddress.ip_network(block)
    middle = int(network[0]) + network.num_addresses // 3
    return network, [int(network[0]), middle, int(network[-1])]


@for_each("block", [block for block, everywhere in REGISTRY.items() if not everywhere])
def test_no_address_of_a_special_range_is_public(block: str) -> None:
    network, numbers = _ends(block)
    for number in numbers:
        address = type(network[0])(number)
        forms = [str(address), f"{address}%eth0"]
        if network.version == 4:
            forms += [str(ipaddress.IPv6Address(prefix + number)) for prefix in TRANSLATED]
        for form in forms:
            assert not is_public(form), form


#: where IPv6 has addresses of IPv4
TRANSLATED = tuple(int(ipaddress.IPv6Address(prefix)) for prefix in ("::ffff:0:0", "64:ff9b::", "::", "::ffff:0:0:0"))


@for_each("block", [block for block in REGISTRY if REGISTRY[block] or block.startswith(("1", "2", "3"))])
def test_what_is_beside_a_special_range_is_public(block: str) -> None:
    network, (first, inside, last) = _ends(block)
    special = [ipaddress.ip_network(other) for other, everywhere in REGISTRY.items() if not everywhere]
    beside = [number for number in (first - 1, last + 1) if 0 <= number < 2**network.max_prefixlen]
    for number in [*beside, inside] if REGISTRY[block] else beside:
        address = type(network[0])(number)
        unallocated = network.version == 6 and address not in ipaddress.ip_network("2000::/3")
        if not unallocated and not any(address in other for other in special if other.version == network.version):
            assert is_public(str(address)), address


@pytest.mark.anyio
async def test_a_private_host_is_not_asked() -> None:
    async with site() as there:
        files = WebFiles(timeout=5, limit=MOST)
        for host in (HERE, "localhost", "2130706433", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"):
            error = await failure(files, f"http://{host}:{there.port}/a.png")
            assert type(error) is Refused and "file_hosts" in error.facts, host
        assert there.asked == []


@pytest.mark.anyio
async def test_a_listed_host_is() -> None:
    async with site() as there:
        for host in (HERE, "localhost"):
            found = await WebFiles(timeout=5, limit=MOST, hosts=(host.upper(),)).fetch(
                f"http://{host}:{there.port}/a.png"
            )
            assert (found.content, found.media_type) == (b"lamp", "image/png")
        assert there.asked == [(f"{host}:{there.port}", "/a.png") for host in (HERE, "localhost")]


@pytest.mark.anyio
async def test_a_redirect_is_checked_like_the_first_address() -> None:
    async with site() as there:
        root = f"http://{HERE}:{there.port}"
        files = WebFiles(timeout=5, limit=MOST, hosts=(HERE,))
        assert (await files.fetch(f"{root}/to?url=/b.png")).content == b"lamp"
        for inner in (f"http://localhost:{there.port}/a.png", "file:///etc/passwd", "gopher://localhost/"):
            assert type(await failure(files, f"{root}/to?url={inner}")) is Refused
        assert {path for _, path in there.asked} == {"/to", "/b.png"}


@pytest.mark.anyio
async def test_the_address_that_was_checked_is_the_one_that_is_used() -> None:
    """The system does not know the names, so it was not asked again, when it could have said something else."""
    async with site() as there:
        names = Names(inner=[HERE, "10.0.0.1"], lamps=["::1", HERE])
        files = WebFiles(timeout=5, limit=MOST, hosts=("lamps",), look_up=names.look_up)
        assert type(await failure(files, f"http://inner:{there.port}/a.png")) is Refused
        assert (await files.fetch(f"http://lamps:{there.port}/a.png")).content == b"lamp"
        assert (there.asked, names.asked) == ([(f"lamps:{there.port}", "/a.png")], ["inner", "lamps"])


@pytest.mark.anyio
async def test_what_cannot_be_had_is_refused_or_not_sent() -> None:
    async with site() as there:
        root = f"http://{HERE}:{there.port}"
        files = WebFiles(timeout=0.5, limit=MOST, hosts=(HERE,))
        refused = [
            f"{root}/status/404",
            f"{root}/status/403",
            f"{root}/large",
            "http://",
            "http://a.example/\x00",
            "ftp://a.b/c",
        ]
        not_sent = [f"{root}/status/500", f"{root}/status/429", f"{root}/slow", f"http://{HERE}:1/a.png"]
        for expected, addresses in ((Refused, refused), (NotSent, not_sent)):
            for address in addresses:
                assert type(await failure(files, address)) is expected, address


@pytest.mark.anyio
async def test_an_address_that_leads_on_for_ever_is_refused() -> None:
    async with site() as there:
        files = WebFiles(timeout=5, limit=MOST, hosts=(HERE,))
        error = await failure(files, f"http://{HERE}:{there.port}/circle")
        assert type(error) is Refused and len(there.asked) == 6


@pytest.mark.anyio
async def test_a_name_that_has_no_address_may_have_one_later() -> None:
    async def gone(host: str, port: int) -> list[str]:
        raise OSError("unknown name")

    assert type(await failure(WebFiles(timeout=5, limit=MOST, look_up=gone), "https://files.example/a.png")) is NotSent
