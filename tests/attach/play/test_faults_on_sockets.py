"""Each fault of a send, on a real socket of each platform, in a run of which only the wire is known."""

import asyncio

import pytest

from tests.attach.play.wired import PLATFORMS, Wired, on_the_wire

BROKEN = {"ServerDisconnectedError", "ClientOSError", "ClientConnectionResetError", "ClientPayloadError"}
ACCEPTED, REFUSED = ["wire.called", "wire.accepted"], ["wire.called", "wire.refused"]
#: fault -> what of the send is recorded, and what its sender gets
FAULTS = {
    "lose-response": ([*ACCEPTED, "wire.response_lost"], {"TimeoutError"}),
    "drop": (["wire.called"], {"TimeoutError"}),
    "reset": ([*ACCEPTED, "wire.response_lost"], BROKEN),
    "reset-before": (["wire.called"], BROKEN),
    "half-answer": ([*ACCEPTED, "wire.response_lost"], BROKEN),
    "refuse": ([*REFUSED, "wire.responded"], {"400", "403", "invalid_arguments", "restricted_action"}),
    "rate-limit": ([*REFUSED, "wire.responded"], {"429"}),
    "error": ([*REFUSED, "wire.responded"], {"500", "502", "internal_error", "fatal_error", "team_added_to_org"}),
    "slow": ([*ACCEPTED, "wire.responded"], {"200"}),
    "slow-loris": ([*ACCEPTED, "wire.responded"], {"200"}),
    "html": (["wire.called", "wire.responded"], {"502"}),
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_strikes_a_send(platform: str, fault: str) -> None:
    recorded, gets = FAULTS[fault]

    async def test(wired: Wired) -> None:
        place = f"{platform}/ops"
        assert await wired.send("one", place, "k1") == "200"
        before = len(wired.kinds("wire."))
        got = await wired.send("two", place, "k2", within=0.6)
        if fault == "slow":
            assert got == "200"
        assert got in gets
        # What a client has read is recorded when all of it is written.
        await wired.pause(0.05)
        assert wired.kinds("wire.")[before:] == recorded
        assert wired.kinds("fault.") == ["fault.fired"]
        assert await wired.send("two", place, "k3") == "200"

    step = f'at: 0s, fault: {{on: send, do: {fault}, for: 100ms, in: {platform}/ops, text: "two"}}'
    on_the_wire(platform, [step], test)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_send_is_not_taken_if_its_sender_dies_at_its_arrival(platform: str) -> None:
    async def test(wired: Wired) -> None:
        assert await wired.send("one", f"{platform}/ops") in BROKEN
        assert wired.kinds("wire.", "process.") == ["wire.called", "process.crashed"]
        await wired.rest_of_the_world()
        assert wired.kinds("wire.") == ["wire.called"]

    on_the_wire(platform, ['at: 0s, crash: {when: {event: wire.called, text: "one"}}'], test)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_thread_that_is_deleted_when_a_send_arrives_refuses_it(platform: str) -> None:
    async def test(wired: Wired) -> None:
        got = await wired.send("one", f"{platform}/ops/deploy")
        assert got in {"400", "404", "403", "channel_not_found", "200"}
        if got != "200":
            assert wired.kinds("wire.", "thread.closed") == [
                "wire.called",
                "thread.closed",
                "wire.refused",
                "wire.responded",
            ]

    step = f'at: 0s, when: {{event: wire.called, text: "one"}}, in: {platform}/ops/deploy, delete: true'
    on_the_wire(platform, [step], test)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_token_that_is_revoked_for_good_is_refused_from_then_on(platform: str) -> None:
    async def test(wired: Wired) -> None:
        assert await wired.send("one", f"{platform}/ops", "k1") == "200"
        await wired.until("credential.rotated")
        for number in (2, 3):
            assert await wired.send("again", f"{platform}/ops", f"k{number}") in {
                "401",
                "invalid_auth",
                "token_revoked",
            }
        assert wired.servers.revoked == {platform}
        values = wired.servers.values(wired.home, wired.home)
        assert values[f"{platform}.token"] == wired.token

    step = f"when: {{event: wire.responded}}, at: 0s, rotate: {{platform: {platform}, revoke: true}}"
    on_the_wire(platform, [step], test)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_socket_that_is_closed_for_a_while_refuses_connections(platform: str) -> None:
    async def test(wired: Wired) -> None:
        place = f"{platform}/ops"
        assert await wired.send("one", place, "k1") == "200"
        await wired.until("fault.fired")
        assert not wired.rest.is_reached(wired.world.now() + 100)
        assert await wired.send("two", place, "k2") in {"ClientConnectorError", *BROKEN}
        await wired.pause(0.4)
        assert await wired.send("two", place, "k3") == "200"

    fault = f"fault: {{on: connect, do: refuse-connection, for: 300ms, in: {platform}/ops}}"
    step = f"when: {{event: wire.responded}}, at: 0s, {fault}"
    on_the_wire(platform, [step], test)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_run_goes_on_while_a_sender_waits_for_its_response(platform: str) -> None:
    async def test(wired: Wired) -> None:
        wired.rest.waits_for_response = wired.servers.have_unanswered
        sending = asyncio.create_task(wired.send("one", f"{platform}/ops", within=0.8))
        await wired.until("wire.response_lost")
        while not sending.done():
            assert not wired.rest.is_reached(wired.world.now())
            await wired.pause(0.02)
        assert await sending == "TimeoutError"
        await wired.pause(0.1)
        assert not wired.servers.have_unanswered()
        assert not wired.rest.is_reached(wired.world.now())
        await wired.pause(0.3)
        assert wired.rest.is_reached(wired.world.now())

    on_the_wire(platform, [f"at: 0s, fault: {{in: {platform}/ops, on: send, do: lose-response}}"], test)
