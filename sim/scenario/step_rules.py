"""Rules that span fields: one action per step, chronological times, unique ids.

They are checked on the file's plain values, so that they are reported even if other fields are invalid.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from trunkline.core.config import parse_duration
from trunkline.core.config.files.problems import Path, ProblemReport, shown
from trunkline.sim.scenario.model.agent_actions import AgentAction

#: what people do to messages
PEOPLE_ACTIONS = ("react", "vote", "press", "edit", "unsend")
#: what people do with calls
CALL_ACTIONS = ("call", "hang_up", "hold", "resume")
#: actions of a step: exactly one
STEP_ACTIONS = (
    *(
        "say",
        *CALL_ACTIONS,
        *PEOPLE_ACTIONS,
        "lose",
        "send",
        "queue",
        "hands",
        "wake",
        "wake_heartbeat",
        "system_event",
        "crash",
        "restart",
        "second",
        "freeze",
        "clock",
        "reload",
        "reset",
    ),
    *("replay", "archive", "unarchive", "delete", "rotate", "webhook", "bind", "unbind", "fault", "note"),
)
#: actions of an agent: exactly one per item
AGENT_ACTIONS = tuple(AgentAction.model_fields)
#: actions that end a turn
_LAST = ("reply", "fail", "silent", "plugin", "nonsense")
#: fields that are valid without a value: all defaults
BARE_ACTIONS = ("wake_heartbeat", "crash", "restart", "second", "freeze", "reset", "replay")
#: field -> the actions it goes with
_COMPANIONS = {
    "as": ("say", *CALL_ACTIONS, *PEOPLE_ACTIONS),
    "of": (*PEOPLE_ACTIONS, "lose"),
    "remove": ("react",),
    "id": ("say",),
    "in": ("say", *CALL_ACTIONS, *PEOPLE_ACTIONS, "lose", "archive", "unarchive", "delete", "reset"),
    "secret": ("say",),
    "files": ("say",),
    "reply_chain": ("say",),
    "bot": ("say",),
    "via": ("say",),
    "proxy": ("say",),
    "locked": ("archive",),
    "may_miss": ("fault", "crash", "restart", "freeze", "when"),
}
#: pairs of fields of a message that exclude each other, and why
SPEAKERS = {
    ("via", "as"): "a webhook is not a person of the world",
    ("via", "bot"): "a webhook is never a person",
    ("via", "proxy"): "a proxy replaces messages of people",
    ("proxy", "bot"): "a proxy replaces messages of people",
    ("via", "files"): "people send files",
    ("proxy", "files"): "a proxy replaces texts",
}
#: `on` of a fault -> the valid `do`
FAULTS: dict[str, tuple[str, ...]] = {
    "send": (
        *("lose-response", "drop", "reset", "reset-before", "refuse-connection", "no-receipt", "bad-receipt"),
        *("refuse", "rate-limit", "error", "slow", "half-answer", "slow-loris", "html"),
    ),
    "act": (
        *("lose-response", "drop", "reset", "reset-before", "refuse-connection"),
        *("refuse", "rate-limit", "error", "slow", "half-answer", "slow-loris", "html"),
    ),
    "lookup": ("lose-response", "drop", "refuse", "rate-limit", "error", "slow"),
    "thread": ("error", "refuse", "drop", "slow", "lose-response"),
    "push": ("slow", "duplicate", "drop"),
    "hand": ("error", "drop", "slow"),
    "store": ("error", "write-error"),
    "server": ("slow", "reset-before", "lose-response", "drop", "restart", "failover"),
    "queue": ("damage",),
    "mirror": ("refuse",),
    "ready": ("error",),
    "connect": ("error", "dead", "refuse-connection"),
    "boot": ("missing",),
    "model": ("error", "refuse", "rate-limit", "slow", "drop", "reset-before", "half-answer"),
}
_FAULT_KINDS = frozenset(kind for kinds in FAULTS.values() for kind in kinds)
#: `on` of a fault -> the requests that a plug-in's fault is asked about
PLUGIN_FAULTS = ("send", "act", "lookup", "thread", "push", "hand")
#: selector of a fault -> the `on` it goes with
_SELECTORS = {
    "in": ("send", "act", "lookup", "thread", "push", "queue", "ready", "connect", "boot", "model"),
    "as": ("send", "act"),
    "question": ("send", "act"),
    "plugin": PLUGIN_FAULTS,
    "transport": ("send",),
    "action": ("act",),
    "reason": ("ready",),
    "carries": ("store", "server"),
    "status": ("model",),
    "nth": ("send", "act", "lookup", "thread", "push", "hand", "store", "server", "boot", "model"),
    "times": ("send", "act", "lookup", "thread", "push", "hand", "store", "server", "boot", "model"),
}


def say_ids(given: Iterable[str | None]) -> tuple[str, ...]:
    """Ids of the `say` steps in order: the given one, else ``m`` and the number of the `say`, from 1."""
    return tuple(own or f"m{number}" for number, own in enumerate(given, 1))


def step_times(given: Iterable[tuple[float | None, float | None]]) -> tuple[float, ...]:
    """Absolute times of steps from their `at` and `after`; a step with neither follows the previous one at once."""
    now, times = 0.0, list[float]()
    for at, after in given:
        now = at if at is not None else round(now + (after or 0.0), 6)
        times.append(now)
    return tuple(times)


def items(value: object, *names: str) -> Any:
    """A value inside nested mappings; None if it is missing or a parent is not a mapping."""
    for name in names:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return value


def listed(value: object, *names: str) -> list[Any]:
    """A list inside nested mappings; empty if it is missing or not a list."""
    found = items(value, *names)
    return cast("list[Any]", found) if isinstance(found, list) else []


def check_not_both(
    value: object, first: str, second: str, path: Path, report: ProblemReport, why: str = "remove one"
) -> bool:
    """Report two fields that exclude each other; false if both are given."""
    if items(value, first) is None or items(value, second) is None:
        return True
    report.add((*path, second), f"expected `{first}` or `{second}`, found both", why, at_key=True)
    return False


def check_one(value: object, first: str, second: str, path: Path, report: ProblemReport, hint: str) -> str | None:
    """Report a mapping with both of two fields, or with neither; returns the name of the only one."""
    if not check_not_both(value, first, second, path, report):
        return None
    found = next((name for name in (first, second) if items(value, name) is not None), None)
    if found is None and isinstance(value, dict):
        report.add(path, f"expected `{first}` or `{second}`, found neither", hint)
    return found


def check_steps(tree: object, report: ProblemReport) -> None:
    """Report problems of the script: actions, companion fields, times, ids."""
    steps = listed(tree, "script")
    for index, step in enumerate(steps):
        if isinstance(step, dict):
            _check_step(cast("dict[str, Any]", step), ("script", index), report)
    _check_times(steps, report)
    _check_ids(steps, report)


def check_actions(actions: Sequence[object], path: Path, report: ProblemReport) -> None:
    """Report problems in the `do` of an agent's rule."""
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
    """Report problems with the destination of a send: a place or a target, and a platform only for a target."""
    single = check_not_both(send, "to", "target", path, report)
    if single and items(send, "channel") is not None and items(send, "target") is None:
        report.add((*path, "channel"), "`channel` goes with `target` only", at_key=True)


