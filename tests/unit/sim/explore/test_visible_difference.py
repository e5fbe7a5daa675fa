"""What people see is compared with the run without a crash: what is explained, and what is not."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptStarted, ChunkAcked, IntentPrepared, IntentSettled, OperatorActed
from trunkline.core.events.gateway import InboundAdmitted, TranscriptAppended
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim import ScenarioFile, run_scenario
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.explore.run_digest import plain
from trunkline.sim.explore.visible_difference import CrashFreeRun, DifferenceCause, sure_accounts
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: made for a test
world:
  people: {ana: {ids: {discord: "1", telegram: "2"}}}
  discord: {rooms: {ops: {id: "700"}}}
  telegram: {rooms: {crew: {id: "-1007"}}}
cast:
  agents: {main: [{when: {callback: "*"}, do: [{reply: "it says {text}"}]},
                  {when: {wake: true}, do: [{send: {to: discord/ops, text: "good morning"}}, {silent: true}]},
                  {when: {text: "delegate"}, do: [{delegate: {hand: scan}}, {reply: "I asked"}]},
                  {do: [{reply: "re: {text}"}]}]}
  hands: {scan: {takes: 2s, result: "nothing found"}}
script:
  - {at: 0s, as: ana, in: discord/ops, say: "one", id: m1}
  - {at: 1s, as: ana, in: telegram/crew, say: "two", id: m2}
  - {at: 2s, as: ana, in: discord/ops, say: "delegate", id: m3}
  - {at: 6s, send: {to: telegram/crew, text: "from a client", key: k1}}
  - {at: 7s, wake: {agent: main, text: "morning"}}
"""

Edit = Callable[[Event], Event | None]
FILE: ScenarioFile = load_text(WORLD, "made.yaml")
SOUND = run_scenario(FILE).trace.events
TRUTH = CrashFreeRun(FILE, SOUND)


def about(intent: str, *bodies: type) -> Callable[[Event], bool]:
    return lambda event: event.intent == intent and (not bodies or isinstance(event.body, bodies))


def gone(which: Callable[[Event], bool]) -> Edit:
    return lambda event: None if which(event) else event


def changed(which: Callable[[Event], bool], **fields: object) -> Edit:
    def edit(event: Event) -> Event:
        if not which(event):
            return event
        return msgspec.structs.replace(event, body=msgspec.structs.replace(event.body, **fields))

    return edit


def edited(*edits: Edit) -> list[Event]:
    events: list[Event | None] = list(SOUND)
    for edit in edits:
        events = [None if event is None else edit(event) for event in events]
    return [event for event in events if event is not None]


def found(events: Sequence[Event]) -> dict[str, DifferenceCause | None]:
    return {difference.intent: difference.cause for difference in TRUTH.differences(events)}


ACCEPTED = {name: about(name, WireAccepted) for name in ("m1.reply", "m2.reply", "m3.hand1.back.reply")}
SETTLED = {name: about(name, IntentSettled) for name in ("m1.reply", "m2.reply")}


def heard_other(session_of: str) -> Edit:
    return changed(lambda e: isinstance(e.body, TranscriptAppended) and e.inbound == session_of, text="something else")


def test_the_scenario_has_what_the_tests_speak_of():
    intents = [event.intent or "" for event in SOUND if isinstance(event.body, WireAccepted)]
    assert sorted(intents) == [
        "m1.reply",
        "m2.reply",
        "m3.hand1.back.reply",
        "m3.reply",
        "send:k1",
        "wake-main/morning.send1",
    ]
    assert sure_accounts(FILE) == {("discord", "default")}


def test_the_same_is_no_difference():
    assert found(SOUND) == {}


def test_a_message_that_was_taken_once_more_is_the_same_message():
    again = [
        msgspec.structs.replace(event, intent="m1+2.reply", inbound="m1+2") if event.intent == "m1.reply" else event
        for event in SOUND
    ]
    assert found(again) == {}
    assert plain("t-m1+12.hand1") == "t-m1.hand1" and plain(None) == ""


