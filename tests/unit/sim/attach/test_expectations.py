"""What a scenario expects of an attached gateway: texts without marks, as they stand at the end."""

from tests.attach.play.tries import scenario
from trunkline.core.events import Body, Event, EventLog
from trunkline.core.values import Address, ChatKind
from trunkline.sim.attach.expectations import check_attached, not_struck
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireDeleted, WireEdited
from trunkline.sim.events.world import WorldPlace
from trunkline.sim.invariants import Status, Verdict

OPS = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1")


def run(*bodies: Body) -> tuple[Event, ...]:
    log = EventLog(lambda: 0.0)
    record = log.recorder("sim").record
    record(GatewayAttached(gateway="toy", notices=("⚠️ *",), remarks=("Hello! *",)))
    record(WorldPlace(address=OPS, name="ops"))
    for body in bodies:
        record(body)
    return tuple(log.events)


def seen(text: str, message_id: str = "1") -> WireAccepted:
    return WireAccepted(
        address=OPS, requested=OPS, text=text, provider_id=message_id, key=message_id, chunk=1, attempt=1
    )


def unmet(*bodies: Body, expect: str = 'accepted: [{in: telegram/ops, text: "Done."}]') -> list[str]:
    file = scenario("at: 0s, as: ana, in: telegram/ops, say: hello", more=f"expect: {{{expect}}}")
    return [one.summary for one in check_attached(file, run(*bodies), ())]


def test_an_answer_counts_without_its_mark() -> None:
    assert unmet(seen("Done\\. AZm1-g1")) == []
    assert unmet() == ["“Done.” was not seen at telegram/ops as often as expected"]


def test_two_answers_are_one_too_many() -> None:
    assert unmet(seen("Done. AZm1-g1"), seen("Done. AZm1-g1", "2")) == [
        "“Done.” was seen at telegram/ops, unexpectedly"
    ]


def test_a_message_counts_as_it_stands_at_the_end() -> None:
    edited = WireEdited(address=OPS, message_id="1", text="Done. AZm1-g1")
    assert unmet(seen("Do"), edited) == []
    assert unmet(seen("Done. AZm1-g1"), seen("draft", "2"), WireDeleted(address=OPS, message_id="2")) == []


def test_notices_and_remarks_are_not_compared() -> None:
    assert unmet(seen("Done. AZm1-g1"), seen("⚠️ restarted", "2"), seen("Hello! I am a toy.", "3")) == []


def test_what_did_not_happen_is_no_fault_of_the_gateway() -> None:
    skipped = ScriptSkipped(step="fault send/reset", why="nothing happened that it could strike")
    assert unmet(seen("Done. AZm1-g1"), skipped) == []
    assert not_struck(run(skipped)) == ("fault send/reset: nothing happened that it could strike",)
    assert not_struck(run()) == ()


def test_an_invariant_that_must_be_exercised() -> None:
    file = scenario("at: 0s, as: ana, in: telegram/ops, say: hello", more="expect: {exercised: [X1]}")
    idle = Verdict(id="X1", title="", sentence="", status=Status.NOT_EXERCISED, exercised=0, violations=())
    assert [one.summary for one in check_attached(file, run(), [idle])] == ["X1 was not exercised"]
