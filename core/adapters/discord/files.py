"""The files of a message: read from a path, from a data URL, or from the web."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from mimetypes import MimeTypes
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from trunkline.core.adapters.discord.calls import UploadFile
from trunkline.core.adapters.local_files import load_local
from trunkline.core.adapters.web_files import WebFiles
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts

#: the largest file that is read; Discord itself takes 10 MiB, and more in boosted servers
LARGEST_FILE = 100 * 1024 * 1024
_UNKNOWN = "application/octet-stream"
_TYPES = MimeTypes()


async def load_files(
    web: WebFiles, media: Sequence[str], parts: MessageParts | None, folder: Path | None
) -> tuple[UploadFile, ...]:
    """The files of a message, the first one with the name and type that the message gives it.

    `folder`: whose files may be sent; None: none of this machine.

    Raises `Refused` for a file that is not there, `NotSent` for one that cannot be had now: nothing was sent yet.
    """
    found: list[UploadFile] = []
    for source in media:
        name = parts.file_name if parts is not None and not found else None
        kind = parts.mime_type if parts is not None and not found else None
        found.append(await _load(web, source, name, kind, folder))
    return tuple(found)


async def _load(web: WebFiles, source: str, name: str | None, kind: str | None, folder: Path | None) -> UploadFile:
    if source.startswith("data:"):
        return _from_data_url(source, name, kind)
    if source.startswith(("https://", "http://")):
        return await _from_web(web, source, name, kind)
    found = await load_local(source, folder, LARGEST_FILE)
    return _file(name or found.name, kind, found.content)


async def _from_web(web: WebFiles, url: str, name: str | None, kind: str | None) -> UploadFile:
    found = await web.fetch(url)
    last = PurePosixPath(unquote(urlsplit(url).path)).name
    return _file(name or last, kind or found.media_type, found.content)


def _from_data_url(url: str, name: str | None, kind: str | None) -> UploadFile:
    """A file that is in its own address, with its name as a parameter (`trunkline.core.message_tool.attachments`)."""
    head, _, content = url.removeprefix("data:").partition(",")
    given, *parameters = head.split(";")
    named = next((unquote(one.removeprefix("name=")) for one in parameters if one.startswith("name=")), "")
    try:
        found = base64.b64decode(content, validate=True) if "base64" in parameters else unquote(content).encode()
    except (binascii.Error, ValueError):
        raise Refused("the file in a data: URL is not base64") from None
    return _file(name or named, kind or given, found)


def _file(name: str, kind: str | None, content: bytes) -> UploadFile:
    shown = name or "attachment"
    return UploadFile(name=shown, type=kind or _TYPES.guess_type(shown)[0] or _UNKNOWN, content=content)
