"""Checks the cross references of a scenario file: every name that is used must be declared.

A table maps each kind of name to its paths. Checks run on the file's plain values, so that references are reported even
if other fields are invalid. Unused hands and people are fine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.config.files.problems import Path, ProblemReport, advice, shown
from trunkline.core.config.gateway import DEFAULTS
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentState
from trunkline.sim.events import BODIES
from trunkline.sim.scenario import place_refs
from trunkline.sim.scenario.checks.bindings import check_bound, children, spawning
from trunkline.sim.scenario.checks.references import ACTIONS, REFERENCES
from trunkline.sim.scenario.model.abilities import ABILITIES
from trunkline.sim.scenario.model.agent_actions import LAST
from trunkline.sim.scenario.model.world import BUTTONLESS, CALLS, PLATFORMS, POLLLESS, THREADLESS, WorldSpec
from trunkline.sim.scenario.names import Names, unknown_invariant, unknown_word
from trunkline.sim.scenario.step_rules import (
    CALL_ACTIONS,
    check_actions,
    check_hook,
    check_not_both,
    check_one,
    items,
    listed,
    say_ids,
)
from trunkline.sim.scenario.templates import HOOK_SLOTS, template_problem
from trunkline.sim.scenario.tree_paths import select, steps_of

_DEFAULT_AGENTS = ("main",)
#: where agents are declared
AGENTS = ("gateway.agents[].id", "script[].reload.agents[].id")
_WORKERS = "cast.workers.*.hand"


def agents_of_tree(tree: object) -> tuple[str, ...]:
    """The agents of the gateway, also of later configurations."""
    found = [own for pattern in AGENTS for _, own in select(tree, steps_of(pattern)) if isinstance(own, str)]
    return tuple(dict.fromkeys((*(_DEFAULT_AGENTS if items(tree, "gateway", "agents") is None else ()), *found)))


def channels_of_tree(tree: object) -> tuple[str, ...]:
    """The channels: ours, and those of the plug-ins whose fake platforms the world has."""
    plugins = items(tree, "world", "plugins")
    return (*PLATFORMS, *(cast("dict[str, object]", plugins) if isinstance(plugins, dict) else ()))


def functions_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that run in the gateway's process."""
    hands = items(tree, "cast", "hands")
    return tuple(cast("dict[str, object]", hands)) if isinstance(hands, dict) else ()


def worker_hands_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that workers work for, or may work for as the gateway is configured."""
    named = [hand for _, hand in select(tree, steps_of(_WORKERS)) if isinstance(hand, str)]
    return tuple(dict.fromkeys((*configured_workers(tree), *named)))


def configured_workers(tree: object) -> tuple[str, ...]:
    """The hands with `worker: true`, also of later configurations."""
    found = dict[str, None]()
    for pattern in ("gateway.hands.each", "script[].reload.hands.each"):
        for _, each in select(tree, steps_of(pattern)):
            settings = cast("dict[str, object]", each) if isinstance(each, dict) else {}
            found |= {name: None for name, spec in settings.items() if items(spec, "worker") is True}
    return tuple(found)


def hands_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that an agent can delegate to: functions, workers, and other agents."""
    return tuple(dict.fromkeys((*functions_of_tree(tree), *worker_hands_of_tree(tree), *agents_of_tree(tree))))


def labels_of_tree(tree: object) -> tuple[str, ...]:
    """The labels that agents give to what they delegate."""
    found = [own for _, own in select(tree, steps_of(f"{ACTIONS}.delegate.label")) if isinstance(own, str)]
    return tuple(dict.fromkeys(found))


# Checks of what people do with calls: on a platform with calls, by the person whose line it is, each with its name.


