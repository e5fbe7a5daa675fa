"""HANDS: what one completion costs, with a thousand delegations open and with ten, in the same run.

Everything but the fake platform is the real gateway, in virtual time and on a disk in memory, so that what is measured
is the gateway's own work. Rounds are interleaved.
"""

import statistics

from tests.support.bench.bar import Bar
from tests.support.hands.crowd import ROOM, Cost, Crowd, cost_of_completions
from tests.support.hands.stage import Stage, staged

ROUNDS = 5
SESSIONS, MANY, FEW = 200, 1_000, 10
#: completions of one measurement; as many as the few that are open
COMPLETIONS = 10


def measured(count: int) -> Cost:
    """The cost of completions while `count` are open."""
    crowd = Crowd(min(count, SESSIONS))

    async def play(stage: Stage) -> Cost:
        await crowd.ask(stage, count)
        return await cost_of_completions(stage, crowd, COMPLETIONS)

    return staged(play, agents={"main": crowd.turn}, hands={"clerk": crowd.run}, config=ROOM, keep=False)


def bars() -> list[Bar]:
    """Measure it."""
    few, many = list[Cost](), list[Cost]()
    for _ in range(ROUNDS):
        few.append(measured(FEW))
        many.append(measured(MANY))
    ratio = statistics.median(a.seconds / b.seconds for a, b in zip(many, few, strict=True))
    took = [statistics.median(cost.seconds for cost in costs) * 1e6 for costs in (many, few)]
    ran = [statistics.median(cost.statements for cost in costs) for costs in (many, few)]
    note = f"{took[0]:,.0f} / {took[1]:,.0f} us, {ran[0]:g} / {ran[1]:g} statements"
    title = f"cost of a completion: {MANY:,} delegations open / {FEW}"
    return [Bar(id="HANDS", title=title, measured=ratio, demand=1.5, want=1.1, better="lower", unit="x", note=note)]


if __name__ == "__main__":
    for bar in bars():
        print(bar)
