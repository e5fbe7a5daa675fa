"""R1, R2: what an inbound route costs, and that it does not cost more with more bindings.

A decision is the whole of `resolve_route`: agent, tier, and the message's session key, in R2 with its text. Messages
hit every tier and miss too, in the same shares however many bindings there are, and are spread over all of them.
Process CPU time, the best of interleaved rounds: the machine may be busy with other things.
"""

import gc
import random
import time
from collections.abc import Iterator

from tests.support.bench.bar import Bar
from trunkline.core.config import GatewayConfig
from trunkline.core.routing import resolve_route
from trunkline.core.routing.inbound import Explain
from trunkline.core.routing.index import index_of
from trunkline.core.values import Address, ChatKind, Envelope, Peer

FEW, SOME, MANY = 10, 10_000, 100_000
MESSAGES = 3000
ROUNDS = 15

#: kinds of bindings, by the rest of their number; the message that hits each is in `message`
SHAPES = 10


def snowflake(number: int) -> str:
    """An id of a usual length; a new text each time, as a message brings it."""
    return str(10**18 + number)


def binding(number: int) -> dict:
    """One of many bindings: mostly peers, as those are what grows; all on one channel."""
    shape, name = number % SHAPES, snowflake(number)
    match: dict = {
        0: {"peer": {"kind": "channel", "id": name}},
        1: {"peer": {"kind": "direct", "id": name}},
        2: {"peer": {"kind": "direct", "id": name}, "account": "*"},
        3: {"peer": {"kind": "channel", "id": name}, "guild": f"g{name}"},
        4: {"peer": {"kind": "group", "id": name}},
        5: {"guild": f"g{name}", "roles": [f"r{name}", "staff"]},
        6: {"guild": f"g{name}"},
        7: {"team": f"t{name}"},
        8: {"account": f"bot{name}"},
        9: {"account": f"bot{name}", "roles": [f"r{name}"]},
    }[shape]
    return {"agent": "main", "match": {"channel": "discord", **match}}


def message(number: int) -> Envelope:
    """A message that hits the binding of this number, or misses: two in ten do, as 9 and as an unknown person do."""
    shape, name = number % SHAPES, snowflake(number)
    account, roles = "default", ("r1", "staff", "r2")
    guild = team = parent = None
    kind, conversation = ChatKind.CHANNEL, name
    if shape in (1, 2):
        kind = ChatKind.DIRECT
    elif shape == 4:
        conversation, parent = f"thread {name}", name
    elif shape in (8, 9):
        account, conversation, kind = f"bot{name}", "nobody", ChatKind.DIRECT
    elif shape > 4:
        conversation = "elsewhere"
        team = f"t{name}" if shape == 7 else None
    if shape in (3, 5, 6):
        guild = f"g{name}"
    return Envelope(
        address=Address(channel="discord", account=account, kind=kind, conversation=conversation, parent=parent),
        peer=Peer(id=name),
        message_id=name,
        text="hello",
        sent_at=0.0,
        guild=guild,
        team=team,
        roles=roles,
    )


def messages_to(count: int) -> list[Envelope]:
    """Messages to a configuration of so many bindings, in a random order."""
    dice = random.Random(count)
    numbers = [dice.randrange(count // SHAPES) * SHAPES + number % SHAPES for number in range(MESSAGES)]
    dice.shuffle(numbers)
    return [message(number) for number in numbers]


def indexed(count: int) -> tuple[GatewayConfig, float]:
    """A configuration of so many bindings, and the seconds that its index took."""
    config = GatewayConfig.model_validate({"bindings": [binding(number) for number in range(count)]})
    gc.collect()
    before = time.process_time()
    index_of(config)
    return config, time.process_time() - before


def cost(config: GatewayConfig, messages: list[Envelope], explain: Explain = "none", *, text: bool = False) -> float:
    """CPU seconds of one decision."""
    before = time.process_time()
    if text:
        for said in messages:
            str(resolve_route(said, config, explain).key)
    else:
        for said in messages:
            resolve_route(said, config, explain)
    return (time.process_time() - before) / len(messages)


def check(config: GatewayConfig, messages: list[Envelope]) -> None:
    """The shares are what they are said to be: nine in ten hit, in seven tiers."""
    tiers = [resolve_route(said, config, "none").matched_by for said in messages]
    assert tiers.count("default") == len(messages) // SHAPES
    assert len(set(tiers)) == 7, set(tiers)


def bars() -> Iterator[Bar]:
    """Measure R1 and R2."""
    # Messages come first: those made in the gaps that a large configuration leaves in memory would be slower to read.
    messages = {count: messages_to(count) for count in (FEW, SOME, MANY)}
    configs = {count: indexed(count) for count in messages}
    for count, said in messages.items():
        check(configs[count][0], said)

    def measure(count: int, explain: Explain = "none", *, text: bool = False) -> float:
        return cost(configs[count][0], messages[count], explain, text=text)

    flat: dict[int, list[float]] = {FEW: [], MANY: []}
    whole: list[float] = []
    near: list[float] = []
    for _ in range(ROUNDS):
        flat[FEW].append(measure(FEW))
        flat[MANY].append(measure(MANY))
        whole.append(measure(SOME, text=True))
        near.append(measure(MANY, "near"))
    lowest, highest = min(flat[FEW]), min(flat[MANY])
    yield Bar(
        id="R1",
        title="a route among 100,000 bindings / among 10",
        measured=highest / lowest,
        demand=1.5,
        better="lower",
        unit="x",
        note=f"{highest * 1e6:.1f} us / {lowest * 1e6:.1f} us; with those near explained"
        f" {min(near) * 1e6:.1f} us; the index of 100,000 takes {configs[MANY][1]:.2f} s, once",
    )
    spent = min(whole)
    yield Bar(
        id="R2",
        title="routes with their session keys among 10,000 bindings",
        measured=1 / spent,
        demand=50_000,
        better="higher",
        unit="a CPU second",
        note=f"{spent * 1e6:.1f} us each; the index of 10,000 takes {configs[SOME][1] * 1e3:.0f} ms, once",
    )


if __name__ == "__main__":
    for bar in bars():
        print(bar)
