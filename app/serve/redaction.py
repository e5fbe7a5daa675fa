"""Keeps secrets out of what a server writes: whatever quotes one, a log has only a mark in its place."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

from pydantic import BaseModel

from trunkline.app.serve.settings import Settings
from trunkline.core.config.secrets import Secret
from trunkline.core.errors import ConfigError

#: instead of a secret
MARK = "[secret]"
#: shorter ones are no secrets, and would tear holes into everything
_SHORTEST = 6


class Redaction:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Know more of them. The old ones stay: a log may still quote a token that was replaced."""
        given = [secret for secret in secrets if len(secret) >= _SHORTEST]
        # Also in the form that they have in an address: some platforms want their token there.
        found = {*self._secrets, *given, *(quote(secret, safe="") for secret in given)}
        # A secret that contains another one goes first.
        self._secrets = tuple(sorted(found, key=len, reverse=True))

    def of(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return text


def secrets_of(settings: Settings) -> list[str]:
    """Every secret that the configuration names and that is there."""
    found = list[str]()
    for _, secret in named_secrets(settings.config):
        try:
            found.append(secret.read(settings.folder, settings.environ))
        except ConfigError:
            # What needs it reports it.
            continue
    return found


def named_secrets(value: object, at: str = "") -> Iterator[tuple[str, Secret]]:
    """The secrets that a part of a configuration names, each with its dotted path."""
    if isinstance(value, Secret):
        yield at, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from named_secrets(getattr(value, name), f"{at}.{name}" if at else name)
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[Any, Any]", value).items():
            yield from named_secrets(inner, f"{at}.{name}" if at else str(name))
    elif isinstance(value, tuple | list):
        for n, inner in enumerate(cast("list[Any]", value)):
            yield from named_secrets(inner, f"{at}[{n}]")