def _only(step: dict[str, Any], actions: tuple[str, ...], path: Path, report: ProblemReport) -> str | None:
    """The one action given; reports none or several."""
    found = [name for name in step if name in actions and (step[name] is not None or name in BARE_ACTIONS)]
    if len(found) > 1:
        names = ", ".join(f"`{name}`" for name in found)
        report.add(
            (*path, found[1]), f"expected exactly one action, found {names}", "split it into several", at_key=True
        )
    elif not found:
        empty = [name for name in step if name in actions]
        what = f"`{empty[0]}` without a value" if empty else "none"
        report.add(path, f"expected exactly one action, found {what}", f"actions: {', '.join(actions)}")
    return found[0] if found else None


def _check_step(step: dict[str, Any], path: Path, report: ProblemReport) -> None:
    action = _only(step, STEP_ACTIONS, path, report)
    check_not_both(step, "at", "after", path, report)
    if action is None:
        return
    for field, goes_with in _COMPANIONS.items():
        if step.get(field) is not None and not any(name in step for name in goes_with):
            names = ", ".join(f"`{name}`" for name in goes_with)
            report.add((*path, field), f"`{field}` goes with {names} only, found `{action}`", at_key=True)
    if action == "say":
        _check_say(step, path, report)
    if action in (*PEOPLE_ACTIONS, *CALL_ACTIONS):
        _check_person(action, step, path, report)
    if action in ("archive", "unarchive", "delete", "reset") and step.get("in") is None:
        what = "the place whose session it is" if action == "reset" else "the thread"
        report.add((*path, action), f"`{action}` needs `in`: {what}", at_key=True)
    if action in _CHECKS:
        _CHECKS[action](step[action], (*path, action), report)


def _check_say(step: dict[str, Any], path: Path, report: ProblemReport) -> None:
    """A `say` needs a place, and a person or a webhook as its sender."""
    for field, what in (("as", "who says it"), ("in", "where it is said")):
        if step.get(field) is None and not (field == "as" and step.get("via") is not None):
            report.add((*path, "say"), f"`say` needs `{field}`: {what}", at_key=True)
    for (field, other), why in SPEAKERS.items():
        check_not_both(step, field, other, path, report, why)
    said, secret = step.get("say"), step.get("secret")
    if isinstance(said, str) and isinstance(secret, str) and (not secret or secret not in said):
        report.add((*path, "secret"), f"expected words of `say`, found {shown(secret)}", f"it says {shown(said)}")
    for field in ("via", "proxy"):
        name = step.get(field)
        if isinstance(name, str) and not name.strip():
            report.add((*path, field), f"expected the name of a webhook, found {shown(name)}")


