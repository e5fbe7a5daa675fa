"""The files that Telegram keeps: uploaded by bots, or read from an address."""

from __future__ import annotations

import msgspec

from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.telegram.parameters import UploadedFile

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file by its id."""

    file_id: str
    kind: str
    #: the address or the name under which the bot gave it
    source: str
    content: bytes

    @property
    def path(self) -> str:
        """Where it can be downloaded, below the address of the files."""
        return f"{self.kind}s/{self.file_id[:12]}_{self.source.rpartition('/')[2]}"


class FileStore:
    """All files of one server."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}

    def add(self, kind: str, source: str | UploadedFile) -> StoredFile:
        """Keep a file. What is read from an address has that address as its content: nothing leaves this machine."""
        name = source if isinstance(source, str) else source.name
        content = source.encode() if isinstance(source, str) else source.content
        file_id = letters("file", kind, name, str(len(self._by_id)), length=40, alphabet=_ALPHABET)
        stored = self._by_id[file_id] = StoredFile(file_id=file_id, kind=kind, source=name, content=content)
        return stored

    @property
    def every(self) -> tuple[StoredFile, ...]:
        """All files, in the order in which they came."""
        return tuple(self._by_id.values())

    def get(self, file_id: str) -> StoredFile | None:
        """The file with an id."""
        return self._by_id.get(file_id)

    def at(self, path: str) -> StoredFile | None:
        """The file at a path."""
        return next((one for one in self._by_id.values() if one.path == path), None)
