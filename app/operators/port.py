"""The port of operators' commands: verbs, answered from a store file or over HTTP."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.http.endpoint import Verb

A = TypeVar("A")


class Unavailable(UsageError):
    """The gateway cannot be reached now, or is not ready; it may be there again soon."""


class NotPossible(Exception):
    """The command is not possible, and changed nothing."""


class Operator(Protocol):
    """A gateway, as operators and workers ask it."""

    @property
    def option(self) -> str:
        """The option that names this gateway on the command line, as it can be typed again."""
        ...

    @property
    def acts_at_once(self) -> bool:
        """Whether a change is carried out when its verb returns. Else the gateway finds it in its store."""
        ...

    def ask(self, verb: Verb[A], given: msgspec.Struct | None = None, **path: str) -> A:
        """The answer to a verb. `given`: its query or body; `path`: the parameters of its path.

        Raises `UsageError` for what cannot be asked, such as a file that is no store; `UnknownName` for an id that is
        not there; and `NotPossible` for a change that is refused.
        """
        ...
