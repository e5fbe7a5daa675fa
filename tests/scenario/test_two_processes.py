"""Two gateway processes on one store: who works, who takes over and when, and what one that stood still may do."""

import random

import pytest

from tests.scenario.test_world import at, bodies, broken, run, texts
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import AttemptStarted
from trunkline.core.events.gateway import InboundReceived, ProcessStarted
from trunkline.core.events.leases import LeaseAwaited, LeaseGone, LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.sim import CrashAt
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessThawed
from trunkline.sim.events.world import PlatformConnected

SAY = '  - {at: 5s, as: ana, in: telegram/@ana, say: "hi"}\n'
BOTH = "  - {at: 0s, second: true}\n"


def who(result, kind):
    """Processes that told events of a kind, by name and number."""
    return [(event.node, event.generation) for event in result.trace.events if isinstance(event.body, kind)]


def reasons(result):
    return [body.reason for body in bodies(result, LeaseTaken)]


# ---------------------------------------------------------------- one works, one stands by


def test_numbers_of_processes_are_those_of_their_starts_whichever_they_are():
    result = run(f"{BOTH}  - {{at: 3s, crash: {{}}}}\n  - {{at: 6s, restart: {{process: second}}}}\n")
    assert who(result, ProcessStarted) == [("gateway", 1), ("second", 2), ("gateway", 3), ("second", 4)]


def test_one_process_alone_takes_the_store_and_says_nothing_more():
    result = run("  - {at: 600s, note: ten minutes}\n")
    assert reasons(result) == [Reason.LEASE_FREE]
    assert bodies(result, LeaseAwaited) == []


def test_only_the_one_that_works_listens():
    result = run(BOTH + SAY)
    assert who(result, LeaseTaken) == [("gateway", 1)]
    assert who(result, LeaseAwaited) == [("second", 2)]
    assert len(bodies(result, PlatformConnected)) == 2  # discord and telegram
    assert who(result, InboundReceived) == [("gateway", 1)]
    assert texts(result) == ["re: hi"]


def test_what_one_that_stands_by_is_asked_is_done_when_it_works():
    script = (
        f"{BOTH}  - {{at: 2s, send: {{to: telegram/@ana, text: once, process: second}}}}\n"
        "  - {at: 30s, restart: {down: 5s}}\n"
    )
    result = run(script)
    [attempt] = at(result, AttemptStarted)
    assert 30.0 <= attempt <= 32.0
    assert who(result, AttemptStarted) == [("second", 2)]
    assert texts(result) == ["once"]


def test_a_second_process_that_runs_is_not_started_again():
    assert who(run(BOTH * 2), ProcessStarted) == [("gateway", 1), ("second", 2)]


# ---------------------------------------------------------------- taking over


@pytest.mark.parametrize(
    ("end", "reason", "within"),
    [
        ("crash: {restart_after: 500s}", Reason.HOLDER_DEAD, (0.0, 1.1)),
        ("restart: {down: 500s}", Reason.LEASE_FREE, (0.0, 1.1)),
        # It had renewed its lease of 60 s at some time within the 20 s before.
        ("freeze: {for: 500s}", Reason.LEASE_EXPIRED, (40.0, 61.1)),
    ],
)
def test_the_other_one_takes_over(end, reason, within):
    result = run(f"{BOTH}  - {{at: 33s, {end}}}\n  - {{at: 34s, as: ana, in: telegram/@ana, say: hi}}\n")
    assert reasons(result) == [Reason.LEASE_FREE, reason]
    assert who(result, LeaseTaken) == [("gateway", 1), ("second", 2)]
    assert within[0] <= at(result, LeaseTaken)[1] - 33.0 <= within[1]
    assert texts(result) == ["re: hi"]
    assert broken(result) == []


def test_a_process_that_restarts_alone_need_not_wait():
    result = run(f"  - {{at: 3s, crash: {{restart_after: 1s}}}}\n{SAY}")
    assert reasons(result) == [Reason.LEASE_FREE, Reason.HOLDER_DEAD]
    assert at(result, LeaseTaken)[1] == pytest.approx(4.0, abs=0.01)


def test_the_length_of_a_lease_is_configured_and_longer_than_the_sends():
    for delivery, least, most in (
        ("lease: 30s", 20.0, 31.1),
        ("lease: 10m", 400.0, 601.1),
        ("lease: 1s, request_timeout: 50s", 100.0, 151.1),
    ):
        result = run(
            f"{BOTH}  - {{at: 33s, freeze: {{for: 1h}}}}\n", gateway=f"gateway: {{delivery: {{{delivery}}}}}\n"
        )
        assert least <= at(result, LeaseTaken)[1] - 33.0 <= most, delivery


def test_one_that_stands_still_for_less_than_its_lease_goes_on():
    result = run(f"{BOTH}  - {{at: 3s, freeze: {{for: 35s}}}}\n{SAY}")
    assert who(result, LeaseTaken) == [("gateway", 1)]
    assert bodies(result, LeaseGone) == []
    assert at(result, AttemptStarted)[0] >= 38.0
    assert texts(result) == ["re: hi"]


