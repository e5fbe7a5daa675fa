"""What plug-ins add to a run, and that an error of theirs is named as such and is no finding."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.for_each import for_each
from tests.support.plugins import Counted, bug, scenario, tools
from trunkline import Cancel, Change
from trunkline.core.decisions import plan_reply
from trunkline.core.errors import Refused
from trunkline.core.store.commands import Admit
from trunkline.sim import BUGS, INVARIANTS, Status, run_scenario
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.explore import Explorer
from trunkline.sim.plugins import (
    OURS,
    AdapterWrapper,
    Bug,
    PluginError,
    changing_write,
    on,
    replacing_write,
    toolbox,
    wrapping,
)
from trunkline.sim.scenario import ScenarioError


def switch(install: Callable[[Any], None]) -> Bug:
    return Bug(name="t.bug", sentence="A defect.", caught_by=(), install=install)


def texts(result: Any) -> list[str]:
    return [event.body.text for event in result.trace.events if isinstance(event.body, WireAccepted)]


# ---------------------------------------------------------------- errors of switches


def _bad_decision(*_: Any) -> Any:
    raise KeyError("mine")


class _BadAdapter(AdapterWrapper):
    async def send(self, request: Any) -> Any:
        raise KeyError("mine")


class _BadAgent:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def turn(self, turn: Any) -> str | None:
        return {}["mine"]


async def _bad_write(store: Any, command: Any, story: Any, then: Any) -> Any:
    raise KeyError("mine")


def _bad_wrap(_adapter: Any) -> Any:
    raise KeyError("mine")


RAISING = {
    "a decision": bug(_bad_decision),
    "a wrapped adapter": switch(wrapping(_BadAdapter)),
    "a wrapper of adapters": switch(wrapping(_bad_wrap)),
    "a wrapped agent": switch(lambda wiring: setattr(wiring, "wrap_agent", _BadAgent)),
    "a changed command": switch(changing_write(Admit)(_bad_decision)),
    "a replaced command": switch(replacing_write(Admit)(_bad_write)),
}


@for_each("name", RAISING)
def test_a_switch_that_raises_is_an_error_of_the_switch(name):
    file = scenario(tools(bugs=[RAISING[name]], version="0.3"))
    with pytest.raises(PluginError) as raised:
        run_scenario(file, bugs=["t.bug"])
    assert raised.value.facts.startswith("t 0.3: bug switch t.bug raised KeyError: 'mine' (test_runs.py:")
    assert run_scenario(file).holds


def test_a_decision_that_returns_what_is_none_is_a_finding_and_no_error_of_the_switch():
    """What the gateway makes of a wrong value is the gateway's."""
    assert not run_scenario(scenario(tools(bugs=[bug(lambda envelope, config: None)])), bugs=["t.bug"]).holds


class _Refusing(AdapterWrapper):
    async def send(self, request: Any) -> Any:
        raise Refused("as real ones do")


class _Passing(_BadAgent):
    async def turn(self, turn: Any) -> str | None:
        return await self.inner.turn(turn)


def test_errors_of_trunkline_and_of_what_a_switch_wraps_are_no_errors_of_the_switch():
    refusing = scenario(tools(bugs=[switch(wrapping(_Refusing))]))
    assert not run_scenario(refusing, bugs=["t.bug"]).holds
    passing = switch(lambda wiring: setattr(wiring, "wrap_agent", _Passing))
    assert run_scenario(scenario(tools(bugs=[passing]), action="{fail: by the script}"), bugs=["t.bug"]).holds


def test_exploring_names_the_switch_too():
    with pytest.raises(PluginError, match=r"bug switch t\.bug raised KeyError"):
        Explorer(scenario(tools(bugs=[bug(_bad_decision)])), bugs=["t.bug"])


# ---------------------------------------------------------------- errors of invariants


class _Raising(Counted):
    @on(WireAccepted)
    def _accepted(self, _event: Any, _body: Any) -> None:
        raise KeyError("mine")


class _RaisingAtTheEnd(Counted):
    def finish(self, last: Any) -> None:
        raise KeyError("mine")


class _RaisingAtOnce(Counted):
    def __init__(self, run: Any) -> None:
        raise KeyError("mine")


@for_each("checker", [_Raising, _RaisingAtTheEnd, _RaisingAtOnce])
def test_an_invariant_that_raises_is_an_error_of_the_invariant(checker):
    file = scenario(tools(invariants=[checker]))
    with pytest.raises(PluginError) as raised:
        run_scenario(file)
    assert raised.value.facts.startswith("t: invariant t.Q1")
    assert "raised KeyError: 'mine' (test_runs.py:" in raised.value.facts
    assert pickle.loads(pickle.dumps(raised.value)).facts == raised.value.facts


def test_an_invariant_of_a_plugin_judges_and_names_its_origin():
    verdict = run_scenario(scenario(tools(invariants=[Counted], version="0.3"))).verdicts[-1]
    assert (verdict.id, verdict.status, verdict.exercised) == ("t.Q1", Status.OK, 2)
    assert (verdict.origin, verdict.name) == ("t 0.3", "Counted (plug-in t 0.3)")
    assert (Counted.origin, Counted.error) == ("", None)


