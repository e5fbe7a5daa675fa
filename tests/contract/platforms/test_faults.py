"""Faults of fake platforms: sends, transports, forgotten keys, connections and accounts."""

from contextlib import aclosing
from typing import Any, cast

import anyio
import pytest

from tests.support.contract.stage import ALL, LONG, Stage, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.channels import Ready
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused
from trunkline.core.values import Capability, DeliveryMode, Idempotency, Receipt, Transport
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireRefused, WireResponseLost
from trunkline.sim.scenario.model.world import not_ready

HYBRID = {"discord": "mode: hybrid"}


# ---------------------------------------------------------------- what breaks a send


@for_each("platform", ALL)
@for_each(("do", "error", "seen"), [("reset", Ambiguous, 1), ("reset-before", Ambiguous, 0)])
def test_a_reset_fails_at_once_and_leaves_acceptance_unknown(
    platform: str, do: str, error: type[PlatformError], seen: int
) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault(do)
        failed = await attempt(adapter, place)
        assert (type(failed), str(failed)) == (error, f"{error()}: the connection was reset")
        assert stage.world.now() < 1.0
        await anyio.sleep(LONG)
        assert len(stage.recorded(WireAccepted)) == len(stage.recorded(WireResponseLost)) == seen
        assert [body.fault for body in stage.recorded(FaultFired)] == [f"send/{do}"]

    play(test)


