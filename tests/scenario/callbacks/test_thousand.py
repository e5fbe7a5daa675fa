"""S22: a thousand delegations of two hundred sessions in flight, which end in any order."""

import tracemalloc
from collections import Counter
from random import Random

import anyio
import pytest

from tests.support.hands.crowd import ROOM, Crowd, cost_of_completions, held
from tests.support.hands.stage import Stage, staged
from tests.support.scale import scaled

SESSIONS, MANY = 200, 1000


def test_s22_a_thousand_in_flight_give_exactly_one_message_each():
    crowd = Crowd(SESSIONS)

    async def play(stage: Stage) -> None:
        await crowd.ask(stage, MANY)
        assert len(crowd.open) == MANY
        await crowd.finish_all(stage, Random(4))
        seen = Counter((one.place, one.text) for one in stage.seen())
        assert seen == {(where, f"result: {task}"): 1 for task, where in crowd.asked.items()}
        assert len(await stage.rows()) <= MANY

    staged(play, agents={"main": crowd.turn}, hands={"clerk": crowd.run}, config=ROOM, keep=False)


@pytest.mark.slow
def test_s22_the_same_if_the_process_dies_in_the_middle():
    crowd = Crowd(SESSIONS)

    async def play(stage: Stage) -> None:
        await crowd.ask(stage, MANY)
        dice = Random(5)
        for task in dice.sample(sorted(crowd.open), MANY // 2):
            crowd.open.pop(task).set()
        while len(stage.seen()) < 100:  # noqa: ASYNC110 -- the platform tells nobody
            await anyio.sleep(0.0005)
        stage.restart()
        await anyio.sleep(60)
        # A hand whose process died is reported as lost, which is an answer, too.
        assert Counter(one.place for one in stage.seen()) == Counter(crowd.asked.values())
        results = [one.text for one in stage.seen() if "task" in one.text]
        assert len(results) == len(set(results)) and 100 <= len(results) < MANY

    staged(play, agents={"main": crowd.turn}, hands={"clerk": crowd.run}, config=ROOM, keep=False)


@pytest.mark.slow
def test_memory_is_bounded_by_what_is_open():
    crowd, many = Crowd(scaled(SESSIONS, 50)), scaled(400, 200)

    async def play(stage: Stage) -> None:
        async def round_of(name: str) -> tuple[int, int]:
            before = held()
            await crowd.ask(stage, many, name)
            full = held()
            await crowd.finish_all(stage, Random(name))
            crowd.asked.clear()
            for account in stage.accounts.values():
                account.seen.clear()
                account.receipts.clear()
            return full - before, held() - before

        await round_of("warm")
        tracemalloc.start()
        try:
            await round_of("first")
            open_, left = await round_of("second")
        finally:
            tracemalloc.stop()
        # Each that is open: a task, its timer and its row. Afterwards the simulated loop keeps its name, nothing else.
        assert 1_000 < open_ / many < 20_000, open_
        assert left / many < 150, left

    staged(play, agents={"main": crowd.turn}, hands={"clerk": crowd.run}, config=ROOM, keep=False)


def test_a_completion_takes_as_many_statements_however_many_are_open():
    def measured(count: int) -> float:
        crowd, found = Crowd(min(count, SESSIONS)), []

        async def play(stage: Stage) -> None:
            await crowd.ask(stage, count)
            found.append((await cost_of_completions(stage, crowd, 10)).statements)

        staged(play, agents={"main": crowd.turn}, hands={"clerk": crowd.run}, config=ROOM, keep=False)
        return found[0]

    few, many = measured(20), measured(MANY)
    assert abs(many - few) <= 1, (few, many)
