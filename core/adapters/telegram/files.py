"""The files that the bot sends: Telegram reads an address itself, and gets the content of a file of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio.to_thread
from telegram import InputFile

from trunkline.core.adapters.telegram.sends import file_id
from trunkline.core.adapters.telegram.updates import FILE_PREFIX
from trunkline.core.errors import Refused

#: bytes; the Bot API takes no larger uploads
_LARGEST = 50 * 1024 * 1024


async def load(media: tuple[str, ...], folder: Path | None, name: str | None) -> dict[str, Any]:
    """What to send for each address. `folder`: whose files may be sent; None: none. Raises `Refused`.

    An agent says which files it sends, so a file outside of the folder is refused, whatever the path looks like.
    """
    found: dict[str, Any] = {}
    for address in media:
        if address.startswith(("https://", "http://")):
            found[address] = address
        elif address.startswith(FILE_PREFIX):
            found[address] = file_id(address)
        else:
            found[address] = await anyio.to_thread.run_sync(_read, address, folder, name if len(media) == 1 else None)
    return found


def _read(address: str, folder: Path | None, name: str | None) -> InputFile:
    if folder is None:
        raise Refused(f"files of this machine are not sent: set `files` of the account to their folder ({address!r})")
    path = Path(unquote(urlsplit(address).path) if address.startswith("file://") else address)
    try:
        whole = (folder / path).resolve(strict=True)
        if not whole.is_relative_to(folder.resolve()) or not whole.is_file():
            raise Refused(f"{address!r} is no file in {str(folder)!r}")
        if whole.stat().st_size > _LARGEST:
            raise Refused(f"{address!r} has more than {_LARGEST} bytes")
        content = whole.read_bytes()
    except (OSError, ValueError) as error:
        raise Refused(f"{address!r} cannot be read: {type(error).__name__}") from None
    return InputFile(content, filename=name or whole.name, attach=True)
