"""Reasons why a scenario cannot be put on the wire. Nothing is changed in silence."""

from collections.abc import Iterable, Iterator

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.values import DeliveryMode, Idempotency
from trunkline.sim.bugs.wiring import replaces_adapters
from trunkline.sim.platforms import PLATFORMS
from trunkline.sim.plugins.toolbox import toolbox_of
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model.steps import ScriptStep
from trunkline.sim.scenario.model.world import AccountSpec, PlatformSpec, idempotency_of
from trunkline.sim.wire.servers import ON_THE_WIRE

#: seconds of the script: at the highest speed a run of them takes seconds
LONGEST = 7200.0


#: seconds for which Discord remembers a key, at least as its adapter takes it
_KEY_SECONDS = 120.0
#: the id of a forum's own topic
_GENERAL = "1"
#: platforms that open the connections themselves
_CALL_THE_GATEWAY = {"whatsapp"}


#: actions that an adapter lacks although the rules of the channel have them
LACKING = {
    "telegram": frozenset({Action.POLL_RESULTS, Action.STICKER_SEARCH}),
    "whatsapp": frozenset({Action.DELETE, Action.EDIT, Action.POLL, Action.POLL_RESULTS}),
}
#: platforms that get the address of a file; the adapters of others fetch it
_BY_ADDRESS = {"telegram", "whatsapp"}


class WireUnfit(msgspec.Struct, frozen=True, kw_only=True):
    reason: str


def unfit(file: ScenarioFile, bugs: Iterable[str] = ()) -> tuple[WireUnfit, ...]:
    """The reasons why a scenario with its bug switches does not fit, each once; empty: it fits."""
    return tuple(WireUnfit(reason=reason) for reason in dict.fromkeys(_reasons(file, bugs)))


def _reasons(file: ScenarioFile, bugs: Iterable[str]) -> Iterator[str]:
    for bug in (*file.scenario.with_bugs, *bugs):
        if replaces_adapters(toolbox_of(file).bugs[bug].install):
            yield f"the bug {bug} is in the adapters of the simulator, and real ones do not have it"
    platforms = file.scenario.world.platforms
    if not any(name in ON_THE_WIRE for name in platforms):
        yield f"its platforms ({', '.join(platforms)}) have no server; there are: {', '.join(ON_THE_WIRE)}"
    end = max(file.times, default=0.0)
    if end > LONGEST:
        yield f"its script takes {end:g} s, and a run on the wire at most {LONGEST:g} s"
    for name, spec in platforms.items():
        if name in ON_THE_WIRE:
            yield from unfit_settings(name, spec)
    for name, actions in LACKING.items():
        for action in sorted(actions & asked_actions(file.scenario)) if name in platforms else ():
            yield f"{action.value} on {name}: its adapter does not have it"
    for media in sent_files(file.scenario):
        yield from _of_file(media, platforms)
    for step in file.scenario.script:
        yield from _of_step(step, file)


def _of_file(media: str, platforms: Iterable[str]) -> Iterator[str]:
    """A file that an adapter would read from this machine, or from another one."""
    if media.lower().startswith(("http://", "https://")):
        fetching = [name for name in platforms if name in ON_THE_WIRE and name not in _BY_ADDRESS]
        if fetching:
            yield f"the file {media}: the adapter of {fetching[0]} fetches it, and no request leaves the machine"
    elif not media.startswith("data:"):
        yield f"the file {media}: an adapter reads it, and there is none"