def _check_person(action: str, step: dict[str, Any], path: Path, report: ProblemReport) -> None:
    """Report an action of a person without the person, the place, or words that are not blank."""
    where = "the person's place on the platform of the call, e.g. voice/@ana"
    for field, what in (("as", "who does it"), ("in", where if action in CALL_ACTIONS else "where the message is")):
        if step.get(field) is None:
            report.add((*path, action), f"`{action}` needs `{field}`: {what}", at_key=True)
    word = step[action]
    if isinstance(word, str) and not word.strip():
        report.add((*path, action), f"expected a text, found {shown(word)}")


def _check_unbind(unbind: object, path: Path, report: ProblemReport) -> None:
    """`unbind` names one conversation, or one session."""
    hint = "`in` is a place, `session` a place or a session key"
    if check_one(unbind, "in", "session", path, report, hint) == "in" and items(unbind, "agent") is not None:
        report.add((*path, "agent"), "`agent` goes with `session` only", at_key=True)


def _check_fault(fault: object, path: Path, report: ProblemReport) -> None:
    """The kind of fault and its selectors must fit what fails."""
    on, kind = items(fault, "on"), items(fault, "do")
    check_one(fault, "do", "plugin", path, report, "`do` is a way in which it fails, `plugin` a fault of a plug-in")
    kinds = FAULTS.get(str(on), ())
    if isinstance(kind, str) and kinds and kind not in kinds and kind in _FAULT_KINDS:
        names = " or ".join(f"`{name}`" for name in kinds)
        what = names if len(kinds) < 3 else f"one of {', '.join(kinds)}"
        report.add((*path, "do"), f"expected {what} for {on}, found {shown(kind)}")
    if items(fault, "as") is not None and kind != "refuse":
        report.add((*path, "as"), f"`as` goes with `do: refuse` only, found {shown(kind)}", at_key=True)
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
    """`resolve` needs a verdict; the other operations have none."""
    do = items(queue, "do")
    if do == "resolve" and items(queue, "verdict") is None:
        report.add((*path, "do"), "`resolve` needs `verdict`: the outcome of the uncertain chunk", at_key=True)
    elif do in ("retry", "purge") and items(queue, "verdict") is not None:
        report.add((*path, "verdict"), f"`verdict` goes with `resolve` only, found `{do}`", at_key=True)


#: action -> the check of its settings
_CHECKS: dict[str, Callable[[object, Path, ProblemReport], None]] = {
    "send": _check_send,
    "queue": _check_queue,
    "unbind": _check_unbind,
    "fault": _check_fault,
}
#: answers of a hook: at most one
HOOK_CHANGES = ("change", "media", "to", "target", "quote")
HOOK_ANSWERS = ("change", "cancel", "fail", "plugin", "nonsense")
#: fields of `sending` hooks only
_BEFORE_ONLY = ("priority", "required", *HOOK_CHANGES, "cancel", "nonsense")


def check_hook(hook: object, path: Path, report: ProblemReport) -> None:
    """Report problems of a hook: it gives one answer, and a `sent` hook cannot change a message."""
    changes = [name for name in HOOK_CHANGES if items(hook, name) is not None]
    answers = changes[:1] + [name for name in HOOK_ANSWERS if name not in changes and items(hook, name) is not None]
    if len(answers) > 1:
        names = ", ".join(f"`{name}`" for name in answers)
        report.add(
            (*path, answers[1]), f"expected at most one answer, found {names}", "split it into several", at_key=True
        )
    check_not_both(hook, "to", "target", path, report)
    for name in _BEFORE_ONLY if items(hook, "on") == "sent" else ():
        if items(hook, name) is not None:
            report.add((*path, name), f"`{name}` goes with `on: sending` only", at_key=True)


def _duration(value: object) -> float | None:
    try:
        return None if value is None else parse_duration(value)
    except (ValueError, OverflowError):
        return None


def _check_times(steps: list[Any], report: ProblemReport) -> None:
    """Times must be finite and must not run backwards."""
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
        report.add(("script", index, "at"), facts, "put the steps in chronological order")


def _check_ids(steps: list[Any], report: ProblemReport) -> None:
    """Ids of `say` steps are unique, and `replay` names earlier ones."""
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
            found = "comes later" if name in ids else "is not a `say`"
            hint = f"ids before it: {', '.join(earlier[:12]) or 'none'}"
            facts = f"expected the id of an earlier `say`: {shown(name)} {found}"
            report.add(("script", index, "replay", "messages", number), facts, hint)
