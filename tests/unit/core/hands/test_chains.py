"""How long turns may follow from each other without a person, and what their ids look like."""

import msgspec
import pytest

from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import is_chain_over
from trunkline.core.hands.capture import delegation_id, origin_of
from trunkline.core.records.rows import BotChain, LastTurn, Work
from trunkline.core.values import InboundId, Peer, SessionId, WorkKind

CONFIG = GatewayConfig.model_validate({"agents": [{"id": "main", "default": True}], "turns": {"chain": 3}})
ASKED = Work(id=InboundId("m1"), kind=WorkKind.MESSAGE, agent="main", session_key="k", peer=Peer(id="ana"), text="go")
SESSION = SessionId("s")


def after(work: Work, number: int) -> Work:
    """The turn of the result of what a turn delegates with a call."""
    back = InboundId(f"{delegation_id(work, number)}.back")
    return msgspec.structs.replace(work, id=back, origin=origin_of(work, SESSION, 0.0), chain=work.chain + 1)


def test_short_chains_have_readable_ids() -> None:
    first = after(ASKED, 1)
    assert (delegation_id(ASKED, 1), delegation_id(first, 2)) == ("m1.hand1", "m1.hand1.back.hand2")


def test_ids_of_a_long_chain_do_not_grow_and_belong_to_its_message() -> None:
    turns, work = [ASKED], ASKED
    for number in range(1, 200):
        work = after(work, 1 + number % 3)
        turns.append(work)
    assert max(len(turn.id) for turn in turns) < 150
    # What a message led to is found by the beginning of its id.
    assert all(turn.id.startswith("m1.") for turn in turns[1:])
    assert len({delegation_id(turn, number) for turn in turns for number in (1, 2)}) == 2 * len(turns)
    # The same in every run.
    assert delegation_id(turns[150], 1) == delegation_id(msgspec.structs.replace(turns[150], text="again"), 1)


def test_a_delegation_knows_its_place_in_the_chain() -> None:
    third = after(after(ASKED, 1), 1)
    assert origin_of(third, SESSION, 0.0).chain == 2
    assert origin_of(third, SESSION, 0.0).inbound == "m1"


@pytest.mark.parametrize(
    ("chain", "caused", "over"), [(0, 0, False), (2, 8, False), (3, 0, True), (2, 9, True), (99, 0, True)]
)
def test_a_chain_is_over_by_its_length_or_by_all_that_it_led_to(chain: int, caused: int, over: bool) -> None:
    assert is_chain_over(chain, caused, CONFIG) is over


@pytest.mark.parametrize(("last", "place"), [(None, 1), ((0, 10.0), 1), ((4, 10.0), 5), ((4, 1.0), 1)])
def test_a_bot_continues_the_chain_of_its_session_until_that_is_long_ago(
    last: tuple[int, float] | None, place: int
) -> None:
    chain = BotChain(longest=20, pause=60.0)
    turn = None if last is None else LastTurn(id=InboundId("m1"), session=SESSION, chain=last[0], at=last[1])
    assert chain.place_after(turn, 65.0) == place
