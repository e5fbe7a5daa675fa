"""What a failed request proves, by the error of the library; and requests that cannot even be made."""

import asyncio
from unittest.mock import Mock

import aiohttp
import httpx
import pytest

from tests.wire.shared.raw_socket import answering, not_accepting, response
from trunkline.core.adapters.evidence import of_aiohttp, of_httpx, of_status
from trunkline.core.adapters.httpx_requests import HttpxRequests
from trunkline.core.adapters.media_files import WebFiles
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused, Unauthorized


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("x"), NotSent),
        (httpx.ConnectTimeout("x"), NotSent),
        (httpx.PoolTimeout("x"), NotSent),
        # The proxy has refused the connection: nothing of the request went through it.
        (httpx.ProxyError("x"), NotSent),
        (httpx.UnsupportedProtocol("x"), NotSent),
        (httpx.InvalidURL("x"), NotSent),
        (httpx.ReadError("x"), Ambiguous),
        (httpx.WriteError("x"), Ambiguous),
        (httpx.CloseError("x"), Ambiguous),
        (httpx.ReadTimeout("x"), Ambiguous),
        (httpx.WriteTimeout("x"), Ambiguous),
        (httpx.RemoteProtocolError("x"), Ambiguous),
        (httpx.LocalProtocolError("x"), Ambiguous),
        (httpx.DecodingError("x"), Ambiguous),
        (httpx.TooManyRedirects("x"), Ambiguous),
    ],
)
def test_an_error_of_httpx(error: httpx.HTTPError, kind: type[PlatformError]) -> None:
    assert type(of_httpx(error)) is kind


CONNECTION = Mock(host="h", port=1, ssl=True, is_ssl=True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (aiohttp.ClientConnectorError(CONNECTION, OSError(111, "refused")), NotSent),
        (aiohttp.ClientConnectorDNSError(CONNECTION, OSError(1, "no such host")), NotSent),
        (aiohttp.ClientConnectorSSLError(CONNECTION, OSError(1, "handshake")), NotSent),
        (aiohttp.ClientConnectorCertificateError(CONNECTION, ValueError("expired")), NotSent),
        (aiohttp.ClientProxyConnectionError(CONNECTION, OSError(111, "refused")), NotSent),
        (aiohttp.ClientHttpProxyError(Mock(), (), status=407), NotSent),
        (aiohttp.ConnectionTimeoutError(), NotSent),
        (aiohttp.InvalidURL("x"), NotSent),
        (aiohttp.ServerDisconnectedError(), Ambiguous),
        (aiohttp.ClientOSError(104, "reset"), Ambiguous),
        (aiohttp.ClientConnectionResetError(), Ambiguous),
        (aiohttp.SocketTimeoutError(), Ambiguous),
        (aiohttp.ClientPayloadError(), Ambiguous),
        (aiohttp.ContentTypeError(Mock(), ()), Ambiguous),
        (TimeoutError(), Ambiguous),
        (ConnectionResetError(), Ambiguous),
    ],
)
def test_an_error_of_aiohttp(error: aiohttp.ClientError, kind: type[PlatformError]) -> None:
    assert type(of_aiohttp(error)) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (204, Ambiguous),
        (302, Ambiguous),
        (400, Refused),
        (401, Unauthorized),
        (403, Refused),
        (408, Ambiguous),
        (413, Refused),
        (429, RateLimited),
        (499, Refused),
        (500, Ambiguous),
        (599, Ambiguous),
    ],
)
def test_a_status(status: int, kind: type[PlatformError]) -> None:
    assert type(of_status(status)) is kind


def test_a_machine_that_lets_nobody_connect_got_nothing() -> None:
    async def test() -> None:
        requests = HttpxRequests(1.0)
        async with requests.running(), not_accepting() as url:
            with pytest.raises(NotSent):
                await requests.request("POST", url, json={})

    asyncio.run(test())


def test_what_json_cannot_hold_is_refused_before_a_connection_is_opened() -> None:
    async def test() -> None:
        asked: list[bytes] = []

        def answer(_: int, request: bytes) -> bytes:
            asked.append(request)
            return response(b"{}")

        requests = HttpxRequests(1.0)
        async with requests.running(), answering(answer) as url:
            for body in ({"text": "half \ud83d"}, {"text": float("nan")}, {"text": b"bytes"}):
                with pytest.raises(Refused):
                    await requests.request("POST", url, json=body)
        assert asked == []

    asyncio.run(test())


def test_only_the_platform_gets_the_token() -> None:
    async def test() -> None:
        asked: list[bytes] = []

        def answer(_: int, request: bytes) -> bytes:
            asked.append(request)
            return response(b"{}")

        requests = HttpxRequests(1.0, {"Authorization": "Bearer secret-token"})
        async with requests.running(), answering(answer) as url:
            await requests.request("POST", url, json={})
            await WebFiles(timeout=1.0, limit=100, hosts=("127.0.0.1",)).fetch(url)
        assert [b"secret-token" in one for one in asked] == [True, False]

    asyncio.run(test())


def test_no_redirect_is_followed() -> None:
    """It would be a second request, perhaps to somebody else."""

    async def test() -> None:
        asked: list[bytes] = []

        def answer(_: int, request: bytes) -> bytes:
            asked.append(request)
            return b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"

        requests = HttpxRequests(2.0)
        async with requests.running(), answering(answer) as url:
            assert (await requests.request("POST", url, json={})).status_code == 307
        assert len(asked) == 1

    asyncio.run(test())