# ---------------------------------------------------------------- standing still


def test_a_frozen_process_records_nothing_until_it_goes_on():
    result = run(f"  - {{at: 3s, freeze: {{for: 20s}}}}\n{SAY}")
    assert (at(result, ProcessFrozen), at(result, ProcessThawed)) == ([3.0], [23.0])
    assert not [event for event in result.trace.events if event.node == "gateway" and 3.0 < event.at < 23.0]
    assert texts(result) == ["re: hi"]


def test_a_run_does_not_end_while_a_process_stands_still():
    result = run(f"{SAY}  - {{at: 6s, freeze: {{for: 1h}}}}\n")
    assert at(result, ProcessThawed) == [3606.0]
    assert bodies(result, RunEnded)[0].at_rest


def test_one_that_dies_while_it_stands_still_starts_again():
    result = run(f"  - {{at: 3s, freeze: {{for: 60s}}}}\n  - {{at: 4s, crash: {{restart_after: 2s}}}}\n{SAY}")
    assert (at(result, ProcessCrashed), at(result, ProcessStarted)) == ([4.0], [0.0, 6.0])
    assert bodies(result, ProcessThawed) == []
    assert texts(result) == ["re: hi"]


def test_a_frozen_process_that_is_asked_to_stop_stops_afterwards():
    result = run(f"  - {{at: 3s, freeze: {{for: 10s}}}}\n  - {{at: 4s, restart: {{down: 1s}}}}\n{SAY}")
    assert at(result, ProcessStarted)[1] == pytest.approx(14.0, abs=0.1)
    assert texts(result) == ["re: hi"]


@pytest.mark.parametrize("channel", ["telegram", "discord"])
@pytest.mark.parametrize("event", ["intent.prepared", "turn.started", "inbound.received", "inbound.admitted"])
def test_nothing_is_sent_by_one_that_stood_still_for_too_long(event, channel):
    """Also where nothing need be stored before a send, so that only the process itself can know: on discord."""
    script = f"{BOTH}  - {{at: 1s, freeze: {{when: {{event: {event}}}, for: 200s}}}}\n{SAY}"
    result = run(script.replace("telegram", channel))
    thawed = at(result, ProcessThawed)[0]
    assert who(result, AttemptStarted) == [("second", 2)]
    assert at(result, AttemptStarted)[0] < thawed
    assert who(result, LeaseGone) == [("gateway", 1)]
    assert who(result, ProcessStarted)[-1] == ("gateway", 3)
    assert texts(result) == ["re: hi"]
    assert broken(result) == []


def test_a_lease_that_ran_out_unnoticed_is_renewed_before_anything_is_sent():
    """Nobody took over meanwhile, so the process may go on."""
    result = run(f"  - {{at: 1s, freeze: {{when: {{event: intent.prepared}}, for: 300s}}}}\n{SAY}")
    assert (reasons(result), bodies(result, LeaseGone)) == ([Reason.LEASE_FREE], [])
    assert texts(result) == ["re: hi"]


# ---------------------------------------------------------------- at any point, in any order


@pytest.mark.slow(every=12)
@pytest.mark.parametrize("seed", range(40))
def test_every_invariant_holds_whatever_becomes_of_two_processes(seed):
    """Each seed is another script: people speak, and both processes die, stop and stand still at some time."""
    draw = random.Random(f"two/{seed}")
    events = ["intent.prepared", "attempt.started", "turn.started", "inbound.received", "wire.accepted", "lease.taken"]
    channel = draw.choice(["telegram", "discord"])
    steps, now = [BOTH], 0.0
    for number in range(9):
        now += draw.choice([0.5, 3, 10, 40])
        process = draw.choice(["gateway", "second"])
        when = f"when: {{event: {draw.choice(events)}}}, " if draw.random() < 0.7 else ""
        what = draw.choice(
            [
                f'as: ana, in: {channel}/@ana, say: "m{number}"',
                f'as: ana, in: {channel}/@ana, say: "m{number}"',
                f"freeze: {{{when}process: {process}, for: {draw.choice([5, 30, 55, 70, 200])}s}}",
                f"crash: {{{when}process: {process}, restart_after: {draw.choice([1, 80])}s}}",
                f"restart: {{process: {process}, down: {draw.choice([1, 80])}s}}",
                f"send: {{to: {channel}/@ana, text: s{number}, process: {process}}}",
            ]
        )
        steps.append(f"  - {{at: {now}s, {what}}}\n")
    result = run("".join(steps), seed=seed)
    assert broken(result) == []
    assert bodies(result, RunEnded)[0].at_rest


def test_the_one_that_works_may_die_at_every_commit():
    script = f"{BOTH}{SAY}"
    commits = run(script).commits
    # The first commit is that of its claim.
    assert commits >= 5
    for n in range(1, commits + 1):
        result = run(script, crash=CrashAt(what="commit", n=n))
        assert broken(result) == [], n
        assert len(texts(result)) <= 1, n
        assert bodies(result, RunEnded)[0].at_rest, n
