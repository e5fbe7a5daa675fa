"""Actions take effect once (A1), and on the message that was meant (A2)."""

from typing import Any

import msgspec

from tests.support.event_stories import PLACE, Story
from trunkline.core.action_catalogue import Action
from trunkline.sim.events.actions import AgentActs, WireActed
from trunkline.sim.invariants.base import Status


def asks(story: Story, call: int = 1, turn: str = "t1", action: Action = Action.REACT, **meant: Any) -> None:
    meant = meant or {"message": "m1", "place": PLACE, "message_id": "11"}
    story.tell(AgentActs(action=action.value, call=call, **meant), node="sim", turn=turn)


def acted(story: Story, intent: str = "i1", action: Action = Action.REACT, **fields: Any) -> int:
    defaults: dict[str, Any] = {"key": f"{intent}/0", "attempt": 1, "message_id": "11", "text": "👍"}
    body = WireActed(action=action, address=PLACE, requested=PLACE, **{**defaults, **fields})
    return story.tell(body, node="telegram", intent=intent)


def change(story: Story, intent: str = "i1", action: Action = Action.REACT, **fields: Any) -> None:
    story.prepared(intent, action=action, mirror_key=None, **{"message_id": "11", **fields})


# ---------------------------------------------------------------- A1


def test_a_repeat_that_changes_nothing_is_no_effect() -> None:
    story = Story("A1")
    asks(story)
    change(story)
    acted(story)
    acted(story, attempt=2, repeated=True)
    assert story.verdict.status is Status.OK


def test_a_request_that_takes_effect_twice_is_blamed_on_its_repeat() -> None:
    story = Story("A1")
    asks(story)
    change(story)
    repeat = story.started(2)
    acted(story, attempt=2)
    acted(story, attempt=1)
    assert story.wrong == ["one request to react took effect 2 times at telegram:default/100"]
    acts = [event for event in story.events if isinstance(event.body, WireActed)]
    assert [violation.evidence for violation in story.verdict.violations] == [tuple(one.seq for one in acts)]
    assert repeat < acts[0].seq


def test_two_calls_are_two_effects() -> None:
    story = Story("A1")
    asks(story, call=1)
    asks(story, call=2)
    change(story, "i1")
    change(story, "i2")
    acted(story, "i1")
    acted(story, "i2")
    assert story.verdict.status is Status.OK


def test_a_turn_that_runs_again_asks_for_nothing_more() -> None:
    story = Story("A1")
    asks(story)
    asks(story)
    change(story, "i1")
    another = story.prepared("i2", action=Action.REACT, mirror_key=None, message_id="11")
    acted(story, "i1")
    acted(story, "i2")
    assert [violation.first_wrong for violation in story.verdict.violations] == [another]
    assert story.wrong == ["1 calls to react took effect 2 times at telegram:default/100"]


def test_changes_of_own_messages_are_counted_by_their_intent() -> None:
    story = Story("A1")
    asks(story, action=Action.DELETE, of="i0")
    change(story, "i1", Action.DELETE, of="i0", message_id=None)
    acted(story, "i1", Action.DELETE, message_id="11")
    acted(story, "i1", Action.DELETE, message_id="12", key="i1/1")
    assert story.verdict.status is Status.OK


# ---------------------------------------------------------------- A2


def test_the_message_that_an_agent_named_may_be_changed() -> None:
    story = Story("A2")
    asks(story)
    acted(story)
    story.accepted(intent="i0", provider_id="20")
    asks(story, 2, action=Action.EDIT, of="i0")
    acted(story, "i2", Action.EDIT, message_id="20")
    assert story.verdict.status is Status.OK


def test_another_message_may_not() -> None:
    story = Story("A2")
    asks(story)
    change(story)
    acted(story, message_id="12")
    assert story.wrong == ["react concerned message 12 in telegram:default/100, which no agent meant"]


def test_the_same_id_elsewhere_is_another_message() -> None:
    story = Story("A2")
    asks(story)
    change(story)
    elsewhere = msgspec.structs.replace(PLACE, conversation="200")
    story.tell(
        WireActed(action=Action.REACT, address=elsewhere, requested=elsewhere, key="k", attempt=1, message_id="11"),
        node="telegram",
        intent="i1",
    )
    assert len(story.wrong) == 1


def test_an_own_message_of_that_id_is_not_the_persons() -> None:
    story = Story("A2")
    asks(story)
    story.accepted(intent="i0", provider_id="11")
    change(story)
    acted(story)
    assert len(story.wrong) == 1


def test_without_a_cast_nothing_is_judged() -> None:
    story = Story("A2")
    change(story)
    acted(story)
    assert story.verdict.status is Status.NOT_EXERCISED
