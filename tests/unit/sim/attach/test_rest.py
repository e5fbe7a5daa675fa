"""When a run is at rest."""

import msgspec

from trunkline.core.errors import Refused
from trunkline.core.events import Body, EventLog
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.attach.play.rest import ENDS, FLOOD, QuietWire, Waits
from trunkline.sim.events.attach import GatewayExited, GatewayReady
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.events.processes import ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireCalled, WireEdited, WireRefused
from trunkline.sim.events.world import PeerSaid, PlatformConnected

HERE = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="7")
THERE = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="8")


class Run:
    """A run of events at times."""

    def __init__(self, **lasting: float) -> None:
        self.now = 0.0
        log = EventLog(lambda: self.now)
        waits = Waits(settle=2.0, settle_after_restart=8.0, patience=20.0)
        self.wire = QuietWire(log, waits, ["⚠️ *"], {name.replace("_", "/"): one for name, one in lasting.items()})
        self._events = log.recorder("sim")

    def at(self, when: float, body: Body) -> None:
        self.now = when
        self._events.record(body)

    def said(self, when: float, mark: str, place: Address = HERE) -> None:
        self.at(when, PeerSaid(address=place, peer=Peer(id="7", name="ana"), message_id=mark, text=f"hello QZ{mark}"))

    def accepted(self, when: float, text: str, place: Address = HERE) -> None:
        body = WireAccepted(address=place, requested=place, text=text, provider_id="1", key="k", chunk=1, attempt=1)
        self.at(when, body)

    def ends(self) -> float:
        """The first second at which it is at rest."""
        return next(second for second in range(10_000) if second >= self.now and self.wire.is_reached(float(second)))


def test_a_run_ends_when_everything_is_answered_and_it_is_quiet() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(3, "Done\\. AZm1-g1")
    assert run.ends() == 5


def test_an_answer_that_does_not_come_is_waited_for_with_patience() -> None:
    run = Run()
    run.said(1, "m1")
    run.said(5, "m2")
    run.accepted(6, "AZm2-g1")
    assert run.ends() == 25


def test_a_notice_ends_the_questions_of_its_place_that_the_gateway_had() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(2, "⚠️ restarted")
    assert run.ends() == 21
    run.at(2, ModelAsked(model="m1", marks=("m1",)))
    run.accepted(3, "⚠️ restarted", THERE)
    assert run.ends() == 21
    run.accepted(3, "⚠️ restarted")
    assert run.ends() == 5


ROOM = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100")
TOPIC = msgspec.structs.replace(ROOM, thread="7")


def test_a_notice_in_the_room_ends_the_questions_of_a_thread_that_is_gone() -> None:
    run = Run()
    run.said(1, "m1", TOPIC)
    run.at(2, ModelAsked(model="m1", marks=("m1",)))
    run.accepted(3, "⚠️ not delivered", ROOM)
    assert run.ends() == 21
    run.at(3, WireRefused(address=TOPIC, reason=Reason.PLACE_GONE, chunk=1, attempt=1, detail="deleted"))
    run.accepted(3, "⚠️ not delivered", HERE)
    assert run.ends() == 23
    run.accepted(4, "⚠️ not delivered", ROOM)
    assert run.ends() == 6


def test_what_comes_late_after_a_restart_is_waited_for() -> None:
    run = Run()
    run.said(1, "m1")
    run.at(2, GatewayReady(number=2, after=1.0))
    run.accepted(3, "AZm1-g1")
    assert run.ends() == 11


def test_patience_begins_again_with_a_start_a_fault_and_the_end_of_a_freeze() -> None:
    for body in (GatewayReady(number=1, after=1.0), FaultFired(fault="send/reset"), ProcessThawed()):
        run = Run()
        run.said(1, "m1")
        run.at(10, body)
        assert run.ends() == 30, body


def test_what_lasts_is_waited_out() -> None:
    run = Run(send_slow=60.0)
    run.said(1, "m1")
    run.at(2, FaultFired(fault="send/slow"))
    assert run.ends() == 82
    run.at(3, WireRefused(address=HERE, reason=Refused.reason, chunk=1, attempt=1, retry_after=100.0))
    assert run.ends() == 123
    run.wire.wait_until(200.0)
    assert run.ends() == 220


