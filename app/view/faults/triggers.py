"""Faults that wait for the next event of a kind, or a later one: a send, a message, a hand, a receipt."""

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


def _label(number: int) -> str:
    return f"after {number}" if number else "next"


def _struck(
    context: PaletteContext, coming: Sequence[UpcomingEvent], fault: dict[str, Any], what: str, name: str
) -> FaultTimes:
    """A fault that strikes the next event of a kind, or a later one. `name` has a slot for its text."""
    return tuple(
        FaultTime(
            label=_label(number),
            sentence=name.replace("{}", one.text, 1) + f" ({one.where}): {what}",
            brief=what,
            at=at,
            step={"fault": ordered({**fault, **nth})},
        )
        for number, one in enumerate(coming)
        for at, nth in (_waits(context, one),)
    )


def sending(kind: str, what: str, *, lasts: float | None = None) -> Maker:
    """A fault that strikes a send into the conversation of the cursor; without one, any send."""

    def make(context: PaletteContext) -> FaultTimes:
        if not context.upcoming.sends:
            last = context.upcoming.sent
            where = f"; the last is {last.where}: place it before that" if last else ""
            return f"not here: nothing is sent{context.destination} after this{where}"
        fault: dict[str, Any] = {"on": "send", "do": kind}
        if context.cursor.place is not None:
            fault["in"] = context.cursor.place
        if lasts is not None:
            fault["for"] = lasts
        return _struck(context, context.upcoming.sends, fault, what, f"the send of {{}}{context.destination}")

    return make


def pushing(context: PaletteContext) -> FaultTimes:
    """Deliver a person's message late."""
    if context.cursor.place is None:
        return NOWHERE
    if not context.upcoming.said:
        return f"not here: no message is posted in {context.cursor.place} after this"
    fault = {"on": "push", "do": "slow", "in": context.cursor.place, "for": WAIT}
    what = f"reaches the gateway {WAIT:g} s late, and later messages overtake it"
    return _struck(context, context.upcoming.said, fault, what, "{}")


def hand(kind: str, what: Callable[[PaletteContext], str]) -> Maker:
    """A fault that strikes a hand that has not started yet."""

    def make(context: PaletteContext) -> FaultTimes:
        if not context.upcoming.tasks:
            last = context.upcoming.started
            where = f": the last one starts at {last.where}; place it before that" if last else ""
            return f"not here: no hand starts after this{where}"
        return _struck(
            context, context.upcoming.tasks, {"on": "hand", "do": kind}, what(context), "the hand that works on {}"
        )

    return make


def dying(event: str, coming: Callable[[Upcoming], Sequence[UpcomingEvent]], what: str) -> Maker:
    """A crash at the next event of a kind."""

    def make(context: PaletteContext) -> FaultTimes:
        found = coming(context.upcoming)
        if not found:
            return f"not here: no later send{context.destination} gets this far"
        trigger = {"event": event} if context.cursor.place is None else {"event": event, "in": context.cursor.place}
        restart = f"and the next process starts {DOWN:g} s later"
        return tuple(
            FaultTime(
                label=_label(number),
                sentence=f"{one.text}{context.destination} ({one.where}): {named(one.process)} {what}, {restart}",
                brief=f"{named(one.process)} {what}",
                at=at,
                step={
                    "crash": {**which(one.process), "when": {**trigger, **nth}, "restart_after": DOWN},
                },
            )
            for number, one in enumerate(found)
            for at, nth in (_waits(context, one),)
        )

    return make


def _waits(context: PaletteContext, one: UpcomingEvent) -> tuple[float, dict[str, Any]]:
    """When a fault starts to wait, and how many events it lets pass: now, unless it would expire before."""
    if one.at > context.until:
        return round(one.at - AFTER, 6), {}
    return context.armed, {"nth": one.nth} if one.nth > 1 else {}


def store(context: PaletteContext) -> FaultTimes:
    """Fail the next commit; a trace does not record which one that is."""
    what = "the next write to the store fails with an I/O error and is rolled back"
    return (
        FaultTime(
            label="next", sentence=what, brief=what, at=context.at, step={"fault": {"on": "store", "do": "write-error"}}
        ),
    )


def deadline(context: PaletteContext) -> str:
    """The deadline of hands, if it is the same for all."""
    hands = context.file.scenario.gateway.hands
    found = {hands.defaults.deadline, *(one.deadline for one in hands.each.values())}
    return f"{found.pop():g} s" if len(found) == 1 else "its deadline"
