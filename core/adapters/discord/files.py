"""The files of a message, with names and types for Discord."""

from __future__ import annotations

from collections.abc import Sequence
from mimetypes import MimeTypes

from trunkline.core.adapters.discord.calls import UploadFile
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.message_parts import MessageParts

_UNKNOWN = "application/octet-stream"
_TYPES = MimeTypes()


async def load_files(
    files: MediaFiles, media: Sequence[str], parts: MessageParts | None = None
) -> tuple[UploadFile, ...]:
    """The files of a message, the first with the name and type in the message. Raises as `MediaFiles`."""
    found: list[UploadFile] = []
    for source in media:
        given = parts if parts is not None and not found else MessageParts()
        file = await files.load(source)
        name = given.file_name or file.name or "attachment"
        kind = given.mime_type or file.media_type or _TYPES.guess_type(name)[0] or _UNKNOWN
        found.append(UploadFile(name=name, type=kind, content=file.content))
    return tuple(found)
