"""The files that the bot sends: Telegram reads an address itself, and gets the content of a file of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from telegram import InputFile

from trunkline.core.adapters.local_files import load_local
from trunkline.core.adapters.telegram.sends import file_id
from trunkline.core.adapters.telegram.updates import FILE_PREFIX

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
            local = await load_local(address, folder, _LARGEST)
            shown = (name if len(media) == 1 else None) or local.name
            found[address] = InputFile(local.content, filename=shown, attach=True)
    return found
