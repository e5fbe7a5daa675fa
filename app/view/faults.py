"""The fault palette: what can be made to go wrong at the cursor, as steps of the scenario, each told before it is done.

Nothing here runs anything: an option is a step of a script and a sentence. `sim.branch` adds the step to the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from app.view.spot import Spot
from app.view.text import cut, quoted, seconds
from sim.branch import step_text, with_step
from sim.scenario import ScenarioFile

#: seconds that things take which the palette places
DOWN = 1.0
WAIT = 5.0
FROZEN = 90.0
TOLD = 2.0
#: platforms on which the gateway speaks by webhooks
_WEBHOOKS = ("discord",)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was placed: what it is called, and the step that it is."""

    word: str
    at: float
    step: dict[str, Any]


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the palette. Without a `step` it cannot be placed here, and `told` says why."""

    id: str
    word: str
    #: what will happen, and to what: ``at once: ...``, ``next send to ops: ...``
    told: str
    step: dict[str, Any] | None = None
    at: float = 0.0

    @property
    def when(self) -> str:
        """What it does with the moment at which it is placed."""
        return f"{seconds(self.at)} s, {self.told}" if self.step else self.told

    @property
    def written(self) -> str:
        """The step as the scenario file would have it."""
        return "" if self.step is None else step_text(self.step, self.at)

    def placed(self) -> Placed:
        """The fault, placed."""
        assert self.step is not None
        return Placed(word=self.word, at=self.at, step=self.step)


#: a step and its sentence, or only the sentence that says why there is none
_Made = tuple[dict[str, Any] | None, str]


def options(spot: Spot) -> tuple[Option, ...]:
    """Everything that can go wrong, always in the same order."""
    return tuple(
        Option(id=name, word=word, step=step, told=told, at=spot.at)
        for name, (word, make) in _MAKERS.items()
        for step, told in (make(spot),)
    )


def with_faults(file: ScenarioFile, faults: Sequence[Placed]) -> ScenarioFile:
    """The scenario with all faults that are placed, in the order in which they were. Raises `ScenarioError`."""
    for fault in faults:
        file = with_step(file, fault.step, fault.at)
    return file


def placed_words(faults: Sequence[Placed]) -> Iterator[str]:
    """The faults that are placed, one line each, the last one last."""
    for fault in faults:
        yield f"{fault.word} at {seconds(fault.at)} s"


# ---------------------------------------------------------------- one maker each


def _at_once(what: str, step: dict[str, Any]) -> _Made:
    return step, f"at once: {what}"


def _crash(_spot: Spot) -> _Made:
    what = f"gateway killed, the next process {DOWN:g} s later"
    return _at_once(what, {"crash": {"restart_after": DOWN}})


def _restart(_spot: Spot) -> _Made:
    what = f"gateway stopped in order, back {DOWN:g} s later"
    return _at_once(what, {"restart": {"down": DOWN}})


def _freeze(_spot: Spot) -> _Made:
    what = f"gateway stands still for {FROZEN:g} s, unaware of it"
    return _at_once(what, {"freeze": {"for": FROZEN}})


def _store(_spot: Spot) -> _Made:
    return {"fault": {"on": "store", "do": "write-error"}}, "next write to the store: fails with an I/O error"


def _sending(kind: str, what: str, *, lasts: float | None = None) -> Callable[[Spot], _Made]:
    def make(spot: Spot) -> _Made:
        fault: dict[str, Any] = {"on": "send", "do": kind}
        where = "anywhere"
        if spot.place is not None:
            fault["in"] = spot.place
            where = f"to {spot.place}"
        if lasts is not None:
            fault["for"] = lasts
        return {"fault": fault}, f"next send {where}: {what}"

    return make


def _closing(action: str, what: str) -> Callable[[Spot], _Made]:
    def make(spot: Spot) -> _Made:
        if spot.ref is None or spot.place is None:
            return None, _NOWHERE
        if spot.ref.thread is None:
            return None, f"not here: {spot.place} is no thread"
        return _at_once(f"{spot.place} is {what}", {"in": spot.place, action: True})

    return make


def _token(spot: Spot) -> _Made:
    if spot.ref is None:
        return None, _NOWHERE
    account = f"{spot.ref.platform}:{spot.ref.account}"
    step = {"rotate": {"platform": spot.ref.platform, "account": spot.ref.account, "tell": TOLD}}
    return _at_once(f"{account} has a new token, told {TOLD:g} s later", step)


def _webhook(spot: Spot) -> _Made:
    if spot.ref is None or spot.place is None:
        return None, _NOWHERE
    if spot.ref.platform not in _WEBHOOKS:
        return None, f"not here: there are no webhooks on {spot.ref.platform}"
    if spot.ref.person is not None:
        return None, "not here: a direct conversation has no webhook"
    state = "deleted" if spot.webhook else "forbidden"
    what = f"the webhook in {spot.place} is {state}" if spot.webhook else f"webhooks are {state} in {spot.place}"
    return _at_once(what, {"webhook": {"in": spot.place, "state": state}})


def _again(spot: Spot) -> _Made:
    if spot.said is None:
        return None, "not here: no message of a person is under the cursor"
    return _at_once(f"{quoted(cut(spot.text, 24))} is handed over again", {"replay": {"messages": [spot.said]}})


_NOWHERE = "not here: the cursor is in no conversation"
_MAKERS: dict[str, tuple[str, Callable[[Spot], _Made]]] = {
    "crash": ("crash", _crash),
    "restart": ("restart", _restart),
    "lose-response": ("response lost", _sending("lose-response", "accepted, its answer is lost")),
    "refuse": ("refuse", _sending("refuse", "refused for good")),
    "rate-limit": ("rate limit", _sending("rate-limit", f"told to wait {WAIT:g} s", lasts=WAIT)),
    "slow": ("slow", _sending("slow", f"takes {WAIT:g} s longer", lasts=WAIT)),
    "again": ("duplicate push", _again),
    "archive": ("archive thread", _closing("archive", "archived until a person posts in it")),
    "delete": ("delete thread", _closing("delete", "deleted for good")),
    "token": ("rotate token", _token),
    "webhook": ("webhook gone", _webhook),
    "store": ("store write error", _store),
    "freeze": ("freeze", _freeze),
}
