"""Checks the cross references of a scenario file: every name that is used must be declared.

A table maps each kind of name to its paths. Checks run on the file's plain values, so that references are reported even
if other fields are invalid. Unused hands and people are fine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from trunkline.core.action_names import Action
from trunkline.core.config.files.problems import Path, ProblemReport, advice, shown
from trunkline.core.config.gateway import DEFAULTS
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim.events import BODIES
from trunkline.sim.scenario.checks.action_checks import check_acts
from trunkline.sim.scenario.checks.bindings import check_bound, children, spawning
from trunkline.sim.scenario.checks.call_checks import check_calls, with_calls
from trunkline.sim.scenario.checks.declared import AGENTS, agents_of_tree, hands_of_tree, labels_of_tree
from trunkline.sim.scenario.checks.hand_checks import check_hands
from trunkline.sim.scenario.checks.people_checks import check_people
from trunkline.sim.scenario.checks.references import ACTIONS, REFERENCES
from trunkline.sim.scenario.model.abilities import ABILITIES
from trunkline.sim.scenario.model.agent_actions import LAST
from trunkline.sim.scenario.model.world import PLATFORMS, THREADLESS, WorldSpec
from trunkline.sim.scenario.place_refs import (
    PlaceError,
    PlaceRef,
    is_person,
    is_session_key,
    place_if_known,
    resolve_place,
    with_threads,
)
from trunkline.sim.scenario.step_rules import (
    check_actions,
    check_hook,
    check_one,
    items,
    listed,
    say_ids,
)
from trunkline.sim.scenario.templates import HOOK_SLOTS, template_problem
from trunkline.sim.scenario.tree_paths import select, steps_of

#: roles in a transcript
ROLES = ("user", "assistant", "hand", "delivery")
#: paths of names that are part of places
_NAMED = (
    "world.people",
    *(f"world.{platform}.{part}" for platform in PLATFORMS for part in ("accounts", "rooms", "rooms.*.threads")),
)

#: a message and a hint; None if the name is valid
Fault = tuple[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """The names that a file may use; None: unknown, so not checked."""

    #: includes the threads that the gateway will open, see `world_of`
    world: WorldSpec | None
    bugs: Collection[str] | None
    invariants: Collection[str] | None


def check_references(tree: object, report: ProblemReport, known: KnownNames) -> None:
    """Report every undeclared name in a file."""
    kinds = _kinds(tree, known)
    for kind, patterns in REFERENCES.items():
        for pattern in patterns:
            for path, value in select(tree, steps_of(pattern)):
                if isinstance(value, str) and (fault := kinds[kind](value)):
                    report.add(path, *fault)
    for path, actions in select(tree, steps_of("cast.agents.*[].do")):
        if isinstance(actions, list):
            check_actions(cast("list[object]", actions), path, report)
    for path, hook in select(tree, steps_of("cast.hooks.*")):
        check_hook(hook, path, report)
    check_hands(tree, report)
    _check_agents(tree, report)
    _check_keys(tree, report)
    _check_world(tree, report)
    _check_stored(tree, report)
    _check_transcripts(tree, report)
    _check_chatter(tree, report, known.world)
    if known.world is not None:
        _check_threads(tree, report, known.world)
        _check_chains(tree, report, known.world)
        check_bound(tree, report, known.world)
        check_people(tree, report, known.world)
        check_calls(tree, report, known.world)
        check_acts(tree, report, known.world)


def world_of(tree: object, world: WorldSpec) -> WorldSpec:
    """The world plus the threads that the gateway will open, and the calls that people make.

    Threads of `auto_thread` are named after their `say`, threads of delegated work after the delegation.
    """
    settings = [(name, items(given, "channels", name)) for _, given in _configurations(tree) for name in PLATFORMS]
    words = [(name, items(given, "auto_thread") or items(given, "autoThread")) for name, given in settings]
    opening = [name for name, word in words if word not in (None, False, "no", "off", "false")]
    opened: list[tuple[PlaceRef, str]] = []
    said = [step for step in listed(tree, "script") if items(step, "say") is not None] if opening else []
    given = [own if isinstance(own := step.get("id"), str) else None for step in said]
    for step, own in zip(said, say_ids(given), strict=True):
        place = place_if_known(step.get("in"), world)
        if place is not None and place.platform in opening and place.room is not None and place.thread is None:
            opened.append((place, own))
    return _with_children(tree, with_calls(tree, with_threads(world, opened) if opened else world))


def _with_children(tree: object, world: WorldSpec) -> WorldSpec:
    """The world plus the threads of delegated work that the file names."""
    platforms = spawning(tree, (given for _, given in _configurations(tree)))
    if not platforms:
        return world
    steps = [step for step in listed(tree, "script") if items(step, "say") is not None]
    said = say_ids(own if isinstance(own := step.get("id"), str) else None for step in steps)
    named = [
        place
        for pattern in (*REFERENCES["place"], *REFERENCES["session"])
        for _, place in select(tree, steps_of(pattern))
        if isinstance(place, str)
    ]
    opened = tuple(children(named, platforms, said, tree, world))
    return with_threads(world, opened) if opened else world


def _configurations(tree: object) -> Iterator[tuple[Path, object]]:
    """The gateway's configuration, and the part of one in each `reload` step."""
    yield ("gateway",), items(tree, "gateway")
    for index, step in enumerate(listed(tree, "script")):
        yield ("script", index, "reload"), items(step, "reload")


