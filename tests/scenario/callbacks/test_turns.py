"""S13 to S16: the order of callback turns, what the transcript says of them, and answers that are not sent."""

import anyio
import pytest

from tests.support.hands.roles import Asker, by_task, takes
from tests.support.hands.stage import ANA, BEN, Stage, place, staged
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import ChatKind, Peer

#: seconds that the hand takes for a task
TAKES = {"slow": 9.0, "middle": 6.0, "fast": 3.0}


def test_s13_callbacks_wait_for_the_running_turn_and_come_in_the_order_of_completion():
    turns = []

    async def main(turn):
        turns.append((turn.text, anyio.current_time()))
        if turn.text == "think":
            await anyio.sleep(20)
        elif turn.callback is None and turn.text != "hello":
            await turn.delegate("clerk", turn.text)
        return f"re {turn.text}"

    async def play(stage: Stage) -> None:
        for text in ("slow", "middle", "fast", "think"):
            stage.say(ANA, text)
            await anyio.sleep(0.1)
        await anyio.sleep(1)
        # Written before any hand has ended, and so answered first.
        stage.say(ANA, "hello")
        await anyio.sleep(60)
        assert [text for text, _ in turns][4:] == ["hello", "done: fast", "done: middle", "done: slow"]
        assert turns[4][1] >= 20

    staged(play, agents={"main": main}, hands={"clerk": by_task(TAKES.__getitem__)})


def test_s13_results_of_the_same_moment_come_in_the_order_of_their_ids():
    main = Asker()

    async def play(stage: Stage) -> None:
        for number in range(5):
            stage.say(ANA, f"task {number}")
        await anyio.sleep(60)
        assert [heard.callback.delegation for heard in main.heard] == sorted(main.delegations)

    staged(play, agents={"main": main}, hands={"clerk": takes(10)})


def test_s13_a_hand_that_delegates_back_to_its_caller_does_not_deadlock():
    async def jeeves(turn):
        if turn.callback is not None:
            return f"sir: {turn.text}"
        if turn.text == "which inbox?":
            return "the blue one"
        await turn.send_async("cook", turn.text)
        return "right away"

    async def cook(turn):
        if turn.callback is not None:
            return f"cleaned {turn.text}"
        await turn.send_async("jeeves", "which inbox?")
        return None

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["right away", "sir: cleaned the blue one"]
        assert [one.place for one in stage.seen()] == [ANA, ANA]

    staged(play, agents={"jeeves": jeeves, "cook": cook}, config={"agents": [{"id": "jeeves"}, {"id": "cook"}]})


def test_s14_the_transcript_has_the_callback_as_a_line_of_the_hand_in_the_session_that_asked_and_nowhere_else():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        stage.say(BEN, "hello")
        await anyio.sleep(30)
        rows = stage.disk.open().execute("SELECT session_id, role, text FROM transcript ORDER BY n").fetchall()
        ana = [(role, text) for session, role, text in rows if "ana" in session]
        assert ana == [
            ("user", "clean"),
            ("assistant", "on it: clean"),
            ("hand", "done: clean"),
            ("assistant", "clerk: done: clean"),
        ]
        assert not any("done: clean" in text for session, _, text in rows if "ana" not in session)

    async def main(turn):
        if turn.text == "hello":
            return "hello Ben"
        return await Asker()(turn)

    staged(play, agents={"main": main}, hands={"clerk": takes(3)})


@pytest.mark.parametrize("answer", [None, "", "NO_REPLY", "  NO_REPLY\n"])
def test_s15_no_answer_closes_the_delegation_as_suppressed_and_is_not_tried_again(answer):
    main = Asker(answer=lambda _: answer)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(300)
        assert stage.texts(ANA) == ["on it: clean"]
        assert len(main.heard) == 1
        (row,) = await stage.rows()
        assert (row.state.value, row.callback) == ("succeeded", CallbackState.SUPPRESSED)
        assert Reason.NO_REPLY in [body.reason for body in stage.bodies(IntentSuppressed)]

    staged(play, agents={"main": main}, hands={"clerk": takes(3)})


def test_s16_what_the_turn_already_sent_to_the_place_is_not_said_again():
    async def main(turn):
        if turn.callback is None:
            await turn.delegate("clerk", turn.text)
            return None
        text = f"clerk: {turn.text}"
        await turn.send(text)
        return text

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["clerk: done: clean"]
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED

    staged(play, agents={"main": main}, hands={"clerk": takes(3)})


def test_s16_another_text_or_the_same_elsewhere_is_still_said():
    room = place("room", kind=ChatKind.GROUP)

    async def main(turn):
        if turn.callback is None:
            await turn.delegate("clerk", turn.text)
            return None
        await turn.send("one moment")
        await turn.send("the result", to=room)
        return "the result"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean", peer=Peer(id="ana", name="Ana"))
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["one moment", "the result"]
        assert stage.texts(room) == ["the result"]

    staged(play, agents={"main": main}, hands={"clerk": takes(3)})
