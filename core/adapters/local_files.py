"""Files of this machine that agents send: only those in the folder that the account names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio.to_thread
import msgspec

from trunkline.core.errors import Refused


class LocalFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of this machine."""

    name: str
    content: bytes


async def read_local(address: str, folder: Path | None, most: int) -> bytes:
    """The content of a file, as `load_local` reads it."""
    return (await load_local(address, folder, most)).content


async def load_local(address: str, folder: Path | None, most: int) -> LocalFile:
    """A file. `address`: its path, relative to the folder or absolute, or a ``file://`` address.

    An agent says which file it sends, so one outside of the folder is refused, whatever the path looks like; None: all
    are. Raises `Refused`, also for more than `most` bytes: nothing was sent then.
    """
    return await anyio.to_thread.run_sync(_read, address, folder, most)


def _read(address: str, folder: Path | None, most: int) -> LocalFile:
    if folder is None:
        raise Refused(f"files of this machine are not sent: set `files` of the account to their folder ({address!r})")
    path = Path(unquote(urlsplit(address).path) if address.startswith("file://") else address)
    try:
        whole = (folder / path).resolve(strict=True)
        if not whole.is_relative_to(folder.resolve()) or not whole.is_file():
            raise Refused(f"{address!r} is no file in {str(folder)!r}")
        with whole.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise Refused(f"{address!r} cannot be read: {type(error).__name__}") from None
    if len(content) > most:
        raise Refused(f"{address!r} has more than {most // 1024 // 1024} MB")
    return LocalFile(name=whole.name, content=content)
