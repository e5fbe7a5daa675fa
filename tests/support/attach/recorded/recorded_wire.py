"""Reads a recorded wire: one fact a line, by when and kind, as an early version of attach wrote it. It becomes a trace.

Lines are ``{"seq": 1, "at": 0.02, "kind": "process.started", ...}`` without a header. Kinds that are unknown are left
out, but not in the first line, by which a recording is known. Times count from the start, or are those of any clock.

A recording has no last line: what it holds is whole, because the gateway was given time until nothing happened
any more, unless its last start never came to a connection.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from tests.support.attach.recorded.lines import RecordedLines
from tests.support.attach.recorded.places import ACCOUNT, RecordedPlaces
from trunkline.core.events import Event, EventLog, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import TraceError
from trunkline.core.values import Peer
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, profile_path, shipped_profiles
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.world import WorldAccount

#: a program that runs scripts, whose names were not recorded; the arguments of a gateway that it runs; its profile
_RUNNER, _RUNS, _RUN = "node", ["gateway", "run"], "openclaw"
#: kinds of lines that say nothing about a message
_LEFT_OUT = ("model.other", "pushed.again", "ws.closed")
#: seconds that a later line may be earlier: times are rounded, and several things are recorded at once
_ROUNDED = 1.0
#: seconds after its start at which a recording may begin; a later time is one of another clock
_BEGINS = 3600.0
_Line = dict[str, Any]


def is_recorded_wire(first: bytes) -> bool:
    """Whether the first line of a file begins a recorded wire."""
    try:
        found = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    line = cast("_Line", found)
    kinds = (*RecordedLines(EventLog(lambda: 0.0), RecordedPlaces(), None).kinds, *_LEFT_OUT)
    return line.get("kind") in kinds and "at" in line and "body" not in line and "trunkline_trace" not in line


def read_recorded_wire(lines: Iterable[bytes], *, name: str = "wire", whole: bool = True) -> Trace:
    """Read a recorded wire as a trace of the wire side. Raises `TraceError` that names the line.

    Without `whole`, it is read up to the first line that cannot be, and `Trace.cut` says where that is.
    """
    facts: dict[int, _Line] = {}
    seen: set[int] = set()
    cut = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            facts[number] = _fact(line, number, seen)
        except ValueError as error:
            cut = f"{name}:{number}: not a line of a recorded wire ({error})"
            if whole:
                raise TraceError(cut) from error
            break
    gateway, profile = _gateway(facts.values())
    events, unusable = _events(facts, gateway, profile, name, cut=cut)
    cut = unusable or cut
    if unusable and whole:
        raise TraceError(unusable)
    stem = Path(name).name.split(".")[0] or "wire"
    header = TraceHeader(
        scenario=stem, title="The recorded wire of a gateway", path=name, on_wire=True, side="wire", gateway=gateway
    )
    return Trace(header=header, events=events, cut=cut)


def open_recording(path: Path, *, cut: bool = False) -> Trace:
    """Read a file. Raises `TraceError` that names the line, unless it is read as far as it goes (`cut`)."""
    return read_recorded_wire(path.read_bytes().splitlines(), name=str(path), whole=not cut)


def _fact(line: bytes, number: int, seen: set[int]) -> _Line:
    """A line, with a number of its own. Raises `ValueError` for anything else than a line of this recording."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    fact = cast("_Line", found)
    at, seq = fact.get("at"), fact.get("seq", number)
    if not isinstance(fact.get("kind"), str) or isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError("it has no `kind`, or no time `at` in seconds")
    if isinstance(seq, bool) or not isinstance(seq, int):
        raise ValueError("its number `seq` is none")
    if seq in seen:
        raise ValueError(f"its number {seq} was there before: two recordings in one file? Judge each for itself")
    seen.add(seq)
    return {**fact, "seq": seq}


class _Clock:
    """The time of a recording, which begins near 0 and never goes back."""

    def __init__(self) -> None:
        self.now = 0.0
        self._shift: float | None = None

    def see(self, at: float) -> None:
        if self._shift is None:
            self._shift = 0.0 if 0.0 <= at <= _BEGINS else -at
        if at + self._shift < self.now - _ROUNDED:
            # The clock was set back.
            self._shift = self.now - at
        self.now = max(self.now, at + self._shift)


def _events(
    facts: Mapping[int, _Line], gateway: str, profile: GatewayProfile | None, name: str, *, cut: str
) -> tuple[tuple[Event, ...], str]:
    """The events of lines by their numbers in the file, and what is wrong with the first that cannot be used."""
    clock = _Clock()
    log = EventLog(lambda: clock.now)
    notices = ((), ()) if profile is None else (profile.notices, profile.remarks)
    log.recorder("sim").record(GatewayAttached(gateway=gateway, notices=notices[0], remarks=notices[1]))
    for platform in dict.fromkeys(_platforms(facts.values())):
        log.recorder("sim").record(WorldAccount(channel=platform, account=ACCOUNT, bot=Peer(id="bot", name="bot")))
    log.recorder("sim").record(RunPhase(phase="faults"))
    reader = RecordedLines(log, RecordedPlaces(facts.values()), profile)
    for number, fact in facts.items():
        try:
            clock.see(float(fact["at"]))
            reader.take(fact)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            return tuple(
                log.events
            ), f"{name}:{number}: unusable line of the kind {fact['kind'][:60]!r} ({_why(error)})"
    if cut:
        return tuple(log.events), ""
    if reader.starting:
        log.recorder("sim").record(RunEnded(at_rest=False, cut="before the gateway was connected again"))
    else:
        log.recorder("sim").record(RunPhase(phase="rest"))
        log.recorder("sim").record(RunEnded(at_rest=True))
    return tuple(log.events), ""


def _why(error: Exception) -> str:
    return f"it has no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)


def _platforms(facts: Collection[_Line]) -> Iterable[str]:
    said = [fact for fact in facts if fact["kind"] == "peer.said"]
    for fact in said or facts:
        if isinstance(fact.get("platform"), str) and fact["platform"] != "model":
            yield fact["platform"]


def _gateway(facts: Iterable[_Line]) -> tuple[str, GatewayProfile | None]:
    """The name of the gateway by its command, and its profile, if it ships."""
    for fact in facts:
        command = fact.get("command")
        if fact["kind"] == "process.started" and isinstance(command, list) and command:
            first, *rest = map(str, cast("list[object]", command))
            program = Path(first).name or first
            named = _RUN if program == _RUNNER and rest[:2] == _RUNS else Path(program).stem
            if named not in shipped_profiles():
                return program, None
            return named, load_profile(profile_path(named))
    return "unknown", None
