"""People press buttons: the answer quotes the message with the button, once, also if the press is delivered again."""

import pytest

from trunkline.core.message_parts import Button, MessageParts
from trunkline.sim import Status, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

FILE = """
scenario: 1
title: A press
gateway: {{channels: {{{platform}: {{reply_reference: true}}}}}}
world:
  people: [ana]
  {platform}: {{rooms: [ops], {settings}}}
cast:
  agents:
    main:
      - when: {{text: "ask"}}
        do:
          - act: {{action: send, with: {{message: "Now?", {button}}}}}
          - silent: true
      - do: [{{reply: "answer to {{text}}"}}]
script:
  - {{at: 1s, as: ana, in: {platform}/ops, say: "ask"}}
  - {{at: 5s, as: ana, in: {platform}/ops, press: "Yes"}}
  - {{at: 9s, replay: {{}}}}
"""
BUTTONS = 'buttons: [[{text: "Yes", callback_data: "yes"}]]'
COMPONENTS = "components: {blocks: [{buttons: [{label: 'Yes', custom_id: 'yes'}]}]}"


@pytest.mark.parametrize("settings", ["", "stable_ids: false"])
@pytest.mark.parametrize(("platform", "button"), [("telegram", BUTTONS), ("slack", BUTTONS), ("discord", COMPONENTS)])
def test_an_answer_to_a_press_quotes_the_message_with_the_button(platform: str, button: str, settings: str) -> None:
    text = FILE.format(platform=platform, settings=settings, button=button)
    result = run_scenario(load_text(text))
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
    accepted = [event.body for event in result.trace.events if isinstance(event.body, WireAccepted)]
    asked, answer = (next(body for body in accepted if word in body.text) for word in ("Now?", "answer to yes"))
    assert len(accepted) == 2
    assert answer.reply_to == asked.provider_id


CLIENT = """
scenario: 1
title: A client's buttons
world:
  people: [ana]
  telegram: {}
cast: {agents: {main: [{do: [{reply: "answer to {text}"}]}]}}
script:
  - {at: 0s, as: ana, in: "@ana", say: "hi"}
  - {at: 1s, send: {to: "@ana", text: "Now?", buttons: [Now, Later], silent: true}}
  - {at: 5s, as: ana, in: "@ana", press: Later}
"""


def test_a_client_sends_buttons_without_a_notification() -> None:
    result = run_scenario(load_text(CLIENT))
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
    accepted = [event.body for event in result.trace.events if isinstance(event.body, WireAccepted)]
    [asked] = [body for body in accepted if body.text == "Now?"]
    buttons = tuple(Button(text=one, value=one) for one in ("Now", "Later"))
    assert asked.parts == MessageParts(silent=True, buttons=(buttons,))
    assert accepted[-1].text == "answer to Later"
