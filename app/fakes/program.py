"""The program: starts the fakes, prints what to connect to, records, and ends at Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from trunkline.app.fakes.live_lines import LiveLines
from trunkline.app.fakes.record import WireRecord
from trunkline.app.fakes.settings_text import settings_lines
from trunkline.app.terminal.output import flush_output, print_json, print_lines
from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.wire.fakes.control import Control
from trunkline.sim.wire.fakes.fakes import MODEL, Fakes
from trunkline.sim.wire.fakes.overview import overview
from trunkline.sim.wire.fakes.world_file import read_world, world_of_ours
from trunkline.sim.wire.servers import ON_THE_WIRE

#: the control interface, among the names of platforms
CONTROL = "control"
_LAST_PORT = 65_535


class FakesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says."""

    world: Path | None = None
    platforms: tuple[str, ...] = ()
    #: ``telegram=8081``
    ports: tuple[str, ...] = ()
    record: Path | None = None
    json: bool = False
    quiet: bool = False
    seed: int = 1


def run_fakes(settings: FakesSettings) -> int:
    """Run until a signal. Raises `UsageError` for what the command line or the file says wrong."""
    file, platforms = _world(settings)
    names = (*platforms, *([MODEL] if MODEL in settings.platforms else []), CONTROL)
    ports = read_ports(settings.ports, names)
    record = None if settings.record is None else WireRecord(settings.record, file.id)
    try:
        return run_real_time(lambda loop: _serve(loop, settings, file, platforms, ports, record))
    finally:
        if record is not None:
            record.close()


def _world(settings: FakesSettings) -> tuple[ScenarioFile, tuple[str, ...]]:
    named = tuple(dict.fromkeys(one for one in settings.platforms if one != MODEL))
    if settings.world is not None:
        return read_world(settings.world, named)
    if not named:
        raise UsageError(
            f"name the platforms: trunkline fakes --platforms {ON_THE_WIRE[0]},{ON_THE_WIRE[1]}\n"
            f"There are: {', '.join((*ON_THE_WIRE, MODEL))}. A file with a world may name them instead."
        )
    return world_of_ours(named), named


def read_ports(given: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """The ports by name. Raises `UsageError`."""
    found: dict[str, int] = {}
    for text in given:
        name, _, port = text.partition("=")
        if name not in names:
            raise UsageError(f"--port {text}: expected NAME=PORT; the names are: {', '.join(names)}")
        if not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
            raise UsageError(f"--port {text}: expected a port from 1 to {_LAST_PORT}, as in {name}=8081")
        if name in found:
            raise UsageError(f"--port {text}: {name} has port {found[name]} already")
        if int(port) in found.values():
            raise UsageError(f"--port {text}: another one has this port already")
        found[name] = int(port)
    return found


async def _serve(
    loop: RealTimeLoop,
    settings: FakesSettings,
    file: ScenarioFile,
    platforms: tuple[str, ...],
    ports: Mapping[str, int],
    record: WireRecord | None,
) -> int:
    live = None if settings.quiet or settings.json else LiveLines()

    def watch(event: Event) -> None:
        if record is not None:
            record.write(event)
        if live is not None:
            live.show(event)

    fakes = Fakes(
        file,
        platforms,
        loop,
        ports=ports,
        model=MODEL in settings.platforms,
        seed=settings.seed,
        epoch=time.time() - loop.time(),
        watch=watch,
        renewed=None if record is None else record.begin_next,
    )
    control = Control(fakes)
    ended = _signals(loop)
    try:
        try:
            await fakes.open()
            await control.open(ports.get(CONTROL, 0))
        except OSError as error:
            raise UsageError(
                f"a port cannot be opened: {error.strerror or error}; choose another one with --port"
            ) from error
        found = overview(fakes, control.url)
        if settings.json:
            print_json(json.dumps(found))
        else:
            print_lines(*settings_lines(found), flush=True)
        flush_output()
        if live is not None:
            live.begin()
        await ended.wait()
    finally:
        await control.close()
        await fakes.close()
        fakes.world.disk.discard()
    if record is not None:
        record.end()
        if not settings.json:
            print_lines(f"recorded: {', '.join(map(str, record.files))}")
    return 0


def _signals(loop: RealTimeLoop) -> asyncio.Event:
    """An event that Ctrl-C or SIGTERM sets; a second one ends the program at once."""
    ended = asyncio.Event()

    def end(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(ended.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return ended
