"""Heartbeats of a gateway on a real store file, the wall clock and real files, without the simulator."""

from pathlib import Path

import anyio
import pytest

from tests.support.small_gateway import ANA, Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.channels import Ready
from trunkline.core.decisions import Decisions
from trunkline.core.errors import InvalidCall, UnknownName
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted, SystemEventAdded
from trunkline.core.heartbeat.guards import GuardFacts, RunDecision
from trunkline.core.reasons import Reason
from trunkline.core.values import WorkKind

pytestmark = pytest.mark.anyio

LAST = {"every": "1s", "target": "last"}
ASKED = {"every": "1d", "target": "last"}


def beats(text: str | None) -> Echo:
    """An agent that says a text in heartbeats, and answers messages."""

    async def act(turn: Turn) -> str | None:
        return text if turn.work is WorkKind.HEARTBEAT else "hello back"

    return Echo(act)


async def test_what_a_heartbeat_returns_goes_to_the_last_place_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, beats("the disk is full"), heartbeat=LAST) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        sent, repeated = (await running.until(HeartbeatEnded, 2))[:2]
        assert (sent.status, sent.to, sent.preview) == ("sent", ANA, "the disk is full")
        assert (repeated.status, repeated.reason, repeated.silent) == ("skipped", Reason.DUPLICATE, True)
    assert [request.text for request in platform.sent] == ["hello back", "the disk is full"]


async def test_the_file_is_read_before_each_run(path: Path, platform: TinyPlatform, tmp_path: Path) -> None:
    file, agent = tmp_path / "HEARTBEAT.md", beats("HEARTBEAT_OK")
    file.write_text("# Nothing\n- [ ]\n")
    asked = {"every": "1s", "target": "none", "file": str(file)}
    async with serving(path, platform, agent, heartbeat=asked) as running:
        [skipped] = (await running.until(HeartbeatSkipped))[:1]
        assert skipped.reason is Reason.EMPTY_HEARTBEAT_FILE
        assert [one.guard for one in skipped.guards if one.reason is not None] == [skipped.guards[-1].guard]
        assert agent.turns == []
        file.write_text("feed the cat")
        [ended] = (await running.until(HeartbeatEnded))[:1]
        assert (ended.status, ended.reason) == ("ok-token", Reason.OK_TOKEN)
    assert "feed the cat" in agent.turns[0][0]
    assert platform.sent == []


async def test_a_file_that_cannot_be_read_is_seen(path: Path, platform: TinyPlatform, tmp_path: Path) -> None:
    asked = {"every": "1d", "target": "none", "file": str(tmp_path)}
    async with serving(path, platform, beats("HEARTBEAT_OK"), heartbeat=asked) as running:
        await running.gateway.wake_heartbeat("main")
        [started] = await running.until(HeartbeatStarted)
        assert "cannot be read" in started.detail


async def test_an_event_waits_over_a_restart_and_is_dealt_with_once(path: Path, platform: TinyPlatform) -> None:
    asked, agent = {"every": "1d", "target": "none"}, beats("HEARTBEAT_OK")
    async with serving(path, platform, agent, heartbeat=asked) as running:
        await running.gateway.system_event("main", "the backup failed", wake=False)
        await running.until(SystemEventAdded)
        assert agent.turns == []
    async with serving(path, platform, agent, heartbeat=asked) as running:
        await running.gateway.wake_heartbeat("main")
        await running.until(HeartbeatEnded)
        await running.gateway.wake_heartbeat("main")
        await running.until(HeartbeatEnded, 2)
        assert [one.events for one in running.recorded(HeartbeatStarted)] == [1, 0]
    assert ["the backup failed" in text for text, _ in agent.turns] == [True, False]


