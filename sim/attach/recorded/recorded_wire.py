"""Reads a recorded wire: one fact a line, by when and kind, as an early version of attach wrote it. It becomes a trace.

Lines are ``{"seq": 1, "at": 0.02, "kind": "process.started", ...}`` without a header. Kinds that are unknown are left
out. A recording has no last line: what it holds is whole, because the gateway was given time until nothing happened any
more, unless its last start never came to a connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.core.events import Event, EventLog, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import TraceError
from trunkline.core.values import Peer
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.recorded.lines import RecordedLines
from trunkline.sim.attach.recorded.places import ACCOUNT
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.world import WorldAccount

#: how the first program of a gateway is called -> its profile
_PROGRAMS = {"hermes": "hermes", "node": "openclaw", "openclaw.mjs": "openclaw", "openclaw": "openclaw"}
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
    return isinstance(line.get("kind"), str) and "at" in line and "body" not in line and "trunkline_trace" not in line


def read_recorded_wire(lines: Iterable[bytes], *, name: str = "wire", whole: bool = True) -> Trace:
    """Read a recorded wire as a trace of the wire side. Raises `TraceError` that names the line.

    Without `whole`, it is read up to the first line that cannot be, and `Trace.cut` says where that is.
    """
    facts: list[_Line] = []
    cut = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            facts.append(_fact(line))
        except ValueError as error:
            problem = f"{name}:{number}: not a line of a recorded wire ({error})"
            if whole:
                raise TraceError(problem) from error
            cut = problem
            break
    gateway, profile = _gateway(facts)
    events = _events(facts, gateway, profile, name, cut=cut)
    stem = Path(name).name.split(".")[0] or "wire"
    header = TraceHeader(
        scenario=stem, title="The recorded wire of a gateway", path=name, on_wire=True, side="wire", gateway=gateway
    )
    return Trace(header=header, events=events, cut=cut)


def _fact(line: bytes) -> _Line:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    fact = cast("_Line", found)
    if not isinstance(fact.get("kind"), str) or not isinstance(fact.get("at"), int | float):
        raise ValueError("it has no `kind`, or no time `at`")
    return fact


def _events(
    facts: list[_Line], gateway: str, profile: GatewayProfile | None, name: str, *, cut: str
) -> tuple[Event, ...]:
    now = 0.0
    log = EventLog(lambda: now)
    notices = ((), ()) if profile is None else (profile.notices, profile.remarks)
    log.recorder("sim").record(GatewayAttached(gateway=gateway, notices=notices[0], remarks=notices[1]))
    for platform in dict.fromkeys(_platforms(facts)):
        log.recorder("sim").record(WorldAccount(channel=platform, account=ACCOUNT, bot=Peer(id="bot", name="bot")))
    log.recorder("sim").record(RunPhase(phase="faults"))
    reader = RecordedLines(log, profile)
    for number, fact in enumerate(facts, 1):
        # Times are rounded, so a later line may have an earlier one.
        now = max(now, float(fact["at"]))
        try:
            reader.take(fact)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TraceError(f"{name}:{number}: unusable line of the kind {fact['kind']!r} ({error})") from error
    if cut:
        return tuple(log.events)
    if reader.starting:
        log.recorder("sim").record(RunEnded(at_rest=False, cut="before the gateway was connected again"))
    else:
        log.recorder("sim").record(RunPhase(phase="rest"))
        log.recorder("sim").record(RunEnded(at_rest=True))
    return tuple(log.events)


def _platforms(facts: list[_Line]) -> Iterable[str]:
    said = [fact for fact in facts if fact["kind"] == "peer.said"]
    for fact in said or facts:
        if isinstance(fact.get("platform"), str) and fact["platform"] != "model":
            yield fact["platform"]


def _gateway(facts: list[_Line]) -> tuple[str, GatewayProfile | None]:
    """The name of the gateway by its command, and its profile, if it ships."""
    for fact in facts:
        command = fact.get("command")
        if fact["kind"] == "process.started" and isinstance(command, list) and command:
            program = str(cast("list[object]", command)[0])
            known = _PROGRAMS.get(program)
            if known is None:
                return program, None
            from trunkline.sim.attach.profile_files import load_profile, profile_path

            return known, load_profile(profile_path(known))
    return "unknown", None
