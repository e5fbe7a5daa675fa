"""Files sent by agents, by their source: a ``data:`` URL, an address of the web, or a path on this machine.

An agent chooses the source, so a path is read only in the folder that the account names, and the web only through
`WebFiles`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import anyio.to_thread
import msgspec

from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.web_files import WebFiles
from trunkline.core.errors import Refused

#: bytes; platforms usually take less
LARGEST_FILE = 100 * 1024 * 1024


class MediaFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to send. Name and media type are empty where the source names none."""

    name: str
    media_type: str = ""
    content: bytes


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
        """Load a file from any source."""
        if source.lower().startswith("data:"):
            return _from_data_url(source, self._limit)
        if not is_address(source):
            return await self.read(source)
        found = await self._web.fetch(source)
        name = PurePosixPath(unquote(urlsplit(source).path)).name
        return MediaFile(name=name, media_type=found.media_type, content=found.content)

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