def with_calls(tree: object, world: WorldSpec) -> WorldSpec:
    """The world plus the calls that the script makes, by name."""
    calls: dict[str, dict[str, tuple[str, ...]]] = {}
    for _, step in _calls(tree):
        place = place_refs.place_if_known(step.get("in"), world)
        if place is not None and place.person is not None and place.thread is None and place.platform in CALLS:
            by_person = calls.setdefault(place.platform, {})
            by_person[place.person] = (*by_person.get(place.person, ()), str(step["call"]))
    more = {name: world.platforms[name].with_calls(found) for name, found in calls.items()}
    return world.with_platforms(more) if more else world


def check_calls(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report calls that cannot be made, and steps of other people in a call."""
    seen: dict[tuple[place_refs.PlaceRef, str], Path] = {}
    spoken = ("say",) if any(name in CALLS for name in world.platforms) else ()
    for index, step in enumerate(listed(tree, "script")):
        path: Path = ("script", index)
        action = next((name for name in (*CALL_ACTIONS, *spoken) if items(step, name) is not None), None)
        place = None if action is None else place_refs.place_if_known(items(step, "in"), world)
        if action is None or place is None:
            continue
        if place.platform not in CALLS:
            if action != "say":
                facts = f"`{action}` expects a platform with calls, found {shown(items(step, 'in'))}"
                report.add((*path, "in"), facts, f"platforms with calls: {', '.join(CALLS)}")
            continue
        if place.person is not None and place.person != (items(step, "as") or place.person):
            facts = f"the line of {place.person} is used by {shown(items(step, 'as'))}"
            report.add((*path, "as"), facts, f"write `as: {place.person}`")
        if action == "call":
            _check_name(str(step["call"]), place, path, report, seen)
    for name in CALLS:
        if items(tree, "world", name, "rooms"):
            report.add(("world", name, "rooms"), f"{name} has no rooms: people call", "remove it", at_key=True)


def _check_name(
    name: str,
    place: place_refs.PlaceRef,
    path: Path,
    report: ProblemReport,
    seen: dict[tuple[place_refs.PlaceRef, str], Path],
) -> None:
    if place.thread is not None:
        report.add((*path, "in"), f"`call` expects a person, found a call: {place}", "write it without the call's name")
        return
    if not name.strip() or name != name.strip() or "/" in name or ":" in name:
        report.add((*path, "call"), f"expected a name without `/` and `:`, found {shown(name)}")
    first = seen.setdefault((place, name), path)
    if first != path:
        line = report.positions.mark(first)[0]
        report.add(
            (*path, "call"), f"{place.person} has a call {shown(name)} already, in line {line}", "choose another name"
        )


def _calls(tree: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, step in enumerate(listed(tree, "script")):
        if isinstance(items(step, "call"), str):
            yield index, step


# Checks of hands and workers: one kind for each name, answers that can be given, and steps that mean something.

#: ways in which a worker does not answer its own task as it should; at most one
_WAYS = ("ticket", "names", "dies")
#: what a worker that dies has no use for
_ANSWER = ("result", "fails", "result_size", "answers", "again_after")


def check_hands(tree: object, report: ProblemReport) -> None:
    """Report problems of the cast's hands and workers, and of the steps and expectations that name delegations."""
    for path, rule in select(tree, steps_of("cast.hands.*[]")):
        check_not_both(rule, "result", "fails", path, report)
        check_not_both(rule, "result_size", "fails", path, report)
    for path, rule in select(tree, steps_of("cast.workers.*.rules[]")):
        check_not_both(rule, "result", "fails", path, report)
        check_not_both(rule, "result_size", "fails", path, report)
        _check_ways(rule, path, report)
    _check_kinds(tree, report)
    for index, step in enumerate(listed(tree, "script")):
        for name in ("result", "fails") if items(step, "hands", "do") != "answer" else ():
            if items(step, "hands", name) is not None:
                facts = f"`{name}` goes with `answer` only, found {shown(items(step, 'hands', 'do'))}"
                report.add(("script", index, "hands", name), facts, at_key=True)
        check_not_both(items(step, "hands"), "result", "fails", ("script", index, "hands"), report)
        if items(step, "hands", "outside") is not None and items(step, "hands", "process") is not None:
            facts = "expected `outside` or `process`, found both"
            report.add(("script", index, "hands", "process"), facts, "a request from outside has no process")


def _check_ways(rule: object, path: tuple[str | int, ...], report: ProblemReport) -> None:
    given = [name for name in _WAYS if items(rule, name) is not None]
    if len(given) > 1:
        names = ", ".join(f"`{name}`" for name in given)
        report.add((*path, given[1]), f"expected at most one mistake, found {names}", "give each its own rule")
    for name in _ANSWER if items(rule, "dies") is True else ():
        if items(rule, name) is not None:
            report.add((*path, name), f"expected no `{name}` of a worker that dies", "remove one", at_key=True)


def _check_kinds(tree: object, report: ProblemReport) -> None:
    """A hand is a function, an agent, or the hand of workers, and the gateway must know which."""
    agents, functions, workers = (agents_of_tree(tree), functions_of_tree(tree), configured_workers(tree))
    for name in functions:
        path = ("cast", "hands", name)
        if name in agents:
            report.add(path, f"the hand {shown(name)} has the name of an agent", "choose another name", at_key=True)
        elif name in workers:
            facts = f"the hand {shown(name)} is for workers, as the gateway is configured"
            report.add(path, facts, "its rules belong to cast.workers", at_key=True)
    for name in workers:
        if name in agents and items(tree, "gateway", "hands", "each", name) is not None:
            path = ("gateway", "hands", "each", name)
            facts = f"the hand {shown(name)}, which is for workers, has the name of an agent"
            report.add(path, facts, "choose another name", at_key=True)
    for path, hand in select(tree, steps_of("cast.workers.*.hand")):
        if isinstance(hand, str) and hand not in workers:
            facts = f"expected a hand with `worker: true` in gateway.hands.each, found {shown(hand)}"
            report.add(path, facts, advice(hand, workers) or "there are none")


# Checks of what agents do with their message tool.


def check_acts(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report calls whose places are not all of one account: the tool takes one channel and one account."""
    for path, act in select(tree, steps_of("cast.agents.*[].do[].act")):
        places = [place_refs.place_if_known(text, world) for text in listed(act, "to")]
        accounts = {
            f"{place.platform}:{place.account}": number for number, place in enumerate(places) if place is not None
        }
        if len(accounts) > 1:
            facts = f"`to` expects places of one account, found those of {', '.join(accounts)}"
            number = list(accounts.values())[1]
            report.add((*path, "to", number), facts, "make one call for each")
        if len(places) > 1 or items(act, "action") == Action.BROADCAST:
            _check_targets(places, (*path, "to"), report)


def _check_targets(places: Sequence[place_refs.PlaceRef | None], path: Path, report: ProblemReport) -> None:
    """Report threads in a call with several targets on a platform whose targets name no thread: it would miss them."""
    for number, place in enumerate(places):
        if place is not None and place.thread is not None and place.room is not None:
            sample = Address(
                channel=place.platform, account="", conversation="1", thread="2", parent="3", kind=ChatKind.CHANNEL
            )
            if place_refs.as_target(sample) is None:
                facts = f"a broadcast on {place.platform} takes rooms and people, and no thread: {place.tail}"
                report.add((*path, number), facts, "send to the thread by a call of its own")


# Checks of what people do to messages: the platform must have what they do it to.

#: action of a step -> the platforms without it, and what they lack
_LACK = {"vote": (POLLLESS, "polls"), "press": (BUTTONLESS, "buttons")}


def check_people(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report votes on platforms without polls, and presses on platforms without buttons."""
    for index, step in enumerate(listed(tree, "script")):
        place = place_refs.place_if_known(items(step, "in"), world)
        for action, (platforms, what) in _LACK.items():
            if items(step, action) is not None and place is not None and place.platform in platforms:
                report.add(("script", index, action), f"{place.platform} has no {what}", at_key=True)


#: roles in a transcript
ROLES = ("user", "assistant", "hand", "delivery")
#: paths of names that are part of places
_NAMED = (
    "world.people",
    *(
        f"world.{platform}.{part}"
        for platform in (*PLATFORMS, "plugins.*")
        for part in ("accounts", "rooms", "rooms.*.threads")
    ),
)

#: a message and a hint; None if the name is valid
Fault = tuple[str, str] | None


class KnownNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names that a file may use; None: unknown, so not checked."""

    #: includes the threads that the gateway will open, see `world_of`
    world: WorldSpec | None
    names: Names


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
    _check_keys(tree, report, known.names)
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
    opened: list[tuple[place_refs.PlaceRef, str]] = []
    said = [step for step in listed(tree, "script") if items(step, "say") is not None] if opening else []
    given = [own if isinstance(own := step.get("id"), str) else None for step in said]
    for step, own in zip(said, say_ids(given), strict=True):
        place = place_refs.place_if_known(step.get("in"), world)
        if place is not None and place.platform in opening and place.room is not None and place.thread is None:
            opened.append((place, own))
    return _with_children(tree, with_calls(tree, place_refs.with_threads(world, opened) if opened else world))


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
    return place_refs.with_threads(world, opened) if opened else world


def _configurations(tree: object) -> Iterator[tuple[Path, object]]:
    """The gateway's configuration, and the part of one in each `reload` step."""
    yield ("gateway",), items(tree, "gateway")
    for index, step in enumerate(listed(tree, "script")):
        yield ("script", index, "reload"), items(step, "reload")


def _kinds(tree: object, known: KnownNames) -> dict[str, Callable[[str], Fault]]:
    """The check for each kind of name."""
    agents, hands, messages = agents_of_tree(tree), hands_of_tree(tree), _messages(tree)
    labels, channels = labels_of_tree(tree), channels_of_tree(tree)
    return {
        "place": lambda text: _place(text, known.world),
        "session": lambda text: None if place_refs.is_session_key(text) else _place(text, known.world),
        "person": lambda name: _person(name, known.world),
        "agent": lambda name: unknown_word("an agent of the gateway", name, agents),
        "hand": lambda name: None if name == "*" else unknown_word("a hand of the cast", name, hands),
        "delegating agent": lambda name: None if name == "*" else unknown_word("an agent of the gateway", name, agents),
        "label": lambda name: unknown_word("the `label` of a `delegate`", name, labels),
        "label or last": lambda name: unknown_word("the `label` of a `delegate` or `last`", name, (*labels, LAST)),
        "channel": lambda name: unknown_word("a known channel", name, channels),
        "event": lambda name: unknown_word("a kind of event", name, BODIES),
        "reason": lambda name: unknown_word("a reason code", name, list(Reason)),
        "action": lambda name: unknown_word("an action", name, list(Action)),
        "ability": lambda name: unknown_word("a capability or an action", name, ABILITIES),
        "state": lambda name: unknown_word("a state of an intent", name, list(IntentState)),
        "bug": lambda name: unknown_word("a bug switch", name, known.names.bugs),
        "invariant": lambda name: unknown_invariant(name, known.names.invariants),
        "plug-in agent": lambda name: unknown_word("an agent of a plug-in", name, known.names.agents),
        "plug-in hand": lambda name: unknown_word("a hand of a plug-in", name, known.names.hands),
        "plug-in hook": lambda name: unknown_word("a hook of a plug-in", name, known.names.hooks),
        "plug-in fault": lambda name: unknown_word("a fault of a plug-in", name, known.names.faults),
        "question": lambda name: unknown_word("the id of a `say`", name, _said(tree)),
        "message": lambda name: unknown_word("the id of a `say`, a `label` or `last`", name, messages),
        "changed text": lambda text: template_problem(text, HOOK_SLOTS),
        "template": template_problem,
    }


def _messages(tree: object) -> tuple[str, ...]:
    """The names of messages that an agent's action may concern."""
    labels = [found for kind in ("send", "act") for _, found in select(tree, steps_of(f"{ACTIONS}.{kind}.label"))]
    return (*_said(tree), *(label for label in labels if isinstance(label, str)), LAST)


def _said(tree: object) -> tuple[str, ...]:
    """The names of what people say."""
    said = [step for step in listed(tree, "script") if items(step, "say") is not None]
    return say_ids(own if isinstance(own := step.get("id"), str) else None for step in said)


def _place(text: str, world: WorldSpec | None) -> Fault:
    try:
        _ = world and place_refs.resolve_place(text, world)
    except place_refs.PlaceError as error:
        return error.message, error.hint
    return None


def _person(name: str, world: WorldSpec | None) -> Fault:
    if world is None or "*" in name or place_refs.is_person(name, world):
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


def _check_keys(tree: object, report: ProblemReport, names: Names) -> None:
    """Names used as keys: settings of channels and of hands, and fake platforms of plug-ins."""
    hands, channels = hands_of_tree(tree), channels_of_tree(tree)
    keyed: list[tuple[Path, object, str, Iterable[str]]] = []
    for path, config in _configurations(tree):
        keyed.append(((*path, "channels"), items(config, "channels"), "a known channel", (*channels, DEFAULTS)))
        keyed.append(((*path, "hands", "each"), items(config, "hands", "each"), "a hand of the cast", hands))
    for path, ids in select(tree, steps_of("world.people.*.ids")):
        keyed.append((path, ids, "a known channel", channels))
    if (fakes := names.fakes) is not None:
        keyed.append((("world", "plugins"), items(tree, "world", "plugins"), "a fake platform of a plug-in", fakes))
    for path, found, what, options in keyed:
        for name in cast("dict[str, object]", found) if isinstance(found, dict) else ():
            if fault := unknown_word(what, name, tuple(options)):
                report.add((*path, name), *fault, at_key=True)


def _check_world(tree: object, report: ProblemReport) -> None:
    """Names of people, accounts, rooms and threads must be usable in places, and members must be accounts."""
    written, plugins = items(tree, "world", "crowd"), (name for _, name in _names(tree, ("world", "plugins")))
    crowd = items(cast("object", written), "count") if isinstance(written, dict) else written
    for path, name in _names(tree, ("world", "people")):
        number = name[1:]
        if name[:1] == "p" and number.isdecimal() and isinstance(crowd, int) and 1 <= int(number[:6]) <= crowd:
            report.add(
                path, f"{shown(name)} is one of the crowd of {crowd} already", "choose another name", at_key=True
            )
    for base in (*(("world", name) for name in PLATFORMS), *(("world", "plugins", name) for name in plugins)):
        platform = base[-1]
        accounts = [name for _, name in _names(tree, (*base, "accounts"))] or ["default"]
        for path, member in select(tree, (*base, "rooms", "*", "accounts", "[]")):
            if isinstance(member, str) and (fault := unknown_word(f"an account of {platform}", member, accounts)):
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
        found = place_refs.place_if_known(place, world)
        if action is not None and found is not None and found.thread is None:
            what = "a direct conversation" if found.person is not None else "a room"
            report.add(("script", index, "in"), f"`{action}` expects a thread, found {what}: {shown(place)}")


def _check_chains(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """A reply chain must not have the id of a thread, and cannot be in a thread."""
    for index, step in enumerate(listed(tree, "script")):
        chain, place = items(step, "reply_chain"), items(step, "in")
        found = place_refs.place_if_known(place, world)
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
        if given == "session" and isinstance(key, str) and not place_refs.is_session_key(key):
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