def _kinds(tree: object, known: KnownNames) -> dict[str, Callable[[str], Fault]]:
    """The check for each kind of name."""
    agents, hands, messages = agents_of_tree(tree), hands_of_tree(tree), _messages(tree)
    labels = labels_of_tree(tree)
    return {
        "place": lambda text: _place(text, known.world),
        "session": lambda text: None if is_session_key(text) else _place(text, known.world),
        "person": lambda name: _person(name, known.world),
        "agent": lambda name: _word("an agent of the gateway", name, agents),
        "hand": lambda name: None if name == "*" else _word("a hand of the cast", name, hands),
        "delegating agent": lambda name: None if name == "*" else _word("an agent of the gateway", name, agents),
        "label": lambda name: _word("the `label` of a `delegate`", name, labels),
        "label or last": lambda name: _word("the `label` of a `delegate` or `last`", name, (*labels, LAST)),
        "channel": lambda name: _word("a known channel", name, PLATFORMS),
        "event": lambda name: _word("a kind of event", name, BODIES),
        "reason": lambda name: _word("a reason code", name, list(Reason)),
        "action": lambda name: _word("an action", name, list(Action)),
        "ability": lambda name: _word("a capability or an action", name, ABILITIES),
        "state": lambda name: _word("a state of an intent", name, list(IntentState)),
        "bug": lambda name: _word("a bug switch", name, known.bugs),
        "invariant": lambda name: _word("an invariant", name, known.invariants),
        "message": lambda name: _word("the id of a `say`, a `label` or `last`", name, messages),
        "changed text": lambda text: template_problem(text, HOOK_SLOTS),
        "template": template_problem,
    }


def _messages(tree: object) -> tuple[str, ...]:
    """The names of messages that an agent's action may concern."""
    said = [step for step in listed(tree, "script") if items(step, "say") is not None]
    labels = [found for kind in ("send", "act") for _, found in select(tree, steps_of(f"{ACTIONS}.{kind}.label"))]
    ids = say_ids(own if isinstance(own := step.get("id"), str) else None for step in said)
    return (*ids, *(label for label in labels if isinstance(label, str)), LAST)


def _word(what: str, word: str, options: Collection[str] | None) -> Fault:
    if options is None or word in options:
        return None
    return f"expected {what}, found {shown(word)}", advice(word, options) if options else "there are none"


