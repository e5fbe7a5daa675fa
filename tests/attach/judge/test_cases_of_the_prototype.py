"""The cases of the prototype, as its recorder would have written them, are judged as its table says."""

from collections.abc import Callable

import pytest

from tests.support.attach.prototype_wire import NOTES, PrototypeWire
from tests.support.for_each import for_each
from trunkline.sim import Status, judge

PLATFORMS = ("telegram", "discord", "slack")
GATEWAYS = ("hermes", "openclaw")
Story = Callable[[PrototypeWire], object]
NOTHING: set[str] = set()


def broken(wire: PrototypeWire) -> set[str]:
    return {verdict.id for verdict in judge(wire.trace.events) if verdict.status is Status.VIOLATED}


def sent(wire: PrototypeWire, fault: str, where: str = "dm") -> str:
    """A question whose answer is sent, and struck by a fault."""
    wire.ask("a1", where)
    said = wire.model("a1")
    wire.send(said, where, fault=fault, nonce="first")
    return said


def again(fault: str, times: int = 1, after: float = 1.0, where: str = "dm") -> Story:
    """A fault strikes so often, and the answer is sent once more."""

    def story(wire: PrototypeWire) -> None:
        said = sent(wire, fault, where)
        for attempt in range(times):
            wire.now += after
            wire.send(said, where, fault=fault if attempt + 1 < times else "", nonce="other")

    return story


def parked(fault: str, wait: float = 0.0) -> Story:
    def story(wire: PrototypeWire) -> None:
        sent(wire, fault)
        wire.now += wait

    return story


def crash(fault: str, *, then: Story) -> Story:
    """A conversation that exists; the gateway is killed at the send of an answer, and started again."""

    def story(wire: PrototypeWire) -> None:
        wire.answered("w0")
        sent(wire, fault)
        wire.start()
        then(wire)

    return story


def crash_in_the_turn(fault: str, *, then: Story) -> Story:
    def story(wire: PrototypeWire) -> None:
        wire.answered("w0")
        wire.ask("a1")
        wire.model("a1", fault=fault, answers=fault == "kill-after")
        wire.kill(after=0.0)
        wire.start()
        then(wire)

    return story


def nothing(_: PrototypeWire) -> None:
    """Nothing comes after the restart."""


def runs_again(wire: PrototypeWire) -> None:
    wire.send("⚠️ The gateway has just restarted.")
    wire.send(wire.model("a1"))


def misled(wire: PrototypeWire) -> None:
    """The model answers the old question, where the gateway had asked for something else."""
    wire.send(wire.model("a1", tail=f"hello QZa1\n{NOTES[wire.gateway]}"))


def plain(wire: PrototypeWire) -> None:
    for mark, where in (("dm1", "dm"), ("top1", "topic11"), ("gen1", "general")):
        wire.answered(mark, where)


def merged(wire: PrototypeWire) -> None:
    wire.answered("w0")
    wire.ask("a1")
    wire.model("a1", answers=False)
    wire.ask("a2")
    wire.ask("a3")
    wire.send(wire.model("a1", "a2", "a3"))


def queued(wire: PrototypeWire) -> None:
    wire.ask("a1")
    said = wire.model("a1")
    wire.ask("a2")
    wire.ask("a3")
    wire.send(said)
    wire.send(wire.model("a2", "a3"))


def stopped(wire: PrototypeWire) -> None:
    wire.answered("w0")
    wire.ask("a1")
    wire.model("a1", answers=False)
    wire.stop("⚠️ Gateway shutting down. Your current task will be interrupted.")
    wire.start()
    wire.restored()


def model_down(wire: PrototypeWire) -> None:
    wire.ask("a1")
    for _ in range(4):
        wire.model("a1", fault="500", answers=False)
    wire.send("API call failed after 3 retries: HTTP 500: overloaded")


def deduplicated(wire: PrototypeWire) -> None:
    wire.ask("a1")
    said = wire.model("a1")
    wire.send(said, fault="lose-response", nonce="n", known=wire.send(said, nonce="n"))


