"""Scenarios with many bound sessions under one requester's channel, and what people see of them."""

import random
from collections import Counter
from collections.abc import Iterable

from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.events import Event
from trunkline.sim import ScenarioFile
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldPlace
from trunkline.sim.scenario import load_text

#: seconds: when the first hand is done, and between two of them
FIRST, APART = 60.0, 0.4


def many(
    count: int, *, order: int = 1, think: str = "10ms", script: Iterable[str] = (), bindings: str = "", hands: str = ""
) -> ScenarioFile:
    """`count` pieces of work that are asked for in one channel, done in an order that is shuffled by `order`.

    `script` are more steps, in order of time, all of them after the work was asked for.
    """
    done = list(range(1, count + 1))
    random.Random(order).shuffle(done)
    takes = {number: FIRST + APART * place for place, number in enumerate(done)}
    lines = [
        "scenario: 1",
        "title: many bound sessions",
        "gateway:",
        f"  hands: {{{hands}}}",
        "  channels:",
        f"    discord: {{thread_bindings: {{spawn_subagent_sessions: true{bindings and ', ' + bindings}}}}}",
        "world:",
        "  people: [ana]",
        "  discord: {guild: acme, rooms: [ops]}",
        "cast:",
        "  agents:",
        "    main:",
        '      - when: {callback: "*"}',
        f'        do: [{{think: {think}}}, {{reply: "{{result}}"}}]',
        '      - do: [{delegate: {hand: codex, task: "{text}"}}, {reply: "codex has {text}"}]',
        "  hands:",
        "    codex:",
    ]
    for number, seconds in takes.items():
        lines.append(f'      - {{when: {{text: "task {number}"}}, takes: {seconds:g}s, result: "done {number}"}}')
    lines.append("script:")
    for number in range(1, count + 1):
        lines.append(f'  - {{at: {number * 0.01:g}s, as: ana, in: ops, say: "task {number}", id: m{number}}}')
    lines += [f"  - {step}" for step in script]
    lines.append("  - {at: 3m, note: the end}")
    return load_text("\n".join(lines), f"many-{count}.yaml")


def seen(events: Iterable[Event]) -> Counter[tuple[str, str]]:
    """What people have seen: how often each text, by the name of its place."""
    names: dict[tuple[str, str, str, str], str] = {}
    found: Counter[tuple[str, str]] = Counter()
    for event in events:
        body = event.body
        if isinstance(body, WorldPlace):
            names[body.address.lane] = body.name
        elif isinstance(body, WireAccepted):
            found[names[body.address.lane], body.text] += 1
    return found


def asked(count: int) -> Counter[tuple[str, str]]:
    """What the channel sees of so much work: that it was given on."""
    return Counter({("ops", f"codex has task {number}"): 1 for number in range(1, count + 1)})


def announcements(numbers: Iterable[int]) -> Counter[tuple[str, str]]:
    """What the threads of some work see."""
    return Counter({(f"ops/m{number}.hand1", f"done {number}"): 1 for number in numbers})


def notices(found: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """What the channel is told instead of a result, also that it may be missing."""
    words = ("could not be posted in its thread", "its result is not posted here", DeliveryConfig().doubt_notice)
    return Counter(
        {place: times for place, times in found.items() if place[0] == "ops" and any(w in place[1] for w in words)}
    )
