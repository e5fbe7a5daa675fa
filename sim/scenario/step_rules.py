"""Rules that no single field can tell: one thing a step, times in order, different ids for what is said.

They are checked on the file's plain values, so that they are reported even where other fields are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from trunkline.core.config import parse_duration
from trunkline.sim.scenario.problems import Path, ProblemReport, shown

#: what a step can be: exactly one of them
STEP_ACTIONS = (
    *("say", "send", "queue", "wake", "crash", "restart", "second", "freeze", "reload", "reset", "replay"),
    *("archive", "unarchive", "delete", "rotate", "webhook", "bind", "unbind", "fault", "note"),
)
#: what an action of an agent can be: exactly one of them
AGENT_ACTIONS = ("think", "reply", "send", "delegate", "fail", "silent")
#: what ends a turn
_LAST = ("reply", "fail", "silent")
#: fields that mean something without a value: all defaults
BARE_ACTIONS = ("crash", "restart", "second", "freeze", "reset", "replay")
#: fields that only go with some actions
_COMPANIONS = {
    "as": ("say",),
    "id": ("say",),
    "in": ("say", "archive", "unarchive", "delete", "reset"),
    "secret": ("say",),
    "reply_chain": ("say",),
    "bot": ("say",),
    "via": ("say",),
    "proxy": ("say",),
    "locked": ("archive",),
}
#: who says it: two that do not go together, and why
SPEAKERS = {
    ("via", "as"): "a webhook is nobody of the world",
    ("via", "bot"): "a webhook is no person anyway",
    ("via", "proxy"): "a proxy takes messages of people away",
    ("proxy", "bot"): "a proxy takes messages of people away",
}
#: what can go wrong where
FAULTS: dict[str, tuple[str, ...]] = {
    "send": (
        *("lose-response", "drop", "reset", "reset-before", "refuse-connection", "no-receipt"),
        *("refuse", "rate-limit", "error", "slow"),
    ),
    "lookup": ("lose-response", "drop", "refuse", "rate-limit", "error", "slow"),
    "thread": ("error", "refuse", "drop", "slow", "lose-response"),
    "push": ("slow",),
    "hand": ("error", "drop", "slow"),
    "store": ("error", "write-error"),
    "queue": ("damage",),
    "mirror": ("refuse",),
    "ready": ("error",),
    "connect": ("error",),
    "boot": ("missing",),
}
_FAULT_KINDS = frozenset(kind for kinds in FAULTS.values() for kind in kinds)
#: what chooses among requests, and what it goes with
_SELECTORS = {
    "in": ("send", "lookup", "thread", "push", "queue", "ready", "connect", "boot"),
    "transport": ("send",),
    "carries": ("store",),
    "nth": ("send", "lookup", "thread", "push", "hand", "store", "boot"),
    "times": ("send", "lookup", "thread", "push", "hand", "store", "boot"),
}


def say_ids(given: Iterable[str | None]) -> tuple[str, ...]:
    """Ids of the `say` steps in order: the one that is given, else ``m`` and the number of the `say`, from 1."""
    return tuple(own or f"m{number}" for number, own in enumerate(given, 1))


def step_times(given: Iterable[tuple[float | None, float | None]]) -> tuple[float, ...]:
    """Absolute times of steps from their `at` and `after`; a step with neither comes at once after the one before."""
    now, times = 0.0, list[float]()
    for at, after in given:
        now = at if at is not None else round(now + (after or 0.0), 6)
        times.append(now)
    return tuple(times)


def items(value: object, *names: str) -> Any:
    """A value inside mappings, as far as it is there and what it should be; None otherwise."""
    for name in names:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value


def listed(value: object, *names: str) -> list[Any]:
    """A list inside mappings; empty when it is not there or not a list."""
    found = items(value, *names)
    return cast("list[Any]", found) if isinstance(found, list) else []


def check_steps(tree: object, report: ProblemReport) -> None:
    """Note what is wrong with the script: actions, companions, times, ids."""
    steps = listed(tree, "script")
    for index, step in enumerate(steps):
        if isinstance(step, dict):
            _check_step(cast("dict[str, Any]", step), ("script", index), report)
    _check_times(steps, report)
    _check_ids(steps, report)


def check_actions(actions: Sequence[object], path: Path, report: ProblemReport) -> None:
    """Note what is wrong with the `do` of an agent's rule."""
    ended: tuple[str, int] | None = None
    for index, action in enumerate(actions):
        if not isinstance(action, dict):
            continue
        here = (*path, index)
        if ended is not None:
            facts = f"nothing can follow `{ended[0]}` in line {ended[1]}: it ends the turn"
            report.add(here, facts, "move this before it")
            return
        given = cast("dict[str, Any]", action)
        check_target(given.get("send"), (*here, "send"), report)
        if name := _only(given, AGENT_ACTIONS, here, report):
            ended = (name, report.positions.mark((*here, name), at_key=True)[0]) if name in _LAST else None


