"""The gateway ends at each commit, and at steps in between: nothing is said twice or lost, and all is explained.

Expectations of scenarios that crash by themselves, or whose hands die with their process, speak of one crash; the
invariants must hold at any, and people must see what they see without one.
"""

from collections import Counter

import msgspec
import pytest

from tests.support.paths import SCENARIO_FILES
from tests.support.scale import run_nightly, scaled
from trunkline.core.delivery.recovery import RecoveryDecision
from trunkline.core.events import encode_trace
from trunkline.core.events.delivery import RecoveryDecided
from trunkline.core.events.gateway import ProcessStarted
from trunkline.sim import BUGS, CrashAt, ScenarioFile, load_scenario, run_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.explore import CrashRun, Explorer, Sampling
from trunkline.sim.explore.crash_plan import CrashPoints, CrashTrial, plan, second_crash

#: every so many steps of the loop are tried here; `trunkline explore` tries each
STRIDE = 17
SMALL = Sampling(every_step=STRIDE, stops=6, second=6)
#: of a run of any length so many are tried, unless the night has time for every so many
STEPS = 10
#: scenarios on platforms that recognise a send, and without hands
SURE = ("B043-thread-reply-in-main", "B044-drifts-to-parent", "duplicate-push")


def named(stem: str) -> ScenarioFile:
    return load_scenario(next(path for path in SCENARIO_FILES if path.stem == stem))


def explored(explorer: Explorer, sampling: Sampling) -> list[CrashRun]:
    return [tried for trial in explorer.plan(sampling) for tried in explorer.attempt(trial)]


def broken(tried: list[CrashRun]) -> dict[str, CrashRun]:
    return {breach.id: one for one in reversed(tried) for breach in one.breaches}