# ---------------------------------------------------------------- nothing leaks


def test_plugins_of_one_run_are_unknown_to_the_next():
    bugs, invariants = dict(BUGS), INVARIANTS
    first = run_scenario(scenario(tools(bugs=[bug()], invariants=[Counted])), bugs=["t.bug"])
    other = toolbox([])
    assert first.verdicts[-1].id == "t.Q1"
    second = run_scenario(scenario(other))
    assert "t.Q1" not in [verdict.id for verdict in second.verdicts]
    assert (dict(BUGS), INVARIANTS) == (bugs, invariants)
    assert dict(OURS.bugs) == bugs
    with pytest.raises(PluginError, match=r"expected a bug switch, found 't.bug'; the plug-in 't' may be missing"):
        run_scenario(scenario(other), bugs=["t.bug"])


# ---------------------------------------------------------------- the cast, faults


class _Clerk:
    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    async def turn(self, turn: Any) -> str | None:
        await turn.send(f"on {turn.text}")
        await turn.message({"action": "send", "message": f"and {turn.text}"})
        return f"so: {turn.text}"


def test_an_agent_of_a_plugin_is_made_once_for_each_process_and_its_sends_are_facts():
    _Clerk.made = 0
    file = scenario(tools(agents={"t.clerk": _Clerk}), action="{plugin: t.clerk}", fault="{on: send, do: error}")
    result = run_scenario(file)
    assert result.holds
    assert texts(result) == ["on first", "and first", "so: first", "on second", "and second", "so: second"]
    assert _Clerk.made == 1
    assert {verdict.id: verdict.exercised for verdict in result.verdicts}["T6"] >= 6


class _Louder:
    async def __call__(self, message: Any) -> Change:
        return Change(text=message.text + "!")


class _Words:
    async def run(self, task: Any) -> str:
        return f"{len(task.task.split())} words"


def test_hooks_and_hands_of_a_plugin_are_judged_as_ours():
    added = tools(hooks={"t.louder": _Louder}, hands={"t.words": _Words})
    more = "hooks: {louder: {plugin: t.louder}}"
    assert texts(run_scenario(scenario(added, more=more))) == ["you said first!", "you said second!"]


class _Quiet:
    async def __call__(self, message: Any) -> Cancel | None:
        return Cancel("not now") if "first" in message.text else None


def test_a_hook_of_a_plugin_cancels_a_message_as_ours_do():
    result = run_scenario(scenario(tools(hooks={"t.quiet": _Quiet}), more="hooks: {quiet: {plugin: t.quiet}}"))
    assert (texts(result), result.violated) == (["you said second"], ())


FAULTS = {
    "chosen": (lambda request: ("error", 0.0) if request.text.endswith("second") else None, 1),
    "counted": (lambda request: ("error", 0.0) if request.number == 2 else None, 1),
}


@for_each("name", FAULTS)
def test_a_fault_of_a_plugin_chooses_what_it_strikes(name):
    strike, _ = FAULTS[name]
    result = run_scenario(scenario(tools(faults={"t.f": strike}), fault="{on: send, plugin: t.f}"))
    fired = [event.body for event in result.trace.events if isinstance(event.body, FaultFired)]
    assert [(body.fault, body.detail) for body in fired] == [("send/error", "you said second (t.f)")]
    assert result.holds


@for_each("strike", [lambda _: {}["mine"], lambda _: "drop", lambda _: ("dropp", 1.0)], ids=["raises", "word", "typo"])
def test_a_fault_that_raises_or_chooses_what_is_none_is_an_error_of_the_fault(strike):
    with pytest.raises(PluginError, match=r"t: fault t\.f"):
        run_scenario(scenario(tools(faults={"t.f": strike}), fault="{on: send, plugin: t.f}"))


def test_a_fault_takes_one_of_do_and_plugin():
    added = tools(faults={"t.f": lambda _: None})
    for fault, says in (
        ("{on: send}", "expected `do` or `plugin`, found neither"),
        ("{on: send, do: drop, plugin: t.f}", "plugin"),
        ("{on: store, plugin: t.f}", "`plugin` goes with `send`, `act`, `lookup`, `thread`, `push`, `hand` only"),
        ("{on: send, plugin: t.g}", "expected a fault of a plug-in, found 't.g' (nearest valid word: 't.f')"),
        ("{on: send, plugin: u.g}", "the plug-in 'u' may be missing: install it, or name its module with --plugin"),
    ):
        with pytest.raises(ScenarioError) as raised:
            scenario(added, fault=fault)
        assert says in str(raised.value)


def test_plan_reply_is_what_a_harmless_switch_keeps():
    assert run_scenario(scenario(tools(bugs=[bug(plan_reply)])), bugs=["t.bug"]).holds