def check_target(send: object, path: Path, report: ProblemReport) -> None:
    """Note what is wrong with where a send goes: a place or a target, and a platform only for a target."""
    if items(send, "to") is not None and items(send, "target") is not None:
        report.add((*path, "target"), "expected `to` or `target`, found both", "remove one", at_key=True)
    elif items(send, "channel") is not None and items(send, "target") is None:
        report.add((*path, "channel"), "`channel` goes with `target` only", at_key=True)


def _only(step: dict[str, Any], actions: tuple[str, ...], path: Path, report: ProblemReport) -> str | None:
    """The one action that is given; notes none or several."""
    found = [name for name in step if name in actions and (step[name] is not None or name in BARE_ACTIONS)]
    if len(found) > 1:
        names = ", ".join(f"`{name}`" for name in found)
        report.add((*path, found[1]), f"expected exactly one action, found {names}", "make it several", at_key=True)
    elif not found:
        empty = [name for name in step if name in actions]
        what = f"`{empty[0]}` without a value" if empty else "none"
        report.add(path, f"expected exactly one action, found {what}", f"actions: {', '.join(actions)}")
    return found[0] if found else None


def _check_step(step: dict[str, Any], path: Path, report: ProblemReport) -> None:
    action = _only(step, STEP_ACTIONS, path, report)
    if step.get("at") is not None and step.get("after") is not None:
        report.add((*path, "after"), "expected `at` or `after`, found both", "remove one", at_key=True)
    if action is None:
        return
    for field, goes_with in _COMPANIONS.items():
        if step.get(field) is not None and not any(name in step for name in goes_with):
            names = " or ".join(f"`{name}`" for name in goes_with)
            report.add((*path, field), f"`{field}` goes with {names} only, found `{action}`", at_key=True)
    if action == "say":
        _check_say(step, path, report)
    if action in ("archive", "unarchive", "delete", "reset") and step.get("in") is None:
        what = "the place whose session it is" if action == "reset" else "the thread"
        report.add((*path, action), f"`{action}` needs `in`: {what}", at_key=True)
    if action == "send":
        _check_send(step["send"], (*path, "send"), report)
    if action == "queue":
        _check_queue(step["queue"], (*path, "queue"), report)
    if action == "unbind":
        _check_unbind(step["unbind"], (*path, "unbind"), report)
    if action == "fault":
        _check_fault(step["fault"], (*path, "fault"), report)


def _check_say(step: dict[str, Any], path: Path, report: ProblemReport) -> None:
    """Somebody says it somewhere: a person, or a webhook."""
    for field, what in (("as", "who says it"), ("in", "where it is said")):
        if step.get(field) is None and not (field == "as" and step.get("via") is not None):
            report.add((*path, "say"), f"`say` needs `{field}`: {what}", at_key=True)
    for (field, other), why in SPEAKERS.items():
        if step.get(field) is not None and step.get(other) is not None:
            report.add((*path, other), f"expected `{field}` or `{other}`, found both", why, at_key=True)
    said, secret = step.get("say"), step.get("secret")
    if isinstance(said, str) and isinstance(secret, str) and (not secret or secret not in said):
        report.add((*path, "secret"), f"expected words of `say`, found {shown(secret)}", f"it says {shown(said)}")
    for field in ("via", "proxy"):
        name = step.get(field)
        if isinstance(name, str) and not name.strip():
            report.add((*path, field), f"expected the name of a webhook, found {shown(name)}")


def _check_unbind(unbind: object, path: Path, report: ProblemReport) -> None:
    """One conversation, or all of one session."""
    found = cast("dict[str, Any]", unbind) if isinstance(unbind, dict) else {}
    given = [name for name in ("in", "session") if found.get(name) is not None]
    if len(given) > 1:
        report.add((*path, "session"), "expected `in` or `session`, found both", "remove one", at_key=True)
    elif isinstance(unbind, dict) and not given:
        hint = "`in` is a place, `session` that of one, or a key"
        report.add(path, "expected `in` or `session`, found neither", hint)
    elif given == ["in"] and found.get("agent") is not None:
        report.add((*path, "agent"), "`agent` goes with `session` only", at_key=True)


