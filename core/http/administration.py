"""What the process around a gateway offers to operators, as far as the API reaches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """What a reload of the configuration file has changed."""

    #: number of the configuration that the gateway follows now
    revision: int
    #: fields of the file that hold from now on
    changed: tuple[str, ...]
    #: fields that differ from what the process runs with, and that only a restart can change
    needs_restart: tuple[str, ...]


@dataclass(slots=True)
class Administration:
    """Set by the process once it is composed; none: not offered."""

    #: reads the configuration file again; raises `ConfigError` or `FileError`, and then nothing is changed
    reload: Callable[[], Reloaded] | None = None
    #: leaves the secrets of the configuration out of a text
    redact: Callable[[str], str] = str
