"""The faults of a scenario in words: one line for each step that disturbs the run, by time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from trunkline.app.text.cells import clean
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.steps import Fault, ScriptStep

#: descriptions of faults, by their `on` and `do`
_FAULTS = {
    ("send", "lose-response"): "a send arrives, and its response is lost",
    ("send", "drop"): "a send never arrives, without a response",
    ("send", "reset"): "a send arrives, and the connection breaks",
    ("send", "reset-before"): "the connection breaks before a send arrives",
    ("send", "refuse-connection"): "a send cannot leave",
    ("send", "no-receipt"): "a send arrives, and its response names no message",
    ("send", "bad-receipt"): "a send arrives, and its response has an unusable message id",
    ("send", "refuse"): "a send is refused for good",
    ("send", "rate-limit"): "a send is rate limited",
    ("send", "error"): "a send is not taken, this time",
    ("send", "slow"): "a send is slow",
    ("send", "half-answer"): "a send arrives, and its response breaks off in the middle",
    ("send", "slow-loris"): "a send arrives, and its response comes byte by byte",
    ("send", "html"): "a proxy answers a send with a page, and the send never arrives",
    ("push", "duplicate"): "a message comes to the gateway twice",
    ("store", "error"): "the disk is full",
    ("store", "write-error"): "the disk fails",
    ("queue", "damage"): "a stored message becomes unreadable",
    ("mirror", "refuse"): "a delivered message cannot be mirrored",
    ("ready", "error"): "an account is not ready",
    ("connect", "error"): "an account has no connection",
    ("connect", "dead"): "the connection of an account goes silent without closing",
    ("boot", "missing"): "an adapter is missing at the start",
}
#: descriptions of `on` for other pairs
_STRUCK = {"lookup": "asking the platform about a send", "thread": "opening a thread"}


def fault_labels(file: ScenarioFile) -> tuple[str, ...]:
    """The lines, in order of time; empty if nothing disturbs the run."""
    return tuple(
        clean(f"{at:g}s  {described(step, value)}")
        for step, at in zip(file.scenario.script, file.times, strict=True)
        for name, described in _DESCRIBED.items()
        if (value := getattr(step, name)) is not None
    )


def _fault(_step: ScriptStep, value: Any) -> str:
    fault = cast("Fault", value)
    struck = _STRUCK.get(fault.on, fault.on)
    words = _FAULTS.get((fault.on, fault.do), f"{struck}: {fault.do}")
    where = f", {fault.place}" if fault.place else ""
    which = f", only “{fault.text}”" if fault.text else ""
    which += f", from the {fault.nth}. on" if fault.nth > 1 else ""
    often = f", {fault.times} times" if fault.times > 1 else ""
    lasts = f", for {fault.for_:g}s" if "for_" in fault.model_fields_set else ""
    return f"{words}{where}{which}{often}{lasts}"


def _process(value: Any) -> str:
    return "the gateway" if value.process == "gateway" else "the second process"


def _when(value: Any) -> str:
    return f", at {value.when.event}" if value.when is not None else ""


_DESCRIBED: dict[str, Callable[[ScriptStep, Any], str]] = {
    "fault": _fault,
    "crash": lambda _, value: f"{_process(value)} is killed{_when(value)}, and is back after {value.restart_after:g}s",
    "restart": lambda _, value: f"{_process(value)} is restarted, down for {value.down:g}s",
    "second": lambda _, _value: "a second gateway process starts on the same store",
    "freeze": lambda _, value: f"{_process(value)} is frozen{_when(value)}, for {value.for_:g}s",
    "clock": lambda _, value: f"the wall clock is set by {value.forward - value.back:+g}s",
    "reload": lambda _, _value: "the configuration is changed",
    "reset": lambda step, _value: f"the session of {step.place} is reset",
    "replay": lambda _, _value: "the platform delivers old messages again",
    "archive": lambda step, _value: f"{step.place} is archived",
    "delete": lambda step, _value: f"{step.place} is deleted",
    "rotate": lambda _, value: f"{value.platform} gets a new token",
    "webhook": lambda _, value: f"the webhook in {value.place} is {value.state}",
    "unbind": lambda step, value: f"{value.place or value.session or step.place} is unbound",
}
