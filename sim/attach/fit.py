"""Reasons why a scenario cannot be played with a gateway that is not ours. Nothing is changed in silence.

From outside one sees a gateway's processes, its requests to platforms and to its model, and what it posts. Everything
else of the scenario language is inside a gateway.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from trunkline.core.events import BODIES
from trunkline.sim.attach.profile import THREADS, GatewayProfile
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.plugins.toolbox import toolbox_of
from trunkline.sim.run.script.triggers import has_place, has_text
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.scenario import AgentRule, Scenario
from trunkline.sim.scenario.model.steps import ScriptStep, When
from trunkline.sim.scenario.model.world import PlatformSpec
from trunkline.sim.wire.play.fit import unfit_settings
from trunkline.sim.wire.servers import ON_THE_WIRE

#: steps that do something inside a gateway, and what that is
_INSIDE = {
    "send": "a client of the gateway sends",
    "queue": "an operator changes its queue",
    "hands": "an operator acts on its delegations",
    "wake": "a turn without a message",
    "wake_heartbeat": "a heartbeat",
    "system_event": "an event for a heartbeat",
    "second": "a second process on one store",
    "clock": "the clock of the machine is set",
    "reload": "its configuration is replaced",
    "reset": "one of its sessions is reset",
    "bind": "a conversation is bound to a session",
    "unbind": "a binding ends",
    "webhook": "its webhook stops working",
    "press": "a person presses a button, and the scripted model has the gateway post none",
    "vote": "a person votes, and the scripted model has the gateway post no poll",
    "call": "a call",
    "hang_up": "a call",
    "hold": "a call",
    "resume": "a call",
}
#: what a fault strikes that is inside
_FAULTS_INSIDE = {
    "lookup": "the look-up of a send",
    "hand": "a hand",
    "store": "the store",
    "server": "the server of its store",
    "queue": "the stored queue",
    "mirror": "the transcript",
    "ready": "the readiness of an account",
    "boot": "its adapters",
}
#: beginnings of the kinds of events that only the simulated gateway has
_KINDS_INSIDE = (
    "hand.",
    "worker.",
    "agent.",
    "call.",
    "speech.",
    "cast.",
    "client.",
    "bug.",
    "world.heartbeat",
    "wire.looked_up",
)
#: events of a run at which no step can happen any more, or yet
_AT_THE_EDGES = ("gateway.attached", "run.phase", "run.ended", "script.skipped")
#: what a rule of the cast can ask of a turn, that nobody sees from outside
_TURNS_INSIDE = ("callback", "outcome", "label", "task", "wake", "heartbeat", "cron")
_ANSWERS = ("think", "pause", "reply")
_SLOTS = re.compile(r"(?<!\{)\{([a-z_]+)\}")
_KNOWN_SLOTS = ("text", "peer")


def attach_unfit(file: ScenarioFile, profile: GatewayProfile) -> tuple[str, ...]:
    """Why a scenario is not played with a gateway: everything, each reason once. Empty: it is played."""
    found = chain(_of_scenario(file), _of_profile(file, profile))
    return tuple(dict.fromkeys(found))


def _of_scenario(file: ScenarioFile) -> Iterator[str]:
    scenario = file.scenario
    if scenario.gateway.model_fields_set:
        names = ", ".join(sorted(scenario.gateway.model_fields_set))
        yield f"`gateway` ({names}) is the configuration of Trunkline; another gateway has its profile"
    if scenario.with_bugs:
        yield f"the bug switches {', '.join(scenario.with_bugs)} are inside Trunkline"
    if scenario.stored.sessions:
        yield "`stored` has sessions of Trunkline"
    if scenario.world.crowd.count or scenario.world.crowd.chatter is not None:
        yield "a crowd: its questions have no marks"
    for name, spec in scenario.world.platforms.items():
        yield from _of_platform(name, spec)
    yield from _of_cast(scenario)
    for step in scenario.script:
        yield from _of_step(step)
    yield from _of_expectations(file)


def _of_platform(name: str, spec: PlatformSpec) -> Iterator[str]:
    if name not in ON_THE_WIRE:
        yield f"{name} has no server; there are: {', '.join(ON_THE_WIRE)}"
        return
    if len(spec.accounts) > 1:
        yield f"{len(spec.accounts)} accounts on {name}: a profile fills in one"
    yield from unfit_settings(name, spec)


def _of_cast(scenario: Scenario) -> Iterator[str]:
    cast = scenario.cast
    if len(cast.agents) > 1:
        yield f"{len(cast.agents)} agents ({', '.join(cast.agents)}): there is one scripted model"
    for name in ("hands", "workers", "hooks"):
        if getattr(cast, name):
            yield f"`cast.{name}` is inside a gateway"
    for rule in chain.from_iterable(cast.agents.values()):
        yield from _of_rule(rule)


def _of_rule(rule: AgentRule) -> Iterator[str]:
    for name in _TURNS_INSIDE:
        if getattr(rule.when, name) is not None:
            yield f"a rule of the cast for turns with `{name}`: such turns are inside a gateway"
    for action in rule.do:
        for name in sorted(action.model_fields_set - set(_ANSWERS)):
            yield f"the agent's action `{name}`: the scripted model only answers"
        for slot in _SLOTS.findall(action.reply or ""):
            if slot not in _KNOWN_SLOTS:
                yield f"the slot {{{slot}}} of a reply: the scripted model knows {{text}} and {{peer}}"
    if not any(action.reply for action in rule.do):
        yield "a rule of the cast without a reply: a model that says nothing leaves a question open"


def _of_step(step: ScriptStep) -> Iterator[str]:
    for name, what in _INSIDE.items():
        if getattr(step, name) is not None:
            yield f"`{name}`: {what}"
    if step.proxy is not None:
        yield "a message that a proxy replaces: no platform says which one it was"
    struck = step.crash or step.restart or step.freeze
    if struck is not None and struck.process != "gateway":
        yield "a second process on one store"
    for when in (step.when, None if struck is None else struck.when):
        if when is not None:
            yield from _of_event(when, "a step waits for")
    if step.fault is not None:
        yield from _of_fault(step.fault)


def _of_event(when: When, what: str) -> Iterator[str]:
    if not _is_outside(when.event):
        yield f"{what} {when.event}, which is recorded inside a gateway"
        return
    if when.event.startswith("world.") or when.event in _AT_THE_EDGES:
        yield f"{what} {when.event}, which is recorded before the first step or after the last one only"
        return
    if when.question is not None and not has_text(when.event) and when.event != ModelAsked.kind:
        yield f"{what} {when.event} about a question: such an event is about none"
    if when.text is not None and not has_text(when.event):
        yield f"{what} {when.event} with a text: such an event has none"
    if when.place is not None and not has_place(when.event):
        yield f"{what} {when.event} in a place: such an event has none"


def _is_outside(kind: str) -> bool:
    """Whether an event of this kind is recorded where only the wire is known."""
    body = BODIES.get(kind)
    if kind == "run.ended" or body is None:
        return True
    return body.__module__.startswith("trunkline.sim.events") and not kind.startswith(_KINDS_INSIDE)


def _of_fault(fault: Fault) -> Iterator[str]:
    if fault.on in _FAULTS_INSIDE:
        yield f"a fault of {_FAULTS_INSIDE[fault.on]}, which is inside a gateway"
    if fault.on in ("send", "act") and fault.do == "refuse-connection":
        what = "send" if fault.on == "send" else "change"
        yield f"a connection that is refused to one {what}: a socket refuses all, or none; see `on: connect`"
    for name in ("attempt", "transport"):
        if getattr(fault, name) is not None:
            yield f"a fault for one {name}: nobody sees it from outside; use `nth` and `text`"


def _of_expectations(file: ScenarioFile) -> Iterator[str]:
    expect, known = file.scenario.expect, toolbox_of(file).invariants
    for name in ("transcripts", "hands", "given"):
        if getattr(expect, name):
            yield f"`expect.{name}` is inside a gateway"
    for event in expect.events:
        if not _is_outside(event.kind):
            yield f"`expect.events`: {event.kind} is recorded inside a gateway"
    inside = [name for name in expect.exercised if (kind := known.get(name)) is not None and not kind.wire_side]
    if inside:
        yield f"`expect.exercised`: {', '.join(inside)} need the inside of a gateway; X1 and its kind do not"


def _of_profile(file: ScenarioFile, profile: GatewayProfile) -> Iterator[str]:
    platforms = file.scenario.world.platforms
    for name in platforms:
        if name in ON_THE_WIRE and name not in profile.platforms:
            yield f"{name}: the profile {profile.name} is for {', '.join(profile.platforms)}"
    for name in threaded(file):
        if name in profile.platforms and THREADS not in profile.platforms[name].abilities:
            yield (
                f"threads on {name}: the profile {profile.name} does not have them; if the gateway answers in them, "
                f"add `abilities: [{THREADS}]` to `platforms.{name}` of the profile"
            )
    own = [name for name in platforms if name in profile.platforms]
    abilities_of = [set(profile.platforms[name].abilities) for name in own or profile.platforms]
    for need in file.scenario.attach.needs:
        if any(need not in abilities for abilities in abilities_of):
            why = f": {profile.settings}" if profile.settings is not None else ""
            able = [name for name, variant in profile.variants.items() if need in variant.abilities]
            hint = f"; try --gateway {profile.name}@{able[0]}" if able else ""
            yield f"`attach.needs` {need}: the profile {profile.name} does not have it{why}{hint}"


def threaded(file: ScenarioFile) -> tuple[str, ...]:
    refs = [file.resolve(place) for place in _places(file.scenario.script)]
    return tuple(dict.fromkeys(ref.platform for ref in refs if ref.thread is not None))


def _places(script: Sequence[ScriptStep]) -> Iterable[str]:
    for step in script:
        for holder in (step, step.when, step.fault):
            if holder is not None and holder.place is not None:
                yield holder.place
