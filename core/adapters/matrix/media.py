"""The files of a message, read from a path or an address."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import aiohttp
import anyio
import anyio.to_thread
import msgspec

from trunkline.core.delivery.mirror_text import media_name
from trunkline.core.errors import NotSent, Refused

#: bytes; servers usually take less
_LONGEST = 100 * 1024 * 1024
_UNKNOWN = "application/octet-stream"


class MatrixFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload."""

    name: str
    mime_type: str
    body: bytes


async def load_file(address: str, folder: Path | None, timeout: float) -> MatrixFile:
    """Read a file. `folder`: whose files may be sent; None: none of this machine.

    Raises `Refused` if there is none or it is too long, and `NotSent` if it cannot be fetched now.
    """
    scheme = urlsplit(address).scheme
    if scheme in ("http", "https"):
        body, mime_type = await _fetched(address, timeout)
    elif scheme == "data":
        body, mime_type = _inline(address)
    else:
        body, mime_type = await anyio.to_thread.run_sync(_read, address, folder), ""
    if len(body) > _LONGEST:
        raise Refused(f"a file is longer than {_LONGEST} bytes")
    name = media_name(address)
    return MatrixFile(name=name, mime_type=mime_type or mimetypes.guess_type(name)[0] or _UNKNOWN, body=body)


def _inline(address: str) -> tuple[bytes, str]:
    """The file in a ``data:`` address, and its type."""
    head, comma, data = address.partition(",")
    mime_type, *options = head.removeprefix("data:").split(";")
    try:
        body = base64.b64decode(data, validate=True) if "base64" in options else unquote_to_bytes(data)
    except ValueError as error:
        raise Refused(f"the file in the address cannot be read: {error}") from error
    if not comma:
        raise Refused("the file in the address cannot be read: it has no comma")
    return body, mime_type


def _read(address: str, folder: Path | None) -> bytes:
    """A file of this machine. An agent says which one it sends, so it must be in the folder, whatever its path is."""
    if folder is None:
        raise Refused(f"files of this machine are not sent: set `files` of the account to their folder ({address!r})")
    try:
        whole = (folder / address).resolve(strict=True)
        if not whole.is_relative_to(folder.resolve()) or not whole.is_file():
            raise Refused(f"{address!r} is no file in {str(folder)!r}")
        with whole.open("rb") as file:
            return file.read(_LONGEST + 1)
    except (OSError, ValueError) as error:
        raise Refused(f"{address!r} cannot be read: {type(error).__name__}") from error


async def _fetched(address: str, timeout: float) -> tuple[bytes, str]:
    """The bytes at an address and their type. The account's token is not sent there."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session,
            session.get(address) as response,
        ):
            if 400 <= response.status < 500:
                raise Refused(f"there is no file at {address}: status {response.status}")
            if response.status != 200:
                raise NotSent(f"the file at {address} cannot be fetched: status {response.status}")
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > _LONGEST:
                    break
            return bytes(body), response.content_type
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise NotSent(f"the file at {address} cannot be fetched: {type(error).__name__}") from error
