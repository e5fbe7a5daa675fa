"""S1 to S3: where a delegation comes from is captured once, from the turn, and frozen at the call."""

import anyio

from tests.support.hands.roles import Asker, ran, takes
from tests.support.hands.stage import ANA, BEN, Stage, place, staged
from trunkline.core.errors import UsageError
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind, Peer, WorkKind


def test_s01_the_turn_carries_the_whole_origin_of_what_it_delegates():
    main = Asker()
    thread = place("room", kind=ChatKind.GROUP, thread="t7", parent="room", account="relay")

    async def play(stage: Stage) -> None:
        message = stage.say(thread, "clean", peer=Peer(id="u1", name="Ana"))
        await anyio.sleep(30)
        (heard,) = main.heard
        origin = heard.origin
        assert (origin.agent, origin.session_key) == ("main", heard.session_key)
        assert origin.place == thread
        assert (origin.place.channel, origin.place.account, origin.place.kind) == ("loop", "relay", ChatKind.GROUP)
        assert (origin.place.thread, origin.place.parent) == ("t7", "room")
        assert (origin.asked_by.id, origin.asked_by.name) == ("u1", "Ana")
        assert (origin.work, origin.message_id) == (WorkKind.MESSAGE, message)
        assert origin.turn and origin.inbound and origin.at >= 0
        assert heard.asked_by == origin.asked_by
        assert stage.texts(thread) == ["on it: clean", "clerk: done: clean"]

    staged(play, agents={"main": main}, hands={"clerk": takes(5)}, accounts=[("loop", "default"), ("loop", "relay")])


def test_s01_d1_a_message_of_somebody_else_before_the_call_changes_nothing():
    # Both are in one session, and the second message arrives while the first turn has not delegated yet.
    main = Asker(thinks=10)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean mine")
        await anyio.sleep(5)
        stage.say(BEN, "clean his")
        await anyio.sleep(120)
        assert stage.texts(ANA) == ["on it: clean mine", "clerk: done: clean mine"]
        assert stage.texts(BEN) == ["on it: clean his", "clerk: done: clean his"]
        assert [heard.asked_by.id for heard in main.heard] == ["ana", "ben"]

    staged(play, agents={"main": main}, hands={"clerk": takes(1)}, config={"session": {"dm_scope": "main"}})


def test_s02_a_turn_without_a_place_is_refused_before_any_work_starts():
    runs, errors = [], []

    async def main(turn):
        try:
            await turn.delegate("clerk", "look around")
        except UsageError as error:
            errors.append(error)

    async def play(stage: Stage) -> None:
        await stage.inside(stage.gateway.wake("main", "good morning"))
        await anyio.sleep(60)
        assert len(errors) == 1
        assert runs == [] and stage.texts() == []
        assert [body.reason for body in stage.bodies(ToolRefused)] == [Reason.NO_ORIGIN]

    staged(play, agents={"main": main}, hands={"clerk": ran(runs)})


def test_s02_with_a_reply_target_of_its_own_it_may_delegate():
    async def main(turn):
        if turn.callback is not None:
            return f"news: {turn.text}"
        await turn.send_async("clerk", "look around", reply_to=ANA)
        return None

    async def play(stage: Stage) -> None:
        await stage.inside(stage.gateway.wake("main", "good morning"))
        await anyio.sleep(60)
        assert [(one.place, one.text) for one in stage.seen()] == [(ANA, "[from wake-up] news: done: look around")]

    staged(play, agents={"main": main}, hands={"clerk": takes(2)})


def test_s03_the_origin_is_frozen_at_the_call():
    # The same person goes on elsewhere, in the same session, while the hand works.
    main = Asker()
    elsewhere = place("ana", account="relay")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.say(elsewhere, "hello from here")
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]
        assert [heard.place for heard in main.heard] == [ANA, elsewhere]

    accounts = [("loop", "default"), ("loop", "relay")]
    config = {"session": {"dm_scope": "main"}}
    staged(play, agents={"main": main}, hands={"clerk": takes(5)}, config=config, accounts=accounts)


def test_s03_policies_are_those_of_the_moment_of_delivery():
    # The route is stored; formatting and prompts are read when the callback turn starts.
    main = Asker()

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.configure(channels={"loop": {"prompt": "Be brief here."}})
        await anyio.sleep(60)
        (heard,) = main.heard
        assert "Be brief here." in (heard.prompt or "")
        assert heard.place == ANA

    staged(play, agents={"main": main}, hands={"clerk": takes(10)})
