"""Bounds the bodies of errors, which the client library would read whole."""

from collections.abc import AsyncIterator

import httpx

#: bytes
_MOST = 65_536


class Beginning(httpx.AsyncByteStream):
    def __init__(self, whole: httpx.AsyncByteStream) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = _MOST
        async for data in self._whole:
            yield data[:left]
            left -= len(data)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._whole.aclose()


async def bound(response: httpx.Response) -> None:
    """A hook of responses: the body of an error, or of a redirection, is cut."""
    if response.status_code >= 300 and isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = Beginning(response.stream)