def test_a_gateway_that_never_stops_does_not_keep_a_run_from_its_end() -> None:
    run = Run()
    run.said(1, "m1")
    for second in range(2, 40):
        run.at(second, WireCalled(channel="telegram", method="sendMessage", what="send"))
        if run.wire.is_reached(float(second)):
            break
    assert run.now == 25


def test_an_answer_by_an_edit_is_one() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(2, "Do")
    run.at(3, WireEdited(address=HERE, message_id="1", text="Done. AZm1-g1"))
    assert run.ends() == 5


def test_a_text_that_is_no_notice_ends_no_question() -> None:
    run = Run()
    run.said(1, "m1")
    run.at(2, ModelAsked(model="m1", marks=("m1",)))
    run.accepted(3, "Thinking")
    run.at(3, WireEdited(address=HERE, message_id="1", text="⚠️ no new message"))
    assert run.ends() == 21


def test_a_later_start_does_not_make_the_first_one_of_it() -> None:
    run = Run()
    run.at(1, GatewayReady(number=1, after=1.0))
    assert run.ends() == 3
    run.at(2, GatewayReady(number=2, after=1.0))
    run.at(3, GatewayReady(number=1, after=1.0))
    assert run.ends() == 11


def test_a_gateway_that_ends_by_itself_is_waited_for_a_few_times() -> None:
    run = Run()
    run.said(1, "m1")
    for number in range(1, ENDS + 3):
        run.at(10.0 * number, GatewayExited(number=number, code=1))
        run.at(10.0 * number + 1, GatewayReady(number=number, after=1.0))
    # From the last start that counted: the patience, and twice the time to settle after a restart.
    assert run.ends() == 10 * (ENDS - 1) + 1 + 20 + 16
    before = Run()
    before.said(1, "m1")
    for number in range(1, ENDS):
        before.at(10.0 * number, GatewayExited(number=number, code=1))
        before.at(10.0 * number + 1, GatewayReady(number=number, after=1.0))
    assert before.ends() == 10 * (ENDS - 1) + 1 + 20


def test_a_response_that_a_gateway_waits_for_is_waited_for_too() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(2, "AZm1-g1")
    waits = True
    run.wire.waits_for_response = lambda: waits
    assert not run.wire.is_reached(10.0)
    waits = False
    assert not run.wire.is_reached(11.0)
    assert run.wire.is_reached(12.0)


def test_a_connection_keeps_nobody_waiting() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(2, "AZm1-g1")
    run.at(3, PlatformConnected(channel="telegram", account="default"))
    assert run.ends() == 4


def test_a_wait_that_a_platform_asks_for_is_part_of_the_run_although_nothing_is_open() -> None:
    run = Run()
    refused = WireRefused(address=HERE, reason=Refused.reason, chunk=1, attempt=1)
    run.at(1, msgspec.structs.replace(refused, retry_after=9.0))
    assert run.ends() == 10
    run.at(11, refused)
    assert run.ends() == 13


def test_nothing_ends_before_what_is_due() -> None:
    run = Run()
    run.wire.owe()
    assert not run.wire.is_reached(1000.0)
    run.wire.end_wait()
    assert run.wire.is_reached(1000.0)


def test_typing_and_polls_keep_nobody_waiting() -> None:
    run = Run()
    run.said(1, "m1")
    run.accepted(2, "AZm1-g1")
    run.at(3, WireCalled(channel="telegram", method="sendChatAction"))
    assert run.ends() == 4


def test_a_flood_is_named() -> None:
    run = Run()
    for number in range(FLOOD - 1):
        run.wire.count_request("getUpdates", number / FLOOD)
    assert not run.wire.flooded
    run.wire.count_request("getUpdates", 1.0)
    assert run.wire.flooded == "made 3000 requests within 10 s, all of them getUpdates, at 1 s of the run"


def test_a_flood_is_named_by_what_most_of_it_is() -> None:
    run = Run()
    for number in range(FLOOD):
        run.wire.count_request("getMe" if number % 3 else f"/made/up/{number}" + "x" * 200, 12.0)
    assert run.wire.flooded == "made 3000 requests within 10 s, 2000 of them getMe, at 12 s of the run"


def test_many_requests_in_a_long_time_are_no_flood() -> None:
    run = Run()
    for number in range(10 * FLOOD):
        run.wire.count_request("getUpdates", number / 250)
    assert not run.wire.flooded
