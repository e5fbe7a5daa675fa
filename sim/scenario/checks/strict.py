"""Checks of strict scenarios: whatever they expect must be able to fail, and something must reach the gateway."""

from collections.abc import Iterator
from typing import Any

from trunkline.core.config.files.problems import Path, ProblemReport, shown
from trunkline.core.reasons import Reason
from trunkline.sim.events import BODIES
from trunkline.sim.scenario.model.steps import PLACES
from trunkline.sim.scenario.step_rules import items, listed
from trunkline.sim.scenario.tree_paths import select, steps_of

#: where texts are expected as a whole, with something else beside them that can fail
_COUNTED = (
    *("expect.accepted[].text", "expect.accepted[].reply_to", "expect.accepted[].identity"),
    *("expect.transcripts[].lines[]", "expect.given[].prompts[]"),
)
#: where an expected text only narrows what is counted
_NARROWING = (
    *("expect.events[].text", "expect.events[].detail"),
    *("expect.hands[].task", "expect.hands[].result", "expect.given[].text"),
)
#: facts of an expected event -> the attributes of events that have them
_FACTS = {name: (name,) for name in ("reason", "state", "status", "text", "detail")} | {"in": PLACES}
_ORDER = {reason: number for number, reason in enumerate(Reason)}
#: reasons of the enum, from the first to the last -> kinds of events that never have one of them
_NEVER = {
    # how a delivery went
    (Reason.ACCEPTED, Reason.PACED): ("turn.ended", "inbound.dropped", "lease.", "cron.", "policy.", "router."),
    # why a route rule won or lost, which is in the route's own list
    (Reason.MATCHED, Reason.DECLARED_LATER): ("turn.", "intent.", "attempt.", "wire.", "lease.", "hook.", "mirror."),
    (Reason.LEASE_FREE, Reason.HOLDER_DEAD): (
        "turn.",
        "inbound.",
        "intent.",
        "attempt.",
        "wire.",
        "delegation.",
        "heartbeat.",
    ),
    # heartbeats and the schedule
    (Reason.HEARTBEAT_TARGET, Reason.CRON_PAST): (
        "attempt.",
        "wire.",
        "lease.",
        "recovery.",
        "chunk.",
        "mirror.",
        "policy.",
    ),
}
#: steps after which the gateway has something to do
_REACHING = (
    *("say", "call", "press", "send", "queue", "hands", "wake", "wake_heartbeat", "system_event"),
    *("bind", "unbind", "reset", "reload", "restart", "second", "replay"),
)


def check_strict(tree: object, report: ProblemReport) -> None:
    """Report expectations that cannot fail, and a script in which nothing reaches the gateway."""
    for path, text in expected_texts(tree):
        if hides_the_start(path, text):
            facts = f"the `*` at the start hides whatever stands before: {shown(text)}"
            report.add(path, facts, r"write `**` where anything may stand there, `\*` for the character itself")
    for pattern in _NARROWING:
        for path, text in select(tree, steps_of(pattern)):
            if isinstance(text, str) and text and not text.strip("*"):
                report.add(path, f"this cannot fail: {shown(text)} matches every text", "leave it out")
    if items(tree, "expect", "in_order") is True and items(tree, "expect", "accepted") is None:
        report.add(("expect", "in_order"), "this cannot fail without `accepted`", "leave it out", at_key=True)
    for path, wanted in select(tree, steps_of("expect.events[]")):
        _check_event(wanted, path, report)
    if isinstance(items(tree, "script"), list) and not _reaches_gateway(tree):
        facts = "nothing here reaches the gateway, so the run can show nothing"
        report.add(("script",), facts, f"steps that do: {', '.join(_REACHING)}", at_key=True)


def expected_texts(tree: object) -> Iterator[tuple[Path, str]]:
    """Every text that a scenario expects, with its path."""
    for pattern in (*_COUNTED, *_NARROWING):
        for path, text in select(tree, steps_of(pattern)):
            if isinstance(text, str):
                yield path, text


def hides_the_start(path: Path, text: str) -> bool:
    """Whether an expected text begins with a `*` that may be meant as a character; of a line, after its role."""
    said = text.partition(": ")[2] if "lines" in path and text[:1] != "*" else text
    return said.startswith("*") and not said.startswith("**")


def _check_event(wanted: Any, path: Path, report: ProblemReport) -> None:
    """An expected event has facts that events of its kind have."""
    kind = BODIES.get(items(wanted, "kind"))
    for name, attributes in _FACTS.items() if kind is not None else ():
        if items(wanted, name) is not None and not any(hasattr(kind, attribute) for attribute in attributes):
            result = "cannot fail" if items(wanted, "times") == 0 else "fails always"
            facts = f"an event {items(wanted, 'kind')} never has `{name}`, so this {result}"
            report.add((*path, name), facts, "leave it out, or name another kind", at_key=True)
    reason = items(wanted, "reason")
    for (first, last), kinds in _NEVER.items() if reason in _ORDER else ():
        if _ORDER[first] <= _ORDER[reason] <= _ORDER[last] and str(items(wanted, "kind")).startswith(kinds):
            facts = f"an event {items(wanted, 'kind')} never has the reason {shown(reason)}"
            report.add((*path, "reason"), facts, "name another kind, or another reason")


def _reaches_gateway(tree: object) -> bool:
    """Whether a step, the crowd, the configuration or the store gives the gateway something to do."""
    if any(name in step for step in listed(tree, "script") if isinstance(step, dict) for name in _REACHING):
        return True
    if items(tree, "world", "crowd", "chatter") is not None or items(tree, "stored") is not None:
        return True
    # Heartbeats may be configured in several places; whatever names them counts.
    return any(word in str(items(tree, "gateway")) for word in ("heartbeat", "cron"))
