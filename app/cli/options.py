"""Options that several commands share. The docstring below a field is its line in ``--help``."""

import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from trunkline.core.errors import UsageError

if TYPE_CHECKING:
    from trunkline.sim.plugins import Toolbox

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
class Plugins:
    """Which plug-ins are loaded."""

    plugin: Many = ()
    """Load the plug-in of a Python module, beside those that are installed: `MODULE` or `MODULE:NAME`. `none`: without
    those that are installed. May be given several times."""

    @property
    def there(self) -> bool:
        """Whether a plug-in is named or installed; asked without loading the simulator."""
        # Imported late: most commands of operators ask nothing of it.
        from importlib.metadata import entry_points

        return bool(self.plugin or entry_points(group="trunkline.plugins"))

    @cached_property
    def toolbox(self) -> "Toolbox":
        """The objects behind the names of scenarios. Raises `PluginError`."""
        from trunkline.sim.plugins import load_toolbox

        # A module in the working directory is found, as with `python -m`.
        if self.plugin and (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)
        return load_toolbox(self.plugin)


@dataclass(frozen=True, kw_only=True)
class TraceLimits(Plugins):
    """Which traces are read, and with which plug-ins they are judged."""

    limit: int = 256
    """Refuse a trace of more than this many MiB."""
    cut: Flag = False
    """Read a truncated trace as far as it goes. Violations that only the end of a run can prove are not judged."""


@dataclass(frozen=True, kw_only=True)
class Selection(Plugins):
    """Which scenarios are run, and under which seeds."""

    seed: int | None = None
    """First seed, instead of the scenario's own."""
    seeds: int = 1
    """Run each scenario under this many consecutive seeds."""
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None
    """Select the scenarios whose id, title or tags contain all of these words."""


LooksOptions = Annotated[Looks, Parameter(name="*", group=Group("Looks"))]
PluginOptions = Annotated[Plugins, Parameter(name="*")]
LimitOptions = Annotated[TraceLimits, Parameter(name="*")]
DEFAULT_LOOKS = Looks()
DEFAULT_LIMITS = TraceLimits()
DEFAULT_PLUGINS = Plugins()


def check_at_least(least: int, **given: int | None) -> None:
    """Raise `UsageError` for an option with a smaller number; `given`: the numbers by the names of their options."""
    for name, number in given.items():
        if number is not None and number < least:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {least}")


def check_folders(*reports: Path | None) -> None:
    """Raise `UsageError` for a report whose folder does not exist."""
    for report in reports:
        if report is not None and not report.absolute().parent.is_dir():
            raise UsageError(f"{report}: there is no folder {report.parent}")


def require_fakes(who: str) -> None:
    """Raise `UsageError` with the remedy if the extra of the fake platforms is not installed. `who`: what needs it."""
    from trunkline.sim.wire.servers import SERVER_PACKAGE

    if find_spec(SERVER_PACKAGE) is None:
        raise UsageError(f"{who} needs {SERVER_PACKAGE}, which is not installed: pip install 'trunkline[fakes]'")
