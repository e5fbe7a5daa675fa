"""What can go wrong: a maker for each line of the palette, which gives its moments, or says why there are none here."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.app.view.faults.palette import FaultOption, FaultTime
from trunkline.app.view.faults.placement import (
    DOWN,
    FROZEN,
    NO_PROCESS,
    NOWHERE,
    SHORT,
    STANDS_BY,
    TOKEN_NOTICE,
    WAIT,
    FaultTimes,
    Maker,
    PaletteContext,
    fault_times,
    named,
    ordered,
    which,
)
from trunkline.app.view.faults.triggers import deadline, dying, hand, pushing, sending, store, twice
from trunkline.app.view.text.cells import cut, quoted

#: platforms on which the gateway speaks by webhooks
_WEBHOOKS = ("discord",)
#: cells of what was said, in a preview
_SAID = 24


def options(site: PaletteContext) -> tuple[FaultOption, ...]:
    """Everything that can go wrong, always in the same order."""
    return tuple(_option(name, word, make(site)) for name, (word, make) in MAKERS.items())


def _option(name: str, word: str, made: FaultTimes) -> FaultOption:
    if isinstance(made, str):
        return FaultOption(id=name, word=word, why=made)
    bugs = made[0].bugs
    told = word if bugs is None else "defect on" if bugs else "defect off"
    return FaultOption(id=name, word=told, moments=made)


# ---------------------------------------------------------------- the defect


def _defect(site: PaletteContext) -> FaultTimes:
    if not site.on and not site.declared:
        return "not here: this scenario declares no defect"
    names = ", ".join(site.on or site.declared)
    told = f"the fix: the same from the start, without {names}" if site.on else f"the same from the start, with {names}"
    brief = f"the fix: without {names}" if site.on else f"with {names}"
    return (FaultTime(label="whole run", told=told, brief=brief, at=0.0, bugs=() if site.on else site.declared),)


# ---------------------------------------------------------------- at a time


def _process(action: str, what: str, settings: dict[str, Any]) -> Maker:
    def make(site: PaletteContext) -> FaultTimes:
        process = site.ahead.process
        if process is None:
            return NO_PROCESS
        return fault_times(site, what.format(named(process)), {action: {**which(process), **settings}})

    return make


def _account(kind: str, what: str) -> Maker:
    def make(site: PaletteContext) -> FaultTimes:
        ref, fault = site.spot.ref, {"on": kind, "do": "error", "for": WAIT}
        who = "every account"
        if ref is not None:
            who, fault = f"{ref.platform}:{ref.account}", {**fault, "in": site.spot.place}
        return fault_times(site, f"{who} {what} for {WAIT:g} s", {"fault": ordered(fault)})

    return make


def _closing(action: str, what: str) -> Maker:
    def make(site: PaletteContext) -> FaultTimes:
        spot = site.spot
        if spot.ref is None or spot.place is None:
            return NOWHERE
        if spot.ref.thread is None:
            return f"not here: {spot.place} is no thread"
        return fault_times(site, f"{spot.place} is {what}", {"in": spot.place, action: True})

    return make


def _token(site: PaletteContext) -> FaultTimes:
    ref = site.spot.ref
    if ref is None:
        return NOWHERE
    delay = f"{TOKEN_NOTICE:g} s"
    what = f"{ref.platform}:{ref.account} has a new token; the gateway gets it {delay} later and is refused until then"
    return fault_times(site, what, {"rotate": {"platform": ref.platform, "account": ref.account, "tell": TOKEN_NOTICE}})


def _webhook(site: PaletteContext) -> FaultTimes:
    spot = site.spot
    if spot.ref is None or spot.place is None:
        return NOWHERE
    if spot.ref.platform not in _WEBHOOKS:
        return f"not here: there are no webhooks on {spot.ref.platform}"
    if spot.ref.person is not None:
        return "not here: a direct conversation has no webhook"
    state = "deleted" if spot.webhook else "forbidden"
    what = f"the webhook in {spot.place} is {state}" if spot.webhook else f"webhooks are {state} in {spot.place}"
    return fault_times(site, what, {"webhook": {"in": spot.place, "state": state}})


def _again(site: PaletteContext) -> FaultTimes:
    spot = site.spot
    if spot.said is None:
        return "not here: no message of a person is under the cursor"
    what = f"the platform hands {quoted(cut(spot.text, _SAID))} to the gateway again"
    return fault_times(site, what, {"replay": {"messages": [spot.said]}})


# ---------------------------------------------------------------- bindings and sessions


def _unbind(site: PaletteContext) -> FaultTimes:
    if site.spot.place is None:
        return NOWHERE
    if site.ahead.bound is None:
        return f"not here: {site.spot.place} is not bound"
    if site.ahead.process != "gateway":
        return NO_PROCESS if site.ahead.process is None else STANDS_BY
    what = f"an operator ends the binding of {site.spot.place}; it goes its default route again"
    return fault_times(site, what, {"unbind": {"in": site.spot.place}})


def _expire(site: PaletteContext) -> FaultTimes:
    bound = site.ahead.bound
    if site.spot.place is None:
        return NOWHERE
    if bound is None:
        return f"not here: {site.spot.place} is not bound"
    if site.ahead.process != "gateway":
        return NO_PROCESS if site.ahead.process is None else STANDS_BY
    what = f"the binding of {site.spot.place} is renewed for {SHORT:g} s only, and expires"
    return fault_times(site, what, {"bind": {"in": site.spot.place, "session": bound.session, "max_age": SHORT}})


def _rebind(site: PaletteContext) -> FaultTimes:
    spot, other = site.spot, site.ahead.other
    if spot.place is None:
        return NOWHERE
    if other is None:
        return "not here: no session of another conversation is there yet"
    if site.ahead.process != "gateway":
        return NO_PROCESS if site.ahead.process is None else STANDS_BY
    before = f", no longer to {site.ahead.bound.session}" if site.ahead.bound else ""
    what = f"an operator binds {spot.place} to {other}{before}"
    return fault_times(site, what, {"bind": {"in": spot.place, "session": other}})


def _session(site: PaletteContext) -> FaultTimes:
    if site.spot.place is None:
        return NOWHERE
    agent = site.ahead.agent
    if agent is None:
        return f"not here: {site.spot.place} has no session of its own by now"
    if site.ahead.process != "gateway":
        return NO_PROCESS if site.ahead.process is None else STANDS_BY
    own = {} if agent == site.file.scenario.gateway.default_agent else {"agent": agent}
    hands = ", ".join(site.ahead.working)
    what = f"the session of {site.spot.place} ends and begins anew"
    now, *later = fault_times(site, what, {"in": site.spot.place, "reset": own})
    # Who is at work at a later moment is not looked up.
    told = f"{what}; {hands} is still at work, so its result comes after the end" if hands else what
    return (msgspec.structs.replace(now, told=told), *later)


#: the lines of the palette in their order: name, word, and what makes their moments
MAKERS: dict[str, tuple[str, Maker]] = {
    "defect": ("defect", _defect),
    "lose-response": ("drop ack", sending("lose-response", "accepted, and its answer is lost")),
    "drop": ("drop send", sending("drop", "never arrives, and nobody answers")),
    "again": ("deliver twice", _again),
    "slow": ("delay send", sending("slow", f"takes {WAIT:g} s longer", lasts=WAIT)),
    "reorder": ("reorder", pushing),
    "rate-limit": ("429 rate limit", sending("rate-limit", f"told to wait {WAIT:g} s", lasts=WAIT)),
    "refuse": ("refuse send", sending("refuse", "refused for good")),
    "not-ready": ("adapter not ready", _account("ready", "says, whenever it is asked, that it is not ready")),
    "connection": ("connection breaks", _account("connect", "loses its connection, and gets no other")),
    "crash": (
        "crash",
        _process("crash", f"{{}} is killed, the next process {DOWN:g} s later", {"restart_after": DOWN}),
    ),
    "crash-before": (
        "crash before ack",
        dying(
            "wire.accepted",
            lambda ahead: ahead.accepts,
            "dies before it learns that it was accepted",
        ),
    ),
    "crash-after": (
        "crash after ack",
        dying(
            "chunk.acked",
            lambda ahead: ahead.receipts,
            "dies as soon as its receipt is stored",
        ),
    ),
    "restart": (
        "restart",
        _process("restart", f"{{}} is stopped in order, back {DOWN:g} s later", {"down": DOWN}),
    ),
    "archive": ("archive thread", _closing("archive", "archived until a person posts in it")),
    "delete": ("delete thread", _closing("delete", "deleted for good")),
    "expire": ("expire binding", _expire),
    "unbind": ("end binding", _unbind),
    "rebind": ("rebind", _rebind),
    "token": ("rotate token", _token),
    "webhook": ("webhook gone", _webhook),
    "hand-timeout": ("hand timeout", hand("drop", lambda site: f"never answers: timed out after {deadline(site)}")),
    "hand-error": ("hand fails", hand("error", lambda _: "fails when its work is done")),
    "hand-twice": ("hand answers twice", twice),
    "session": ("session ends", _session),
    "clock": (
        "clock jump",
        _process(
            "freeze",
            f"{{}} stands still and goes on {FROZEN:g} s later, unaware: its clock jumps",
            {"for": FROZEN},
        ),
    ),
    "store": ("store write error", store),
}