def unfit_settings(name: str, spec: PlatformSpec) -> Iterator[str]:
    """Settings of a platform that the real one, or its adapter, does not have."""
    if name == "telegram" and any(
        thread.id == _GENERAL for room in spec.rooms.values() for thread in room.threads.values()
    ):
        yield "a topic with the id 1: on Telegram that is General, whose messages name no topic"
    if spec.cannot:
        yield f"{name} without {', '.join(spec.cannot)}: the real one has it"
    if not spec.stable_ids:
        yield f"{name} with new ids for messages that are delivered again: the real one keeps them"
    if spec.key_seconds is not None:
        yield f"{name} with keys that it forgets after {spec.key_seconds:g} s: the adapter knows its own time"
    if spec.misplaces:
        yield f"{name} that posts in the room of a deleted thread: only the fake in memory does"
    usual = idempotency_of(name, PlatformSpec(), AccountSpec())
    for account in spec.accounts.values():
        mode = account.mode or spec.mode
        if mode not in (None, DeliveryMode.DIRECT, PLATFORMS[name].mode):
            yield f"{name} with the transport {mode}: its adapter has none but the direct one"
        offered = idempotency_of(name, spec, account)
        if offered is not usual:
            yield f"{name} {_IDEMPOTENCY[offered]}: the real one is {_IDEMPOTENCY[usual]}"


_IDEMPOTENCY = {
    Idempotency.KEY: "with idempotency keys",
    Idempotency.LOOKUP: "with a look-up of sends",
    Idempotency.NONE: "without idempotency keys and look-up",
}


def _of_step(step: ScriptStep, file: ScenarioFile) -> Iterator[str]:
    if step.proxy is not None:
        yield "a message that a proxy replaces: no platform says which one it was"
    if step.lose is not None:
        yield "a message that its platform takes back: the servers notify nobody"
    if step.rotate is not None:
        yield "a token is replaced while the gateway runs: a real account gets its new one by a restart"
    if step.fault is not None:
        yield from _of_fault(step.fault, file)


def _of_fault(fault: Fault, file: ScenarioFile) -> Iterator[str]:
    worlds = file.scenario.world.platforms
    struck = [platform for platform in ON_THE_WIRE if platform in worlds]
    if fault.place is not None:
        struck = [platform for platform in struck if platform == file.resolve(fault.place).platform]
    if fault.on == "ready":
        yield "an account that is not ready although its platform can be reached: nothing on a socket says so"
    if fault.on == "lookup":
        yield "a fault on the look-up of a send: no adapter looks sends up"
    if fault.on == "connect":
        for name in [platform for platform in struck if platform in _CALL_THE_GATEWAY]:
            yield f"the connection of {name} breaks: the real one has none, it calls the gateway"
    if fault.on == "send" and fault.do == "refuse-connection" and struck:
        yield "a connection that is refused to one send: a socket refuses all, or none"
    if fault.on == "send" and fault.do == "error" and "discord" in struck:
        wait = min(file.scenario.gateway.delivery.backoff)
        if wait > _KEY_SECONDS:
            yield f"a retry after {wait:g} s on discord, which then has forgotten the key of an attempt in doubt"
    if fault.on == "send" and fault.do == "error":
        for name in [
            platform
            for platform in struck
            if idempotency_of(platform, PlatformSpec(), AccountSpec()) is not Idempotency.KEY
        ]:
            yield f"an error of {name} that has certainly done nothing: on the wire it is a status 500, which may have"


def asked_actions(scenario: Scenario) -> frozenset[Action]:
    """The actions of the message tool that the agents of a scenario use, and the polls of its clients."""
    rules = (rule for agent in scenario.cast.agents.values() for rule in agent)
    named = {did.act.action for rule in rules for did in rule.do if did.act is not None}
    polls = any(step.send is not None and step.send.poll is not None for step in scenario.script)
    return frozenset(action for action in Action if action in named or (polls and action is Action.POLL))


def sent_files(scenario: Scenario) -> Iterator[str]:
    """The files that agents and clients send, by path or address; a dry run sends none."""
    for agent in scenario.cast.agents.values():
        for did in (did for rule in agent for did in rule.do):
            if did.send is not None and not did.send.dry_run:
                yield from did.send.media
    for step in scenario.script:
        if step.send is not None and not step.send.dry_run:
            yield from step.send.media