UNKNOWN = {"state": IntentState.UNKNOWN}
FAILED = {"state": IntentState.FAILED}


@pytest.mark.parametrize(
    ("name", "settled", "cause"),
    [
        ("m2.reply", UNKNOWN, DifferenceCause.PARKED),
        ("m1.reply", UNKNOWN, None),  # the platform can be asked
        ("m2.reply", FAILED, None),
        ("m2.reply", {"state": IntentState.DELIVERED}, None),
    ],
)
def test_a_chunk_that_nobody_sees_is_parked_where_nobody_can_tell(name, settled, cause):
    assert found(edited(gone(ACCEPTED[name]), changed(SETTLED[name], **settled))) == {name: cause}


@pytest.mark.parametrize(("attempts", "cause"), [(1, None), (2, DifferenceCause.PARKED)])
def test_a_notice_is_parked_only_after_it_was_sent_again(attempts, cause):
    notice = changed(about("m2.reply", IntentPrepared), intent_kind=IntentKind.NOTICE)
    tried = about("m2.reply", AttemptStarted)
    events = edited(notice, gone(ACCEPTED["m2.reply"]), changed(SETTLED["m2.reply"], **UNKNOWN))
    again = [copy for event in events for copy in [event] * (attempts if tried(event) else 1)]
    assert found(again) == {"m2.reply": cause}


def test_a_second_notice_about_one_end_is_never_explained():
    def as_notice(event: Event) -> Event:
        return msgspec.structs.replace(event, intent="m2.reply.notice")

    failed = changed(SETTLED["m2.reply"], **FAILED)
    prepared = about("m2.reply", IntentPrepared)
    for times, explained in ((1, True), (2, False)):
        events = [*edited(failed), *[as_notice(event) for event in SOUND if prepared(event)] * times]
        taken = [as_notice(event) for event in SOUND if ACCEPTED["m2.reply"](event)] * times
        assert (found([*events, *taken])["m2.reply.notice"] is not None) is explained


def test_said_twice_is_never_explained():
    for name, accepted in ACCEPTED.items():
        twice = [copy for event in SOUND for copy in ((event, event) if accepted(event) else (event,))]
        assert found(twice) == {name: None}


def test_other_words_are_explained_by_what_the_agent_had_heard():
    other_words = changed(ACCEPTED["m1.reply"], text="re: other")
    assert found(edited(other_words)) == {"m1.reply": None}
    assert found(edited(other_words, heard_other("m1"))) == {"m1.reply": DifferenceCause.HEARD}
    # What another session has heard explains nothing.
    assert found(edited(other_words, heard_other("m2"))) == {"m1.reply": None}


def test_a_message_of_other_words_must_be_seen_all_the_same():
    lost = gone(ACCEPTED["m1.reply"])
    assert found(edited(lost, heard_other("m1"))) == {"m1.reply": None}


def test_another_place_is_explained_by_nothing():
    accepted = next(event.body for event in SOUND if ACCEPTED["m2.reply"](event))
    assert isinstance(accepted, WireAccepted)
    moved = edited(
        changed(about("m1.reply", IntentPrepared, WireAccepted), address=accepted.address), heard_other("m1")
    )
    assert found(moved) == {"m1.reply": None}


def test_a_lost_hand_explains_what_comes_from_it_and_nothing_else():
    lost = changed(lambda e: isinstance(e.body, DelegationFinished), outcome=HandOutcome.LOST)
    words = changed(ACCEPTED["m3.hand1.back.reply"], text="it says it died")
    others = changed(ACCEPTED["m1.reply"], text="re: other")
    assert found(edited(words)) == {"m3.hand1.back.reply": None}
    assert found(edited(words, others, lost)) == {"m3.hand1.back.reply": DifferenceCause.HAND_LOST, "m1.reply": None}


