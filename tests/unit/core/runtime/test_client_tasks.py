"""Tasks that clients give to hands, outside of any turn."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct
from tests.support.small_gateway import KEY, Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.errors import DelegationRefused, TrunklineError
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import SessionCreated, ToolRefused
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.hands.port import ClientTask
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.delegations import DelegationFilter
from trunkline.core.values import Peer

pytestmark = pytest.mark.anyio

WORKERS: dict[str, Any] = {"hands": {"each": {"courier": {"worker": True}}}}


def task(**fields: Any) -> ClientTask:
    given: dict[str, Any] = {"key": "k1", "hand": "clerk", "task": "count the stars", "to": "user:100"}
    return ClientTask(**{**given, "channel": "discord", **fields})


async def act(turn: Turn) -> str | None:
    return f"it says {turn.text}"


async def test_the_result_is_answered_at_the_place_in_its_session(tmp_path: Path) -> None:
    platform = TinyPlatform()
    async with serving(tmp_path / "gateway.db", platform, Echo(act)) as running:
        done = await running.gateway.delegate(task(asked_by=Peer(id="7", name="Ana")))
        assert (done.delegation, done.hand) == ("client:k1", "clerk")
        await running.until(IntentSettled)
        [sent] = platform.sent
        assert "done: count the stars" in sent.text
        assert sent.address.conversation == "100"
        assert [role for role, _ in await running.transcript(KEY)] == ["hand", "assistant"]
        [accepted] = running.recorded(DelegationAccepted)
        assert (accepted.asked_by, accepted.session_key) == (Peer(id="7", name="Ana"), KEY)
    platform.close()


async def test_a_key_is_one_delegation_also_for_calls_at_once_and_after_a_restart(tmp_path: Path) -> None:
    for process in range(2):
        platform = TinyPlatform()
        async with serving(tmp_path / "gateway.db", platform, Echo(act), **WORKERS) as running:
            asked = task(hand="courier")
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(running.gateway.delegate, asked)
            listed = await running.gateway.hands.list(DelegationFilter())
            assert [row.id for row in listed.rows] == ["client:k1"]
            with pytest.raises(DelegationRefused, match="used for another task") as refused:
                await running.gateway.delegate(task(hand="courier", task="something else"))
            assert refused.value.reason is Reason.CALL_CHANGED
            assert len(running.recorded(DelegationAccepted)) == (0 if process else 1)
        platform.close()


async def test_a_task_of_a_worker_outlives_a_restart_and_is_reported(tmp_path: Path) -> None:
    first = TinyPlatform()
    async with serving(tmp_path / "gateway.db", first, Echo(act), **WORKERS) as running:
        await running.gateway.delegate(task(hand="courier"))
        taken = await running.gateway.hands.take("courier", "ben")
        assert taken is not None
    first.close()
    second = TinyPlatform()
    async with serving(tmp_path / "gateway.db", second, Echo(act), **WORKERS) as running:
        result = HandResult(outcome=HandOutcome.OK, text="three thousand")
        assert await running.gateway.inject_callback(taken.delegation, result, ticket=taken.ticket)
        await running.until(IntentSettled)
        assert ["three thousand" in sent.text for sent in second.sent] == [True]
    second.close()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"key": "  "}, "key"),
        ({"key": "k" * 501}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"hand": "nobody"}, "no hand 'nobody'"),
        ({"hand": "main"}, "itself"),
        ({"task": "  "}, "empty"),
        ({"task": "x" * 2_000_000}, "max_task"),
        ({"agent": "nobody"}, "no agent 'nobody'; there are: main"),
        ({"channel": "slack"}, "slack"),
        ({"to": direct("1", channel="slack")}, "slack"),
        ({"timeout": -1.0}, "timeout"),
        ({"label": "l" * 201}, "label"),
    ],
)
async def test_what_cannot_be_delegated_is_refused_and_leaves_nothing(
    tmp_path: Path, fields: dict[str, Any], says: str
) -> None:
    platform = TinyPlatform()
    async with serving(tmp_path / "gateway.db", platform) as running:
        with pytest.raises(TrunklineError, match=says):
            await running.gateway.delegate(task(**fields))
        assert (await running.gateway.hands.list()).rows == ()
        assert running.recorded(DelegationAccepted, SessionCreated) == []
        if "key" not in fields:
            assert len(running.recorded(ToolRefused)) == 1
    platform.close()
