"""S4 to S7: the tool that delegates, its errors, the states in two columns, and the first result that wins."""

import anyio
import pytest

from tests.support.hands.roles import Asker, ran, takes
from tests.support.hands.stage import ANA, Stage, staged
from trunkline.core.errors import DelegationRefused, UnknownName, UsageError
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationIgnored
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState


def test_s04_ids_are_the_gateways_and_labels_are_only_labels():
    made = []

    async def main(turn):
        if turn.callback is not None:
            return f"{turn.callback.label}: {turn.text}"
        for task in ("one", "two"):
            made.append(await turn.send_async("clerk", task, label="the same"))
        return None

    async def play(stage: Stage) -> None:
        stage.say(ANA, "both")
        await anyio.sleep(30)
        assert len({one.delegation for one in made}) == 2
        assert sorted(stage.texts(ANA)) == ["the same: done: one", "the same: done: two"]
        assert [row.label for row in await stage.rows()] == ["the same", "the same"]

    staged(play, agents={"main": main}, hands={"clerk": takes(1)})


def test_s04_the_record_is_durable_before_the_hand_starts():
    found, main = [], Asker()

    async def play(stage: Stage) -> None:
        async def clerk(task):
            # As another process would see it, if this one died now.
            found.append(stage.disk.open().execute("SELECT id, state FROM delegations").fetchall())
            return "done"

        stage.hands["clerk"] = clerk
        stage.restart()
        stage.say(ANA, "clean")
        await anyio.sleep(30)
        assert found == [[(main.delegations[0], "running")]]

    staged(play, agents={"main": main}, hands={"clerk": takes(1)})


def test_s04_d3_a_hand_that_ends_at_once_leaves_nothing_open():
    async def play(stage: Stage) -> None:
        for number in range(50):
            stage.say(ANA, f"task {number}")
        await anyio.sleep(60)
        rows = await stage.rows()
        assert len(rows) == 50
        assert {(row.state, row.callback) for row in rows} == {(WorkState.SUCCEEDED, CallbackState.DELIVERED)}

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(0)})


def test_s05_the_tool_says_accepted_and_the_id_and_nothing_of_the_result():
    said = []

    async def main(turn):
        if turn.callback is not None:
            return turn.text
        said.append(await turn.send_async("clerk", turn.text))
        await anyio.sleep(5)
        return "on it"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(30)
        (accepted,) = said
        assert (accepted.status, accepted.hand) == ("accepted", "clerk")
        assert accepted.delegation in accepted.for_model and "secret words" not in accepted.for_model
        # The result came while the turn was still running, and is reported after it all the same.
        assert stage.texts(ANA) == ["on it", "secret words"]

    staged(play, agents={"main": main}, hands={"clerk": takes(0.1, "secret words")})


CASES = {
    "unknown-hand": ("nobody", {}),
    "self-delegation": ("main", {}),
    "hand-not-allowed": ("clerk", {"each": {"clerk": {"callers": []}}}),
    "gateway-cap": ("clerk", {"limits": {"open": 1}}),
    "session-cap": ("clerk", {"limits": {"open_per_session": 1}}),
}


@pytest.mark.parametrize("reason", CASES)
def test_s05_what_cannot_be_delegated_is_refused_with_its_reason_before_any_work(reason):
    hand, hands = CASES[reason]
    runs, errors = [], []

    async def main(turn):
        if turn.callback is not None:
            return None
        first = 1 if reason.endswith("cap") else 0
        for number in range(first + 1):
            try:
                await turn.send_async("clerk" if number < first else hand, f"task {number}")
            except UsageError as error:
                errors.append(error)
        return "asked"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(30)
        (error,) = errors
        assert isinstance(error, DelegationRefused | UnknownName)
        assert hand in error.facts or reason.endswith("cap")
        assert [body.reason.value for body in stage.bodies(ToolRefused)] == [reason]
        assert len(runs) == len(stage.bodies(DelegationAccepted)) == (1 if reason.endswith("cap") else 0)
        assert stage.texts(ANA) == ["asked"]

    staged(play, agents={"main": main}, hands={"clerk": ran(runs, takes(20))}, config={"hands": hands})


def test_s05_no_deeper_than_configured():
    refused = []

    async def digger(turn):
        if turn.callback is not None:
            return f"below: {turn.text}"
        other = "left" if turn.agent == "right" else "right"
        try:
            await turn.send_async(other, turn.text)
        except DelegationRefused as error:
            refused.append(error.reason.value)
            return "the bottom"
        return None

    async def play(stage: Stage) -> None:
        stage.say(ANA, "dig")
        await anyio.sleep(60)
        assert refused == ["depth-exceeded"]
        assert max(row.depth for row in await stage.rows()) == 3
        assert stage.texts(ANA) == ["below: below: below: the bottom"]

    config = {"agents": [{"id": "left"}, {"id": "right"}], "hands": {"limits": {"depth": 3}}}
    staged(play, agents={"left": digger, "right": digger}, config=config)


def test_s06_what_the_hand_did_and_what_the_person_got_are_two_columns():
    async def play(stage: Stage) -> None:
        stage.account(ANA).latency = 2.0
        stage.say(ANA, "clean")

        async def columns():
            (row,) = await stage.rows()
            return row.state.value, row.callback.value

        await anyio.sleep(3)
        assert await columns() == ("running", "waiting")
        # The first answer takes two seconds, the hand five.
        await anyio.sleep(2.5)
        assert await columns() == ("succeeded", "queued")
        await anyio.sleep(10)
        assert await columns() == ("succeeded", "delivered")
        states = [body.state.value for body in stage.bodies(CallbackChanged)]
        assert [state for state in states if state != "in_turn"] == ["pending_turn", "queued", "delivered"]

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(5)})


def test_s07_the_first_result_wins_and_the_later_one_is_kept():
    main = Asker("courier")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "fetch")
        await anyio.sleep(2)
        task = await stage.inside(stage.gateway.hands.take("courier", "w1"))
        for outcome, text in ((HandOutcome.OK, "first"), (HandOutcome.ERROR, "second")):
            result = HandResult(outcome=outcome, text=text)
            await stage.inside(stage.gateway.inject_callback(task.delegation, result, ticket=task.ticket))
        await anyio.sleep(30)
        assert stage.texts(ANA) == ["on it: fetch", "courier: first"]
        (ignored,) = stage.bodies(DelegationIgnored)
        assert (ignored.outcome, ignored.text) == (HandOutcome.ERROR, "second")
        details = await stage.details(task.delegation)
        assert (details.row.result, [late.text for late in details.late]) == ("first", ["second"])

    staged(play, agents={"main": main}, config={"hands": {"each": {"courier": {"worker": True}}}})
