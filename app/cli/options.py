"""Options that several commands share. The docstring below a field is its line in ``--help``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
#: may be given several times
Many = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]
#: a trace file, or ``-``
TraceFile = Annotated[Path, Parameter(allow_leading_hyphen=True)]


@dataclass(frozen=True, kw_only=True)
class Looks:
    """How the app is drawn."""

    ascii: Flag = False
    """Draw with ASCII characters only."""
    theme: str | None = None
    """Name of a color theme."""


@dataclass(frozen=True, kw_only=True)
class TraceLimits:
    """Which traces are read."""

    limit: int = 256
    """Refuse a trace of more than this many MiB."""
    cut: Flag = False
    """Read a truncated trace as far as it goes. Violations that only the end of a run can prove are not judged."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which scenarios are run, and under which seeds."""

    seed: int | None = None
    """First seed, instead of the scenario's own."""
    seeds: int = 1
    """Run each scenario under this many consecutive seeds."""
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None
    """Select the scenarios whose id, title or tags contain all of these words."""


LooksOptions = Annotated[Looks, Parameter(name="*", group=Group("Looks"))]
LimitOptions = Annotated[TraceLimits, Parameter(name="*")]
DEFAULT_LOOKS = Looks()
DEFAULT_LIMITS = TraceLimits()
