"""The token with which commands ask a gateway that is running."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.http.settings import is_loopback, is_token

#: the variable that may hold the token
VARIABLE = "TRUNKLINE_TOKEN"
_LONGEST = 4096


class GivenToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token and where it is from; without a secret there is none."""

    secret: str = ""
    source: str = ""

    def __repr__(self) -> str:
        return f"GivenToken(source={self.source!r})"


def token_for(host: str, file: Path | None, environ: Mapping[str, str] = os.environ) -> GivenToken:
    """The token for a gateway: of a named file, of the variable, or of the gateway of this user on this machine.

    The last one is sent to loopback addresses alone: elsewhere it would go to a stranger. Raises `UsageError` for
    a named file that cannot be read, and for what cannot be a token.
    """
    if file is not None:
        return _checked(_read(file), str(file))
    if environ.get(VARIABLE):
        return _checked(environ[VARIABLE], VARIABLE)
    if not is_loopback(host):
        return GivenToken()
    from trunkline.app.serve.settings import TOKEN, state_folder

    own = state_folder(environ) / TOKEN
    return _checked(_read(own), str(own)) if own.is_file() else GivenToken()


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(_LONGEST)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not text, so it holds no token") from error


def _checked(text: str, source: str) -> GivenToken:
    secret = text.strip()
    if not is_token(secret):
        raise UsageError(f"{source} holds no token: expected letters, digits and signs without spaces")
    return GivenToken(secret=secret, source=source)
