"""S35 and S36: every step is an event of the delegation, and the chain from question to answer can be followed."""

import anyio

from tests.support.hands.roles import Asker, takes
from tests.support.hands.stage import ANA, Stage, staged
from trunkline.core.events.delivery import ChunkAcked, IntentPrepared
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.states.delegation import CallbackState


def test_s35_every_step_is_an_event_with_the_id_of_the_delegation():
    async def play(stage: Stage) -> None:
        async def clerk(task):
            await anyio.sleep(2)
            await task.progress("half of it")
            await anyio.sleep(2)
            return "done"

        stage.hands["clerk"] = clerk
        stage.restart()
        stage.say(ANA, "clean")
        await anyio.sleep(60)
        (row,) = await stage.rows()
        steps = [
            f"{event.kind}:{event.body.state.value}" if isinstance(event.body, CallbackChanged) else event.kind
            for event in stage.log.events
            if event.delegation == row.id
        ]
        wanted = [
            "delegation.accepted",
            "delegation.started",
            "delegation.progressed",
            "delegation.finished",
            "callback.changed:pending_turn",
            "turn.started",
            "intent.prepared",
            "attempt.started",
            "chunk.acked",
            "callback.changed:delivered",
        ]
        assert [step for step in steps if step in wanted] == wanted

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(1)})


def test_s36_from_a_visible_message_back_to_the_question():
    async def play(stage: Stage) -> None:
        message = stage.say(ANA, "clean")
        await anyio.sleep(60)
        seen = stage.seen(ANA)[-1]
        (prepared,) = [event for event in stage.events(IntentPrepared) if event.intent == seen.intent]
        details = await stage.details(prepared.delegation)
        row = details.row
        assert (row.result, row.turn, row.origin.message_id) == ("done: clean", row.origin.turn, message)
        assert [intent.id for intent in details.intents] == [seen.intent]
        (acked,) = [event.body for event in stage.events(ChunkAcked) if event.intent == seen.intent]
        assert stage.account(ANA).receipts[seen.key].provider_id == acked.provider_id

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(2)})


def test_s36_a_delegation_without_a_visible_message_says_why():
    endings = {"silent": None, "gone": "clerk is done", "broken": RuntimeError("broke")}

    async def main(turn):
        if turn.callback is None:
            await turn.delegate("clerk", turn.text)
            return None
        answer = endings[turn.text]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def clerk(task):
        await anyio.sleep(3)
        return task.task

    async def play(stage: Stage) -> None:
        stage.account(ANA).gone.add(("ana", None))
        for ending in endings:
            stage.say(ANA, ending)
        await anyio.sleep(60)
        found = {
            row.task: (row.callback, row.callback_reason and row.callback_reason.value) for row in await stage.rows()
        }
        assert found == {
            "silent": (CallbackState.SUPPRESSED, "no-reply"),
            "gone": (CallbackState.UNDELIVERABLE, "place-gone"),
            "broken": (CallbackState.UNDELIVERABLE, "agent-raised"),
        }

    staged(play, agents={"main": main}, hands={"clerk": clerk})
