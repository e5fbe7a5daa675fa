"""At each event of the wire a step waits for the Nth, for one in a place, for one with a text, and then some time."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.attach.play.tries import first, scenario
from trunkline.core.events import Event
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.kill_points import KILLABLE
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.attach.worker import AttachTry
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.script.triggers import Triggers
from trunkline.sim.scenario.model.steps import When

PLACE = "telegram/ops/deploy"
#: The text of an event about the answer is that of the answer, which repeats the question.
HEAD = """
scenario: 1
title: Three questions
world: {people: [ana, ben], telegram: {latency: 5ms, rooms: {ops: {threads: [deploy]}}}}
cast: {agents: {main: [{do: [{reply: "{text}"}]}]}}
"""
ASKED = (
    'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "the first"',
    f'at: 700ms, id: two, as: ben, in: {PLACE}, say: "the second"',
    'at: 1400ms, id: three, as: ana, in: "telegram/@ana", say: "the third"',
)
SELECTORS: dict[str, dict[str, object]] = {
    "nth": {"nth": 2},
    "place": {"in": PLACE},
    "text": {"text": "*second*"},
    "later": {"text": "*second*", "delay": "80ms"},
}


Fired = dict[str, tuple[Event, float]]


@pytest.fixture(scope="module")
def fired() -> tuple[tuple[Event, ...], Fired]:
    """The events of a try, and what each selector at each event found, with the time of it."""
    found: Fired = {}
    with TemporaryDirectory() as folder:

        async def main(loop: RealTimeLoop) -> tuple[Event, ...]:
            file, home = scenario(*ASKED, head=HEAD), Path(folder)
            one = AttachTry(file, load_profile(profile_path("toy")), loop, home, install=home, settle=0.3, patience=1.5)
            whens = {f"{event} {name}": when(event, name) for event in KILLABLE for name in SELECTORS}
            triggers = Triggers(one.world, whens.values())
            for name, each in whens.items():

                def fire(event: Event, name: str = name) -> None:
                    found[name] = event, one.world.now()

                triggers.add(each, fire)
            return (await one.play()).events

        return run_real_time(main), found


def when(event: str, name: str) -> When:
    """What a step waits for. Their text distinguishes sends from what else a gateway calls."""
    sends = {"text": "*AZ*"} if event == "wire.called" else {}
    return When.model_validate({"event": event, **sends, **SELECTORS[name]})


def about_two(events: tuple[Event, ...], kind: str) -> Event:
    """The event of a kind about the second question."""
    question = first(events, "peer.said", "second")
    ids = {getattr(question.body, "message_id", None)}
    for event in events:
        body = event.body
        text = getattr(body, "text", "")
        if event.kind == kind and ("second" in text or getattr(body, "message_id", None) in ids):
            return event
    raise AssertionError(kind)


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("event", KILLABLE)
def test_a_step_waits_for_it(fired: tuple[tuple[Event, ...], Fired], event: str, selector: str) -> None:
    events, found = fired
    awaited = about_two(events, event)
    struck, at = found[f"{event} {selector}"]
    assert struck == awaited
    passed = at - awaited.at
    assert 0.08 <= passed < 0.5 if selector == "later" else passed < 0.02


@pytest.mark.parametrize(
    ("waits", "reason"),
    [
        ('event: gateway.ready, text: "*x*"', "a step waits for gateway.ready with a text: such an event has none"),
        ("event: process.crashed, in: telegram/ops", "a step waits for process.crashed in a place: such an event has"),
    ],
)
def test_a_text_or_a_place_that_an_event_never_has_is_refused(waits: str, reason: str) -> None:
    toy = load_profile(profile_path("toy"))
    for step in (f"at: 0s, crash: {{when: {{{waits}}}}}", f"at: 0s, when: {{{waits}}}, note: x"):
        found = attach_unfit(scenario(step, *ASKED), toy)
        assert [one[: len(reason)] for one in found] == [reason]