def _place(text: str, world: WorldSpec | None) -> Fault:
    try:
        _ = world and resolve_place(text, world)
    except PlaceError as error:
        return error.message, error.hint
    return None


def _person(name: str, world: WorldSpec | None) -> Fault:
    if world is None or "*" in name or is_person(name, world):
        return None
    crowd = f"p1 to p{world.crowd.count} are valid too" if world.crowd.count else ""
    return f"expected a person of the world, found {shown(name)}", advice(name, world.people) or crowd


def _check_agents(tree: object, report: ProblemReport) -> None:
    """The gateway and the cast must name the same agents, each once."""
    agents, played = agents_of_tree(tree), items(tree, "cast", "agents")
    names = cast("dict[str, object]", played) if isinstance(played, dict) else {}
    seen: dict[str, Path] = {}
    for path, own in (found for pattern in AGENTS for found in select(tree, steps_of(pattern))):
        if not isinstance(own, str):
            continue
        if own in seen and path[0] == "gateway":
            line = report.positions.mark(seen[own])[0]
            report.add(path, f"two agents are called {shown(own)}; the first is in line {line}")
        elif own not in seen and played is not None and own not in names:
            hint = advice(own, (name for name in names if name not in agents))
            report.add(path, f"the agent {shown(own)} has no rules in cast.agents", hint)
        seen.setdefault(own, path)
    default = "main" in agents and "main" not in seen
    if default and "main" not in names and isinstance(items(tree, "cast"), dict):
        report.add(("cast", "agents"), "expected rules for the agent 'main', found none", at_key=True)
    for name in names:
        if name not in agents:
            facts = f"expected an agent of gateway.agents, found {shown(name)}"
            report.add(("cast", "agents", name), facts, advice(name, agents), at_key=True)


def _check_keys(tree: object, report: ProblemReport) -> None:
    """Names used as keys: settings of channels and of hands."""
    hands = hands_of_tree(tree)
    keyed: list[tuple[Path, object, str, Iterable[str]]] = []
    for path, config in _configurations(tree):
        keyed.append(((*path, "channels"), items(config, "channels"), "a known channel", (*PLATFORMS, DEFAULTS)))
        keyed.append(((*path, "hands", "each"), items(config, "hands", "each"), "a hand of the cast", hands))
    for path, ids in select(tree, steps_of("world.people.*.ids")):
        keyed.append((path, ids, "a known channel", PLATFORMS))
    for path, found, what, options in keyed:
        for name in cast("dict[str, object]", found) if isinstance(found, dict) else ():
            if fault := _word(what, name, tuple(options)):
                report.add((*path, name), *fault, at_key=True)


def _check_world(tree: object, report: ProblemReport) -> None:
    """Names of people, accounts, rooms and threads must be usable in places, and members must be accounts."""
    written = items(tree, "world", "crowd")
    crowd = items(cast("object", written), "count") if isinstance(written, dict) else written
    for path, name in _names(tree, ("world", "people")):
        number = name[1:]
        if name[:1] == "p" and number.isdecimal() and isinstance(crowd, int) and 1 <= int(number[:6]) <= crowd:
            report.add(
                path, f"{shown(name)} is one of the crowd of {crowd} already", "choose another name", at_key=True
            )
    for platform in PLATFORMS:
        base: Path = ("world", platform)
        accounts = [name for _, name in _names(tree, (*base, "accounts"))] or ["default"]
        for path, member in select(tree, ("world", platform, "rooms", "*", "accounts", "[]")):
            if isinstance(member, str) and (fault := _word(f"an account of {platform}", member, accounts)):
                report.add(path, *fault)
    for platform in THREADLESS:
        for base, _ in select(tree, ("world", platform, "rooms", "*", "threads")):
            for path, name in _names(tree, base):
                report.add(path, f"{platform} has no threads, found {shown(name)}", at_key=True)
    for pattern in _NAMED:
        for base, _ in select(tree, steps_of(pattern)):
            for path, name in _names(tree, base):
                if not name.strip() or name != name.strip() or name[0] == "@" or "/" in name or ":" in name:
                    facts = f"expected a name without `/`, `:`, `@` in front or spaces around, found {shown(name)}"
                    report.add(path, facts, at_key=True)