def test_what_a_client_or_a_schedule_asked_of_no_process_is_explained():
    assert found(edited(gone(about("send:k1")))) == {"send:k1": DifferenceCause.NOT_ASKED}
    name = "wake-main/morning"
    woken = gone(about(f"{name}.send1"))
    assert found(edited(woken)) == {f"{name}.send1": None}
    never = gone(lambda e: isinstance(e.body, InboundAdmitted) and e.inbound == name)
    assert found(edited(woken, never)) == {f"{name}.send1": DifferenceCause.NOT_ASKED}


def test_what_a_person_asked_for_is_always_asked_for():
    assert found(edited(gone(about("m1.reply")))) == {"m1.reply": None}


@pytest.mark.parametrize(("reason", "cause"), [(Reason.REFUSED, DifferenceCause.REFUSED), (Reason.RATE_LIMITED, None)])
def test_a_refusal_for_good_is_explained(reason, cause):
    def refuse(event: Event) -> Event:
        if not ACCEPTED["m1.reply"](event):
            return event
        assert isinstance(event.body, WireAccepted)
        body = WireRefused(address=event.body.address, reason=reason, chunk=0, attempt=1)
        return msgspec.structs.replace(event, body=body)

    assert found(edited(refuse, changed(SETTLED["m1.reply"], **FAILED))) == {"m1.reply": cause}


def test_what_was_refused_without_the_crash_may_be_taken_with_it():
    refused = CrashFreeRun(FILE, edited(gone(ACCEPTED["m1.reply"]), changed(SETTLED["m1.reply"], **FAILED)))
    assert [difference.cause for difference in refused.differences(SOUND)] == [DifferenceCause.TAKEN]


@pytest.mark.parametrize(
    ("reason", "cause"), [(Reason.OPERATOR_SENT, DifferenceCause.VOUCHED), (Reason.ACCEPTED, None)]
)
def test_the_word_of_an_operator_is_explained_and_a_receipt_is_none(reason, cause):
    acked = changed(about("m1.reply", ChunkAcked), reason=reason)
    assert found(edited(gone(ACCEPTED["m1.reply"]), acked)) == {"m1.reply": cause}


def struck(intent: str) -> list[Event]:
    """The run with a fault of the script at each attempt on an intent, and nothing of it accepted."""
    events: list[Event] = []
    for event in SOUND:
        events.append(event)
        if event.intent == intent and isinstance(event.body, AttemptStarted):
            fault = FaultFired(fault="send/error", detail="what is sent")
            events.append(msgspec.structs.replace(event, node="sim", intent=None, body=fault))
    return [event for event in events if not (event.intent == intent and isinstance(event.body, WireAccepted))]


@pytest.mark.parametrize(
    ("name", "state", "cause"),
    [
        ("m2.reply", IntentState.DEAD, DifferenceCause.STRUCK),
        ("m1.reply", IntentState.DEAD, DifferenceCause.STRUCK),
        ("m1.reply", IntentState.UNKNOWN, None),  # the platform could be asked
        ("m1.reply", IntentState.DELIVERED, None),
    ],
)
def test_a_fault_that_strikes_another_send_is_explained(name, state, cause):
    settle = changed(SETTLED[name], state=state)
    ended = [edited for event in struck(name) if (edited := settle(event)) is not None]
    assert found(ended) == {name: cause}


def test_a_fault_that_struck_in_both_runs_explains_nothing():
    again = CrashFreeRun(FILE, struck("m1.reply")).differences(
        [e for e in struck("m1.reply") if e.intent != "m2.reply"]
    )
    assert [(difference.intent, difference.cause) for difference in again] == [("m2.reply", None)]