def _check_fault(fault: object, path: Path, report: ProblemReport) -> None:
    """What goes wrong can go wrong there, and is chosen by what it has."""
    on, kind = items(fault, "on"), items(fault, "do")
    kinds = FAULTS.get(str(on), ())
    if isinstance(kind, str) and kinds and kind not in kinds and kind in _FAULT_KINDS:
        names = " or ".join(f"`{name}`" for name in kinds)
        what = names if len(kinds) < 3 else f"one of {', '.join(kinds)}"
        report.add((*path, "do"), f"expected {what} for {on}, found {shown(kind)}")
    for field, goes_with in _SELECTORS.items():
        if items(fault, field) is not None and on in FAULTS and on not in goes_with:
            names = ", ".join(f"`{name}`" for name in goes_with)
            report.add((*path, field), f"`{field}` goes with {names} only, found `{on}`", at_key=True)


def _check_send(send: object, path: Path, report: ProblemReport) -> None:
    check_target(send, path, report)
    nowhere = items(send, "to") in (None, []) and items(send, "target") is None
    if isinstance(send, dict) and nowhere:
        report.add(path, "expected `to` or `target`, found neither", "`to` is a place, `target` any text")


def _check_queue(queue: object, path: Path, report: ProblemReport) -> None:
    """A verdict is what `resolve` says, and nothing else says one."""
    do = items(queue, "do")
    if do == "resolve" and items(queue, "verdict") is None:
        report.add((*path, "do"), "`resolve` needs `verdict`: what became of the chunk in doubt", at_key=True)
    elif do in ("retry", "purge") and items(queue, "verdict") is not None:
        report.add((*path, "verdict"), f"`verdict` goes with `resolve` only, found `{do}`", at_key=True)


#: what a hook can do to a message: at most one of them
HOOK_ANSWERS = ("change", "cancel", "fail", "nonsense")
#: what only a hook that may change a message has
_BEFORE_ONLY = ("priority", "required", "change", "cancel", "nonsense")


def check_hook(hook: object, path: Path, report: ProblemReport) -> None:
    """Note what is wrong with a hook: it does one thing, and what is over can no longer be changed."""
    answers = [name for name in HOOK_ANSWERS if items(hook, name) is not None]
    if len(answers) > 1:
        names = ", ".join(f"`{name}`" for name in answers)
        report.add((*path, answers[1]), f"expected at most one answer, found {names}", "make it several", at_key=True)
    for name in _BEFORE_ONLY if items(hook, "on") == "sent" else ():
        if items(hook, name) is not None:
            report.add((*path, name), f"`{name}` goes with `on: sending` only", at_key=True)


def _duration(value: object) -> float | None:
    try:
        return None if value is None else parse_duration(value)
    except (ValueError, OverflowError):
        return None


def _check_times(steps: list[Any], report: ProblemReport) -> None:
    """Times may not run backwards, nor be endless."""
    given = [(_duration(items(step, "at")), _duration(items(step, "after"))) for step in steps]
    times = step_times(given)
    for index, ((at, _), time) in enumerate(zip(given, times, strict=True)):
        if not math.isfinite(time):
            report.add(("script", index, "at" if at is not None else "after"), "the time is too long")
            return
        before = times[index - 1] if index else 0.0
        if at is None or at >= before:
            continue
        line = report.positions.mark(("script", index - 1))[0]
        facts = f"time runs backwards: {at:g}s comes after {before:g}s, the time of the step in line {line}"
        report.add(("script", index, "at"), facts, "put the steps in order of time")


def _check_ids(steps: list[Any], report: ProblemReport) -> None:
    """Ids of `say` steps are different, and `replay` names such as come before it."""
    ids: dict[str, int] = {}
    said = [index for index, step in enumerate(steps) if items(step, "say") is not None]
    given = [own if isinstance(own := steps[index].get("id"), str) else None for index in said]
    for index, own, explicit in zip(said, say_ids(given), given, strict=True):
        if own in ids:
            here = index if explicit else ids[own]
            there = report.positions.mark(("script", ids[own] if explicit else index))[0]
            facts = f"the id {shown(own)} is taken by the `say` in line {there}"
            report.add(("script", here, "id"), facts, "ids that are not given are m1, m2, ... in order")
        ids.setdefault(own, index)
    for index, step in enumerate(steps):
        for number, name in enumerate(listed(step, "replay", "messages")):
            if not isinstance(name, str) or ids.get(name, index) < index:
                continue
            earlier = [own for own, at in ids.items() if at < index]
            found = "is said later" if name in ids else "is no `say`"
            hint = f"ids before it: {', '.join(earlier[:12]) or 'none'}"
            facts = f"expected the id of an earlier `say`: {shown(name)} {found}"
            report.add(("script", index, "replay", "messages", number), facts, hint)
