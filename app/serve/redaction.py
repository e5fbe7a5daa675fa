"""Keeps secrets out of what a server writes: whatever quotes one, a log has only a mark in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel

from trunkline.app.serve.settings import Settings
from trunkline.core.config.secrets import Secret
from trunkline.core.errors import ConfigError

#: instead of a secret
MARK = "[secret]"
#: shorter ones are no secrets, and would tear holes into everything
_SHORTEST = 6


class Redaction:
    """Replaces secrets in texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Know more of them. The old ones stay: a log may still quote a token that was replaced."""
        found = {*self._secrets, *(secret for secret in secrets if len(secret) >= _SHORTEST)}
        # A secret that contains another one goes first.
        self._secrets = tuple(sorted(found, key=len, reverse=True))

    def of(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return text


def secrets_of(settings: Settings) -> list[str]:
    """Every secret that the configuration names and that is there."""
    found = list[str]()
    for one in _named(settings.config):
        try:
            found.append(one.read(settings.folder, settings.environ))
        except ConfigError:
            # What needs it reports it.
            continue
    return found


def _named(value: object) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _named(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in cast("Mapping[Any, Any]", value).values():
            yield from _named(one)
    elif isinstance(value, tuple | list):
        for one in cast("list[Any]", value):
            yield from _named(one)