@for_each("platform", ALL)
def test_a_refused_connection_is_a_proof(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault("refuse-connection")
        with pytest.raises(NotSent, match="the connection was refused"):
            await adapter.send(request(place))
        await anyio.sleep(LONG)
        assert stage.recorded(WireAccepted) == stage.recorded(WireRefused) == []
        await adapter.send(request(place, attempt=2))
        assert len(stage.recorded(WireAccepted)) == 1

    play(test)


@for_each("platform", ALL)
def test_an_answer_without_a_receipt_names_no_message_and_it_is_visible(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault("no-receipt")
        assert await adapter.send(request(place)) == Receipt(provider_id="", address=place)
        [accepted] = stage.recorded(WireAccepted)
        assert accepted.provider_id
        assert (await adapter.send(request(place, key="k2/0"))).provider_id

    play(test)


def test_a_platform_whose_answers_name_no_message_never_names_one() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert Capability.MESSAGE_IDS not in adapter.capabilities.can
        assert (await adapter.send(request(place))).provider_id == ""

    play(test, {"telegram": "cannot: [message-ids]"})


def test_a_fault_strikes_from_the_nth_match_on() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("refuse", nth=2, times=2)
        found = [type(await attempt(adapter, place, key=f"k{n}/0")) for n in range(4)]
        assert found == [Receipt, Refused, Refused, Receipt]

    play(test)


def test_a_fault_that_waits_for_its_turn_lets_another_one_strike() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("refuse", nth=2)
        stage.fault("rate-limit")
        found = [type(await attempt(adapter, place, key=f"k{n}/0")) for n in range(3)]
        assert found == [RateLimited, Refused, Receipt]

    play(test)


# ---------------------------------------------------------------- transports


@pytest.mark.parametrize("transport", Transport)
def test_a_hybrid_has_both_transports(transport: Transport) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("discord")
        assert adapter.capabilities.mode is DeliveryMode.HYBRID
        await adapter.send(request(stage.place("discord/mine"), transport=transport))
        assert [body.transport for body in stage.recorded(WireAccepted)] == [transport]

    play(test, HYBRID)


@pytest.mark.parametrize("struck", Transport)
def test_a_fault_may_strike_one_transport_only(struck: Transport) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        stage.fault("refuse-connection", transport=struck, times=2)
        for transport in Transport:
            found = await attempt(adapter, place, key=f"{transport}/0", transport=transport)
            assert isinstance(found, NotSent) is (transport is struck)

    play(test, HYBRID)


@for_each("platform", ALL)
def test_a_transport_that_is_not_there_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        other = next(kind for kind in Transport if kind is not adapter.capabilities.mode.first)
        with pytest.raises(Refused, match=f"there is no {other.value} transport"):
            await adapter.send(request(stage.place(f"{platform}/mine"), transport=other))

    play(test)


def test_accounts_of_one_platform_may_differ() -> None:
    async def test(stage: Stage) -> None:
        found = [stage.adapter("discord", account).capabilities for account in ("default", "second")]
        assert [can.mode for can in found] == [DeliveryMode.GATEWAY, DeliveryMode.HYBRID]
        assert [can.idempotency for can in found] == [Idempotency.KEY, Idempotency.LOOKUP]
        for account, transport in (("default", Transport.GATEWAY), ("second", Transport.GATEWAY)):
            adapter, place = stage.adapter("discord", account), stage.place(f"discord:{account}/both")
            receipts = [await adapter.send(request(place, transport=transport)) for _ in range(2)]
            assert (receipts[0] == receipts[1]) is (account == "default")

    accounts = "{default: {mode: gateway}, second: {mode: hybrid, idempotency: lookup}}"
    play(test, replace=("accounts: {default: {}, second: {}}", f"accounts: {accounts}"))


# ---------------------------------------------------------------- keys that are forgotten


@pytest.mark.parametrize(("later", "messages"), [(59.0, 1), (61.0, 2)])
def test_a_key_is_known_as_long_as_the_file_says(later: float, messages: int) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        assert adapter.capabilities.key_seconds == 60.0
        await adapter.send(request(place))
        await anyio.sleep(later)
        await adapter.send(request(place, attempt=2))
        assert (len(stage.recorded(WireAccepted)), len(stage.recorded(WireDeduplicated))) == (messages, 2 - messages)

    play(test, {"discord": "key_seconds: 60s"})


def test_a_platform_without_keys_forgets_none() -> None:
    async def test(stage: Stage) -> None:
        assert stage.adapter("telegram").capabilities.key_seconds is None

    play(test, {"telegram": "key_seconds: 60s"})


# ---------------------------------------------------------------- connections and accounts


@for_each("platform", ALL)
def test_a_connection_breaks_and_comes_back_after_a_while(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.say("m1", f"{platform}/mine", "one")
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            first = await anext(stream)
            stage.fault("error", on="connect", **{"for": "30s"})
            with pytest.raises(NotSent, match="the connection broke"):
                await anext(stream)
        with pytest.raises(NotSent, match="there is no connection"):
            await adapter.ack(first)
        with pytest.raises(NotSent, match="there is no connection"):
            await stage.taken(adapter)
        stage.say("m2", f"{platform}/mine", "two")
        await anyio.sleep(30)
        assert [envelope.text for envelope in await stage.taken(adapter, ack=True)] == ["one", "two"]
        assert [body.fault for body in stage.recorded(FaultFired)] == ["connect/error"]

    play(test)


@pytest.mark.parametrize(("transport", "passes"), [(Transport.DIRECT, True), (Transport.GATEWAY, False)])
def test_only_the_gateway_path_needs_the_connection(transport: Transport, passes: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        stage.fault("error", on="connect", **{"for": "30s"})
        found = await attempt(adapter, place, transport=transport)
        assert isinstance(found, Receipt if passes else NotSent)
        await anyio.sleep(31)
        assert isinstance(await attempt(adapter, place, transport=transport, attempt=2), Receipt)
        assert len(stage.recorded(WireAccepted)) == 1

    play(test, HYBRID)


@for_each("on", ["ready", "connect"])
@for_each("platform", ALL)
def test_an_account_is_not_ready_for_a_while(platform: str, on: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        assert await adapter.ready() == Ready(ok=True)
        stage.fault("error", on=on, **{"for": "30s"})
        for _ in range(3):
            said = await adapter.ready()
            assert not said.ok
            assert said.reason == not_ready(platform)[0]
        await anyio.sleep(30)
        assert await adapter.ready() == Ready(ok=True)
        # Told once, when it was first felt.
        assert [body.fault for body in stage.recorded(FaultFired)] == [f"{on}/error"]

    play(test)


@pytest.mark.parametrize("on", ["ready", "connect"])
def test_a_place_names_the_account_that_it_strikes(on: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("error", on=on, **{"in": "discord:second/both"})
        for platform, account in (("discord", "default"), ("discord", "second"), ("telegram", "second")):
            struck = (platform, account) == ("discord", "second")
            assert (await stage.adapter(platform, account).ready()).ok is not struck

    play(test)


def test_what_is_healed_is_ready() -> None:
    async def test(stage: Stage) -> None:
        stage.fault("error", on="ready", **{"for": "1h"})
        stage.world.faults.heal()
        assert (await stage.adapter("discord").ready()).ok

    play(test)
