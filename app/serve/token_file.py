"""The token that is made at the first start."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from trunkline.core.errors import ConfigError
from trunkline.core.http.settings import is_token

#: shorter tokens can be guessed
SHORTEST = 16
_LONGEST = 4096


def token_of(path: Path) -> str:
    """The token in a file, which is made if it is missing, readable by its owner alone. Raises `ConfigError`.

    A file that others can read is refused, not mended: they may have read it already, so its token must be replaced.
    """
    try:
        if not path.exists():
            _make(path)
        found = _read(path)
    except OSError as error:
        raise ConfigError(f"the token file {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"the token file {path} is not text: delete it, and a new token is made") from None
    if len(found) < SHORTEST or not is_token(found):
        raise ConfigError(
            f"the token file {path} has no token: expected at least {SHORTEST} letters, digits and signs without"
            " spaces; delete it, and a new token is made"
        )
    return found


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Two servers may start at once: the first token counts for both.
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink()


def _read(path: Path) -> str:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"the token file {path} is not a regular file")
        if sys.platform != "win32" and mode & 0o077:
            raise ConfigError(
                f"the token file {path} can be read by others (mode {stat.S_IMODE(mode):03o}), so its token is no"
                " secret any more: delete it, and a new one is made; if you are sure that nobody has read it: chmod 600"
            )
        return file.read(_LONGEST).decode("utf-8").strip()
