"""`/tasks` and `/cancel` in a chat: a person sees and ends what they asked for in that conversation; owners, all.

In a group, everybody reads the reply: there an owner sees what was asked for in that group.
"""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import ANA, BEN, Echo, Running, TinyPlatform, serving
from trunkline import Address, HandTask, Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind, Peer

pytestmark = pytest.mark.anyio

CONTROL: dict[str, Any] = {"enabled": True, "owners": ["discord:900"]}


class Slow:
    """A hand that reports its progress and never ends."""

    def has(self, hand: str) -> bool:
        return hand == "slow"

    async def run(self, task: HandTask) -> str:
        await task.progress(f"looking at {task.task}")
        await anyio.sleep(3600)
        return "too late"


async def act(turn: Turn) -> str | None:
    if turn.callback is not None:
        return f"{turn.callback.outcome}: {turn.text}"
    await turn.send_async("slow", turn.text, label=f"label of {turn.text}" if turn.text == "named" else "")
    return "on it"


async def said(running: Running, platform: TinyPlatform, text: str, place: Any = ANA) -> str:
    """The answer to a message."""
    before = len(platform.sent)
    platform.say(f"m{before}{text}", place, text)
    await running.until(IntentSettled, before + 1)
    return platform.sent[-1].text


async def test_a_person_sees_and_ends_what_they_asked_for(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), runner=Slow(), control=CONTROL) as running:
        assert await said(running, platform, "/tasks") == "Nothing is in progress here."
        assert (await said(running, platform, "/cancel")).startswith("Nothing is in progress here")
        await said(running, platform, "mails")
        listed = await said(running, platform, "/tasks")
        assert listed.startswith("- slow: mails (runs for 0 s; looking at mails). /cancel ")
        assert await said(running, platform, "/tasks", BEN) == "Nothing is in progress here."
        name = listed.rpartition(" ")[2]
        assert (await said(running, platform, f"/cancel {name}", BEN)).startswith("Nothing is in progress here")
        assert running.recorded(DelegationFinished) == []
        platform.say("m99", ANA, "/cancel")
        [finished] = await running.until(DelegationFinished)
        await running.until(IntentSettled, 8)
    assert (finished.reason, finished.by) == (Reason.CANCELLED_BY_PEER, "discord:100")
    assert sorted(one.text for one in platform.sent[-2:]) == [
        "Cancelled slow: mails.",
        f"cancelled: {Reason.CANCELLED_BY_PEER.sentence}",
    ]


async def test_of_several_tasks_one_must_be_named(path: Path, platform: TinyPlatform) -> None:
    async with serving(
        path, platform, Echo(act), runner=Slow(), control=CONTROL, hands={"on_cancel": "silent"}
    ) as running:
        await said(running, platform, "named")
        await said(running, platform, "second")
        which = await said(running, platform, "/cancel")
        assert which.startswith("Which one?\n- slow: label of named (")
        assert (await said(running, platform, "/cancel nothing")).startswith("'nothing' names none of them")
        assert await said(running, platform, "/cancel label of named") == "Cancelled slow: label of named."
        assert await said(running, platform, "/cancel") == "Cancelled slow: second."


async def test_an_owner_sees_and_ends_the_tasks_of_everybody(path: Path, platform: TinyPlatform) -> None:
    owner = ANA.__class__(channel="discord", account="default", kind=ANA.kind, conversation="900")
    async with serving(
        path, platform, Echo(act), runner=Slow(), control=CONTROL, hands={"on_cancel": "silent"}
    ) as running:
        await said(running, platform, "mails")
        await said(running, platform, "files", BEN)
        await running.until(DelegationAccepted, 2)
        listed = await said(running, platform, "/tasks", owner)
        assert [line.split(" (")[0] for line in listed.splitlines()] == ["- slow: mails", "- slow: files"]
        name = listed.splitlines()[1].rpartition(" ")[2]
        assert await said(running, platform, f"/cancel {name}", owner) == "Cancelled slow: files."


async def test_a_group_does_not_read_what_people_asked_for_in_private(path: Path, platform: TinyPlatform) -> None:
    group = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="55")
    owner = Peer(id="900", name="Olga")

    async def in_group(text: str, peer: Peer) -> str:
        before = len(platform.sent)
        platform.say(f"g{before}", group, text, peer)
        await running.until(IntentSettled, before + 1)
        return platform.sent[-1].text

    async with serving(
        path, platform, Echo(act), runner=Slow(), control=CONTROL, hands={"on_cancel": "silent"}
    ) as running:
        await said(running, platform, "my divorce")
        assert await in_group("/tasks", owner) == "Nothing is in progress here."
        assert (await in_group("/cancel my divorce", owner)).startswith("Nothing is in progress here")
        await in_group("the minutes", Peer(id="100", name="Ana"))
        await running.until(DelegationAccepted, 2)
        listed = await in_group("/tasks", owner)
        assert [line.split(" (")[0] for line in listed.splitlines()] == ["- slow: the minutes"]
        assert await in_group("/cancel", owner) == "Cancelled slow: the minutes."
    assert all("divorce" not in one.text for one in platform.sent if one.address.conversation == "55")
