"""Adapters, agents, texts and stores that fail: what the gateway refuses and what it survives."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.small_gateway import BEN, Clerk, Echo, TinyPlatform, serving
from trunkline import (
    Agent,
    ChannelAdapter,
    Envelope,
    EventLog,
    Gateway,
    GatewayConfig,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)
from trunkline.core.config.work import TurnsConfig
from trunkline.core.errors import Ambiguous, ConfigError, DelegationRefused, NotSent, PlatformError, StoreTooNew
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    InboundAckFailed,
    InboundDropped,
    ToolRefused,
    TurnEnded,
)
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio


async def test_a_message_without_text_is_dropped_visibly(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1", text="  ")
        [dropped] = await running.until(InboundDropped)
        assert dropped.reason is Reason.EMPTY_MESSAGE
    assert platform.sent == []


async def test_an_agent_that_raises_ends_its_turn_and_nothing_else(path: Path, platform: TinyPlatform) -> None:
    async def fail_once(turn: Turn) -> str:
        if turn.text == "bad":
            raise ZeroDivisionError("oh")
        return "fine"

    async with serving(path, platform, Echo(fail_once)) as running:
        platform.say("m1", text="bad")
        platform.say("m2", text="good")
        failed, replied = await running.until(TurnEnded, 2)
        assert (failed.outcome, failed.reason, failed.detail) == (
            "failed",
            Reason.AGENT_RAISED,
            "ZeroDivisionError: oh",
        )
        assert replied.outcome == "replied"
        await running.until(IntentSettled, 2)
    assert [request.text for request in platform.sent] == [TurnsConfig().error_notice, "fine"]


def gateway_of(path: Path, adapters: list[ChannelAdapter], agents: dict[str, Agent]) -> Gateway:
    env = system_env()
    events = EventLog(env.now).recorder("gateway")
    return Gateway(
        config=GatewayConfig(),
        store=SqliteStore(lambda: connect_file(path), events),
        adapters=adapters,
        agents=agents,
        hands=Clerk(),
        env=env,
        events=events,
    )


async def test_two_adapters_for_one_account_are_refused(path: Path, platform: TinyPlatform) -> None:
    with pytest.raises(ConfigError, match="two adapters serve the same channel and account"):
        gateway_of(path, [platform, platform], {"main": Echo()})


async def test_an_agent_that_is_configured_but_not_there_is_refused(path: Path, platform: TinyPlatform) -> None:
    with pytest.raises(ConfigError, match="no agent is installed for: main"):
        gateway_of(path, [platform], {"other": Echo()})


async def test_a_store_of_a_newer_version_keeps_the_gateway_from_starting(path: Path, platform: TinyPlatform) -> None:
    db = connect_file(path)
    async with db:
        await db.run(lambda raw: raw.execute("PRAGMA user_version = 9999").fetchall())
    with pytest.raises(StoreTooNew):
        await gateway_of(path, [platform], {"main": Echo()}).run()


@pytest.mark.anyio
async def test_text_that_no_encoding_can_carry_stops_nothing(tmp_path: Path) -> None:
    platform = TinyPlatform()

    async def broken(turn: Turn) -> str:
        return f"{turn.text} \ud83d"

    async with serving(tmp_path / "a", platform, Echo(broken)) as running:
        platform.say("m1", text="cut \ud83d")
        platform.say("m2", text="whole")
        await running.until(IntentSettled, 2)
    platform.close()
    assert [request.text for request in platform.sent] == ["cut ? ?", "whole ?"]


@pytest.mark.anyio
async def test_an_adapter_with_a_defect_stops_nothing(tmp_path: Path) -> None:
    class Defective(TinyPlatform):
        async def ack(self, envelope: Envelope) -> None:
            raise RuntimeError("no ack today")

    platform = Defective()
    platform.errors = [ValueError("a defect")]
    async with serving(tmp_path / "a", platform, delivery={"backoff": [0.001]}) as running:
        platform.say("m1")
        platform.say("m2", BEN)
        settled = await running.until(IntentSettled, 2)
    platform.close()
    assert {body.state for body in settled} == {IntentState.DELIVERED}
    assert len(platform.sent) == 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (NotSent("no route"), "NotSent: The request never reached the platform: no route"),
        # No message was sent, so none is in doubt.
        (Ambiguous("no response: ReadError"), "no response: ReadError"),
        (Ambiguous(), "Ambiguous: No response came back; the message may have been accepted"),
    ],
)
async def test_a_connection_that_breaks_is_opened_again(tmp_path: Path, error: PlatformError, detail: str) -> None:
    class Shaky(TinyPlatform):
        tries = 0

        @asynccontextmanager
        async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
            self.tries += 1
            if self.tries == 1:
                raise error
            async with super().connect() as stream:
                yield stream

    platform = Shaky()
    async with serving(tmp_path / "a", platform) as running:
        (failed,) = await running.until(AdapterFailed)
        platform.say("m1")
        await running.until(IntentSettled)
    platform.close()
    assert (failed.channel, failed.reason, failed.detail) == ("discord", error.reason, detail)
    assert platform.tries == 2


async def test_a_hand_that_is_not_there_is_refused_before_any_work(path: Path, platform: TinyPlatform) -> None:
    async def ask(turn: Turn) -> str:
        try:
            await turn.delegate("nobody", "a task")
        except DelegationRefused as error:
            return f"sorry: {error.facts}"
        return "delegated"

    async with serving(path, platform, Echo(ask)) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    assert [(body.tool, body.reason) for body in running.recorded(ToolRefused)] == [("delegate", Reason.UNKNOWN_HAND)]
    assert running.recorded(DelegationAccepted) == []
    assert platform.sent[0].text.startswith("sorry: no hand 'nobody'")


async def test_an_ack_that_fails_and_a_stream_that_ends_are_recorded(path: Path, platform: TinyPlatform) -> None:
    async def refuse(envelope: Envelope) -> None:
        raise NotSent("no network")

    platform.ack = refuse
    async with serving(path, platform) as running:
        platform.say("m1")
        (failed,) = await running.until(InboundAckFailed)
        platform.close()
        await running.until(AdapterEnded)
    assert "no network" in failed.detail
