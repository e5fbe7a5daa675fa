"""A gateway that is running, over its HTTP API."""

from __future__ import annotations

from pathlib import Path

from trunkline.app.operators.port import Operator
from trunkline.core.errors import UsageError


class HttpOperator:
    """Asks a running gateway (see `Operator`)."""

    @staticmethod
    def at(url: str, token_file: Path | None) -> Operator:
        """The gateway at an address. Raises `UsageError`."""
        raise UsageError(f"{url}: not possible yet; name the store file with --store {token_file or ''}".rstrip())
