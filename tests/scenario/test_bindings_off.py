"""Off, work that is delegated is told as it was before there were bindings: runs have the same trace, byte for byte.

The other side is the rule as it was, written out here, in a gateway that has neither router nor bound routes, on
platforms that open no threads and bind nothing: whoever asks for any of it fails, and is found.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.events import Event, encode_event
from trunkline.core.events.hands import CompletionStep
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim import BUGS, ScenarioFile, run_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper
from trunkline.sim.events.world import WorldLimits
from trunkline.sim.scenario.model.agent_actions import AgentAction

LEGACY = "as-it-was"


class Asked(AssertionError):
    """Something was asked for that was not there before."""


def plan_as_it_was(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """One path, and the place where it was asked for: the rule of delegated work before bindings."""
    assert done.routed is None
    if done.requester_replaced:
        step = CompletionStep(mode="direct", reason=Reason.REQUESTER_REPLACED, address=done.reply_to)
    elif config.announce == "direct" and done.reply_to is not None:
        step = CompletionStep(mode="direct", reason=Reason.DIRECT_ANNOUNCE, address=done.reply_to)
    else:
        step = CompletionStep(mode="turn", reason=Reason.CALLBACK_TURN, address=done.reply_to)
    return CompletionPlan(steps=(step,))


class Legacy:
    """A gateway as it was, and what it was asked for all the same."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def install(self, wiring: Wiring) -> None:
        legacy, before = self, wiring.wrap_adapter

        def refuse(what: str):
            legacy.asked.append(what)
            raise Asked(what)

        def route_bound(route, _envelope, bound, _config):
            return route if bound is None else refuse("route_bound")

        class BindsNothing(AdapterWrapper):
            async def open_child(self, parent: Address, title: str, key: str) -> Address:
                return refuse("open_child")

            async def inspect(self, place: Address):
                return refuse("inspect")

            async def reopen(self, place: Address) -> None:
                refuse("reopen")

            async def identity(self, place: Address, name: str):
                return refuse("identity")

        wiring.wrap_adapter = lambda adapter: BindsNothing(before(adapter))
        wiring.replace(
            plan_completion=plan_as_it_was,
            resolve_destination=lambda **_: refuse("resolve_destination"),
            route_bound=route_bound,
        )


def with_spawning(config: GatewayConfig, on: bool) -> GatewayConfig:
    """The configuration with threads for delegated work on all platforms, or on none; nobody binds anything else."""
    channels = {}
    for name in ("discord", "telegram", "slack", "matrix", "whatsapp", "signal", *config.channels):
        channel = config.channel(name)
        bindings = channel.thread_bindings.model_copy(update={"spawn_subagent_sessions": on})
        channels[name] = channel.model_copy(update={"thread_bindings": bindings})
    control = config.control.model_copy(update={"enabled": False})
    return config.model_copy(update={"channels": channels, "control": control})


def asked_for(path: Path) -> list[AgentAction]:
    agents = shipped_scenario(path).scenario.cast.agents
    return [action for rules in agents.values() for rule in rules for action in rule.do]


def switched(file: ScenarioFile, on: bool) -> ScenarioFile:
    """The file with the switch on or off, also after it is configured anew, and without what operators bind."""
    scenario, kept = file.scenario, [step.bind is None and step.unbind is None for step in file.scenario.script]
    script = tuple(step for step, keep in zip(scenario.script, kept, strict=True) if keep)
    times = tuple(at for at, keep in zip(file.times, kept, strict=True) if keep)
    return replace(
        file,
        scenario=scenario.model_copy(update={"gateway": with_spawning(scenario.gateway, on), "script": script}),
        times=times,
        reloads=tuple(with_spawning(config, on) for config in file.reloads),
    )


class Runs:
    """Runs a file as it is now, and as it was. Both say that a switch is on: only what it does differs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.legacy = Legacy()

    def now(self, file: ScenarioFile) -> list[bytes]:
        return self._trace(file, lambda _: None)

    def before(self, file: ScenarioFile) -> list[bytes]:
        return self._trace(file, self.legacy.install)

    def _trace(self, file: ScenarioFile, install: Callable[[Wiring], None]) -> list[bytes]:
        bug = Bug(name=LEGACY, sentence="There are no bindings.", caught_by=(), install=install)
        self._monkeypatch.setitem(BUGS, LEGACY, bug)
        events = run_scenario(file, bugs=[LEGACY]).trace.events
        return [encode_event(without_config(event)) for event in events]


def without_config(event: Event) -> Event:
    """The event as it is, whatever configuration it says was given."""
    body = event.body
    if not isinstance(body, WorldLimits):
        return event
    return msgspec.structs.replace(event, body=msgspec.structs.replace(body, config=""))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_off_every_run_is_as_it_was(path, runs: Runs) -> None:
    off = switched(shipped_scenario(path), on=False)
    now, before = runs.now(off), runs.before(off)
    assert runs.legacy.asked == []
    assert now == before


def test_many_scenarios_delegate() -> None:
    delegating = [path for path in SCENARIO_FILES if any(each.delegate is not None for each in asked_for(path))]
    assert len(delegating) >= 10


def test_on_it_is_another_story(runs: Runs) -> None:
    """What is compared can differ: with the switch on, the gateway as it was is asked for what it does not have."""
    stem = "B137-first-reply-in-parent"
    on = switched(shipped_scenario(next(path for path in SCENARIO_FILES if path.stem == stem)), on=True)
    now, before = runs.now(on), runs.before(on)
    assert set(runs.legacy.asked) == {"open_child"}
    assert now != before


def test_by_default_it_is_off(runs: Runs) -> None:
    """No configuration at all, and the default of every platform."""
    config = GatewayConfig()
    assert not any(config.channel(name).thread_bindings.spawn_subagent_sessions for name in ("discord", "telegram"))
    path = next(path for path in SCENARIO_FILES if path.stem == "B001-announced-twice")
    file = shipped_scenario(path)
    assert runs.now(file) == runs.now(switched(file, on=False)) == runs.before(file)
