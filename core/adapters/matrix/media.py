"""The files of a message, read from a path or an address."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec

from trunkline.core.adapters.local_files import read_local
from trunkline.core.adapters.web_files import WebFiles
from trunkline.core.delivery.mirror_text import media_name
from trunkline.core.errors import Refused

#: bytes; servers usually take less
LARGEST_FILE = 100 * 1024 * 1024
_UNKNOWN = "application/octet-stream"


class MatrixFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload."""

    name: str
    mime_type: str
    body: bytes


async def load_file(address: str, folder: Path | None, web: WebFiles) -> MatrixFile:
    """Read a file. `folder`: whose files may be sent; None: none of this machine.

    Raises `Refused` if there is none or it is too long, and `NotSent` if it cannot be fetched now.
    """
    scheme = urlsplit(address).scheme
    if scheme in ("http", "https"):
        found = await web.fetch(address)
        body, mime_type = found.content, found.media_type
    elif scheme == "data":
        body, mime_type = _inline(address)
    else:
        body, mime_type = await read_local(address, folder, LARGEST_FILE), ""
    if len(body) > LARGEST_FILE:
        raise Refused(f"a file is longer than {LARGEST_FILE} bytes")
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