async def test_a_run_that_the_process_cut_off_is_the_same_run_in_the_next_one(
    path: Path, platform: TinyPlatform
) -> None:
    begun = anyio.Event()

    async def never(turn: Turn) -> str | None:
        if turn.work is not WorkKind.HEARTBEAT:
            return "hello back"
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(path, platform, Echo(never), heartbeat=ASKED) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        await running.gateway.wake_heartbeat("main")
        await begun.wait()
    async with serving(path, platform, beats("still here"), heartbeat=ASKED) as running:
        [ended] = await running.until(HeartbeatEnded)
        assert ended.status == "sent"
        assert running.recorded(HeartbeatStarted) == []
        assert [one.attempt for one in running.recorded(TurnStarted)] == [2]
    assert [request.text for request in platform.sent] == ["hello back", "still here"]


async def test_an_agent_that_raises_ends_its_run_and_not_the_clock(path: Path, platform: TinyPlatform) -> None:
    async def fail(_: Turn) -> str:
        raise ValueError("no model")

    async with serving(path, platform, Echo(fail), heartbeat={"every": "1s", "target": "none"}) as running:
        first, second = (await running.until(HeartbeatEnded, 2))[:2]
        assert (first.status, first.reason, first.indicator) == ("failed", Reason.AGENT_RAISED, "error")
        assert "no model" in second.detail


async def test_a_decision_that_raises_skips_its_run_and_not_the_next(path: Path, platform: TinyPlatform) -> None:
    def raises(_: GuardFacts) -> RunDecision:
        raise ValueError("no rule")

    asked = {"every": "1s", "target": "none"}
    async with serving(path, platform, heartbeat=asked, decisions=Decisions(decide_run=raises)) as running:
        first, second = (await running.until(HeartbeatSkipped, 2))[:2]
        assert first.reason is Reason.AGENT_RUNNER_FAILURE
        assert "no rule" in first.detail
        assert first.next_at == second.due


class Asleep(TinyPlatform):
    """A platform whose account cannot send, or that does not say so."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.awake = True
        self.error = error

    async def ready(self) -> Ready:
        if not self.awake and self.error is not None:
            raise self.error
        return Ready(ok=self.awake, reason="" if self.awake else "not linked")


@pytest.mark.parametrize("error", [None, RuntimeError("not linked")], ids=["says so", "raises"])
async def test_an_alert_for_an_account_that_cannot_send_is_not_remembered(
    path: Path, anyio_backend: str, error: Exception | None
) -> None:
    platform = Asleep(error)
    async with serving(path, platform, beats("the disk is full"), heartbeat=ASKED) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        platform.awake = False
        await running.gateway.wake_heartbeat("main")
        [skipped] = await running.until(HeartbeatEnded)
        assert (skipped.status, skipped.reason) == ("skipped", Reason.NOT_READY)
        assert "not linked" in skipped.detail
        platform.awake = True
        await running.gateway.wake_heartbeat("main")
        assert (await running.until(HeartbeatEnded, 2))[1].status == "sent"
    platform.close()


class Named(TinyPlatform):
    """A platform that names the people whom its account writes to."""

    async def resolve_recipients(self) -> tuple[str, ...]:
        return ("user:100",)


async def test_the_people_that_an_adapter_names_are_recipients(path: Path, anyio_backend: str) -> None:
    platform = Named()
    async with serving(path, platform, beats("the disk is full"), heartbeat={"every": "1d"}) as running:
        await running.gateway.wake_heartbeat("main")
        [ended] = await running.until(HeartbeatEnded)
        assert (ended.status, ended.to) == ("sent", ANA)
    platform.close()


async def test_requests_for_nobody_are_refused(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, heartbeat=ASKED) as running:
        with pytest.raises(UnknownName, match="no heartbeat"):
            await running.gateway.wake_heartbeat("other")
        with pytest.raises(UnknownName, match="no heartbeat"):
            await running.gateway.system_event("other", "something")
        with pytest.raises(InvalidCall, match="text"):
            await running.gateway.system_event("main", "  ")


async def test_without_a_configuration_nothing_runs(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        with pytest.raises(UnknownName, match="none"):
            await running.gateway.wake_heartbeat("main")
        platform.say("m1")
        await running.until(IntentSettled)
        kinds = {type(event.body).kind for event in running.log.events}
        assert not [kind for kind in kinds if kind.startswith(("heartbeat", "cron"))]