@pytest.mark.slow(every=70)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_everything_holds_wherever_the_gateway_ends(path):
    explorer = Explorer(load_scenario(path))
    few = Sampling(every_step=max(STRIDE, len(explorer.points.steps) // STEPS), stops=3, second=3)
    tried = explored(explorer, SMALL if run_nightly() else few)
    assert explorer.sound.breaches == ()
    assert [(one.crashes, one.breaches) for one in tried if one.breaches] == []
    assert all(one.fired + one.overtaken == len(one.crashes) for one in tried)


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("stem", SURE)
def test_people_see_exactly_the_same_on_platforms_that_recognise_a_send(stem):
    tried = explored(Explorer(named(stem)), scaled(Sampling(every_step=3, stops=20, second=20), SMALL))
    assert [one for one in tried if one.breaches or one.differences] == []


@pytest.mark.slow
def test_a_whole_exploration_has_a_kill_and_a_stop_everywhere():
    explorer = Explorer(named("B076-keys-collide"))
    tried = explored(explorer, Sampling(stops=1000, second=0))
    points = len(explorer.points.commits) + len(explorer.points.steps)
    told = [crash for one in tried for crash in (*one.crashes, *one.same)]
    assert points > 80 and len(told) == 2 * points == len(set(told))
    assert all(one.holds and one.fired == 1 for one in tried)


def test_what_people_see_otherwise_is_told():
    tried = Explorer(named("hands-lost")).run([CrashAt(what="commit", n=10)])
    assert [line.partition("” at ")[0] for line in tried.differences] == [
        "not seen: “slowpoke: timeout",
        "seen: “slowpoke: lost",
    ]


@pytest.mark.parametrize(
    ("bug", "stem", "invariant"),
    [("ack-before-commit", SURE[0], "L1"), ("recovery-resends-blindly", "B052-shared-session-wrong-surface", "D1")],
)
def test_a_defect_that_only_a_crash_shows_is_found_and_its_run_can_be_done_again(bug, stem, invariant):
    file = named(stem)
    explorer = Explorer(file, bugs=[bug])
    assert explorer.sound.holds
    first = broken(explored(explorer, Sampling(every_step=3, stops=0, second=0)))[invariant]
    again = [run_scenario(file, bugs=[bug], crash=first.crashes) for _ in range(2)]
    assert invariant in {violation.invariant for violation in again[0].violations}
    assert encode_trace(again[0].trace) == encode_trace(again[1].trace)
    assert explorer.run(first.crashes) == first
    assert run_scenario(file, crash=first.crashes).violations == ()


# ------------------------------------------------------------ that crashes happen, and where


def ends(file: ScenarioFile, *crashes: CrashAt) -> list[tuple[str, str]]:
    bodies = (event.body for event in run_scenario(file, crash=crashes).trace.events)
    return [(body.kind, body.why) for body in bodies if isinstance(body, ProcessCrashed | ProcessStopped)]


def test_a_kill_and_a_stop_really_happen():
    file = named(SURE[0])
    assert ends(file) == []
    assert ends(file, CrashAt(what="commit", n=3)) == [("process.crashed", "crash at commit 3")]
    assert ends(file, CrashAt(what="step", n=30, kind="stop")) == [("process.stopped", "stop at step 30")]


def test_a_second_crash_counts_from_the_restart():
    file = named(SURE[0])
    first = CrashAt(what="step", n=50)
    for n in (1, 40):
        trace = run_scenario(file, crash=[first, CrashAt(what="step", n=n)]).trace.events
        started = [event for event in trace if isinstance(event.body, ProcessStarted)]
        died = [event for event in trace if isinstance(event.body, ProcessCrashed)]
        whys = [event.body.why for event in trace if isinstance(event.body, ProcessCrashed)]
        assert whys == ["crash at step 50", f"crash at step {n} after the restart"]
        # The first step of the new process tells that it started.
        assert started[1].seq < died[1].seq < started[2].seq
        assert (died[1].seq == started[1].seq + 1) is (n == 1)


def test_second_crashes_come_inside_of_the_recovery():
    file = named("B052-shared-session-wrong-surface")
    explorer = Explorer(file)
    twice = [one for one in explored(explorer, Sampling(every_step=5, stops=0, second=40)) if len(one.crashes) == 2]
    assert len(twice) > 30 and all(one.fired == 2 for one in twice)
    assert Counter(one.crashes[1].kind for one in twice).keys() == {"kill", "stop"}
    assert Counter(one.crashes[1].what for one in twice).keys() == {"commit", "step"}
    decided = 0
    for one in twice:
        events = run_scenario(file, crash=one.crashes).trace.events
        last = max(event.seq for event in events if isinstance(event.body, ProcessCrashed | ProcessStopped))
        decided += any(isinstance(event.body, RecoveryDecided) and event.seq > last for event in events)
    # What the first crash left open was still open at the second one.
    assert decided > 0


def test_a_crash_that_did_not_happen_is_reported():
    explorer = Explorer(named(SURE[0]))
    late = explorer.run((CrashAt(what="step", n=1_000_000),))
    assert late.fired == 0
    assert [(breach.id, breach.summary) for breach in late.breaches] == [
        ("PLACED", "the kill at step:1000000 did not happen")
    ]


def test_a_stop_that_something_else_comes_before_is_reported():
    """The script kills the gateway at an event that comes while it stops."""
    file = named("crash-while-taking")
    explorer = Explorer(file)
    stops = [
        explorer.run((CrashAt(what="step", n=n, kind="stop"),))
        for n in explorer.points.steps[: len(explorer.points.steps) // 2]
    ]
    assert {(one.fired, one.overtaken) for one in stops} == {(1, 0), (0, 1)}
    assert all(one.holds for one in stops)


def test_crashes_are_placed_only_where_there_is_a_process():
    explorer = Explorer(named("B108-replayed-at-boot"))
    steps = explorer.points.steps
    down = set(range(steps[0], steps[-1])) - set(steps)
    assert down
    assert all(not explorer.run((CrashAt(what="step", n=n),)).fired for n in down)


@pytest.mark.parametrize("stem", [*SURE, "hands-lost", "B134-webhook-is-gone"])
def test_kills_between_which_nothing_durable_changes_give_the_same_trace(stem):
    explorer = Explorer(named(stem))
    groups = [trial for trial in explorer.plan(Sampling(stops=0, second=0)) if trial.same]
    assert sum(len(trial.same) for trial in groups) > 0.2 * len(explorer.points.steps)
    for trial in scaled(groups, groups[::10]):
        checked = msgspec.structs.replace(trial, same=(), checked=trial.same[-1:])
        assert [one.breaches for one in explorer.attempt(checked)] == [(), ()], trial


def test_a_group_of_kills_that_are_not_the_same_run_is_found():
    explorer = Explorer(named(SURE[0]))
    first, other = (CrashAt(what="commit", n=n) for n in (2, 5))
    _, checked = explorer.attempt(CrashTrial(first=first, checked=(other,)))
    assert [breach.id for breach in checked.breaches] == ["SAME"]


def test_where_a_second_process_runs_each_kill_is_played():
    explorer = Explorer(named("two-processes"))
    assert not any(trial.same or trial.checked for trial in explorer.plan(Sampling(stops=0, second=0)))


def test_a_share_of_the_kills_that_are_the_same_run_is_played():
    points = CrashPoints(commits=(), steps=tuple(range(1, 4001)), states={f"step:{n}": n % 2 for n in range(1, 4001)})
    trials = plan(points, Sampling(stops=0, second=0), 1)
    assert len(trials) == 2 and sum(trial.runs for trial in trials) == 4000
    assert 150 < sum(len(trial.checked) for trial in trials) < 250


def test_a_plan_is_drawn_by_seed_and_point():
    explorer = Explorer(named(SURE[0]))
    sampling = Sampling(every_step=2, stops=7, second=9)
    plan = explorer.plan(sampling)
    assert plan == explorer.plan(sampling) != Explorer(explorer.file, seed=2).plan(sampling)
    assert sum(trial.first.kind == "stop" for trial in plan) == 7
    assert sum(trial.second for trial in plan) == 9
    recovery, first = CrashPoints(commits=(1, 2, 3), steps=tuple(range(1, 40))), CrashAt(what="commit", n=3)
    drawn = [second_crash(first, number, recovery, 1) for number in range(9)]
    assert drawn == [second_crash(first, number, recovery, 1) for number in range(9)]
    assert len(set(drawn)) > 4
    assert second_crash(first, 0, CrashPoints(commits=(), steps=()), 1) is None


# ------------------------------------------------------------ what else can be wrong with a run


def test_a_gateway_that_dies_of_itself_while_it_recovers_is_found(monkeypatch):
    def fail(*_args: object, **_: object) -> RecoveryDecision:
        raise ValueError("nobody has tried this decision")

    def install(wiring: Wiring) -> None:
        if wiring.generation == 2:
            wiring.replace(recover=fail)

    bug = Bug(name="dies-once", sentence="It dies once.", caught_by=(), install=install)
    monkeypatch.setitem(BUGS, bug.name, bug)
    explorer = Explorer(named("B052-shared-session-wrong-surface"), bugs=[bug.name])
    found = broken(explored(explorer, Sampling(every_step=9, stops=0, second=0)))
    assert explorer.sound.holds and found.keys() == {"DIED"}
    assert found["DIED"].breaches[0].summary == "ValueError: nobody has tried this decision"


def test_an_endless_run_is_found():
    explorer = Explorer(named(SURE[0]))
    explorer._max_steps = 60
    tried = explorer.run((CrashAt(what="commit", n=2),))
    assert [breach.id for breach in tried.breaches] == ["PLAYED"] and "StepLimit" in tried.breaches[0].summary
