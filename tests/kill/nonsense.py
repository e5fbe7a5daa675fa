"""Parts of a gateway that misbehave: agents, hands, hooks, receipts, acknowledgements and envelopes that are nonsense.

What a part does is drawn from chances, or from the id of a message, so that people know which messages get no answer.
A gateway that survives this serves everything else as if nothing had happened.
"""

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Any, cast

import anyio
import msgspec

from trunkline import Address, ChatKind, Envelope, HandTask, Hooks, Peer, Receipt, SendingHook, SentHook, Turn
from trunkline.core.delivery.hooks import Outgoing, Sent

#: half a surrogate pair, as a cut emoji in JSON
HALF = "\ud83d"
#: first letter of messages at which the agent fails; the agent answers all others
ODD = "x"
HAND = "odd"


class Nonsense(msgspec.Struct, frozen=True, kw_only=True):
    """How often which part misbehaves, from 0 to 1."""

    #: of accepted sends: the receipt is useless, or an error of no known kind
    receipts: float = 0.0
    #: of look-ups: the same
    lookups: float = 0.0
    #: of acknowledgements: it never returns, or raises
    acks: float = 0.0
    #: of hooks: they raise
    hooks: float = 0.0
    #: of envelopes: one that makes no sense comes first
    envelopes: float = 0.0
    #: of what people write: messages at which the agent fails
    odd: float = 0.0

    @property
    def any(self) -> bool:
        return any(getattr(self, name) > 0 for name in self.__struct_fields__)


#: each part misbehaves more than a hundred times in a storm; receipts seldom, see `tests.kill.stage.misbehaving`
ALL_PARTS = Nonsense(receipts=0.01, lookups=0.05, acks=0.02, hooks=0.05, envelopes=0.1, odd=0.1)


def misbehave_in(dice: Random) -> None:
    """Raise an error that user code raises by accident. `CancelledError`: a task of its own was cancelled."""
    raise dice.choice((RuntimeError("broken"), asyncio.CancelledError(), ValueError(HALF), KeyError("key")))


def odd_receipt(dice: Random, address: Address) -> Receipt:
    """Return a useless receipt of a message that was accepted, or raise."""
    made: list[Callable[[], object]] = [
        lambda: Receipt(provider_id=HALF, address=address),
        lambda: Receipt(provider_id=cast("Any", b"bytes"), address=address),
        lambda: Receipt(provider_id="", address=address),
        lambda: Receipt(provider_id="1", address=cast("Any", "nowhere")),
        lambda: None,
        lambda: "a receipt",
        lambda: misbehave_in(dice),
    ]
    return cast("Receipt", dice.choice(made)())


def odd_envelopes(place: Address) -> list[Envelope]:
    """Envelopes that no adapter should hand over; a platform pushes them until they are acknowledged."""
    good = {"address": place, "peer": Peer(id="eve", name="Eve"), "text": "nonsense", "sent_at": time.time()}
    changes: list[dict[str, Any]] = [
        {"address": msgspec.structs.replace(place, conversation="")},
        {"address": msgspec.structs.replace(place, conversation=cast("Any", 7))},
        {"address": msgspec.structs.replace(place, conversation=HALF)},
        {"address": msgspec.structs.replace(place, kind=ChatKind.GROUP, conversation="g1", thread=HALF)},
        {"message_id": HALF},
        {"peer": Peer(id=HALF, name=HALF)},
        {"peer": None},
        {"text": None},
        {"stands_for": HALF},
    ]
    return [Envelope(**{"message_id": f"nonsense {n}", **good, **change}) for n, change in enumerate(changes)]


def is_odd(envelope: Envelope) -> bool:
    return envelope.message_id.startswith(("nonsense", HALF))


async def odd_turn(turn: Turn, message: str) -> str | None:
    """Fail at a message, always in the same way. Nothing is sent, by whatever way."""
    dice = Random(f"odd {message}")
    match dice.randrange(5):
        case 0:
            return cast("str", b"bytes")
        case 1:
            return cast("str", 7)
        case 2:
            await turn.send(cast("str", None))
        case 3:
            await turn.delegate(HAND, message)
            return None
        case _:
            misbehave_in(dice)
    return None


class OddHands:
    """`core.HandRunner` with one hand, whose results are no texts."""

    def has(self, hand: str) -> bool:
        return hand == HAND

    async def run(self, task: HandTask) -> str:
        dice = Random(f"hand {task.task}")
        match dice.randrange(4):
            case 0:
                return cast("str", None)
            case 1:
                return cast("str", b"bytes")
            case 2:
                await anyio.sleep(0.05)
                return cast("str", {"no": "text"})
            case _:
                misbehave_in(dice)
        raise AssertionError


def odd_hooks(chance: float, dice: Random) -> Hooks:
    """Hooks that change nothing, and raise now and then."""

    async def sending(_: Outgoing) -> object:
        if dice.random() < chance:
            misbehave_in(dice)
        return b"nonsense" if dice.random() < chance else None

    async def sent(_: Sent) -> None:
        if dice.random() < chance:
            misbehave_in(dice)

    if not chance:
        return Hooks()
    return Hooks(sending=(SendingHook(name="odd", call=sending),), sent=(SentHook(name="odd", call=sent),))
