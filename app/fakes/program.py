"""The program: starts the fakes, prints what to connect to, records, and ends at Ctrl-C."""

import asyncio
import json
import shlex
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from trunkline.app.runs.model import Run
from trunkline.app.terminal.output import flush_output, print_json, print_lines
from trunkline.app.text.cells import cut
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, RunEnded, Trace, TraceHeader, encode_event, gateway, trace
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.world import WorldAccount, WorldPerson, WorldPlace
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.wire.fakes.control import Control, overview
from trunkline.sim.wire.fakes.fakes import MODEL, Fakes, read_world, world_of_ours
from trunkline.sim.wire.line_file import LineFile
from trunkline.sim.wire.servers import ON_THE_WIRE


def settings_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines, from what `GET /` of the control interface answers."""
    yield from _addresses(found)
    yield ""
    yield "environment:"
    for name, value in found["environment"].items():
        yield f"  export {name}={shlex.quote(value)}"
    yield ""
    yield "for the file of `trunkline serve`:"
    yield ""
    # Not indented: it is pasted into a file, perhaps below other sections.
    yield from yaml.safe_dump(_sections(found), sort_keys=False, allow_unicode=True).splitlines()
    yield ""
    yield f"places: {', '.join(found['places'][:_SHOWN])}{', ...' if len(found['places']) > _SHOWN else ''}"
    yield f"""try: curl {found["control"]}/steps -d '{_step(found)}'"""
    yield from _webhooks(found)
    yield "Ctrl-C ends it."


def _webhooks(found: Mapping[str, Any]) -> Iterator[str]:
    for account in found["platforms"].get("whatsapp", {"tokens": ()})["tokens"]:
        hook = json.dumps({"url": f"http://127.0.0.1:8420/v1/platforms/whatsapp/{account}", "account": account})
        yield f"whatsapp calls its bot, once it runs: curl {found['control']}/webhooks/whatsapp -d '{hook}'"


def _sections(found: Mapping[str, Any]) -> dict[str, Any]:
    model = found["model"]
    if model is None:
        return {"accounts": list(found["accounts"])}
    agents = {"main": {"openai": {"model": model["name"], "base_url": model["url"]}}}
    return {"agents": agents, "accounts": list(found["accounts"])} if found["accounts"] else {"agents": agents}


#: places in the overview
_SHOWN = 12


def _addresses(found: Mapping[str, Any]) -> Iterator[str]:
    for name, platform in found["platforms"].items():
        given = platform["tokens"].items()
        tokens = ", ".join(value if len(given) == 1 else f"{account}: {value}" for account, value in given)
        yield f"{name:<9} {platform['url']}  {'number' if name == 'signal' else 'token'} {tokens}"
    if found["model"] is not None:
        yield f"{'model':<9} {found['model']['url']}  model {found['model']['name']}, any key"
    yield f"{'control':<9} {found['control']}"


def _step(found: Mapping[str, Any]) -> str:
    people, places = found["people"], [place for place in found["places"] if "@" not in place] or found["places"]
    return f'{{"as": "{people[0]}", "in": "{places[0]}", "say": "hello"}}' if people and places else "{}"


class WireRecord:
    """Writes each event as it happens, so that a file is whole up to the moment of a kill. Raises `UsageError`.

    What nobody can write any more, as on a full disk, ends the record with an error, and not the fakes.
    """

    def __init__(self, path: Path, scenario: str) -> None:
        self._path = path
        self._scenario = scenario
        self._seq = 0
        self._at = 0.0
        self.files: list[Path] = []
        #: why the record has ended too early
        self.problem = ""
        self._open()

    def _open(self) -> None:
        number = len(self.files)
        path = self._path if number == 0 else self._path.with_stem(f"{self._path.stem}-{number + 1}")
        header = TraceHeader(
            scenario=self._scenario, title="the wire of trunkline fakes", of_gateway=True, on_wire=True
        )
        try:
            self._file = LineFile(path, "the record")
        except OSError as error:
            raise UsageError(f"--record {path}: {error.strerror or error}") from error
        self.files.append(path)
        self._line(trace.encode_header(header))

    def write(self, event: Event) -> None:
        self._seq, self._at = event.seq, event.at
        self._line(encode_event(event))

    def _line(self, line: bytes) -> None:
        if not self.problem:
            self._file.write(line)
            self.problem = self._file.problem

    def begin_next(self) -> None:
        """Go on in the next file: the world begins again."""
        self.end()
        self.close()
        self._open()

    def end(self) -> None:
        """Write the last event. What only the end of a run can break is not judged."""
        body = RunEnded(at_rest=True, cut="when the fakes were stopped")
        self._line(encode_event(Event(seq=self._seq + 1, at=self._at, node="sim", body=body)))

    def close(self) -> None:
        self._file.close()
        self.problem = self.problem or self._file.problem


#: the setting, which the first lines show already
_SETTING = (gateway.RunJoined, RunPhase, WorldAccount, WorldPerson, WorldPlace)
#: cells of a line
_WIDEST = 500


class LiveLines:
    """Prints events. Those of the beginning are not shown; `begin` comes after them."""

    def __init__(self) -> None:
        self._view = _empty()
        self._begun = False

    def begin(self) -> None:
        """Print what comes from now on."""
        self._begun = True

    def show(self, event: Event) -> None:
        """Take an event, and print it unless it belongs to the setting."""
        if event.seq == 1:
            # Another world, whose numbers begin again.
            self._view = _empty()
        self._view.grow((event,), ())
        if self._begun and not isinstance(event.body, _SETTING):
            # The record has the whole text, of which a stranger may have written a megabyte.
            print_lines(f"{event.at:9.3f}s  {cut(describe(self._view, event), _WIDEST)}", flush=True)


def _empty() -> RunView:
    return RunView(Run(trace=Trace(header=TraceHeader(scenario="fakes"), events=()), verdicts=()))


#: the control interface, among the names of platforms
CONTROL = "control"
_LAST_PORT = 65_535


class FakesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command line."""

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
    named = tuple(dict.fromkeys(platform for platform in settings.platforms if platform != MODEL))
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
