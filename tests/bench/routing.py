"""R1, R2: what an inbound route costs, and that it does not cost more with more bindings.

A decision is the whole of `resolve_route`: agent, tier, and the message's session key, in R2 with its text. Messages
hit every tier and miss too, in the same shares however many bindings there are, and are spread over all of them.
Process CPU time, interleaved rounds: the machine may be busy with other things.
"""

import gc
import random
import statistics
import time
from collections.abc import Iterator

from core.config import GatewayConfig
from core.routing import resolve_route
from core.routing.inbound import Explain
from core.routing.index import index_of
from core.values import Address, ChatKind, Envelope, Peer
from tests.bench._bar import Bar

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


def setting(count: int) -> tuple[GatewayConfig, list[Envelope], float]:
    """A configuration, messages to it in a random order, and the seconds that its index took."""
    config = GatewayConfig.model_validate({"bindings": [binding(number) for number in range(count)]})
    gc.collect()
    before = time.process_time()
    index_of(config)
    spent = time.process_time() - before
    dice = random.Random(count)
    tens = count // SHAPES
    numbers = [dice.randrange(tens) * SHAPES + number % SHAPES for number in range(MESSAGES)]
    dice.shuffle(numbers)
    return config, [message(number) for number in numbers], spent


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
    few, some, many = setting(FEW), setting(SOME), setting(MANY)
    for config, messages, _ in (few, some, many):
        check(config, messages)
    flat: dict[int, list[float]] = {FEW: [], MANY: []}
    whole: list[float] = []
    near: list[float] = []
    for _ in range(ROUNDS):
        flat[FEW].append(cost(*few[:2]))
        flat[MANY].append(cost(*many[:2]))
        whole.append(cost(*some[:2], text=True))
        near.append(cost(*many[:2], "near"))
    lowest, highest = statistics.median(flat[FEW]), statistics.median(flat[MANY])
    yield Bar(
        id="R1",
        title="a route among 100,000 bindings / among 10",
        measured=highest / lowest,
        demand=1.5,
        better="lower",
        unit="x",
        note=f"{highest * 1e6:.1f} us / {lowest * 1e6:.1f} us; with those near explained"
        f" {statistics.median(near) * 1e6:.1f} us; the index of 100,000 takes {many[2]:.2f} s, once",
    )
    spent = statistics.median(whole)
    yield Bar(
        id="R2",
        title="routes with their session keys among 10,000 bindings",
        measured=1 / spent,
        demand=50_000,
        better="higher",
        unit="a CPU second",
        note=f"{spent * 1e6:.1f} us each; the index of 10,000 takes {some[2] * 1e3:.0f} ms, once",
    )


if __name__ == "__main__":
    for bar in bars():
        print(bar)