CASES: dict[str, tuple[Story, set[str]]] = {
    "plain": (plain, NOTHING),
    "lost, sent again": (again("lose-response"), {"X1"}),
    "lost in a topic, sent again": (again("lose-response", where="topic11"), {"X1"}),
    "lost three times": (again("lose-response", times=3), {"X1"}),
    "lost, left in doubt": (parked("lose-response"), NOTHING),
    "hangs": (parked("hang", wait=90.0), NOTHING),
    "limited": (again("429", after=4.0), NOTHING),
    "limited, given up": (parked("429"), {"X4"}),
    "bad gateway": (again("502", times=3), NOTHING),
    "an error of the platform": (again("500"), NOTHING),
    "an error of the platform, given up": (parked("500"), {"X4"}),
    "reset before, sent again": (again("reset-before", times=8), NOTHING),
    "reset before, left in doubt": (parked("reset-before"), {"X4"}),
    "interrupted, one answer": (merged, NOTHING),
    "queued": (queued, NOTHING),
    "killed before the send is taken": (crash("kill-before", then=nothing), {"X4"}),
    "killed when accepted": (crash("kill", then=nothing), NOTHING),
    "killed when accepted, restored": (crash("kill", then=PrototypeWire.restored), NOTHING),
    "killed when accepted, the model misled": (crash("kill", then=misled), NOTHING),
    "killed when sent": (crash("kill-after", then=nothing), NOTHING),
    "killed when sent, restored": (crash("kill-after", then=PrototypeWire.restored), {"X6"}),
    "killed when the model had answered": (crash_in_the_turn("kill-after", then=nothing), {"X4"}),
    "killed when the model had answered, told": (crash_in_the_turn("kill-after", then=PrototypeWire.restored), NOTHING),
    "killed when the model had answered, run again": (crash_in_the_turn("kill-after", then=runs_again), NOTHING),
    "killed when the model had answered, misled": (crash_in_the_turn("kill-after", then=misled), NOTHING),
    "killed when the model is asked, told": (crash_in_the_turn("kill", then=PrototypeWire.restored), NOTHING),
    "killed when the model is asked, run again": (crash_in_the_turn("kill", then=runs_again), NOTHING),
    "stopped while the model thinks": (stopped, NOTHING),
    "the model is down": (model_down, NOTHING),
    "deduplicated": (deduplicated, NOTHING),
}


@for_each("platform", PLATFORMS)
@for_each("gateway", GATEWAYS)
@for_each("case", CASES)
def test_a_case_is_judged_as_it_was_seen(case: str, gateway: str, platform: str):
    story, outcome = CASES[case]
    wire = PrototypeWire(gateway, platform)
    wire.start()
    story(wire)
    assert broken(wire) == outcome


@pytest.mark.parametrize(
    ("platform", "why"), [("telegram", "message thread not found"), ("discord", "Unknown Channel")]
)
def test_a_topic_that_is_gone(platform: str, why: str):
    wire = PrototypeWire("hermes", platform)
    wire.start()
    wire.answered("w0", "topic11")
    wire.ask("a1", "topic11")
    said = wire.model("a1")
    wire.send(said, "topic11", refused=why)
    assert broken(wire) == {"X4"}
    wire.send(said, "general")
    assert broken(wire) == {"X3"}


@pytest.mark.parametrize("platform", ["telegram", "discord"])
def test_places_at_once(platform: str):
    wire = PrototypeWire("hermes", platform)
    wire.start()
    places = {"a1": "dm", "a2": "topic11", "a3": "topic12", "a4": "general", "a5": "dm2"}
    for mark, where in places.items():
        wire.ask(mark, where)
    said = {mark: wire.model(mark) for mark in places}
    for mark, where in reversed(places.items()):
        wire.send(said[mark], where)
    assert broken(wire) == NOTHING


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("asked_while_down", [False, True])
def test_what_the_platform_had_to_discard_is_lost_whatever_is_said_later(restored: bool, asked_while_down: bool):
    wire = PrototypeWire("hermes", "telegram")
    wire.start()
    wire.answered("w0")
    if asked_while_down:
        wire.kill()
    wire.ask("a1", taken=not asked_while_down, confirmed=False)
    if not asked_while_down:
        wire.add("fault.fired", after=0.0, platform="telegram", method="confirm", do="kill")
        wire.kill()
    wire.start(drops=wire.update)
    if restored:
        wire.restored()
    assert broken(wire) == ({"X4", "X6"} if restored else {"X4"})


@pytest.mark.parametrize("taken", [False, True], ids=["said while it is down", "killed at the confirmation"])
def test_what_is_handed_out_after_a_restart_is_answered_once(taken: bool):
    wire = PrototypeWire("openclaw", "telegram")
    wire.start()
    wire.answered("w0")
    wire.kill()
    wire.ask("a1", taken=taken, confirmed=False)
    wire.start()
    wire.hand_out()
    wire.send(wire.model("a1"))
    assert broken(wire) == NOTHING


def test_an_answered_update_that_is_handed_out_again_breaks_nothing():
    wire = PrototypeWire("openclaw", "telegram")
    wire.start()
    wire.answered("a1")
    wire.stop()
    wire.add("pushed.again", update=wire.update)
    wire.start()
    wire.hand_out()
    assert broken(wire) == NOTHING
    wire.send(wire.model("a1"))
    assert broken(wire) == {"X1", "X5"}


@pytest.mark.parametrize(("begins", "outcome"), [(2, NOTHING), (0, {"X1"})], ids=["goes on", "begins again"])
@pytest.mark.parametrize("gateway", GATEWAYS)
def test_an_answer_of_three_messages_is_killed_when_the_second_is_accepted(
    gateway: str, begins: int, outcome: set[str]
):
    wire = PrototypeWire(gateway, "telegram")
    wire.start()
    wire.answered("w0")
    wire.ask("a1")
    whole = wire.model("a1") + "\n\n" + "\n\n".join(f"part {number} {'x' * 70}" for number in range(130))
    wire.lines[-1]["text"] = whole[:120]
    parts = [whole[:4000], whole[4000:8000], whole[8000:]]
    wire.send(parts[0])
    wire.send(parts[1], fault="kill")
    wire.start()
    for part in parts[begins:]:
        wire.send(part)
    assert broken(wire) == outcome
