"""Extras of the package that commands need."""

from __future__ import annotations

from importlib.util import find_spec

from trunkline.core.errors import UsageError
from trunkline.sim.wire.servers import SERVER_PACKAGE


def require_fakes(who: str) -> None:
    """Raise `UsageError` with the remedy if the extra of the fake platforms is not installed. `who`: what needs it."""
    if find_spec(SERVER_PACKAGE) is None:
        raise UsageError(f"{who} needs {SERVER_PACKAGE}, which is not installed: pip install 'trunkline[fakes]'")
