"""``trunkline fakes``: fake platforms on this machine, for the tests of any bot or gateway."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trunkline.app.cli.options import Flag, Many, require_fakes
from trunkline.app.gc_policy import loading


@dataclass(frozen=True, kw_only=True)
class FakesOptions:
    """The options of the fakes: platforms, and where they listen."""

    platforms: Many = ()
    """The platforms, separated by commas: `telegram`, `discord`, `slack`, `matrix`, `signal`, `whatsapp`, and `model`
    for an endpoint that speaks OpenAI's chat completions. By default those of WORLD."""
    port: Many = ()
    """A port of one of them, or of the control interface: `telegram=8081`, `control=9000`. Others take a free port.
    May be given several times."""
    record: Path | None = None
    """Write what happens on the wire into this trace file, which `trunkline report` reads. After a reset a further file
    begins, with a number in its name."""
    json: Flag = False
    """Print addresses, tokens and settings as one line of JSON, and nothing else."""
    quiet: Flag = False
    """Print no line for each thing that happens."""
    seed: int = 1
    """Decides the latencies, and nothing that a client is promised."""


_DEFAULTS = FakesOptions()


def serve_fakes(
    world: Path | None = None, /, *, options: Annotated[FakesOptions, Parameter(name="*")] = _DEFAULTS
) -> int:
    """Start fake platforms on this machine, for the tests of any bot or gateway. Ctrl-C ends them.

    Prints addresses, tokens and settings. Exit code: 0 ended by a signal, 2 wrong usage or file.

    :param world: A file with `world`: people, platforms, rooms and accounts, as in a scenario file; and `script`, if
        somebody acts by themselves. By default ana, ben and cem, and the rooms `ops` and `lobby`.
    """
    require_fakes("trunkline fakes")
    with loading():
        from trunkline.app.fakes.program import FakesSettings, run_fakes
        from trunkline.core.declared import filled

    named = (platform.strip() for given in options.platforms for platform in given.split(","))
    platforms = tuple(filter(None, named))
    return run_fakes(filled(FakesSettings, options, world=world, platforms=platforms, ports=options.port))
