"""Faults that wait for the next thing of a kind, or the one after that: a send, a message, a hand, a receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trunkline.app.view.faults.palette import AFTER, FaultTime
from trunkline.app.view.faults.placement import (
    DOWN,
    NOWHERE,
    WAIT,
    FaultTimes,
    Maker,
    PaletteContext,
    named,
    ordered,
    which,
)
from trunkline.app.view.faults.upcoming import Upcoming, UpcomingEvent


def _about(name: str, one: UpcomingEvent) -> str:
    return name.replace("{}", one.text, 1)


def _label(number: int) -> str:
    return f"after {number}" if number else "next"


def _struck(
    site: PaletteContext, coming: Sequence[UpcomingEvent], fault: dict[str, Any], what: str, name: str
) -> FaultTimes:
    """A fault that strikes the next one of a kind, or the one after that. `name` has a slot for its text."""
    return tuple(
        FaultTime(
            label=_label(number),
            told=f"{_about(name, one)} ({one.where}): {what}",
            brief=what,
            at=at,
            step={"fault": ordered({**fault, **nth})},
        )
        for number, one in enumerate(coming)
        for at, nth in (_waits(site, one),)
    )


def sending(kind: str, what: str, *, lasts: float | None = None) -> Maker:
    """A fault that strikes a send into the conversation of the cursor, or any send where it is in none."""

    def make(site: PaletteContext) -> FaultTimes:
        if not site.ahead.sends:
            last = site.ahead.sent
            where = f"; the last is {last.where}: place it before that" if last else ""
            return f"not here: nothing is sent{site.there} after this{where}"
        fault: dict[str, Any] = {"on": "send", "do": kind}
        if site.spot.place is not None:
            fault["in"] = site.spot.place
        if lasts is not None:
            fault["for"] = lasts
        return _struck(site, site.ahead.sends, fault, what, f"the send of {{}}{site.there}")

    return make


def pushing(site: PaletteContext) -> FaultTimes:
    """A message of a person that comes late."""
    if site.spot.place is None:
        return NOWHERE
    if not site.ahead.said:
        return f"not here: nobody says anything in {site.spot.place} after this"
    fault = {"on": "push", "do": "slow", "in": site.spot.place, "for": WAIT}
    what = f"reaches the gateway {WAIT:g} s late, what is said meanwhile overtakes it"
    return _struck(site, site.ahead.said, fault, what, "{}")


def hand(kind: str, what: Callable[[PaletteContext], str]) -> Maker:
    """A fault that strikes a hand that is not started yet."""

    def make(site: PaletteContext) -> FaultTimes:
        if not site.ahead.tasks:
            last = site.ahead.started
            where = f": the last one is started at {last.where}; place it before that" if last else ""
            return f"not here: no hand is started after this{where}"
        return _struck(site, site.ahead.tasks, {"on": "hand", "do": kind}, what(site), "the hand that works on {}")

    return make


def twice(_site: PaletteContext) -> FaultTimes:
    """What no port of the gateway allows."""
    return "not offered: a hand answers by returning, so once; telling it twice is a defect of a gateway (d)"


def dying(event: str, coming: Callable[[Upcoming], Sequence[UpcomingEvent]], what: str) -> Maker:
    """A crash at the next event of a kind."""

    def make(site: PaletteContext) -> FaultTimes:
        found = coming(site.ahead)
        if not found:
            return f"not here: nothing that is sent{site.there} after this gets so far"
        return tuple(
            FaultTime(
                label=_label(number),
                told=f"{one.text}{site.there} ({one.where}): {named(one.process)} {what}, the next {DOWN:g} s later",
                brief=f"{named(one.process)} {what}",
                at=at,
                step={
                    "crash": {**which(one.process), "when": {**_when(site, event), **nth}, "restart_after": DOWN},
                },
            )
            for number, one in enumerate(found)
            for at, nth in (_waits(site, one),)
        )

    return make


def _when(site: PaletteContext, event: str) -> dict[str, Any]:
    return {"event": event} if site.spot.place is None else {"event": event, "in": site.spot.place}


def _waits(site: PaletteContext, one: UpcomingEvent) -> tuple[float, dict[str, Any]]:
    """From when on a fault waits for what it strikes, and how many it lets pass: from now on, if that is in time."""
    if one.at > site.until:
        return round(one.at - AFTER, 6), {}
    return site.armed, {"nth": one.nth} if one.nth > 1 else {}


def store(site: PaletteContext) -> FaultTimes:
    """The next commit: which one that is, no trace tells."""
    what = "the next write to the store fails with an I/O error and is undone"
    return (
        FaultTime(
            label="next", told=what, brief=what, at=site.at, step={"fault": {"on": "store", "do": "write-error"}}
        ),
    )


def deadline(site: PaletteContext) -> str:
    """How long a hand may take, where all may take the same."""
    hands = site.file.scenario.gateway.hands
    found = {hands.defaults.deadline, *(one.deadline for one in hands.each.values())}
    return f"{found.pop():g} s" if len(found) == 1 else "its deadline"
