"""Actions of a turn whose answer opens a thread: each goes to the conversation of its message."""

from trunkline.sim import Status, run_scenario
from trunkline.sim.events.actions import WireActed, WireAnswered
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.scenario import load_text

FILE = """
scenario: 1
title: Actions before and after the thread is open
gateway: {channels: {discord: {auto_thread: true}}}
world:
  people: [ana]
  discord: {rooms: {ops: {}}}
cast:
  agents:
    main:
      - do:
          - act: {action: react, of: m1, with: {emoji: "👍"}}
          - act: {action: send, label: first, with: {message: "one moment"}}
          - act: {action: edit, of: first, with: {message: "here it is"}}
          - act: {action: pin, of: m1}
          - reply: "done"
script:
  - {at: 1s, as: ana, in: discord/ops, say: "hi"}
"""


def test_a_reaction_to_the_message_of_the_turn_is_in_the_room_and_an_edit_of_the_answer_in_the_thread() -> None:
    result = run_scenario(load_text(FILE))
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
    bodies = [event.body for event in result.trace.events]
    accepted = [body for body in bodies if isinstance(body, WireAccepted)]
    room = accepted[0].address.parent
    acted = [(body.action.value, body.address.conversation) for body in bodies if isinstance(body, WireActed)]
    thread = accepted[0].address.conversation
    assert room is not None and sorted(acted) == sorted([("react", room), ("edit", thread), ("pin", room)])


def test_an_action_without_a_target_is_in_the_room_before_and_after_the_answer() -> None:
    """The thread for the answer may not be open yet, and has no threads of its own."""
    act = '- act: {action: thread-create, with: {threadName: "aside"}}'
    for deeds in ([act, "- reply: done"], ["- send: {text: first}", act], ["- act: {action: list-pins}"]):
        lines = "".join(f"          {deed}\n" for deed in deeds)
        text = FILE.partition("          - act")[0] + lines + FILE[FILE.index("script:") :]
        result = run_scenario(load_text(text))
        assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
        bodies = [event.body for event in result.trace.events]
        room = next(body.address for body in bodies if isinstance(body, PeerSaid))
        places = [body.requested for body in bodies if isinstance(body, WireActed)]
        places += [body.address for body in bodies if isinstance(body, WireAnswered)]
        assert places == [room]