def test_what_is_prepared_after_a_reload_may_be_otherwise():
    file = load_text(WORLD + "  - {at: 20s, reload: {agents: [{id: main}]}}\n", "made.yaml")
    words = changed(ACCEPTED["m1.reply"], text="re: other")

    def differences(prepared: float) -> list[DifferenceCause | None]:
        events = [
            msgspec.structs.replace(event, at=prepared) if about("m1.reply", IntentPrepared)(event) else event
            for event in edited(words)
        ]
        return [difference.cause for difference in CrashFreeRun(file, SOUND).differences(events)]

    assert differences(prepared=19.0) == [None]
    assert differences(prepared=21.0) == [DifferenceCause.CONFIGURED]


def test_a_marked_repeat_is_explained_where_the_configuration_says_so():
    policy = "gateway: {delivery: {ambiguous: resend-marked, mark: '(again) '}}\n"
    file = load_text(WORLD.replace("cast:", policy + "cast:"), "made.yaml")
    accepted = next(event for event in SOUND if ACCEPTED["m2.reply"](event))
    marked = changed(ACCEPTED["m2.reply"], text="(again) re: two")

    def causes(of: ScenarioFile, times: int) -> list[DifferenceCause | None]:
        events = [*edited(marked), *[accepted] * (times - 1)]
        return [difference.cause for difference in CrashFreeRun(of, SOUND).differences(events)]

    assert causes(file, 1) == causes(file, 2) == [DifferenceCause.MARKED]
    assert causes(file, 3) == causes(FILE, 1) == causes(FILE, 2) == [None]
    on_discord = edited(changed(ACCEPTED["m1.reply"], text="(again) re: one"))
    assert [difference.cause for difference in CrashFreeRun(file, SOUND).differences(on_discord)] == [None]


COMMANDED = """\
scenario: 1
title: made for a test
gateway: {control: {enabled: true}}
world: {people: [ana], discord: {rooms: [ops]}}
cast:
  agents: {main: [{when: {callback: "*"}, do: [{reply: "it says {text}"}]},
                  {do: [{delegate: {hand: scan}}, {reply: ok}]}]}
  hands: {scan: {takes: 9s, result: "nothing found"}}
script:
  - {at: 0s, as: ana, in: discord/ops, say: "scan it", id: m1}
  - {at: 2s, as: ana, in: discord/ops, say: "/tasks", id: m2}
"""


def test_the_answer_to_a_command_about_hands_depends_on_the_time():
    file = load_text(COMMANDED, "made.yaml")
    sound = run_scenario(file).trace.events
    truth, reply = CrashFreeRun(file, sound), about("m2.reply", IntentPrepared, WireAccepted)
    later = changed(reply, text="Nothing is in progress here.")
    (found,) = truth.differences([later(event) or event for event in sound])
    assert (found.intent, found.cause) == ("m2.reply", DifferenceCause.CHECKED)
    # That it is not answered at all has another cause, or none.
    (lost,) = truth.differences([event for event in sound if event.intent != "m2.reply"])
    assert (lost.intent, lost.cause) == ("m2.reply", None)
    other = changed(about("m1.reply", IntentPrepared, WireAccepted), text="yes")
    (plain_reply,) = truth.differences([other(event) or event for event in sound])
    assert (plain_reply.intent, plain_reply.cause) == ("m1.reply", None)


def test_a_report_that_was_not_repeated_is_not_excused_by_a_configuration_that_nobody_changed():
    """An operator had it repeated; in the other run nobody was there to do so, or the repeat is lost."""
    name = "m3.hand1.back.reply"
    again = [
        msgspec.structs.replace(event, intent="m3.hand1.back+2.reply", inbound="m3.hand1.back+2")
        for event in SOUND
        if event.intent == name
    ]
    acted = Event(
        seq=0, at=9.0, node="gateway", delegation="m3.hand1", body=OperatorActed(verb="retry-callback", detail="")
    )
    truth = CrashFreeRun(FILE, [*SOUND, acted, *again])

    def causes(events: Sequence[Event]) -> list[DifferenceCause | None]:
        return [difference.cause for difference in truth.differences(events)]

    assert causes([*SOUND, acted]) == [None]
    assert causes(SOUND) == [DifferenceCause.NOT_ASKED]