def _names(tree: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The names in the list or mapping at a path."""
    for part in path:
        tree = cast("dict[str, Any]", tree).get(str(part)) if isinstance(tree, dict) else None
    if isinstance(tree, list | dict):
        for name in cast("list[object]", tree):
            if isinstance(name, str):
                yield (*path, name), name


def _check_threads(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Only threads can be archived, unarchived or deleted."""
    for index, step in enumerate(listed(tree, "script")):
        action = next((name for name in ("archive", "unarchive", "delete") if items(step, name) is not None), None)
        place = items(step, "in")
        found = place_if_known(place, world)
        if action is not None and found is not None and found.thread is None:
            what = "a direct conversation" if found.person is not None else "a room"
            report.add(("script", index, "in"), f"`{action}` expects a thread, found {what}: {shown(place)}")


def _check_chains(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """A reply chain must not have the id of a thread, and cannot be in a thread."""
    for index, step in enumerate(listed(tree, "script")):
        chain, place = items(step, "reply_chain"), items(step, "in")
        found = place_if_known(place, world)
        if not isinstance(chain, str) or found is None or items(step, "say") is None:
            continue
        if found.thread is not None:
            report.add(("script", index, "reply_chain"), f"a reply chain cannot be in a thread, found {shown(place)}")
        threads = {} if found.room is None else world.platforms[found.platform].rooms[found.room].threads
        for name, thread in threads.items():
            if thread.id == chain:
                facts = f"expected an id that no thread has, found that of {found.room}/{name}: {shown(chain)}"
                report.add(("script", index, "reply_chain"), facts)


def _check_transcripts(tree: object, report: ProblemReport) -> None:
    """An expected transcript names a place or a session key, not both."""
    for path, wanted in select(tree, steps_of("expect.transcripts[]")):
        given = check_one(wanted, "in", "session", path, report, "`in` is a place, `session` a session key")
        key = items(wanted, "session")
        if given == "session" and isinstance(key, str) and not is_session_key(key):
            report.add((*path, "session"), f"expected a session key, found {shown(key)}", "write a place as `in`")


def _check_chatter(tree: object, report: ProblemReport, world: WorldSpec | None) -> None:
    """Chatter needs people, and places, of which those that end in `@` are completed by a person."""
    chatter: Path = ("world", "crowd", "chatter")
    if items(tree, *chatter) is None:
        return
    if world is not None and not world.crowd.count:
        report.add(chatter, "there is nobody to chatter", "give a `count`", at_key=True)
        return
    for path, place in select(tree, (*chatter, "in", "[]")):
        fault = _place(f"{place}p1" if place.endswith("@") else place, world) if isinstance(place, str) else None
        if fault is not None:
            report.add(path, *fault)


def _check_stored(tree: object, report: ProblemReport) -> None:
    """Stored sessions must have unique keys and ids, and lines with a role."""
    for field in ("key", "id"):
        seen: dict[str, Path] = {}
        for path, own in select(tree, steps_of(f"stored.sessions[].{field}")):
            if isinstance(own, str) and own in seen:
                line = report.positions.mark(seen[own])[0]
                report.add(path, f"the {field} {shown(own)} is taken by the session in line {line}")
            elif isinstance(own, str):
                seen[own] = path
    for path, line in select(tree, steps_of("stored.sessions[].lines[]")):
        if isinstance(line, str) and line.partition(": ")[0] not in ROLES:
            report.add(path, f"expected {', '.join(f'`{role}: ...`' for role in ROLES)}, found {shown(line)}")
