"""The catalog of faults: for each line of the palette a function that gives its moments, or why there are none here."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.app.text.cells import cut, quoted
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
from trunkline.app.view.faults.triggers import deadline, dying, hand, pushing, sending, store

#: platforms on which the gateway posts through webhooks
_WEBHOOKS = ("discord",)
#: cells of a message in a preview
_SAID = 24


def options(context: PaletteContext) -> tuple[FaultOption, ...]:
    """All faults, always in the same order."""
    return tuple(_option(name, word, make(context)) for name, (word, make) in MAKERS.items())


def _option(name: str, word: str, made: FaultTimes) -> FaultOption:
    if isinstance(made, str):
        return FaultOption(id=name, word=word, why=made)
    bugs = made[0].bugs
    shown = word if bugs is None else "defect on" if bugs else "defect off"
    return FaultOption(id=name, word=shown, moments=made)


def _defect(context: PaletteContext) -> FaultTimes:
    if not context.active and not context.declared:
        return "not here: this scenario declares no defect"
    names = ", ".join(context.active or context.declared)
    sentence = f"the same run without {names}: the fix" if context.active else f"the same run with {names}"
    brief = f"the fix: without {names}" if context.active else f"with {names}"
    return (
        FaultTime(
            label="whole run", sentence=sentence, brief=brief, at=0.0, bugs=() if context.active else context.declared
        ),
    )


def _process(action: str, what: str, settings: dict[str, Any]) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        process = context.upcoming.process
        if process is None:
            return NO_PROCESS
        return fault_times(context, what.format(named(process)), {action: {**which(process), **settings}})

    return make


def _account(kind: str, what: str) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        ref, fault = context.cursor.ref, {"on": kind, "do": "error", "for": WAIT}
        who = "every account"
        if ref is not None:
            who, fault = f"{ref.platform}:{ref.account}", {**fault, "in": context.cursor.place}
        return fault_times(context, f"{who} {what} for {WAIT:g} s", {"fault": ordered(fault)})

    return make


def _closing(action: str, what: str) -> Maker:
    def make(context: PaletteContext) -> FaultTimes:
        spot = context.cursor
        if spot.ref is None or spot.place is None:
            return NOWHERE
        if spot.ref.thread is None:
            return f"not here: {spot.place} is not a thread"
        return fault_times(context, f"{spot.place} is {what}", {"in": spot.place, action: True})

    return make


def _token(context: PaletteContext) -> FaultTimes:
    ref = context.cursor.ref
    if ref is None:
        return NOWHERE
    delay = f"{TOKEN_NOTICE:g} s"
    what = f"{ref.platform}:{ref.account} has a new token; the gateway gets it {delay} later and is refused until then"
    return fault_times(
        context, what, {"rotate": {"platform": ref.platform, "account": ref.account, "tell": TOKEN_NOTICE}}
    )


def _webhook(context: PaletteContext) -> FaultTimes:
    spot = context.cursor
    if spot.ref is None or spot.place is None:
        return NOWHERE
    if spot.ref.platform not in _WEBHOOKS:
        return f"not here: there are no webhooks on {spot.ref.platform}"
    if spot.ref.person is not None:
        return "not here: a direct conversation has no webhook"
    state = "deleted" if spot.webhook else "forbidden"
    what = f"the webhook in {spot.place} is {state}" if spot.webhook else f"webhooks are {state} in {spot.place}"
    return fault_times(context, what, {"webhook": {"in": spot.place, "state": state}})


def _again(context: PaletteContext) -> FaultTimes:
    spot = context.cursor
    if spot.said is None:
        return "not here: the cursor is not on a message of a person"
    what = f"the platform delivers {quoted(cut(spot.text, _SAID))} to the gateway again"
    return fault_times(context, what, {"replay": {"messages": [spot.said]}})


# ---------------------------------------------------------------- bindings and sessions


def _by_operator(make: Maker) -> Maker:
    """A fault that an operator causes, who reaches only the first gateway process."""

    def checked(context: PaletteContext) -> FaultTimes:
        found = make(context)
        if context.upcoming.process == "gateway" or isinstance(found, str):
            return found
        return NO_PROCESS if context.upcoming.process is None else STANDS_BY

    return checked


def _unbind(context: PaletteContext) -> FaultTimes:
    if context.cursor.place is None:
        return NOWHERE
    if context.upcoming.bound_session is None:
        return f"not here: {context.cursor.place} is not bound"
    what = f"an operator ends the binding of {context.cursor.place}; it takes its default route again"
    return fault_times(context, what, {"unbind": {"in": context.cursor.place}})


def _expire(context: PaletteContext) -> FaultTimes:
    bound = context.upcoming.bound_session
    if context.cursor.place is None:
        return NOWHERE
    if bound is None:
        return f"not here: {context.cursor.place} is not bound"
    what = f"the binding of {context.cursor.place} is renewed for only {SHORT:g} s, and expires"
    return fault_times(context, what, {"bind": {"in": context.cursor.place, "session": bound, "max_age": SHORT}})


def _rebind(context: PaletteContext) -> FaultTimes:
    spot, other = context.cursor, context.upcoming.other_session
    if spot.place is None:
        return NOWHERE
    if other is None:
        return "not here: no other conversation has a session yet"
    before = f", no longer to {context.upcoming.bound_session}" if context.upcoming.bound_session else ""
    what = f"an operator binds {spot.place} to {other}{before}"
    return fault_times(context, what, {"bind": {"in": spot.place, "session": other}})


def _session(context: PaletteContext) -> FaultTimes:
    if context.cursor.place is None:
        return NOWHERE
    agent = context.upcoming.agent
    if agent is None:
        return f"not here: {context.cursor.place} has no session of its own yet"
    own = {} if agent == context.file.scenario.gateway.default_agent else {"agent": agent}
    hands = ", ".join(context.upcoming.working)
    what = f"the session of {context.cursor.place} ends and a new one begins"
    now, *later = fault_times(context, what, {"in": context.cursor.place, "reset": own})
    # Which hands run at a later moment is not looked up.
    sentence = f"{what}; {hands} is still running, so its result comes after the end" if hands else what
    return (msgspec.structs.replace(now, sentence=sentence), *later)


# ---------------------------------------------------------------- hands


def _cancel(context: PaletteContext) -> FaultTimes:
    working = context.upcoming.working
    if not working:
        return "not here: no hand works on a task at this moment"
    hand = working[0]
    what = f"an operator cancels the task that {hand} works on"
    # Whether it still works at a later moment is not looked up.
    return fault_times(context, what, {"hands": {"do": "cancel", "hand": hand}})[:1]


def _twice(context: PaletteContext) -> FaultTimes:
    """Another answer for the task of a worker; other hands return theirs, so only once."""
    workers = {name for name, one in context.file.scenario.gateway.hands.each.items() if one.worker}
    hand = next((name for name in context.upcoming.working if name in workers), None)
    if hand is None:
        return "not here: no worker has a task at this moment, and other hands can only return one answer"
    what = f"the task of {hand} gets another answer than that of its worker; only the first one counts"
    return fault_times(context, what, {"hands": {"do": "answer", "hand": hand, "result": "another answer"}})[:1]


#: the lines of the palette in order: id, name, and the function that gives their moments
MAKERS: dict[str, tuple[str, Maker]] = {
    "defect": ("defect", _defect),
    "lose-response": ("drop ack", sending("lose-response", "accepted, but the response is lost")),
    "drop": ("drop send", sending("drop", "never arrives and gets no response")),
    "again": ("deliver twice", _again),
    "slow": ("delay send", sending("slow", f"takes {WAIT:g} s longer", lasts=WAIT)),
    "reorder": ("reorder", pushing),
    "rate-limit": ("429 rate limit", sending("rate-limit", f"told to wait {WAIT:g} s", lasts=WAIT)),
    "refuse": ("refuse send", sending("refuse", "permanently refused")),
    "not-ready": ("adapter not ready", _account("ready", "reports that it is not ready")),
    "connection": ("connection breaks", _account("connect", "loses its connection and cannot reconnect")),
    "crash": (
        "crash",
        _process("crash", f"{{}} is killed, and the next process starts {DOWN:g} s later", {"restart_after": DOWN}),
    ),
    "crash-before": (
        "crash before ack",
        dying("wire.accepted", lambda ahead: ahead.accepts, "dies before it learns that the message was accepted"),
    ),
    "crash-after": (
        "crash after ack",
        dying("chunk.acked", lambda ahead: ahead.receipts, "dies as soon as its receipt is stored"),
    ),
    "restart": ("restart", _process("restart", f"{{}} stops gracefully, and is back {DOWN:g} s later", {"down": DOWN})),
    "archive": ("archive thread", _closing("archive", "archived until a person posts in it")),
    "delete": ("delete thread", _closing("delete", "deleted for good")),
    "expire": ("expire binding", _by_operator(_expire)),
    "unbind": ("end binding", _by_operator(_unbind)),
    "rebind": ("rebind", _by_operator(_rebind)),
    "token": ("rotate token", _token),
    "webhook": ("webhook gone", _webhook),
    "hand-timeout": (
        "hand timeout",
        hand("drop", lambda context: f"never answers: timed out after {deadline(context)}"),
    ),
    "hand-error": ("hand fails", hand("error", lambda _: "fails when its work is done")),
    "hand-cancel": ("hand cancelled", _by_operator(_cancel)),
    "hand-twice": ("hand answers twice", _by_operator(_twice)),
    "session": ("session ends", _by_operator(_session)),
    "clock": (
        "clock jump",
        _process(
            "freeze",
            f"{{}} freezes and resumes {FROZEN:g} s later without noticing: its clock jumps",
            {"for": FROZEN},
        ),
    ),
    "store": ("store write error", store),
}
